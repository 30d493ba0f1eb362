package checks

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// watched is one metric that an alarm reads.
type watched struct {
	namespace, metric string
	dimensions        map[string]node
	node
}

// subject names the metric with its resource or service, such as "PurchaseFunction
// Errors" or "purchase purchases busy".
func (w watched) subject() string {
	words := []string{}
	for _, d := range []string{"FunctionName", "QueueName", "TableName", "ApiId", "DistributionId", "WebACL"} {
		if ids := w.dimensions[d].references(); len(ids) == 1 {
			words = append(words, ids[0])
		}
	}
	words = append(words, w.dimensions["service"].text(), w.metric, w.dimensions["result"].text(), w.dimensions["Operation"].text())
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
		all = append(all, watched{p.at("Namespace").text(), p.at("MetricName").text(), dimensions(p.at("Dimensions")), p})
	}
	for _, m := range p.at("Metrics").list() {
		s := m.at("MetricStat")
		if s.Node != nil {
			of := s.at("Metric")
			all = append(all, watched{of.at("Namespace").text(), of.at("MetricName").text(), dimensions(of.at("Dimensions")), m})
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

// watchedOnes are the metrics that some alarm of the alarms' template must read. What each function's errors are
// watched by is a rule of deployments.
var watchedOnes = []string{
	"PurchaseFunction Errors", "PurchaseFunction Throttles", "FinalizeFunction Throttles", "QueryFunction Throttles", "SeedFunction Throttles", "PageFunction Throttles", "PageFunction Duration", "PayFunction Throttles", "PayFunction Duration",
	"ReconcileFunction Throttles", "ReconcileFunction Invocations", "ReleaseFunction Throttles", "ReleaseFunction Invocations", "DrawFunction Throttles", "DrawFunction Invocations", "draw diceLateSeconds", "draw callLateSeconds", "PurchaseFunction Duration", "FinalizeFunction Duration", "QueryFunction Duration",
	"Api 5xx", "Api Latency", "OrderQueue ApproximateAgeOfOldestMessage", "OrderQueue ApproximateNumberOfMessagesVisible", "OrderDeadLetterQueue ApproximateNumberOfMessagesVisible", "ScheduleDeadLetterQueue ApproximateNumberOfMessagesVisible", "LedgerTable WriteKeyRangeThroughputThrottleEvents", "LedgerTable WriteMaxOnDemandThroughputThrottleEvents", "LedgerTable WriteAccountLimitThrottleEvents", "LedgerTable ReadThrottleEvents", "LedgerTable TransactionConflict", "LedgerTable ConsumedWriteCapacityUnits", "LedgerTable SystemErrors TransactWriteItems", "LedgerTable SystemErrors Query", "LedgerTable SystemErrors PutItem",
	"reconcile oversold", "reconcile unbalanced", "reconcile oldestPendingSeconds", "reconcile resent", "reconcile available", "reconcile unseeded", "reconcile refundsDue", "release overdueSeconds",
	"finalize acceptToConfirmMs", "finalize confirmed", "finalize batches busy", "finalize batches internal",
	"purchase unsent", "purchase unchecked", "purchase purchases busy", "purchase purchases internal", "purchase purchases not-your-turn", "purchase purchases turn-over", "purchase entries entered", "asked", "declined", "refused", "webhooksFailed", "webhooksRefused", "reconcile unpaid", "pay contradicting",
	"pay payments ignored-charge", "pay payments ignored-refunded", "pay payments ignored-not-back", "pay payments ignored-disputed", "pay payments ignored-free", "pay payments ignored-unknown",
	"pay payments refund-failed", "pay payments refund-stuck", "pay payments dispute-open", "pay payments dispute-lost", "pay paidBack", "pay moneyUncounted",
	"refund refundsHalted", "refund refunds refused", "reconcile refundUnknownSeconds", "reconcile refundAcceptedSeconds",
	"PublishFunction IteratorAge", "PublishFunction Throttles", "publish events", "EventFailureQueue ApproximateNumberOfMessagesVisible",
}

// ours is the namespace of the functions' metrics, the constant telemetry.Namespace.
const ours = "flashsale"

// CloudWatch knows a metric by its namespace, its name and all of its dimensions. The stack is one of each, so that
// two stacks in one account do not trigger each other's alarms.
func TestEveryAlarmReadsAMetricThatACodeOrAFilterFiles(t *testing.T) {
	files := map[string]needs{} // by service
	for _, f := range parseTemplate(t, templateFile).functions() {
		n := needsOf(t, f.folder())
		files[n.service] = n
	}
	for _, file := range []string{templateFile, alarmsFile} {
		tmpl := parseTemplate(t, file)
		filtered := map[string]bool{}
		for _, f := range tmpl.resources("AWS::Logs::MetricFilter") {
			p := f.at("Properties.MetricTransformations.0")
			p.expect(t, "MetricNamespace", ours)
			p.expect(t, "Dimensions.0.Key", "stack")
			filtered[p.at("MetricName").text()] = true
		}
		for _, a := range tmpl.alarms() {
			for _, w := range a.watches() {
				if strings.HasPrefix(w.namespace, "AWS/") {
					continue
				}
				service := w.dimensions["service"].text()
				dimension, ok := files[service].metrics[w.metric]
				want := 2 + min(len(dimension), 1)
				if service == "" && filtered[w.metric] {
					ok, want = true, 1
				}
				if !ok || w.namespace != ours || len(w.dimensions) != want || dimension != "" && !files[service].texts[w.dimensions[dimension].text()] {
					w.errorf(t, "%s: nobody files %q in %s with %d dimensions", a.id, w.subject(), w.namespace, len(w.dimensions))
				}
				if stack := w.dimensions["stack"].target(); stack != "Stack" && stack != "AWS::StackName" {
					w.errorf(t, "%s: %s is that of every stack of the account", a.id, w.metric)
				}
			}
		}
	}
	for _, subject := range watchedOnes {
		if !parseTemplate(t, alarmsFile).watches(subject) {
			t.Errorf("no alarm reads %s", subject)
		}
	}
}

// mostMetrics is a quota of CloudWatch that cannot be raised: an alarm with an expression
// reads at most that many metrics (CloudWatch, Limits of alarms based on metric math).
const mostMetrics = 10

var mathName = regexp.MustCompile(`\b[a-z][A-Za-z0-9_]*\b`)

// CloudWatch ignores missing data of DynamoDB's metrics regardless of TreatMissingData: without FILL an alarm would
// stay on permanently.
func TestEveryAlarmIsOneThatCloudWatchTakesAndThatTellsATopic(t *testing.T) {
	for _, file := range []string{templateFile, alarmsFile, frontFile} {
		for _, a := range parseTemplate(t, file).alarms() {
			p := a.at("Properties")
			topics := slices.DeleteFunc(p.at("AlarmActions").references(), func(id string) bool { return strings.HasSuffix(id, "Arn") })
			if len(topics) != 1 || topics[0] != "PageTopic" && topics[0] != "TicketTopic" {
				p.errorf(t, "%s tells %q", a.id, topics)
			}
			if missing := p.at("TreatMissingData").text(); missing != "notBreaching" && missing != "breaching" {
				p.errorf(t, "%s does not say what missing data are", a.id)
			}
			ids, used, expressions, results := map[string]bool{}, map[string]bool{}, "", 0
			for _, m := range p.at("Metrics").list() {
				ids[m.at("Id").text()] = true
				expression := m.at("Expression").text()
				expressions += expression + "\n"
				if strings.Count(expression, ", REPEAT)") > strings.Count(expression, "FILL(FILL(") && !strings.HasPrefix(expression, "IF(FILL(") {
					p.errorf(t, "%s adds to a metric that is repeated: nothing rings while that has no value at all", a.id)
				}
				if m.at("ReturnData").text() != "false" {
					results++
					used[m.at("Id").text()] = true
				}
			}
			for _, name := range mathName.FindAllString(expressions, -1) {
				if used[name] = true; !ids[name] {
					p.errorf(t, "%s: an expression reads %s, which is not there", a.id, name)
				}
			}
			if strings.Contains(expressions, "METRICS()") {
				used = ids
			}
			if reads := a.watches(); len(ids) > 0 && (results != 1 || len(used) != len(ids)) || len(reads) == 0 || len(reads) > mostMetrics {
				p.errorf(t, "%s has %d results, reads %d metrics and uses %d of %d", a.id, results, len(reads), len(used), len(ids))
			}
			for _, w := range a.watches() {
				filled := strings.Contains(expressions, "FILL("+w.at("Id").text()+",") || strings.Contains(expressions, "FILL(METRICS()")
				if w.namespace == "AWS/DynamoDB" && !filled {
					p.errorf(t, "%s does not fill what is missing of %s", a.id, w.metric)
				}
			}
		}
	}
}
