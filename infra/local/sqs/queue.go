package sqs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A queue is the state of one queue. It does no I/O; the caller of its methods must hold the
// server's lock.
type queue struct {
	name        string
	visibility  time.Duration
	deadLetters *queue // of messages that were received maxReceives times, nil for none
	maxReceives int

	messages map[string]*message
	// order has all messages by the time at which they are visible; those of the same time
	// in the order in which they got it.
	order []*message

	// changed is closed, and replaced, when there may be something to receive.
	changed chan struct{}
}

type message struct {
	id, body   string
	sent       time.Time
	visible    time.Time // hidden until then
	received   bool      // hidden because received, not because delayed
	first      time.Time // first receive from this queue
	taken      time.Time // last receive
	receives   int       // from this queue
	generation uint64    // of its receipt handles, across all queues
}

func (m *message) inFlight(now time.Time) bool { return m.received && m.visible.After(now) }

// put adds a message, or moves one that is there, and wakes the long polls: there may be
// something to receive, or something earlier to sleep for.
func (q *queue) put(m *message, visible time.Time) {
	q.remove(m)
	m.visible = visible
	q.messages[m.id] = m
	q.order = slices.Insert(q.order, q.visible(visible), m)
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *queue) remove(m *message) {
	if q.messages[m.id] == nil {
		return
	}
	delete(q.messages, m.id)
	first, _ := slices.BinarySearchFunc(q.order, m, func(a, b *message) int { return a.visible.Compare(b.visible) })
	i := first + slices.Index(q.order[first:], m)
	q.order = slices.Delete(q.order, i, i+1)
}

// visible is how many messages are visible at a time: the first of the order.
func (q *queue) visible(at time.Time) int {
	n, _ := slices.BinarySearchFunc(q.order, at, func(m *message, at time.Time) int {
		if m.visible.After(at) {
			return 1
		}
		return -1
	})
	return n
}

// Create creates a queue with CreateQueue's attributes. Its dead-letter queue must exist.
func (s *Server) Create(name string, attributes map[string]string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &queue{name: name, visibility: 30 * time.Second, messages: map[string]*message{}, changed: make(chan struct{})}
	for attribute, value := range attributes {
		var err error
		switch attribute {
		case "VisibilityTimeout":
			q.visibility, err = time.ParseDuration(value + "s")
		case "RedrivePolicy":
			var policy struct {
				Target          string `json:"deadLetterTargetArn"`
				MaxReceiveCount int    `json:"maxReceiveCount"`
			}
			err = json.Unmarshal([]byte(value), &policy)
			target := policy.Target[strings.LastIndexByte(policy.Target, ':')+1:]
			if q.deadLetters, q.maxReceives = s.queues[target], policy.MaxReceiveCount; q.deadLetters == nil && err == nil {
				err = errNoQueue
			}
		case "MessageRetentionPeriod":
		default:
			err = errUnknownAttribute(attribute)
		}
		if err != nil {
			return fmt.Errorf("create queue %s: %s %s: %w", name, attribute, value, err)
		}
	}
	s.queues[name] = q
	return nil
}

// getQueueAttributes counts messages, which is all that anybody asks for.
func (s *Server) getQueueAttributes(r request) (any, error) {
	in, err := decode[struct {
		QueueUrl       string
		AttributeNames []string
	}](r)
	if err != nil {
		return nil, err
	}
	out := struct{ Attributes map[string]string }{map[string]string{}}
	return out, s.with(in.QueueUrl, func(q *queue) error {
		now, inFlight := time.Now(), 0
		for _, m := range q.order {
			if m.inFlight(now) {
				inFlight++
			}
		}
		visible := q.visible(now)
		counts := map[string]int{
			"ApproximateNumberOfMessages": visible, "ApproximateNumberOfMessagesNotVisible": inFlight,
			"ApproximateNumberOfMessagesDelayed": len(q.order) - visible - inFlight,
		}
		for _, name := range in.AttributeNames {
			n, ok := counts[name]
			if !ok {
				return errUnknownAttribute(name)
			}
			out.Attributes[name] = strconv.Itoa(n)
		}
		return nil
	})
}
