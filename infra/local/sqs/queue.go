package sqs

import (
	"slices"
	"time"
)

// A queue is the state of one queue. It does no I/O and reads no clock; the caller of
// its methods must hold the server's lock.
type queue struct {
	name       string
	attributes attributes
	settings   settings

	messages map[string]*message
	// order has all messages by the time at which they are visible; those of the same time
	// in the order in which they got it.
	order []*message

	waiters map[chan struct{}]bool // long polls
}

func newQueue(name string) *queue {
	return &queue{name: name, messages: map[string]*message{}, waiters: map[chan struct{}]bool{}}
}

// empty removes all messages.
func (q *queue) empty() {
	clear(q.messages)
	q.order = nil
}

// put adds a message, or moves one that is there, and wakes the long polls: there may be
// something to receive, or something earlier to sleep for.
func (q *queue) put(m *message, visible time.Time) {
	q.remove(m)
	m.visible = visible
	q.messages[m.id] = m
	q.order = slices.Insert(q.order, q.visible(visible), m)
	for w := range q.waiters {
		close(w)
	}
	clear(q.waiters)
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

// untilDue returns the time until a hidden message becomes visible; false if none is
// hidden.
func (q *queue) untilDue(now time.Time) (time.Duration, bool) {
	n := q.visible(now)
	if n == len(q.order) {
		return 0, false
	}
	return q.order[n].visible.Sub(now), true
}

// wait registers a long poll. The channel is closed when there may be something to receive.
func (q *queue) wait() chan struct{} {
	w := make(chan struct{})
	q.waiters[w] = true
	return w
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
	source     string    // ARN of the queue whose dead letter it is
}

// inFlight reports whether a receiver has the message.
func (m *message) inFlight(now time.Time) bool { return m.received && m.visible.After(now) }
