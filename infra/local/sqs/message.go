package sqs

import (
	"container/heap"
	"container/list"
)

// A message is a message of a queue. Its JSON form is its form in the journal. Times
// are Unix nanoseconds, zero for none.
type message struct {
	ID         string               `json:"id"`
	Body       string               `json:"body"`
	Attributes map[string]attribute `json:"attributes,omitempty"`
	Trace      string               `json:"trace,omitempty"` // AWSTraceHeader
	Group      string               `json:"group,omitempty"` // MessageGroupId
	Sent       int64                `json:"sent"`
	Until      int64                `json:"until,omitempty"`      // hidden until then; 0: visible
	Held       bool                 `json:"held,omitempty"`       // hidden because received, not because delayed
	Received   int64                `json:"received,omitempty"`   // last receive
	First      int64                `json:"first,omitempty"`      // first receive from this queue
	Receives   int                  `json:"receives,omitempty"`   // from this queue
	Generation uint64               `json:"generation,omitempty"` // of its receipt handles, across all queues
	Source     string               `json:"source,omitempty"`     // ARN of the queue whose dead letter it is

	ready  *list.Element // place among the visible ones, nil while hidden
	hidden int           // place in the queue's heap by Until, -1 while visible
	age    int           // place in the queue's heap by Sent
}

// An attribute is a message attribute: Text for String and Number types, Binary
// for Binary ones.
type attribute struct {
	Type   string `json:"type"`
	Text   string `json:"text,omitempty"`
	Binary []byte `json:"binary,omitempty"`
}

// A timeline is a heap of messages by one of their times. Each message stores its
// index, so that any of them can be removed.
type timeline struct {
	messages []*message
	time     func(*message) int64
	place    func(*message) *int
}

func byUntil() timeline {
	return timeline{time: func(m *message) int64 { return m.Until }, place: func(m *message) *int { return &m.hidden }}
}

func bySent() timeline {
	return timeline{time: func(m *message) int64 { return m.Sent }, place: func(m *message) *int { return &m.age }}
}

// first returns the earliest message, or nil.
func (t *timeline) first() *message {
	if len(t.messages) == 0 {
		return nil
	}
	return t.messages[0]
}

func (t *timeline) add(m *message) { heap.Push(t, m) }

func (t *timeline) remove(m *message) { heap.Remove(t, *t.place(m)) }

func (t *timeline) Len() int           { return len(t.messages) }
func (t *timeline) Less(i, j int) bool { return t.time(t.messages[i]) < t.time(t.messages[j]) }

func (t *timeline) Swap(i, j int) {
	t.messages[i], t.messages[j] = t.messages[j], t.messages[i]
	*t.place(t.messages[i]), *t.place(t.messages[j]) = i, j
}

// Push is called by container/heap.
func (t *timeline) Push(x any) {
	m := x.(*message)
	*t.place(m) = len(t.messages)
	t.messages = append(t.messages, m)
}

// Pop is called by container/heap.
func (t *timeline) Pop() any {
	last := len(t.messages) - 1
	m := t.messages[last]
	t.messages[last] = nil
	t.messages = t.messages[:last]
	*t.place(m) = -1
	return m
}
