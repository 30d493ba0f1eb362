package checks

import (
	"fmt"
	"go/constant"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ours is the namespace of the functions' metrics, the constant telemetry.Namespace.
const ours = "flashsale"

// emissions returns the metrics of every function, by service and name.
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

// filtered returns the metrics that the alarms' template derives from the access log.
func filtered(alarms template) map[string]bool {
	all := map[string]bool{}
	for _, f := range alarms.resources("AWS::Logs::MetricFilter") {
		all[f.at("Properties", "MetricTransformations", "0", "MetricName").text()] = true
	}
	return all
}

// unknown describes what of a metric is emitted by no function and no filter; "" if all
// of it is. The stack is a dimension of each, so that two stacks in one account do not
// trigger each other's alarms.
func unknown(known map[string]emission, filtered map[string]bool, metric string, dimensions map[string]string) string {
	e, ok := known[dimensions["service"]+" "+metric]
	want := 2 + min(len(e.dimension), 1)
	if dimensions["service"] == "" && filtered[metric] {
		ok, want = true, 1
	}
	switch _, ofStack := dimensions["stack"]; {
	case !ok:
		return fmt.Sprintf("service %q files no %s", dimensions["service"], metric)
	case !ofStack:
		return metric + " is that of every stack of the account"
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

func TestMetricsOfTheTemplatesAreThoseOfTheCode(t *testing.T) {
	known := emissions(t)
	namespace, ok := deployed(t).packages[telemetryPackage].Scope().Lookup("Namespace").(*types.Const)
	if !ok || constant.StringVal(namespace.Val()) != ours {
		t.Fatalf("the code files its metrics under %v, want %q", namespace, ours)
	}
	for _, file := range []string{templateFile, alarmsFile} {
		checkFile(t, file, []templateRule{{
			row:  17,
			name: "an alarm reads a metric as a function files it: namespace, name and all dimensions",
			check: func(tmpl template) (found []finding) {
				for _, a := range tmpl.alarms() {
					for _, w := range a.watches() {
						if strings.HasPrefix(w.namespace, "AWS/") {
							continue
						}
						if stack := w.dimensions["stack"].target(); stack != "Stack" && stack != "AWS::StackName" {
							found = append(found, w.find("%s: %s is not this stack's", a.id, w.metric))
						}
						if why := unknown(known, filtered(tmpl), w.metric, plain(w.dimensions)); w.namespace != ours || why != "" {
							found = append(found, w.find("%s: %s %s", a.id, w.namespace, why))
						}
					}
				}
				return found
			},
			breaks: map[string][]edit{
				templateFile: {{"Resources/FunctionErrorsAlarm/Properties/Metrics/6/MetricStat/Metric/Dimensions/0/Value", "flashsale-dev"}},
				alarmsFile: {
					{"Resources/OldestPendingAlarm/Properties/MetricName", "oldest"},
					{"Resources/OldestPendingAlarm/Properties/Namespace", "Flashsale"},
					{"Resources/OldestPendingAlarm/Properties/Dimensions/0", ""},
					{"Resources/OldestPendingAlarm/Properties/Dimensions/1/Value", "purchase"},
					{"Resources/OldestPendingAlarm/Properties/Dimensions", "[]"},
					{"Resources/OldestPendingAlarm/Properties/Dimensions", "[{Name: stack, Value: !Ref Stack}, {Name: service, Value: reconcile}, {Name: result, Value: busy}]"},
					{"Resources/PurchasesFailingAlarm/Properties/Metrics/0/MetricStat/Metric/Dimensions/2", ""},
					{"Resources/PurchasesFailingAlarm/Properties/Metrics/0/MetricStat/Metric/Dimensions/2/Value", "lazy"},
					{"Resources/PurchasesFailingAlarm/Properties/Metrics/0/MetricStat/Metric/Dimensions/2/Name", "outcome"},
					{"Resources/RefusedFilter", ""},
				},
			}[file],
		}})
	}
	checkFile(t, alarmsFile, []templateRule{
		{
			row:  17,
			name: "the access log's metrics are counted of lines that have what the filter looks for",
			check: func(tmpl template) (found []finding) {
				format := parseTemplate(t, read(t, templateFile)).at("Resources", "Api", "Properties", "AccessLogSettings", "Format").Value
				for _, f := range tmpl.resources("AWS::Logs::MetricFilter") {
					p := f.at("Properties")
					transformation := p.at("MetricTransformations", "0")
					fields := fieldOfLog.FindAllStringSubmatch(p.at("FilterPattern").text()+transformation.at("Dimensions", "0", "Value").text(), -1)
					for _, field := range fields {
						if !strings.Contains(format, `"`+field[1]+`":`) {
							found = append(found, f.find("%s: no line has %s", f.id, field[1]))
						}
					}
					if len(fields) < 2 || transformation.at("Dimensions", "0", "Key").text() != "stack" || transformation.at("MetricNamespace").text() != ours {
						found = append(found, f.find("%s: is filed where nobody looks", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/AskedFilter/Properties/FilterPattern", "'{ $.route = \"POST /\" }'"},
				{"Resources/AskedFilter/Properties/MetricTransformations/0/Dimensions", "[]"},
				{"Resources/RefusedFilter/Properties/MetricTransformations/0/MetricNamespace", "other"},
			},
		},
		{
			row:  17,
			name: "the dashboard shows every function, queue, table and API, and only metrics that somebody files",
			check: func(tmpl template) (found []finding) {
				body, shown, err := dashboard(tmpl)
				if err != nil {
					return append(found, body.find("the dashboard is not one: %v", err))
				}
				seen := map[string]bool{}
				for _, m := range shown {
					if m.namespace == ours {
						if why := unknown(known, filtered(tmpl), m.metric, m.dimensions); why != "" {
							found = append(found, body.find("the dashboard shows nothing: %s", why))
						}
						seen[strings.TrimSpace(m.dimensions["service"]+" "+m.metric+" "+m.dimensions["result"])] = true
					}
					for _, value := range m.dimensions {
						seen[value] = true
					}
				}
				for _, a := range tmpl.alarms() {
					if slices.Contains(a.at("Properties", "AlarmActions").references(), "PageTopic") && !strings.Contains(body.Value, "${"+a.id+".Arn}") {
						found = append(found, body.find("the dashboard does not show %s", a.id))
					}
				}
				for _, want := range []string{"reconcile available", "purchase purchases busy", "finalize confirmed", "refused", "purchase purchases not-eligible", "purchase purchases forbidden"} {
					if !seen[want] {
						found = append(found, body.find("the dashboard does not show %s", want))
					}
				}
				for p := range tmpl.at("Parameters").pairs() {
					if !strings.HasSuffix(p.Value, "Topic") && p.Value != "ApiLogGroup" && p.Value != "WriteUnits" && !seen["${"+p.Value+"}"] {
						found = append(found, body.find("the dashboard does not show %s", p.Value))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/Dashboard", ""},
				{"Resources/Dashboard/Properties/DashboardBody", "!Sub '{\"widgets\":[]}'"},
				{"Resources/Dashboard/Properties/DashboardBody", "!Sub '{\"widgets\":['"},
				{"Parameters/BasketQueue", "{Type: String}"},
				{"Resources/SpareAlarm", "{Type: 'AWS::CloudWatch::Alarm', Properties: {AlarmActions: [!Ref PageTopic]}}"},
			},
		},
	})
}

// fieldOfLog matches a field of a log line in a filter pattern.
var fieldOfLog = regexp.MustCompile(`\$\.(\w+)`)
