package checks

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// alarmsFile is the template of the alarms, nested in the project's. Its parameters are
// named after the resources that they refer to.
const alarmsFile = "infra/alarms.yaml"

// watched is one metric that an alarm reads.
type watched struct {
	namespace, metric, stat string
	dimensions              map[string]node
	node
}

// about returns the resource that a dimension references, "" for none.
func (w watched) about(dimension string) string {
	if ids := w.dimensions[dimension].references(); len(ids) == 1 {
		return ids[0]
	}
	return ""
}

// subject names the metric with its resource or service, such as "PurchaseFunction
// Errors" or "purchase purchases busy".
func (w watched) subject() string {
	words := []string{}
	for _, d := range []string{"FunctionName", "QueueName", "TableName", "ApiId", "DistributionId", "WebACL"} {
		if w.dimensions[d].Node != nil {
			words = append(words, w.about(d))
		}
	}
	words = append(words, w.dimensions["service"].text(), w.metric)
	for _, d := range []string{"result", "Operation"} {
		words = append(words, w.dimensions[d].text())
	}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
}

func dimensions(n node) map[string]node {
	all := map[string]node{}
	for _, d := range n.list() {
		all[d.at("Name").text()] = d.at("Value")
	}
	return all
}

// watches returns the metrics of an alarm, including those of its expressions.
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

// watches reports whether an alarm of the template reads the metric.
func (t template) watches(subject string) bool {
	return slices.ContainsFunc(t.alarms(), func(a resource) bool {
		return slices.ContainsFunc(a.watches(), func(w watched) bool { return w.subject() == subject })
	})
}

// watchedOnes are the metrics that some alarm must read, by row 17.
var watchedOnes = map[string][]string{
	templateFile: {
		"PurchaseFunction Errors", "FinalizeFunction Errors", "QueryFunction Errors", "ReconcileFunction Errors", "ReleaseFunction Errors", "PageFunction Errors", "page pages internal",
		"PayFunction Errors", "pay payments internal", "pay cancellations internal", "PublishFunction Errors", "publish batches internal",
		"DrawFunction Errors", "purchase entries internal",
		"purchase purchases internal", "query queries internal", "finalize batches internal", "seed seedings internal",
	},
	alarmsFile: {
		"PurchaseFunction Errors", "PurchaseFunction Throttles", "FinalizeFunction Throttles", "QueryFunction Throttles", "SeedFunction Throttles", "PageFunction Throttles", "PageFunction Duration",
		"PayFunction Throttles", "PayFunction Duration",
		"ReconcileFunction Throttles", "ReconcileFunction Invocations", "ReleaseFunction Throttles", "ReleaseFunction Invocations", "DrawFunction Throttles", "DrawFunction Invocations", "draw diceLateSeconds", "draw callLateSeconds", "PurchaseFunction Duration", "FinalizeFunction Duration", "QueryFunction Duration",
		"Api 5xx", "Api Latency", "OrderQueue ApproximateAgeOfOldestMessage", "OrderQueue ApproximateNumberOfMessagesVisible",
		"OrderDeadLetterQueue ApproximateNumberOfMessagesVisible", "ScheduleDeadLetterQueue ApproximateNumberOfMessagesVisible",
		"LedgerTable WriteKeyRangeThroughputThrottleEvents", "LedgerTable WriteMaxOnDemandThroughputThrottleEvents",
		"LedgerTable WriteAccountLimitThrottleEvents", "LedgerTable ReadThrottleEvents", "LedgerTable TransactionConflict",
		"LedgerTable ConsumedWriteCapacityUnits", "LedgerTable SystemErrors TransactWriteItems",
		"reconcile oversold", "reconcile unbalanced", "reconcile oldestPendingSeconds", "reconcile resent", "reconcile available", "reconcile unseeded", "reconcile refundsDue", "release overdueSeconds",
		"finalize acceptToConfirmMs", "finalize confirmed", "finalize batches busy", "finalize batches internal",
		"purchase unsent", "purchase unchecked", "purchase purchases busy", "purchase purchases internal", "asked", "refused", "webhooksFailed", "webhooksRefused", "reconcile unpaid", "pay contradicting",
		"pay payments ignored-charge", "pay payments ignored-refunded", "pay payments ignored-disputed", "pay payments ignored-free", "pay payments ignored-unknown",
		"PublishFunction IteratorAge", "PublishFunction Throttles", "publish events", "EventFailureQueue ApproximateNumberOfMessagesVisible",
	},
}

