package checks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/shared/ledger"
)

func seconds(d time.Duration) int { return int(d / time.Second) }

// A flood of GETs must not use up the capacity of purchases and orders.
func TestCapacityIsReservedAndTheTableWarmedByParameters(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	table := tmpl.at("Resources.LedgerTable.Properties")
	for place, parameter := range map[string]string{"WarmThroughput": "WarmWriteUnitsPerSecond", "OnDemandThroughput": "MaxWriteRequestUnits"} {
		// -1, which removes a limit, is below the schema's minimum, so it cannot be the parameter's lower bound.
		all, declared := alternatives(table.at(place)), tmpl.at("Parameters", parameter)
		isNumber := declared.at("Type").text() == "Number" || strings.HasSuffix(declared.at("AllowedPattern").text(), "[0-9]*)$")
		if len(all) != 2 || !slices.Contains(all[0].references(), parameter) || all[1].target() != "AWS::NoValue" || !isNumber || declared.at("Default").text() != "0" {
			table.errorf(t, "%s is not %s's, or not left out by default", place, parameter)
		}
	}
	for _, f := range tmpl.functions() {
		reserve := f.property("ReservedConcurrentExecutions")
		if want := reservesOf[f.name()]; reserve.at("1").spelt() != want || want != "" && (reserve.at("0").text() != "HasReserves" || reserve.at("2").target() != "AWS::NoValue") {
			f.errorf(t, "%s reserves %q, want %q if anything is reserved", f.id, reserve.at("1").spelt(), want)
		}
	}
}

// reservesOf are the reserves by function. Those of one run at a time are never two; the others are nobody's who reads.
var reservesOf = map[string]string{
	"Purchase": "!Ref PurchaseReservedConcurrency", "Finalize": "!Ref FinalizeMaximumConcurrency", "Operate": "10", "Reconcile": "1", "Release": "1", "Draw": "1", "Refund": "1",
}

// What the opening needs in its first second is purchases.
func TestWhatTheOpeningNeedsIsWarmedForTheTimeOfASaleOnly(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	r := tmpl.at("Resources.PurchaseWarmup")
	r.expect(t, "Condition", "HasPurchaseWarmup")
	p := r.at("Properties")
	alias := tmpl.at("Globals.Function.AutoPublishAlias").text()
	if !slices.Contains(p.at("ResourceId").references(), "PurchaseFunction") || p.at("ResourceId.1.2").text() != alias {
		r.errorf(t, "PurchaseWarmup does not warm PurchaseFunction:%s", alias)
	}
	for place, want := range map[string]string{
		"ScheduledActions.0.Schedule": "!Ref WarmFrom", "ScheduledActions.0.ScalableTargetAction.MinCapacity": "!Ref PurchaseProvisionedConcurrency",
		"ScheduledActions.1.Schedule": "!Ref WarmUntil", "ScheduledActions.1.ScalableTargetAction.MinCapacity": "0",
		"ScheduledActions.1.ScalableTargetAction.MaxCapacity": "0", "MinCapacity": "0", "MaxCapacity": "0",
	} {
		p.expect(t, place, want)
	}
	tmpl.at("Parameters.PurchaseProvisionedConcurrency").expect(t, "Default", "0")
}

// everyMinute is the schedule whose next run is the retry of the last.
const everyMinute = "rate(1 minute)"

func TestWhatAScheduleStartsIsRetriedInTimeAndWhatFailsIsKept(t *testing.T) {
	tmpl, alarms := parseTemplate(t, templateFile), parseTemplate(t, alarmsFile)
	for _, f := range tmpl.functions() {
		for _, e := range f.events("ScheduleV2") {
			attempts, _ := tmpl.number(e.at("RetryPolicy.MaximumRetryAttempts"))
			_, bounded := tmpl.number(e.at("RetryPolicy.MaximumEventAgeInSeconds"))
			dead, ok := tmpl.resource("AWS::SQS::Queue", e.at("DeadLetterConfig.Arn").target())
			if !bounded || !ok || !alarms.watches(dead.id+" ApproximateNumberOfMessagesVisible") {
				e.errorf(t, "%s: what %s fails to start comes hours late, or is lost", f.id, e.id)
			}
			config := f.property("EventInvokeConfig")
			retries, ok := tmpl.number(config.at("MaximumRetryAttempts"))
			age, _ := tmpl.number(config.at("MaximumEventAgeInSeconds"))
			if !ok || retries > 2 || age < 60 || age > 3600 {
				f.errorf(t, "%s: %d retries until an age of %d s", f.id, retries, age)
			}
			if e.at("ScheduleExpression").text() != everyMinute && (attempts < 1 || retries < 1 || f.failures().Node == nil) {
				e.errorf(t, "%s gives up after one failure, or its failed events go nowhere", f.id)
			}
		}
	}
}

func TestNumbersThatDependOnEachOtherAgree(t *testing.T) {
	tmpl, alarms := parseTemplate(t, templateFile), parseTemplate(t, alarmsFile).at("Resources")
	alarms.expect(t, "OldestPendingAlarm.Properties.Threshold", strconv.Itoa(seconds(ledger.ResendBound)))
	if worst := alarms.at("OrdersWaitAlarm.Properties.Metrics.3.Expression"); !strings.Contains(worst.text(), fmt.Sprintf("FILL(age, 0) / %d,", ageAlarm)) {
		worst.errorf(t, "the age is not measured against %d s", ageAlarm)
	}
	for _, f := range tmpl.functions() {
		_, by, judged := strings.Cut(alarms.at("FunctionsSlowAlarm.Properties.Metrics.5.Expression").text(), "FILL("+f.folder()+", 0) / ")
		if seconds := f.property("Timeout").text(); judged && !strings.HasPrefix(by, seconds+"0") {
			f.errorf(t, "FunctionsSlowAlarm takes no hundredth of its %s s", seconds)
		}
	}
	// Two passes of reconciling end before a lost message counts as waiting too long.
	patience, _ := strconv.Atoi(alarms.at("ReconcileSilentAlarm.Properties.Period").text())
	tmpl.at("Resources.ReconcileFunction.Properties.Events.Reconciling.Properties").expect(t, "ScheduleExpression", everyMinute)
	if patience < 60 || ledger.ResendGrace+2*time.Minute > ledger.ResendBound {
		t.Errorf("reconciling comes every minute, its alarm expects it within %d s and one of lost messages rings at %v", patience, ledger.ResendBound)
	}
}
