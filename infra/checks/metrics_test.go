package checks

import (
	"fmt"
	"go/constant"
	"go/types"
	"strings"
	"testing"
	"time"

	"flashsale/shared/ledger"
)

// ours is where the functions file their metrics, the constant
// telemetry.Namespace.
const ours = "flashsale"

// business are the metrics of the functions that must have an alarm: service,
// name and, where the metric has one, the value of its second dimension.
var business = []string{
	"reconcile oversold", "reconcile unbalanced", "reconcile oldestPendingSeconds", "reconcile resent",
	"finalize acceptToConfirmMs", "finalize failed", "finalize confirmed", "purchase unsent", "purchase unchecked",
	"purchase purchases busy", "purchase purchases sold-out", "purchase purchases internal",
}

// emissions are the metrics of every function, by service and name.
func emissions(t testing.TB) map[string]emission {
	t.Helper()
	all := map[string]emission{}
	for folder, isMain := range functionFolders(t) {
		if !isMain {
			continue
		}
		needs := needsOf(t, folder)
		for name, e := range needs.metrics {
			all[needs.service+" "+name] = e
		}
	}
	return all
}

// unknown says what of a metric that is read no function files; "" if all is
// well.
func unknown(known map[string]emission, metric string, dimensions map[string]string) string {
	e, ok := known[dimensions["service"]+" "+metric]
	switch want := 1 + min(len(e.dimension), 1); {
	case !ok:
		return fmt.Sprintf("service %q files no %s", dimensions["service"], metric)
	case len(dimensions) != want:
		return fmt.Sprintf("%s has %d dimensions, want %d: CloudWatch knows it by all of them only", metric, len(dimensions), want)
	case e.dimension != "" && !e.values[dimensions[e.dimension]]:
		return fmt.Sprintf("%s is never filed under %s=%q", metric, e.dimension, dimensions[e.dimension])
	}
	return ""
}

func plain(dimensions map[string]node) map[string]string {
	all := map[string]string{}
	for name, value := range dimensions {
		all[name] = value.text()
	}
	return all
}

