package checks

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// counted is the scene with the metrics that the filters count in its requests.
func (s scene) counted(filters []logFilter) scene {
	all := maps.Clone(s)
	for _, f := range filters {
		for line, requests := range s {
			if !strings.HasPrefix(line, "{") || !f.matches(line) {
				continue
			}
			if all[f.metric] == nil {
				all[f.metric] = points{}
			}
			for m, n := range requests {
				all[f.metric][m] += n
			}
		}
	}
	return all
}

// lateness is by how many minutes CloudWatch's data are behind: AWS's own metrics, and
// those in log lines.
type lateness struct{ aws, ours int }

var latenesses = []lateness{{0, 0}, {1, 0}, {0, 1}, {1, 1}}

// seen returns what an alarm can read of a scene after a minute.
func (s scene) seen(minute int, late lateness) func(watched) points {
	return func(w watched) points {
		last := minute - late.ours
		if strings.HasPrefix(w.namespace, "AWS/") {
			last = minute - late.aws
		}
		there := points{}
		for m, n := range s[w.subject()] {
			if m <= last {
				there[m] = n
			}
		}
		return there
	}
}

// ringsIn returns the first minute after which the alarm is on, or -1.
func (a alarmRule) ringsIn(s scene, late lateness) int {
	for m := 10; m <= length; m++ {
		if a.rings(s.seen(m, late), m) {
			return m
		}
	}
	return -1
}

// alarmRules returns the alarms of all templates, and the filters of the access log.
func alarmRules(t *testing.T) (all map[string]alarmRule, filters []logFilter) {
	t.Helper()
	all = map[string]alarmRule{}
	for _, file := range []string{templateFile, alarmsFile, frontFile} {
		tmpl := parseTemplate(t, read(t, file))
		for _, r := range tmpl.alarms() {
			all[r.id] = tmpl.rule(t, r)
		}
		filters = append(filters, tmpl.logFilters()...)
	}
	return all, filters
}

func TestNoAlarmRingsWhenAllGoesAsPlanned(t *testing.T) {
	rules, filters := alarmRules(t)
	for name, s := range silences {
		s = s.counted(filters)
		for id, a := range rules {
			for _, late := range latenesses {
				if m := a.ringsIn(s, late); m >= 0 {
					t.Errorf("row 17: %s rings in minute %d of %s (%+v)", id, m, name, late)
				}
			}
		}
	}
	for _, s := range silentFor {
		for _, late := range latenesses {
			if m := rules[s.alarm].ringsIn(s.metrics.counted(filters), late); m >= 0 {
				t.Errorf("row 17: %s rings in minute %d of %s (%+v)", s.alarm, m, s.why, late)
			}
		}
	}
}

func TestEveryAlarmRingsForItsFault(t *testing.T) {
	rules, filters := alarmRules(t)
	unproven := slices.Sorted(maps.Keys(rules))
	for _, f := range faults {
		a, ok := rules[f.alarm]
		if !ok {
			t.Errorf("there is no %s", f.alarm)
			continue
		}
		unproven = slices.DeleteFunc(unproven, func(id string) bool { return id == f.alarm })
		metrics := f.metrics.counted(filters)
		for _, late := range latenesses {
			if m := a.ringsIn(metrics, late); !f.intime(m, late) {
				t.Errorf("row 17: when %s, %s rings in minute %d, want one from %d to %d (%+v)", f.fault, f.alarm, m, begins, f.by(late), late)
			}
		}
	}
	if len(unproven) > 0 {
		t.Errorf("row 17: no fault rings %q", unproven)
	}
}

