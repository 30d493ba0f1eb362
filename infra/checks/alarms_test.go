package checks

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// watched is one metric that an alarm reads.
type watched struct {
	namespace, metric, stat string
	dimensions              map[string]node
	node
}

// about is the resource that a dimension names by reference, "" for none.
func (w watched) about(dimension string) string {
	if ids := w.dimensions[dimension].references(); len(ids) == 1 {
		return ids[0]
	}
	return ""
}

func dimensions(n node) map[string]node {
	all := map[string]node{}
	for _, d := range n.list() {
		all[d.at("Name").text()] = d.at("Value")
	}
	return all
}

// watches are the metrics of an alarm, its own and those of its expressions.
func (r resource) watches() (all []watched) {
	p := r.at("Properties")
	if p.at("MetricName").Node != nil {
		stat := p.at("Statistic").text() + p.at("ExtendedStatistic").text()
		all = append(all, watched{p.at("Namespace").text(), p.at("MetricName").text(), stat, dimensions(p.at("Dimensions")), p})
	}
	for _, m := range p.at("Metrics").list() {
		s := m.at("MetricStat")
		if s.Node != nil {
			of := s.at("Metric")
			all = append(all, watched{of.at("Namespace").text(), of.at("MetricName").text(), s.at("Stat").text(), dimensions(of.at("Dimensions")), m})
		}
	}
	return all
}

func (t template) alarms() []resource { return t.resources("AWS::CloudWatch::Alarm") }

// alarmOn is the alarm on that metric, statistic and subject, with its threshold.
func (t template) alarmOn(namespace, metric, stat, dimension, subject string) (a resource, threshold int, ok bool) {
	for _, a := range t.alarms() {
		for _, w := range a.watches() {
			if w.namespace == namespace && w.metric == metric && w.stat == stat &&
				(w.about(dimension) == subject || w.dimensions[dimension].text() == subject) {
				n, known := t.number(a.at("Properties", "Threshold"))
				return a, n, known
			}
		}
	}
	return resource{}, 0, false
}