func TestAlarmsOfTheTemplates(t *testing.T) {
	for _, file := range []string{templateFile, alarmsFile, frontFile} {
		rules := []templateRule{
			{
				row:  17,
				name: "every function, queue, table and API has alarms on what can go wrong with it",
				check: func(tmpl template) (found []finding) {
					for _, subject := range watchedOnes[file] {
						if !tmpl.watches(subject) {
							found = append(found, tmpl.at("Resources").find("no alarm reads %s", subject))
						}
					}
					return found
				},
				breaks: map[string][]edit{
					templateFile: {{"Resources/FunctionErrorsAlarm/Properties/Metrics/3", ""}},
					alarmsFile: {
						{"Resources/ApiSlowAlarm", ""}, {"Resources/DeadLettersAlarm/Properties/Metrics/1", ""},
						{"Resources/TableThrottledAlarm/Properties/Metrics/0/MetricStat/Metric/Dimensions/0/Value", "other"},
					},
				}[file],
			},
			{
				row:   17,
				name:  "every alarm says what it means, tells one topic, and what missing data are",
				check: told,
				breaks: map[string][]edit{
					templateFile: {{"Resources/FunctionErrorsAlarm/Properties/AlarmActions", ""}},
					alarmsFile: {
						{"Resources/BooksWrongAlarm/Properties/AlarmActions", "[!Ref PageTopic, !Ref TicketTopic]"},
						{"Resources/BooksWrongAlarm/Properties/AlarmDescription", "oh"},
						{"Resources/BooksWrongAlarm/Properties/TreatMissingData", ""},
					},
				}[file],
			},
			{
				row:  17,
				name: "a page needs several minutes, and an alarm that fills does not need the last one",
				check: func(tmpl template) (found []finding) {
					for _, r := range tmpl.alarms() {
						a := tmpl.rule(t, r)
						fills := slices.ContainsFunc(a.expressions, func(e [2]string) bool { return strings.Contains(e[1], "FILL(") })
						minutes := a.period == 60
						if a.page && (a.m < 2 || !minutes) || (a.page || fills && minutes) && a.n <= a.m || a.period%60 != 0 {
							found = append(found, r.find("%s goes off after %d of %d periods of %d s", r.id, a.m, a.n, a.period))
						}
					}
					return found
				},
				breaks: map[string][]edit{
					templateFile: {{"Resources/FunctionErrorsAlarm/Properties/EvaluationPeriods", "1"}},
					alarmsFile: {
						{"Resources/PurchasesFailingAlarm/Properties/DatapointsToAlarm", "1"},
						{"Resources/ApiSlowAlarm/Properties/EvaluationPeriods", "3"},
						{"Resources/TableSpendingAlarm/Properties/EvaluationPeriods", "1"},
						{"Resources/RetryStormAlarm/Properties/DatapointsToAlarm", ""},
						{"Resources/ApiSlowAlarm/Properties/Period", "900"},
						{"Resources/DeadLettersAlarm/Properties/Metrics/1/MetricStat/Period", "10"},
					},
				}[file],
			},
			{
				row:   17,
				name:  "an expression reads the metrics beside it, all of them, is the only result, and fills what DynamoDB leaves out",
				check: expressions,
				breaks: map[string][]edit{
					templateFile: {{"Resources/FunctionErrorsAlarm/Properties/Metrics/8/Expression", "purchase + nobody"}},
					alarmsFile: {
						{"Resources/PurchasesFailingAlarm/Properties/Metrics/5/Expression", "busy + refused"},
						{"Resources/PurchasesFailingAlarm/Properties/Metrics/5/Expression", "busy + internal"},
						{"Resources/PurchasesFailingAlarm/Properties/Metrics/0/ReturnData", "true"},
						{"Resources/TableSpendingAlarm/Properties/Metrics/1/Expression", "written"},
						{"Resources/TableFailsAlarm/Properties/Metrics/0/MetricStat/Metric/Dimensions/1/Value", "Scan"},
					},
				}[file],
			},
			{
				row:   17,
				name:  "an alarm reads at most ten metrics",
				check: readsTooMany,
				breaks: map[string][]edit{
					templateFile: {{"Resources/FunctionErrorsAlarm/Properties/Metrics", "[" + strings.Repeat("{ Id: one, MetricStat: { Period: 60 } }, ", mostMetrics+1) + "]"}},
					alarmsFile:   {{"Resources/DeadLettersAlarm/Properties/Metrics", "[" + strings.Repeat("{ Id: one, MetricStat: { Period: 60 } }, ", mostMetrics+1) + "]"}},
				}[file],
			},
		}
		checkFile(t, file, rules)
	}
}

