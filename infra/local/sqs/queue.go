package sqs

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A queue is the state of one queue. It does no I/O; the caller of its methods must hold the
// server's lock.
type queue struct {
	name        string
	attributes  map[string]string // as created
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

// A message is a message of a queue.
type message struct {
	id, body   string
	sent       time.Time
	visible    time.Time // hidden until then
	received   bool      // hidden because received, not because delayed
	first      time.Time // first receive from this queue
	receives   int       // from this queue
	generation uint64    // of its receipt handles, across all queues
}

// inFlight reports whether a receiver has the message.
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

// createQueue creates a queue, or finds one of the same name and attributes. Package template
// has checked the names and values.
func (s *Server) createQueue(c call) (any, error) {
	in, err := decode[struct {
		QueueName  string
		Attributes map[string]string
	}](c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[in.QueueName]
	switch {
	case q == nil:
		if q, err = s.newQueue(in.QueueName, in.Attributes); err != nil {
			return nil, err
		}
		s.queues[in.QueueName] = q
	case !maps.Equal(q.attributes, in.Attributes):
		return nil, errQueueExists
	}
	return struct{ QueueUrl string }{c.baseURL + "/" + s.options.AccountID + "/" + in.QueueName}, nil
}

func (s *Server) newQueue(name string, attributes map[string]string) (*queue, error) {
	q := &queue{
		name: name, attributes: attributes, visibility: 30 * time.Second,
		messages: map[string]*message{}, changed: make(chan struct{}),
	}
	for name, value := range attributes {
		switch name {
		case "VisibilityTimeout":
			seconds, err := strconv.Atoi(value)
			if err != nil {
				return nil, errParameter("Invalid value for the parameter VisibilityTimeout.")
			}
			q.visibility = time.Duration(seconds) * time.Second
		case "RedrivePolicy":
			var policy struct {
				Target          string `json:"deadLetterTargetArn"`
				MaxReceiveCount int    `json:"maxReceiveCount"`
			}
			err := json.Unmarshal([]byte(value), &policy)
			prefix := "arn:aws:sqs:" + s.options.Region + ":" + s.options.AccountID + ":"
			q.deadLetters, q.maxReceives = s.queues[strings.TrimPrefix(policy.Target, prefix)], policy.MaxReceiveCount
			if err != nil || q.deadLetters == nil {
				return nil, errParameter("Value %s for parameter RedrivePolicy is invalid, or its target does not exist.", value)
			}
		case "MessageRetentionPeriod":
		default:
			return nil, errUnknownAttribute(name)
		}
	}
	return q, nil
}

// getQueueAttributes counts messages, which is all that anybody asks for.
func (s *Server) getQueueAttributes(c call) (any, error) {
	in, err := decode[struct {
		QueueUrl       string
		AttributeNames []string
	}](c)
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