func TestMetricsOfTheTemplateAreThoseOfTheCode(t *testing.T) {
	known := emissions(t)
	namespace, ok := deployed(t).packages[telemetryPackage].Scope().Lookup("Namespace").(*types.Const)
	if !ok || constant.StringVal(namespace.Val()) != ours {
		t.Fatalf("the code files its metrics under %v, want %q", namespace, ours)
	}
	checkTemplate(t, []templateRule{
		{
			row:  17,
			name: "an alarm reads a metric as a function files it: namespace, name and all dimensions",
			check: func(tmpl template) (found []finding) {
				for _, a := range tmpl.alarms() {
					for _, w := range a.watches() {
						if strings.HasPrefix(w.namespace, "AWS/") {
							continue
						}
						if why := unknown(known, w.metric, plain(w.dimensions)); w.namespace != ours || why != "" {
							found = append(found, w.find("%s: %s %s", a.id, w.namespace, why))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/OversoldAlarm/Properties/MetricName", "oversell"},
				{"Resources/OversoldAlarm/Properties/Namespace", "Flashsale"},
				{"Resources/OversoldAlarm/Properties/Dimensions/0/Value", "purchase"},
				{"Resources/OversoldAlarm/Properties/Dimensions", "[]"},
				{"Resources/SoldOutAlarm/Properties/Dimensions/1/Value", "soldout"},
				{"Resources/SoldOutAlarm/Properties/Dimensions/1/Name", "outcome"},
				{"Resources/SoldOutAlarm/Properties/Dimensions", "[{Name: service, Value: purchase}]"},
			},
		},
		{
			row:  17,
			name: "the business has its alarms",
			check: func(tmpl template) (found []finding) {
				has := map[string]bool{}
				for _, a := range tmpl.alarms() {
					for _, w := range a.watches() {
						if w.namespace == ours {
							d := plain(w.dimensions)
							has[strings.TrimSpace(d["service"]+" "+w.metric+" "+d["result"])] = true
						}
					}
				}
				for _, want := range business {
					if !has[want] {
						found = append(found, tmpl.at("Resources").find("no alarm reads %s", want))
					}
				}
				for _, strict := range []string{"oversold", "unbalanced"} {
					if _, n, ok := tmpl.alarmOn(ours, strict, "Maximum", "service", "reconcile"); !ok || n != 1 {
						found = append(found, tmpl.at("Resources").find("%s goes unnoticed", strict))
					}
				}
				bound := int(ledger.ResendBound / time.Second)
				a, n, _ := tmpl.alarmOn(ours, "oldestPendingSeconds", "Maximum", "service", "reconcile")
				if periods, _ := tmpl.number(a.at("Properties", "EvaluationPeriods")); n != bound || periods != 1 {
					found = append(found, tmpl.at("Resources").find("an order may be unfinished for longer than %d s unnoticed", bound))
				}
				return found
			},
			breaks: []edit{
				{"Resources/OversoldAlarm", ""},
				{"Resources/OversoldAlarm/Properties/Threshold", "2"},
				{"Resources/OldestPendingAlarm/Properties/Threshold", "301"},
				{"Resources/OldestPendingAlarm/Properties/EvaluationPeriods", "2"},
				{"Resources/AcceptToConfirmAlarm", ""},
				{"Resources/FailedItemsAlarm", ""},
				{"Resources/BusyAlarm/Properties/Metrics/0", ""},
			},
		},
		{
			row:  17,
			name: "the dashboard shows every function, queue, table and API, and every metric of the business that has an alarm",
			check: func(tmpl template) (found []finding) {
				body, shown, err := dashboard(tmpl)
				if err != nil {
					return append(found, body.find("the dashboard is not one: %v", err))
				}
				seen := map[string]bool{}
				for _, m := range shown {
					if m.namespace == ours {
						if why := unknown(known, m.metric, m.dimensions); why != "" {
							found = append(found, body.find("the dashboard shows nothing: %s", why))
						}
						seen[strings.TrimSpace(m.dimensions["service"]+" "+m.metric+" "+m.dimensions["result"])] = true
					}
					for _, value := range m.dimensions {
						seen[value] = true
					}
				}
				for _, want := range business {
					if !seen[want] {
						found = append(found, body.find("the dashboard does not show %s", want))
					}
				}
				for _, kind := range []string{"AWS::Serverless::Function", "AWS::SQS::Queue", "AWS::DynamoDB::Table", "AWS::Serverless::HttpApi"} {
					for _, r := range tmpl.resources(kind) {
						if !seen["${"+r.id+"}"] && !seen["${"+r.id+".QueueName}"] {
							found = append(found, body.find("the dashboard does not show %s", r.id))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/Dashboard", ""},
				{"Resources/Dashboard/Properties/DashboardBody", "!Sub '{\"widgets\":[]}'"},
				{"Resources/Dashboard/Properties/DashboardBody", "!Sub '{\"widgets\":['"},
				{"Resources/BasketQueue", "{Type: 'AWS::SQS::Queue'}"},
			},
		},
	})
}

func TestAMetricThatNobodyFilesIsNoticed(t *testing.T) {
	known := map[string]emission{"purchase sent": {}, "purchase answers": {"result", map[string]bool{"busy": true}}}
	for _, tt := range []struct {
		metric     string
		dimensions map[string]string
		ok         bool
	}{
		{"sent", map[string]string{"service": "purchase"}, true},
		{"sent", map[string]string{"service": "query"}, false},
		{"sent", map[string]string{"service": "purchase", "result": "busy"}, false},
		{"sent", nil, false},
		{"answers", map[string]string{"service": "purchase", "result": "busy"}, true},
		{"answers", map[string]string{"service": "purchase", "result": "lazy"}, false},
		{"answers", map[string]string{"service": "purchase", "outcome": "busy"}, false},
		{"answers", map[string]string{"service": "purchase"}, false},
	} {
		if why := unknown(known, tt.metric, tt.dimensions); (why == "") != tt.ok {
			t.Errorf("%s %v: %q", tt.metric, tt.dimensions, why)
		}
	}
}
