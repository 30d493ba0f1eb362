package sqs

import (
	"container/heap"
	"container/list"
	"time"
)

// maxInFlight is how many received and undeleted messages a standard queue may have.
const maxInFlight = 120_000

// A queue is the state of one queue. It does no I/O and reads no clock; the caller of
// its methods must hold the server's lock.
type queue struct {
	name                      string
	attributes                attributes
	settings                  settings
	created, modified, purged time.Time

	messages map[string]*message
	ready    *list.List // visible messages, the longest visible first
	hidden   timeline   // delayed and in-flight messages
	inFlight int

	waiters map[chan struct{}]bool // long polls
}

func newQueue(name string, now time.Time) *queue {
	q := &queue{name: name, created: now, waiters: map[chan struct{}]bool{}}
	q.empty()
	return q
}

// empty removes all messages.
func (q *queue) empty() {
	q.messages, q.ready, q.hidden, q.inFlight = map[string]*message{}, list.New(), nil, 0
}

// refresh advances the queue to now: it shows due messages.
func (q *queue) refresh(now time.Time) {
	for m := q.hidden.first(); m != nil && !m.until.After(now); m = q.hidden.first() {
		q.show(m)
	}
}

// add adds a message, which is hidden until a time if that is not zero.
func (q *queue) add(m *message, until time.Time) {
	q.messages[m.id] = m
	m.hidden = -1
	if until.IsZero() {
		q.show(m)
		return
	}
	q.hide(m, until, false)
}

func (q *queue) remove(m *message) {
	delete(q.messages, m.id)
	q.lift(m)
}

// lift removes a message from the visible or the hidden ones.
func (q *queue) lift(m *message) {
	if m.ready != nil {
		q.ready.Remove(m.ready)
		m.ready = nil
	}
	if m.hidden >= 0 {
		heap.Remove(&q.hidden, m.hidden)
		if m.held {
			q.inFlight--
		}
	}
}

// show makes a message visible and wakes the long polls.
func (q *queue) show(m *message) {
	q.lift(m)
	m.held = false
	m.ready = q.ready.PushBack(m)
	q.wake()
}

// hide makes a message invisible until a time, held if a receiver has it. Long polls
// sleep until the earliest such time, so they are woken for an earlier one.
func (q *queue) hide(m *message, until time.Time, held bool) {
	q.lift(m)
	m.until, m.held = until, held
	heap.Push(&q.hidden, m)
	if held {
		q.inFlight++
	}
	if q.hidden.first() == m {
		q.wake()
	}
}

// untilDue returns the time until a hidden message becomes visible; false if none is
// hidden.
func (q *queue) untilDue(now time.Time) (time.Duration, bool) {
	m := q.hidden.first()
	if m == nil {
		return 0, false
	}
	return m.until.Sub(now), true
}

// wait registers a long poll. The channel is closed when there may be something to receive.
func (q *queue) wait() chan struct{} {
	w := make(chan struct{})
	q.waiters[w] = true
	return w
}

// wake lets all long polls look again.
func (q *queue) wake() {
	for w := range q.waiters {
		close(w)
	}
	clear(q.waiters)
}

// A message is a message of a queue.
type message struct {
	id, body   string
	sent       time.Time
	until      time.Time // hidden until then
	held       bool      // hidden because received, not because delayed
	received   time.Time // last receive
	first      time.Time // first receive from this queue
	receives   int       // from this queue
	generation uint64    // of its receipt handles, across all queues
	source     string    // ARN of the queue whose dead letter it is

	ready  *list.Element // place among the visible ones, nil while hidden
	hidden int           // place in the queue's heap by until, -1 while visible
}

// A timeline is a heap of messages by the time until which they are hidden. Each message
// stores its index, so that any of them can be removed.
type timeline []*message

// first returns the earliest message, or nil.
func (t timeline) first() *message {
	if len(t) == 0 {
		return nil
	}
	return t[0]
}

func (t timeline) Len() int           { return len(t) }
func (t timeline) Less(i, j int) bool { return t[i].until.Before(t[j].until) }

func (t timeline) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].hidden, t[j].hidden = i, j
}

// Push is called by container/heap.
func (t *timeline) Push(x any) {
	m := x.(*message)
	m.hidden = len(*t)
	*t = append(*t, m)
}

// Pop is called by container/heap.
func (t *timeline) Pop() any {
	last := len(*t) - 1
	m := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	m.hidden = -1
	return m
}
