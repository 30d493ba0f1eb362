package stack

import (
	"cmp"
	"fmt"
	"time"

	"flashsale/infra/kit/eventwebhook"
	"flashsale/infra/local/template"
)

const (
	forwarder            = "Forwarder"
	forwarderQueue       = "ForwarderQueue"
	forwarderDeadLetters = "ForwarderDeadLetterQueue"
)

// describeForwarder adds the example infra/ops/consumers/forwarder to the stack, if events are to be sent: what its own
// template, which is deployed by itself, says of its function and queues.
func (s *Stack) describeForwarder() error {
	if s.o.EventsTo == "" {
		return nil
	}
	secrets := cmp.Or(s.o.EventsSecrets, eventwebhook.LocalSecret)
	if _, err := eventwebhook.NewReceiver(s.o.EventsTo, secrets); err != nil {
		return fmt.Errorf("events are not sent: %w", err)
	}
	s.described.Queues = append(s.described.Queues, template.Queue{Name: forwarderDeadLetters}, template.Queue{Name: forwarderQueue, Attributes: map[string]string{
		"VisibilityTimeout": "180", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:%s:%s:%s","maxReceiveCount":100}`, region, accountID, forwarderDeadLetters),
	}})
	s.described.Functions = append(s.described.Functions, template.Function{
		LogicalID: forwarder, Timeout: 30 * time.Second, MemoryMB: 256,
		Environment: map[string]string{
			"RECEIVER_URL": s.o.EventsTo, "WEBHOOK_SECRETS": secrets,
			"QUEUE_URL": s.queueURL(forwarderQueue), "DEAD_LETTER_QUEUE_URL": s.queueURL(forwarderDeadLetters),
		},
		Queues: []template.QueueSource{{Queue: forwarderQueue, BatchSize: 1, MaximumConcurrency: 10}},
	})
	return nil
}

// forwarded is what gives the events of the bus to the forwarder; nil if there is none.
func (s *Stack) forwarded() func(event []byte) {
	if s.o.EventsTo == "" {
		return nil
	}
	return func(event []byte) {
		if err := s.queues.Send(forwarderQueue, string(event)); err != nil {
			s.o.Log.Error("an event was not given to the forwarder", "error", err)
		}
	}
}
