package checks

import (
	"slices"
	"strconv"
	"testing"

	"flashsale/shared/ledger"
)

const (
	// minReceives is AWS's recommendation for a Lambda event source: with fewer, a
	// throttled function sends healthy messages to the dead-letter queue.
	minReceives = 5
	// minConcurrency is the initial number of pollers of a queue: fewer environments
	// refuse some of them, and healthy messages use up their receives.
	minConcurrency = 5
	// visibilityFactor is AWS's recommendation, too: the queue hides a message for six
	// times the function's timeout, plus the batching window.
	visibilityFactor = 6
	// deadRetention is SQS's maximum, 14 days in seconds: a message keeps its age when
	// it is moved to the dead-letter queue.
	deadRetention = 1209600
	// longestOutage, in seconds, is how long FinalizeFunction may fail without an order
	// message being lost: a night until it is noticed, and a day to fix it.
	longestOutage = 86400
	// ageAlarm, in seconds, is the age of the oldest order message that is an alarm.
	ageAlarm = 120
)

func TestAMessageIsNeitherLostNorHandledTwiceAtOnce(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	number := func(n node) int { i, _ := tmpl.number(n); return i }
	f := function{resource{"FinalizeFunction", tmpl.at("Resources.FinalizeFunction")}, tmpl}
	event := f.at("Properties.Events.Orders.Properties")
	event.expect(t, "Queue", "!GetAtt OrderQueue.Arn")
	event.expect(t, "FunctionResponseTypes.0", "ReportBatchItemFailures")
	if n := number(event.at("ScalingConfig.MaximumConcurrency")); n < minConcurrency {
		event.errorf(t, "MaximumConcurrency is %d, want at least %d", n, minConcurrency)
	}
	window := number(event.at("MaximumBatchingWindowInSeconds"))
	if number(event.at("BatchSize")) > 10 && window < 1 {
		event.errorf(t, "a batch of more than ten messages needs MaximumBatchingWindowInSeconds")
	}
	queue := tmpl.at("Resources.OrderQueue.Properties")
	queue.expect(t, "RedrivePolicy.deadLetterTargetArn", "!GetAtt OrderDeadLetterQueue.Arn")
	hidden, kept, receives := number(queue.at("VisibilityTimeout")), number(queue.at("MessageRetentionPeriod")), number(queue.at("RedrivePolicy.maxReceiveCount"))
	if least := visibilityFactor*number(f.property("Timeout")) + window; hidden < least {
		queue.errorf(t, "VisibilityTimeout is %d s, want at least %d s", hidden, least)
	}
	if least := max(longestOutage, 2*receives*hidden); kept < least || kept > deadRetention || receives < minReceives {
		queue.errorf(t, "keeps a message for %d s and %d receives, want at least %d s and %d", kept, receives, least, minReceives)
	}
	tmpl.at("Resources.OrderDeadLetterQueue.Properties").expect(t, "MessageRetentionPeriod", strconv.Itoa(deadRetention))
	// Its age is an alarm after a second delivery and before claims count as waiting too long.
	if ageAlarm < 2*hidden || ageAlarm > seconds(ledger.ResendBound) {
		queue.errorf(t, "an age of %d s is an alarm, want %d s to %v", ageAlarm, 2*hidden, ledger.ResendBound)
	}
}

// policiesOf returns the statements of the policies of a kind that are attached to that resource.
func (t template) policiesOf(kind, attached, id string) (all []node) {
	for _, p := range t.resources(kind) {
		if slices.ContainsFunc(p.at("Properties", attached).list(), func(n node) bool { return n.target() == id }) {
			all = append(all, p.at("Properties.PolicyDocument.Statement").list()...)
		}
	}
	return all
}

// tlsOnly reports whether a statement refuses calls without TLS.
func tlsOnly(s node, action string) bool {
	return s.at("Effect").text() == "Deny" && s.at("Principal").text() == "*" && s.at("Action").text() == action &&
		s.at("Condition.Bool.aws:SecureTransport").text() == "false"
}

// A dead-letter queue that does not admit its source would lose messages; one that admits others takes theirs.
func TestAQueueIsEncryptedAndAdmitsOnlyWhatRedrivesToIt(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	for _, q := range tmpl.resources("AWS::SQS::Queue") {
		q.expect(t, "Properties.SqsManagedSseEnabled", "true")
		all := tmpl.policiesOf("AWS::SQS::QueuePolicy", "Queues", q.id)
		if len(all) != 1 || !tlsOnly(all[0], "sqs:*") || all[0].at("Resource").target() != q.id {
			q.errorf(t, "%s may be called in the clear, or its policy allows somebody", q.id)
		}
		var sources []string
		for _, other := range tmpl.resources("AWS::SQS::Queue") {
			if p := other.at("Properties"); p.at("RedrivePolicy.deadLetterTargetArn").target() == q.id {
				sources = append(sources, "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:"+p.at("QueueName").Value)
			}
		}
		want := "denyAll"
		if len(sources) > 0 {
			want = "byQueue"
		}
		policy := q.at("Properties.RedriveAllowPolicy")
		var admitted []string
		for _, n := range policy.at("sourceQueueArns").list() {
			admitted = append(admitted, n.Value)
		}
		if policy.expect(t, "redrivePermission", want); !slices.Equal(admitted, sources) {
			q.errorf(t, "%s admits %q, want %q", q.id, admitted, sources)
		}
	}
}

func TestAnAlarmsTopicTakesAlarmsOfThisAccountAndTellsTheAddress(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	for _, topic := range tmpl.resources("AWS::SNS::Topic") {
		all := tmpl.policiesOf("AWS::SNS::TopicPolicy", "Topics", topic.id)
		if len(all) != 2 || !tlsOnly(all[1], "sns:Publish") || all[0].at("Principal.Service").text() != "cloudwatch.amazonaws.com" ||
			all[0].at("Action").text() != "sns:Publish" || all[0].at("Condition.StringEquals.aws:SourceAccount").target() != "AWS::AccountId" {
			topic.errorf(t, "%s takes more than alarms of this account over TLS, or none", topic.id)
		}
		if !slices.ContainsFunc(tmpl.resources("AWS::SNS::Subscription"), func(r resource) bool {
			return r.at("Properties.TopicArn").target() == topic.id && r.at("Properties.Endpoint").target() == "AlarmEmail"
		}) {
			topic.errorf(t, "%s tells nobody", topic.id)
		}
	}
}
