package checks

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/shared/eligibility"
	"flashsale/shared/ledger"
)

// alternatives returns the possible values: both branches of !If, or the value itself.
func alternatives(n node) []node {
	if n.Node != nil && n.Tag == "!If" {
		return slices.Concat(alternatives(n.at("1")), alternatives(n.at("2")))
	}
	return []node{n}
}

// byParameter reports whether a value is a number parameter's, or AWS::NoValue.
func byParameter(tmpl template, n node, parameter string) bool {
	all := alternatives(n)
	// -1, which removes a limit, is below the schema's minimum, so it cannot be the
	// parameter's lower bound.
	declared := tmpl.at("Parameters", parameter)
	isNumber := declared.at("Type").text() == "Number" || strings.HasSuffix(declared.at("AllowedPattern").text(), "[0-9]*)$")
	return len(all) == 2 && slices.Contains(all[0].references(), parameter) && all[1].target() == "AWS::NoValue" && isNumber
}

func TestCapacityOfTheTemplate(t *testing.T) {
	const table = "Resources/LedgerTable/Properties/"
	checkTemplate(t, []templateRule{
		{
			row:  6,
			name: "a table is warmed and bounded by parameters, and by default neither",
			check: func(tmpl template) (found []finding) {
				for _, r := range tmpl.resources("AWS::DynamoDB::Table") {
					for place, parameter := range map[string]string{
						"WarmThroughput": "WarmWriteUnitsPerSecond", "OnDemandThroughput": "MaxWriteRequestUnits",
					} {
						if !byParameter(tmpl, r.at("Properties", place), parameter) || tmpl.at("Parameters", parameter, "Default").text() != "0" {
							found = append(found, r.find("%s: %s is not %s's, or not left out by default", r.id, place, parameter))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{table + "WarmThroughput", ""},
				{table + "OnDemandThroughput", "{MaxWriteRequestUnits: 4000}"},
				{"Parameters/WarmWriteUnitsPerSecond/Default", "40000"},
			},
		},
		{
			row:  10,
			name: "every function has reserved concurrency by parameter, or says why not",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					parameter := strings.TrimSuffix(f.id, "Function") + "ReservedConcurrency"
					if !byParameter(tmpl, f.property("ReservedConcurrentExecutions"), parameter) && !tmpl.excused(f.resource, "CKV_AWS_115") {
						found = append(found, f.find("%s: nothing is reserved and no reason given (CKV_AWS_115)", f.id))
					}
					// A flood of GETs must not use up the capacity of purchases and
					// orders.
					if n, ok := tmpl.number(tmpl.at("Parameters", parameter, "Default")); slices.Contains([]string{"purchase", "finalize"}, f.folder()) && (!ok || n == 0) {
						found = append(found, f.find("%s has nothing reserved by default", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/PurchaseFunction/Properties/ReservedConcurrentExecutions", ""},
				{"Resources/FinalizeFunction/Properties/ReservedConcurrentExecutions", "4"},
				{"Parameters/PurchaseReservedConcurrency/Default", "0"},
				{"Parameters/FinalizeReservedConcurrency/Default", "0"},
				{"excuse SeedFunction CKV_AWS_115", ""},
			},
		},
		{
			row:   10,
			name:  "every function behind the API is warmed for the time of a sale, if it is told to, and let go again, or says why not",
			check: warmups,
			breaks: []edit{
				{"Resources/PurchaseWarmup", ""},
				{"excuse PageFunction row 10", ""},
				{"Resources/QueryWarmup/Condition", ""},
				{"Resources/PurchaseWarmup/Properties/ScheduledActions/1", ""},
				{"Resources/PurchaseWarmup/Properties/ScheduledActions/1/ScalableTargetAction/MaxCapacity", "10"},
				{"Resources/PurchaseWarmup/Properties/ResourceId", "!Sub function:${PurchaseFunction}:$LATEST"},
				{"Resources/PurchaseWarmup/Properties/MinCapacity", "1"},
				{"Parameters/PurchaseProvisionedConcurrency/Default", "10"},
				{"Rules/WarmingHasABeginningAndAnEnd", ""},
			},
		},
	})
}

func warmups(tmpl template) (found []finding) {
	for _, f := range tmpl.functions() {
		if len(f.events("HttpApi")) == 0 || tmpl.excused(f.resource, "row 10") {
			continue
		}
		name := strings.TrimSuffix(f.id, "Function")
		r, ok := tmpl.resource("AWS::ApplicationAutoScaling::ScalableTarget", name+"Warmup")
		if !ok || r.at("Condition").text() != "Has"+name+"Warmup" {
			found = append(found, f.find("%s cannot be warmed, or is always", f.id))
			continue
		}
		p, parameter := r.at("Properties"), name+"ProvisionedConcurrency"
		alias := f.property("AutoPublishAlias").text()
		if !slices.Contains(p.at("ResourceId").references(), f.id) || p.at("ResourceId", "1", "2").text() != alias {
			found = append(found, r.find("%s does not warm %s:%s", r.id, f.id, alias))
		}
		warm, cool := p.at("ScheduledActions", "0"), p.at("ScheduledActions", "1")
		if warm.at("Schedule").target() != "WarmFrom" || warm.at("ScalableTargetAction", "MinCapacity").target() != parameter || cool.at("Schedule").target() != "WarmUntil" {
			found = append(found, r.find("%s is not warm from WarmFrom to WarmUntil", r.id))
		}
		for _, n := range []node{p.at("MinCapacity"), p.at("MaxCapacity"), cool.at("ScalableTargetAction", "MinCapacity"), cool.at("ScalableTargetAction", "MaxCapacity"), tmpl.at("Parameters", parameter, "Default")} {
			if n.text() != "0" {
				found = append(found, r.find("%s costs money when there is no sale", r.id))
			}
		}
	}
	rule := tmpl.at("Rules", "WarmingHasABeginningAndAnEnd", "Assertions").references()
	if !slices.Contains(rule, "WarmFrom") || !slices.Contains(rule, "WarmUntil") {
		found = append(found, tmpl.at("Resources").find("warming may have no end"))
	}
	return found
}

const (
	// longestOutage, in seconds, is how long FinalizeFunction may fail without an order
	// message being lost: a night until it is noticed, and a day to fix it.
	longestOutage = 86400
	// soon, in seconds, is how quickly an alarm must go off: a sale lasts minutes.
	soon = 300
	// callTime, in seconds, is the limit of one call to the table, to the queue and to
	// the eligibility service each.
	callTime = 1
	// ageAlarm, in seconds, is the age of the oldest order message that is an alarm.
	ageAlarm = 120
)

var rateSchedule = regexp.MustCompile(`^rate\((\d+) (minute|hour|day)s?\)$`)

// period returns a schedule's interval in seconds; false if its expression is not a
// rate, or is a parameter.
func (t template) period(schedule resource) (int, bool) {
	m := rateSchedule.FindStringSubmatch(schedule.at("Properties", "ScheduleExpression").text())
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n * map[string]int{"minute": 60, "hour": 3600, "day": 86400}[m[2]], err == nil
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// TestNumbersOfTheTemplate compares numbers with those that they depend on.
func TestNumbersOfTheTemplate(t *testing.T) {
	const (
		seed      = "Resources/SeedFunction/Properties/"
		reconcile = "Resources/ReconcileFunction/Properties/"
		rate      = reconcile + "Events/Reconciling/Properties/ScheduleExpression"
	)
	alarms := parseTemplate(t, read(t, alarmsFile))
	checkTemplate(t, []templateRule{
		{
			row:  7,
			name: "a queue keeps a message for as long as its function may fail, and through all its receives",
			check: func(tmpl template) (found []finding) {
				for _, s := range tmpl.eventSources() {
					p := s.queue.at("Properties")
					kept, _ := tmpl.number(p.at("MessageRetentionPeriod"))
					hidden, _ := tmpl.number(p.at("VisibilityTimeout"))
					receives, _ := tmpl.number(p.at("RedrivePolicy", "maxReceiveCount"))
					if least := max(longestOutage, 2*receives*hidden); kept < least {
						found = append(found, s.queue.find("%s keeps a message for %d s, want at least %d s", s.queue.id, kept, least))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/OrderQueue/Properties/MessageRetentionPeriod", "60"},
				{"Parameters/OrderVisibilityTimeout/Default", "43200"},
			},
		},
		{
			row:  9,
			name: "what a schedule starts is retried, unless the schedule itself comes again at once",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					for _, e := range f.events("ScheduleV2") {
						if again, ok := tmpl.period(e); ok && again <= 60 {
							continue
						}
						for what, retry := range map[string]node{
							"schedule": e.at("Properties", "RetryPolicy", "MaximumRetryAttempts"),
							"function": f.property("EventInvokeConfig", "MaximumRetryAttempts"),
						} {
							if n, _ := tmpl.number(retry); n < 1 {
								found = append(found, e.find("%s: the %s gives up after one failure", f.id, what))
							}
						}
					}
				}
				return found
			},
			breaks: []edit{
				{seed + "Events/Seeding/Properties/RetryPolicy/MaximumRetryAttempts", "0"},
				{seed + "EventInvokeConfig/MaximumRetryAttempts", "0"},
				{rate, "rate(1 hour)"},
			},
		},
		{
			row:  9,
			name: "reconciling comes often enough for its alarms: two passes before a lost message counts as waiting too long",
			check: func(tmpl template) (found []finding) {
				waiting, _ := alarms.number(alarms.at("Resources", "OldestPendingAlarm", "Properties", "Threshold"))
				patience, _ := alarms.number(alarms.at("Resources", "ReconcileSilentAlarm", "Properties", "Period"))
				for _, f := range tmpl.functions() {
					if f.folder() != "reconcile" {
						continue
					}
					for _, e := range f.events("ScheduleV2") {
						every, ok := tmpl.period(e)
						switch {
						case !ok:
							found = append(found, e.find("%s: no rate", f.id))
						case every > patience:
							found = append(found, e.find("%s runs every %d s, its alarm expects it every %d s", f.id, every, patience))
						case seconds(ledger.ResendGrace)+2*every > waiting:
							found = append(found, e.find("%s: two passes end after %d s, the alarm goes off at %d s", f.id, 2*every, waiting))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{rate, "rate(1 hour)"},
				{rate, "rate(2 minutes)"},
				{rate, "cron(0 * * * ? *)"},
			},
		},
		{
			row:  2,
			name: "a function behind the API has time for one slow call to each service that it needs",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					if n, _ := tmpl.number(f.property("Timeout")); len(f.events("HttpApi")) > 0 && n < 3*callTime {
						found = append(found, f.find("%s: Timeout is %d s, want at least %d s", f.id, n, 3*callTime))
					}
				}
				return found
			},
			breaks: []edit{{"Resources/PurchaseFunction/Properties/Timeout", "2"}},
		},
		{
			row:  18,
			name: "the time for the question whether a buyer is eligible is bounded as in the code",
			check: func(tmpl template) (found []finding) {
				p := tmpl.at("Parameters", "EligibilityTimeoutMs")
				if n, ok := tmpl.number(p.at("MaxValue")); !ok || n != int(eligibility.MaxTimeout/time.Millisecond) || n > 1000*callTime {
					found = append(found, p.find("EligibilityTimeoutMs may be %d, the code takes up to %v", n, eligibility.MaxTimeout))
				}
				return found
			},
			breaks: []edit{{"Parameters/EligibilityTimeoutMs/MaxValue", "5000"}, {"Parameters/EligibilityTimeoutMs/MaxValue", ""}},
		},
		{
			row:  17,
			name: "a queue's age is an alarm after a second delivery and before claims count as waiting too long",
			check: func(tmpl template) (found []finding) {
				for _, s := range tmpl.eventSources() {
					hidden, _ := tmpl.number(s.queue.at("Properties", "VisibilityTimeout"))
					if ageAlarm < 2*hidden || ageAlarm > seconds(ledger.ResendBound) {
						found = append(found, s.queue.find("%s: an age of %d s is an alarm, want at least %d s", s.queue.id, ageAlarm, 2*hidden))
					}
				}
				return found
			},
			breaks: []edit{{"Parameters/OrderVisibilityTimeout/Default", "300"}},
		},
	})
	checkFile(t, alarmsFile, []templateRule{
		{
			row:  17,
			name: "the oldest pending order and the queue's age ring at their bounds",
			check: func(tmpl template) (found []finding) {
				if n, _ := tmpl.number(tmpl.at("Resources", "OldestPendingAlarm", "Properties", "Threshold")); n != seconds(ledger.ResendBound) {
					found = append(found, tmpl.at("Resources").find("an order may be unfinished for longer than %v unnoticed", ledger.ResendBound))
				}
				worst := tmpl.at("Resources", "OrdersWaitAlarm", "Properties", "Metrics", "3", "Expression")
				if !strings.Contains(worst.text(), fmt.Sprintf("FILL(age, 0) / %d,", ageAlarm)) {
					found = append(found, worst.find("the age is not measured against %d s", ageAlarm))
				}
				return found
			},
			breaks: []edit{
				{"Resources/OldestPendingAlarm/Properties/Threshold", "301"},
				{"Resources/OldestPendingAlarm", ""},
				{"Resources/OrdersWaitAlarm/Properties/Metrics/3/Expression", "MAX([FILL(age, 0) / 3600, FILL(depth, 0) / 10000])"},
			},
		},
		{
			row:  17,
			name: "every alarm looks every minute and knows within five, except one whose data are kept for a day",
			check: func(tmpl template) (found []finding) {
				for _, a := range tmpl.alarms() {
					p := a.at("Properties")
					periods := []node{p.at("Period")}
					for _, m := range p.at("Metrics").list() {
						if s := m.at("MetricStat"); s.Node != nil {
							periods = append(periods, s.at("Period"))
						}
					}
					looks, every, within := 0, 60, soon
					if a.id == "EventsStoppedAlarm" { // it knows by what does not come, and the stream keeps its records for 24 hours
						every, within = 900, 900
					}
					for _, period := range periods {
						n, ok := tmpl.number(period)
						if period.Node != nil && (!ok || n != every) {
							found = append(found, a.find("%s looks every %q s, want %d", a.id, period.text(), every))
						}
						looks = max(looks, n)
					}
					if n, ok := tmpl.number(p.at("EvaluationPeriods")); !ok || looks == 0 || n*looks > within {
						found = append(found, a.find("%s knows after %d times %d s, want at most %d s", a.id, n, looks, within))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/OldestPendingAlarm/Properties/Period", "3600"},
				{"Resources/OldestPendingAlarm/Properties/Period", ""},
				{"Resources/OldestPendingAlarm/Properties/EvaluationPeriods", "60"},
				{"Resources/PurchasesFailingAlarm/Properties/Metrics/0/MetricStat/Period", "900"},
				{"Resources/EventsStoppedAlarm/Properties/Metrics/0/MetricStat/Period", "60"},
				{"Resources/EventsStoppedAlarm/Properties/EvaluationPeriods", "4"},
			},
		},
	})
}

func TestSchedulesOfTheTemplate(t *testing.T) {
	const (
		seeding     = "Resources/SeedFunction/Properties/Events/Seeding/Properties/"
		reconciling = "Resources/ReconcileFunction/Properties/Events/Reconciling/Properties/"
	)
	alarms := parseTemplate(t, read(t, alarmsFile))
	checkTemplate(t, []templateRule{
		{
			row:  9,
			name: "a schedule that cannot invoke its function gives up in time, into a queue that is watched",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					for _, e := range f.events("ScheduleV2") {
						retry := e.at("Properties", "RetryPolicy")
						_, attempts := tmpl.number(retry.at("MaximumRetryAttempts"))
						_, age := tmpl.number(retry.at("MaximumEventAgeInSeconds"))
						dead, ok := tmpl.resource("AWS::SQS::Queue", e.at("Properties", "DeadLetterConfig", "Arn").target())
						if !attempts || !age || !ok {
							found = append(found, e.find("%s: a lost %s is lost", f.id, e.id))
							continue
						}
						if !alarms.watches(dead.id + " ApproximateNumberOfMessagesVisible") {
							found = append(found, dead.find("nobody looks into %s", dead.id))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{seeding + "DeadLetterConfig", ""},
				{seeding + "RetryPolicy", ""},
				{reconciling + "RetryPolicy/MaximumEventAgeInSeconds", ""},
				{reconciling + "DeadLetterConfig/Arn", "!GetAtt OrderQueue.DeadArn"},
			},
		},
		{
			row:  9,
			name: "a function that is invoked asynchronously bounds its retries and their age",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					if len(f.events("ScheduleV2")) == 0 {
						continue
					}
					config := f.property("EventInvokeConfig")
					if n, ok := tmpl.number(config.at("MaximumRetryAttempts")); !ok || n < 0 || n > 2 {
						found = append(found, f.find("%s: retries are not bounded", f.id))
					}
					if n, ok := tmpl.number(config.at("MaximumEventAgeInSeconds")); !ok || n < 60 || n > 3600 {
						found = append(found, f.find("%s: an event may come hours late", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/SeedFunction/Properties/EventInvokeConfig/MaximumRetryAttempts", ""},
				{"Resources/ReconcileFunction/Properties/EventInvokeConfig/MaximumEventAgeInSeconds", "21600"},
			},
		},
		{
			row:  9,
			name: "every function has a place for its failed events, or says why not",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					if _, ok := tmpl.resource("AWS::SQS::Queue", f.failures().target()); !ok && !tmpl.excused(f.resource, "CKV_AWS_116") {
						found = append(found, f.find("%s: failed events go nowhere, and no reason is given (CKV_AWS_116)", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/SeedFunction/Properties/EventInvokeConfig/DestinationConfig", ""},
				{"excuse ReconcileFunction CKV_AWS_116", ""},
				{"excuse FinalizeFunction CKV_AWS_116", ""},
			},
		},
	})
}