// A wrong threshold or period, or a filter that counts other requests, must be detected:
// each of these edits makes an alarm ring in a silent scene or keeps it from ringing.
func TestASpoiltAlarmIsNoticed(t *testing.T) {
	text := read(t, alarmsFile)
	for _, e := range []edit{
		{"Resources/PurchasesFailingAlarm/Properties/DatapointsToAlarm", "2"},
		{"Resources/ApiFailingAlarm/Properties/Metrics/3/Expression", "'100 * FILL(failed, 0) / answers'"},
		{"Resources/NothingSoldAlarm/Properties/Metrics/8/Expression", "'FILL(asked, 0)'"},
		{"Resources/NothingSoldAlarm/Properties/Metrics/9/Expression", "'IF(available > 0 AND accepted == 0, turnedAway, 0)'"},
		{"Resources/FinalizeFailingAlarm/Properties/Metrics/5/Expression", "'IF(confirmed == 0, FILL(errors, 0), 0)'"},
		{"Resources/SaleNotSeededAlarm/Properties/DatapointsToAlarm", "3"},
		{"Resources/SaleNotSeededAlarm/Properties/Threshold", "5"},
		{"Resources/SaleNotSeededAlarm/Properties/Metrics/3/Expression", "'IF(FILL(unknown, 0) >= 20, 100 * unknown / invocations, 0)'"},
		{"Resources/SaleNotSeededAlarm/Properties/Metrics/3/Expression", "'100 * FILL(unseeded, 0)'"},
		{"Resources/TableThrottledAlarm/Properties/DatapointsToAlarm", "2"},
		{"Resources/TableSpendingAlarm/Properties/EvaluationPeriods", "1"},
		{"Resources/RetryStormAlarm/Properties/DatapointsToAlarm", "5"},
		{"Resources/ReconcileSilentAlarm/Properties/TreatMissingData", "notBreaching"},
		{"Resources/RefusalsAlarm/Properties/Threshold", "10"},
		{"Resources/RefusedFilter/Properties/FilterPattern", `'{ ($.status = "401") || ($.status = "403") || ($.status = "429") }'`},
		{"Resources/RefusedFilter/Properties/FilterPattern", `'{ $.status = "429" }'`},
		{"Resources/WebhooksFailedFilter/Properties/FilterPattern", `'{ $.status = "429" }'`},
		{"Resources/WebhooksRefusedFilter/Properties/FilterPattern", `'{ ($.routeKey = "POST /payments/{provider}") && ($.status = "400") }'`},
		{"Resources/WebhooksFailingAlarm/Properties/DatapointsToAlarm", "1"},
		{"Resources/WebhooksFailingAlarm/Properties/Metrics/7/Expression", "'FILL(paid, 0)'"},
		{"Resources/WebhooksFailingAlarm/Properties/Metrics/8/Expression", "'IF(unpaid > 0, FILL(failed, 0) + IF(recorded == 0, FILL(wrong, 0) + FILL(invalid, 0), 0), 0)'"},
		{"Resources/WebhooksFailingAlarm/Properties/Metrics/8/Expression", "'FILL(failed, 0) + IF(recorded == 0, FILL(wrong, 0) + FILL(invalid, 0), 0)'"},
		{"Resources/WebhooksFailingAlarm/Properties/Metrics/8/Expression", "'IF(FILL(unpaid, REPEAT) > 0, FILL(failed, 0), 0)'"},
		{"Resources/WebhooksFailingAlarm/Properties/Metrics/8/Expression", "'IF(FILL(unpaid, REPEAT) > 0, FILL(failed, 0) + IF(recorded == 0, FILL(wrong, 0), 0), 0)'"},
		{"Resources/WebhooksFailingAlarm/Properties/Metrics/8/Expression", "'IF(FILL(unpaid, REPEAT) > 0, FILL(failed, 0) + IF(recorded == 0, FILL(invalid, 0), 0), 0)'"},
		{"Resources/WebhooksFailingAlarm/Properties/Metrics/8/Expression", "'IF(FILL(unpaid, REPEAT) > 0, FILL(failed, 0) + FILL(wrong, 0) + FILL(invalid, 0), 0)'"},
		{"Resources/WebhooksFailingAlarm/Properties/Metrics/6/MetricStat/Metric/Dimensions/2/Value", "unverified"},
		{"Resources/PaymentsIgnoredAlarm/Properties/Metrics/6/Expression", "'FILL(charges, 0) + FILL(refunded, 0) + FILL(disputed, 0) + FILL(free, 0) + FILL(unknown, 0)'"},
		{"Resources/PaymentsIgnoredAlarm/Properties/Metrics/6/Expression", "'IF(FILL(unpaid, REPEAT) > 0, FILL(charges, 0) + FILL(disputed, 0) + FILL(free, 0) + FILL(unknown, 0), 0)'"},
		{"Resources/PaymentsIgnoredAlarm/Properties/Metrics/6/Expression", "'IF(unpaid > 0, FILL(charges, 0) + FILL(refunded, 0) + FILL(disputed, 0) + FILL(free, 0) + FILL(unknown, 0), 0)'"},
		{"Resources/PublishThrottledAlarm/Properties/DatapointsToAlarm", "1"},
		{"Resources/EventsStoppedAlarm/Properties/Metrics/0/MetricStat/Stat", "Sum"},
		{"Resources/EventsStoppedAlarm/Properties/Metrics/1/MetricStat/Stat", "Sum"},
		{"Resources/EventsStoppedAlarm/Properties/Metrics/1/MetricStat/Period", "300"},
		{"Resources/EventsStoppedAlarm/Properties/Metrics/1/MetricStat/Period", "1800"},
		{"Resources/EventsStoppedAlarm/Properties/Metrics/2/Expression", "'IF(receipts >= 3 AND batches == 0, receipts, 0)'"},
		{"Resources/EventsStoppedAlarm/Properties/Metrics/2/Expression", "'IF(FILL(batches, 0) == 0, receipts, 0)'"},
		{"Resources/EventsStoppedAlarm/Properties/Metrics/2/Expression", "'IF(receipts >= 6 AND FILL(batches, 0) == 0, receipts, 0)'"},
		{"Resources/EventsLateAlarm/Properties/Threshold", "60000"},
		{"Resources/EventsLateAlarm/Properties/DatapointsToAlarm", "4"},
		{"Resources/EventsExpireAlarm/Properties/DatapointsToAlarm", "4"},
		{"Resources/EventsExpireAlarm/Properties/Threshold", "86400000"},
	} {
		tmpl := parseTemplate(t, text)
		e.apply(t, tmpl)
		id, filters := strings.Split(e.place, "/")[1], tmpl.logFilters()
		noticed := false
		for _, r := range tmpl.alarms() {
			if r.id == id || strings.HasSuffix(id, "Filter") {
				noticed = noticed || spoilt(tmpl.rule(t, r), filters)
			}
		}
		if !noticed {
			t.Errorf("nobody notices %s: %s", e.place, e.yaml)
		}
	}
}

// spoilt reports whether an alarm rings where it must not, or does not where it must.
func spoilt(a alarmRule, filters []logFilter) bool {
	rings := func(s scene, where func(m int, late lateness) bool) bool {
		s = s.counted(filters)
		return slices.ContainsFunc(latenesses, func(late lateness) bool { return where(a.ringsIn(s, late), late) })
	}
	ever := func(m int, _ lateness) bool { return m >= 0 }
	for _, s := range silences {
		if rings(s, ever) {
			return true
		}
	}
	for _, s := range silentFor {
		if s.alarm == a.id && rings(s.metrics, ever) {
			return true
		}
	}
	for _, f := range faults {
		if f.alarm == a.id && rings(f.metrics, func(m int, late lateness) bool { return !f.intime(m, late) }) {
			return true
		}
	}
	return false
}
