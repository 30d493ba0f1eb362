package checks

import (
	"testing"
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
)

// eventSource is one queue that one function reads.
type eventSource struct {
	function function
	event    resource
	queue    resource
	known    bool // the queue is in this template
}

func (t template) eventSources() (all []eventSource) {
	for _, f := range t.functions() {
		for _, e := range f.events("SQS") {
			queue, ok := t.resource("AWS::SQS::Queue", e.at("Properties", "Queue").target())
			all = append(all, eventSource{f, e, queue, ok})
		}
	}
	return all
}

func TestQueuesOfTheTemplate(t *testing.T) {
	const (
		event = "Resources/FinalizeFunction/Properties/Events/Orders/Properties/"
		queue = "Resources/OrderQueue/Properties/"
		dead  = "Resources/OrderDeadLetterQueue/Properties/"
	)
	checkTemplate(t, []templateRule{
		{
			row:  7,
			name: "every queue is encrypted and says how long it keeps a message",
			check: func(tmpl template) (found []finding) {
				for _, q := range tmpl.resources("AWS::SQS::Queue") {
					p := q.at("Properties")
					if p.at("SqsManagedSseEnabled").text() != "true" && p.at("KmsMasterKeyId").Node == nil {
						found = append(found, q.find("%s is not encrypted", q.id))
					}
					if _, ok := tmpl.number(p.at("MessageRetentionPeriod")); !ok {
						found = append(found, q.find("%s does not say how long it keeps a message", q.id))
					}
				}
				return found
			},
			breaks: []edit{{queue + "SqsManagedSseEnabled", "false"}, {dead + "MessageRetentionPeriod", ""}},
		},
		{
			row:  8,
			name: "a function that reads a queue reports each message's failure and is bounded in concurrency",
			check: func(tmpl template) (found []finding) {
				for _, s := range tmpl.eventSources() {
					p := s.event.at("Properties")
					if p.at("FunctionResponseTypes", "0").text() != "ReportBatchItemFailures" {
						found = append(found, s.event.find("%s fails whole batches", s.function.id))
					}
					if n, ok := tmpl.number(p.at("ScalingConfig", "MaximumConcurrency")); !ok || n < minConcurrency {
						found = append(found, s.event.find("%s: MaximumConcurrency is %d, want at least %d", s.function.id, n, minConcurrency))
					}
				}
				return found
			},
			breaks: []edit{
				{event + "FunctionResponseTypes", ""},
				{event + "ScalingConfig", ""},
				{event + "ScalingConfig/MaximumConcurrency", "4"},
			},
		},
		{
			row:  8,
			name: "a batch of more than ten messages has a window to be gathered in",
			check: func(tmpl template) (found []finding) {
				for _, s := range tmpl.eventSources() {
					size, _ := tmpl.number(s.event.at("Properties", "BatchSize"))
					window, _ := tmpl.number(s.event.at("Properties", "MaximumBatchingWindowInSeconds"))
					if size > 10 && window < 1 {
						found = append(found, s.event.find("%s: BatchSize %d needs MaximumBatchingWindowInSeconds", s.function.id, size))
					}
				}
				return found
			},
			breaks: []edit{{event + "MaximumBatchingWindowInSeconds", ""}},
		},
		{
			row:  7,
			name: "a message stays hidden for six timeouts of its function and the batching window",
			check: func(tmpl template) (found []finding) {
				for _, s := range tmpl.eventSources() {
					timeout, known := tmpl.number(s.function.property("Timeout"))
					window, _ := tmpl.number(s.event.at("Properties", "MaximumBatchingWindowInSeconds"))
					hidden, ok := tmpl.number(s.queue.at("Properties", "VisibilityTimeout"))
					if least := visibilityFactor*timeout + window; !known || !ok || hidden < least {
						found = append(found, s.queue.find("%s: VisibilityTimeout is %d s, want at least %d s", s.queue.id, hidden, least))
					}
				}
				return found
			},
			breaks: []edit{
				{"Parameters/OrderVisibilityTimeout/Default", "30"},
				{queue + "VisibilityTimeout", ""},
				{event + "MaximumBatchingWindowInSeconds", "30"},
				{"Resources/FinalizeFunction/Properties/Timeout", "10"},
			},
		},
		{
			row:   7,
			name:  "a queue that a function reads gives its hopeless messages to a dead-letter queue, which keeps them longer",
			check: redrives,
			breaks: []edit{
				{queue + "RedrivePolicy", ""},
				{queue + "RedrivePolicy/maxReceiveCount", "4"},
				{queue + "RedrivePolicy/deadLetterTargetArn", "!GetAtt OrderQueue.Arn"},
				{queue + "MessageRetentionPeriod", "1209601"},
				{dead + "MessageRetentionPeriod", "345600"},
				{event + "Queue", "arn:aws:sqs:eu-central-1:123456789012:elsewhere"},
			},
		},
	})
}

func redrives(tmpl template) (found []finding) {
	for _, s := range tmpl.eventSources() {
		if !s.known {
			found = append(found, s.event.find("%s reads a queue that is not in this template", s.function.id))
			continue
		}
		policy := s.queue.at("Properties", "RedrivePolicy")
		dead, ok := tmpl.resource("AWS::SQS::Queue", policy.at("deadLetterTargetArn").target())
		if !ok || dead.id == s.queue.id {
			found = append(found, s.queue.find("%s has no dead-letter queue", s.queue.id))
			continue
		}
		if n, _ := tmpl.number(policy.at("maxReceiveCount")); n < minReceives {
			found = append(found, policy.find("%s: maxReceiveCount is %d, want at least %d", s.queue.id, n, minReceives))
		}
		kept, _ := tmpl.number(s.queue.at("Properties", "MessageRetentionPeriod"))
		keptDead, _ := tmpl.number(dead.at("Properties", "MessageRetentionPeriod"))
		if keptDead < kept || keptDead != deadRetention {
			found = append(found, dead.find("%s keeps messages for %d s, want %d s and not less than %s", dead.id, keptDead, deadRetention, s.queue.id))
		}
	}
	return found
}