func TestAlarmsOfTheTemplate(t *testing.T) {
	checkTemplate(t, []templateRule{
		{
			row:  17,
			name: "every function has alarms on errors, throttles, and a slowest hundredth near its timeout",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					for _, metric := range []string{"Errors", "Throttles"} {
						if _, n, ok := tmpl.alarmOn("AWS/Lambda", metric, "Sum", "FunctionName", f.id); !ok || n != 1 {
							found = append(found, f.find("%s has no alarm on %s", f.id, metric))
						}
					}
					timeout, _ := tmpl.number(f.property("Timeout"))
					if _, n, ok := tmpl.alarmOn("AWS/Lambda", "Duration", "p99", "FunctionName", f.id); !ok || n < 500*timeout || n > 900*timeout {
						found = append(found, f.find("%s has no alarm on a duration from half to nine tenths of its timeout", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/SeedErrorsAlarm", ""},
				{"Resources/QueryThrottlesAlarm/Properties/Dimensions/0/Value", "!Ref SeedFunction"},
				{"Resources/PurchaseDurationAlarm/Properties/Threshold", "6000"},
				{"Resources/FinalizeFunction/Properties/Timeout", "60"},
			},
		},
		{
			row:  17,
			name: "the API has alarms on server errors and on latency",
			check: func(tmpl template) (found []finding) {
				for _, a := range tmpl.resources("AWS::Serverless::HttpApi") {
					for metric, stat := range map[string]string{"5xx": "Sum", "Latency": "p99"} {
						if _, _, ok := tmpl.alarmOn("AWS/ApiGateway", metric, stat, "ApiId", a.id); !ok {
							found = append(found, a.find("%s has no alarm on %s", a.id, metric))
						}
					}
				}
				return found
			},
			breaks: []edit{{"Resources/ApiServerErrorsAlarm", ""}, {"Resources/ApiLatencyAlarm", ""}},
		},
		{
			row:  17,
			name: "every queue that is read has alarms on age and depth, every other one on its first message",
			check: func(tmpl template) (found []finding) {
				for _, q := range tmpl.resources("AWS::SQS::Queue") {
					_, depth, ok := tmpl.alarmOn("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", "QueueName", q.id)
					_, age, aged := tmpl.alarmOn("AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", "QueueName", q.id)
					isRead := slices.ContainsFunc(tmpl.eventSources(), func(s eventSource) bool { return s.queue.id == q.id })
					if !ok || isRead && (!aged || age < 1) || !isRead && depth != 1 {
						found = append(found, q.find("%s is not watched", q.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/OrderQueueAgeAlarm", ""},
				{"Resources/OrderQueueDepthAlarm", ""},
				{"Resources/OrderDeadLetterQueueDepthAlarm/Properties/Threshold", "2"},
				{"Resources/ScheduleDeadLetterQueueDepthAlarm", ""},
			},
		},
		{
			row:   17,
			name:  "the table has alarms on throttles by reason, system errors, conflicts and what is consumed",
			check: tableAlarms,
			breaks: []edit{
				{"Resources/LedgerHotKeysAlarm", ""},
				{"Resources/LedgerConflictsAlarm", ""},
				{"Resources/LedgerHotKeysAlarm/Properties/Metrics/0/MetricStat/Metric/Dimensions/0/Value", "other"},
				{"Resources/LedgerRetryStormAlarm", ""},
				{"Resources/LedgerSystemErrorsAlarm", ""},
				{"Resources/LedgerAccountLimitAlarm/Properties/Metrics/1/Expression", "counted"},
				{"Resources/LedgerSystemErrorsAlarm/Properties/Metrics/0/MetricStat/Metric/Dimensions/1/Value", "Scan"},
			},
		},
		{
			row:  17,
			name: "a scheduled function that falls silent is an alarm",
			check: func(tmpl template) (found []finding) {
				a, _, ok := tmpl.alarmOn("AWS/Lambda", "Invocations", "Sum", "FunctionName", "ReconcileFunction")
				if !ok || a.at("Properties", "TreatMissingData").text() != "breaching" || a.at("Properties", "ComparisonOperator").text() != "LessThanThreshold" {
					found = append(found, tmpl.at("Resources", "ReconcileFunction").find("nobody notices when reconciling stops"))
				}
				return found
			},
			breaks: []edit{{"Resources/ReconcileSilentAlarm/Properties/TreatMissingData", "notBreaching"}},
		},
		{
			row:  17,
			name: "every alarm says what it means, whom it tells and what missing data are",
			check: func(tmpl template) (found []finding) {
				for _, a := range tmpl.alarms() {
					p := a.at("Properties")
					told := p.at("AlarmActions").references()
					if len(p.at("AlarmDescription").text()) < leastReason || !slices.Contains(told, "AlarmTopic") || !slices.Contains(told, "AlarmTopicArn") {
						found = append(found, a.find("%s does not say what it means, or tells nobody", a.id))
					}
					if missing := p.at("TreatMissingData").text(); missing != "notBreaching" && missing != "breaching" {
						found = append(found, a.find("%s does not say what missing data are", a.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/OversoldAlarm/Properties/AlarmActions", ""},
				{"Resources/OversoldAlarm/Properties/AlarmDescription", "oh"},
				{"Resources/OversoldAlarm/Properties/TreatMissingData", ""},
			},
		},
		{
			row:   17,
			name:  "an expression reads the metrics beside it, all of them, and is the alarm's only result",
			check: expressions,
			breaks: []edit{
				{"Resources/BusyAlarm/Properties/Metrics/3/Expression", "busy + refused"},
				{"Resources/BusyAlarm/Properties/Metrics/3/Expression", "busy + accepted"},
				{"Resources/BusyAlarm/Properties/Metrics/0/ReturnData", "true"},
			},
		},
		{
			row:   17,
			name:  "one composite alarm says that the sale is down",
			check: composite,
			breaks: []edit{
				{"Resources/SaleDownAlarm", ""},
				{"Resources/SaleDownAlarm/Properties/AlarmRule", `!Sub 'ALARM("${OversoldAlarm}")'`},
				{"Resources/SaleDownAlarm/Properties/AlarmActions", ""},
				{"Resources/OrderQueueAgeAlarm", ""},
			},
		},
	})
}

func tableAlarms(tmpl template) (found []finding) {
	for _, r := range tmpl.resources("AWS::DynamoDB::Table") {
		for _, metric := range []string{
			"WriteKeyRangeThroughputThrottleEvents", "WriteMaxOnDemandThroughputThrottleEvents", "WriteAccountLimitThrottleEvents",
			"ReadThrottleEvents", "TransactionConflict", "ConsumedWriteCapacityUnits", "SystemErrors",
		} {
			if _, _, ok := tmpl.alarmOn("AWS/DynamoDB", metric, "Sum", "TableName", r.id); !ok {
				found = append(found, r.find("%s has no alarm on %s", r.id, metric))
			}
		}
		if storm, _, ok := tmpl.alarmOn("flashsale", "confirmed", "Sum", "service", "finalize"); !ok ||
			!slices.ContainsFunc(storm.watches(), func(w watched) bool { return w.metric == "ConsumedWriteCapacityUnits" && w.about("TableName") == r.id }) {
			found = append(found, r.find("nobody notices that %s is written and nothing is sold", r.id))
		}
	}
	// CloudWatch ignores missing data of this namespace whatever TreatMissingData
	// says: without FILL an alarm that went off once would stay.
	for _, a := range tmpl.alarms() {
		for _, w := range a.watches() {
			filled := slices.ContainsFunc(a.at("Properties", "Metrics").list(), func(m node) bool {
				return strings.Contains(m.at("Expression").text(), "FILL("+w.at("Id").text()+",") || strings.Contains(m.at("Expression").text(), "FILL(METRICS()")
			})
			if w.namespace == "AWS/DynamoDB" && !filled {
				found = append(found, a.find("%s does not fill what is missing of %s", a.id, w.metric))
			}
			if operation := w.dimensions["Operation"]; operation.Node != nil && !slices.Contains(tableOperations, operation.text()) {
				found = append(found, operation.find("%s: nobody calls %s", a.id, operation.text()))
			}
		}
	}
	return found
}

// tableOperations are the operations on the way of an order.
var tableOperations = []string{"TransactWriteItems", "GetItem", "BatchGetItem", "BatchExecuteStatement", "UpdateItem"}

var (
	mathName = regexp.MustCompile(`\b[a-z][A-Za-z0-9_]*\b`)
	ruleName = regexp.MustCompile(`ALARM\("\$\{([A-Za-z0-9]+)\}"\)`)
)

func expressions(tmpl template) (found []finding) {
	for _, a := range tmpl.alarms() {
		metrics := a.at("Properties", "Metrics").list()
		if len(metrics) == 0 {
			continue
		}
		ids, used, results := map[string]bool{}, map[string]bool{}, 0
		for _, m := range metrics {
			ids[m.at("Id").text()] = true
			if returns, err := strconv.ParseBool(m.at("ReturnData").text()); err != nil || returns {
				results++
				used[m.at("Id").text()] = true
			}
		}
		for _, m := range metrics {
			text := m.at("Expression").text()
			for _, name := range mathName.FindAllString(text, -1) {
				used[name] = true
				if !ids[name] {
					found = append(found, m.find("%s: the expression reads %s, which is not there", a.id, name))
				}
			}
			if strings.Contains(text, "METRICS()") {
				used = ids
			}
		}
		if results != 1 || len(used) != len(ids) {
			found = append(found, a.find("%s has %d results and reads %d of %d metrics", a.id, results, len(used), len(ids)))
		}
	}
	return found
}

func composite(tmpl template) (found []finding) {
	all := tmpl.resources("AWS::CloudWatch::CompositeAlarm")
	if len(all) != 1 {
		return append(found, tmpl.at("Resources").find("%d composite alarms, want one", len(all)))
	}
	p := all[0].at("Properties")
	named := map[string]bool{}
	for _, m := range ruleName.FindAllStringSubmatch(p.at("AlarmRule").Value, -1) {
		named[m[1]] = true
		if _, ok := tmpl.resource("AWS::CloudWatch::Alarm", m[1]); !ok {
			found = append(found, all[0].find("%s names %s, which is no alarm", all[0].id, m[1]))
		}
	}
	for _, id := range []string{"ApiServerErrorsAlarm", "PurchaseErrorsAlarm", "PurchaseThrottlesAlarm", "OversoldAlarm", "UnbalancedAlarm"} {
		if !named[id] {
			found = append(found, all[0].find("%s does not count %s", all[0].id, id))
		}
	}
	if !slices.Contains(p.at("AlarmActions").references(), "AlarmTopic") {
		found = append(found, all[0].find("%s tells nobody", all[0].id))
	}
	return found
}
