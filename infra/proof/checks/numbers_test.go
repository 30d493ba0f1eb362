package checks

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/shared/eligibility"
	"flashsale/shared/ledger"
)

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