// mostMetrics is a quota of CloudWatch that cannot be raised: an alarm with an expression
// reads at most that many metrics (CloudWatch, Limits of alarms based on metric math).
const mostMetrics = 10

func readsTooMany(tmpl template) (found []finding) {
	for _, a := range tmpl.alarms() {
		n := 0
		for _, m := range a.at("Properties", "Metrics").list() {
			if m.at("MetricStat").Node != nil {
				n++
			}
		}
		if n > mostMetrics {
			found = append(found, a.find("%s reads %d metrics", a.id, n))
		}
	}
	return found
}

func told(tmpl template) (found []finding) {
	for _, a := range tmpl.alarms() {
		p := a.at("Properties")
		topics := slices.DeleteFunc(p.at("AlarmActions").references(), func(id string) bool { return strings.HasSuffix(id, "Arn") })
		if len(p.at("AlarmDescription").text()) < leastReason || len(topics) != 1 || topics[0] != "PageTopic" && topics[0] != "TicketTopic" {
			found = append(found, a.find("%s does not say what it means, or tells %q", a.id, topics))
		}
		if missing := p.at("TreatMissingData").text(); missing != "notBreaching" && missing != "breaching" {
			found = append(found, a.find("%s does not say what missing data are", a.id))
		}
	}
	return found
}

// tableOperations are the operations that process an order.
var tableOperations = []string{"TransactWriteItems", "GetItem", "BatchGetItem", "BatchExecuteStatement", "UpdateItem"}

var mathName = regexp.MustCompile(`\b[a-z][A-Za-z0-9_]*\b`)

func expressions(tmpl template) (found []finding) {
	for _, a := range tmpl.alarms() {
		metrics := a.at("Properties", "Metrics").list()
		var all strings.Builder
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
			all.WriteString(text)
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
		if len(metrics) > 0 && (results != 1 || len(used) != len(ids)) {
			found = append(found, a.find("%s has %d results and reads %d of %d metrics", a.id, results, len(used), len(ids)))
		}
		for _, w := range a.watches() {
			// CloudWatch ignores missing data of this namespace regardless of
			// TreatMissingData: without FILL an alarm would stay on forever.
			filled := strings.Contains(all.String(), "FILL("+w.at("Id").text()+",") || strings.Contains(all.String(), "FILL(METRICS()")
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

func TestTheNestedAlarmsAreGivenWhatTheyAreCalledAfter(t *testing.T) {
	declared := parseTemplate(t, read(t, alarmsFile)).at("Parameters")
	checkTemplate(t, []templateRule{{
		row:  17,
		name: "each parameter of the alarms is what it is called after",
		check: func(tmpl template) (found []finding) {
			stack := tmpl.at("Resources", "Alarms", "Properties")
			if stack.at("TemplateURL").text() != alarmsFile {
				found = append(found, stack.find("the alarms are not %s", alarmsFile))
			}
			for key := range declared.pairs() {
				given := stack.at("Parameters", key.Value)
				want := map[string]string{"Stack": "AWS::StackName", "WriteUnits": "WriteUnitsAlarm"}[key.Value]
				if want == "" {
					want = key.Value
				}
				if !slices.Contains(given.references(), want) && given.target() != want {
					found = append(found, stack.find("the alarms do not take %s for %s", want, key.Value))
				}
			}
			return found
		},
		breaks: []edit{
			{"Resources/Alarms/Properties/TemplateURL", "infra/front.yaml"},
			{"Resources/Alarms/Properties/Parameters/QueryFunction", "!Ref PurchaseFunction"},
			{"Resources/Alarms/Properties/Parameters/Stack", "flashsale"},
			{"Resources/Alarms/Properties/Parameters/PageTopic", "!Ref TicketTopic"},
		},
	}})
}
