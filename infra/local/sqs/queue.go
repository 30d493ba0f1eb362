package sqs

import (
	"container/list"
	"time"
)

// maxInFlight is how many received and undeleted messages a standard queue may have.
const maxInFlight = 120_000

// A queue is the state of one queue. It does no I/O and reads no clock; the caller of
// its methods must hold the server's lock.
type queue struct {
	config
	settings settings

	messages map[string]*message
	ready    *list.List // visible messages, the longest visible first
	hidden   timeline   // delayed and in-flight messages
	ages     timeline   // all messages
	inFlight int

	waiters *list.List // of chan struct{}: long polls, the longest waiting first
}

func newQueue(c config) (*queue, error) {
	q := &queue{messages: map[string]*message{}, ready: list.New(), hidden: byUntil(), ages: bySent(), waiters: list.New()}
	return q, q.configure(c)
}

// configure replaces the queue's configuration.
func (q *queue) configure(c config) error {
	parsed, err := parseSettings(c.Attributes)
	if err != nil {
		return err
	}
	q.config, q.settings = c, parsed
	return nil
}

// add adds a message, hidden if its Until is set.
func (q *queue) add(m *message) {
	q.messages[m.ID] = m
	q.ages.add(m)
	m.hidden = -1
	if m.Until == 0 {
		q.show(m)
		return
	}
	q.hide(m, m.Until, m.Held)
}

// remove removes a message and reports whether it existed.
func (q *queue) remove(id string) (*message, bool) {
	m := q.messages[id]
	if m == nil {
		return nil, false
	}
	delete(q.messages, id)
	q.ages.remove(m)
	q.lift(m)
	m.Until, m.Held = 0, false
	return m, true
}

// lift removes a message from the visible or the hidden ones.
func (q *queue) lift(m *message) {
	if m.ready != nil {
		q.ready.Remove(m.ready)
		m.ready = nil
	}
	if m.hidden >= 0 {
		q.hidden.remove(m)
		if m.Held {
			q.inFlight--
		}
	}
}

// show makes a message visible and wakes a long poll.
func (q *queue) show(m *message) {
	q.lift(m)
	m.Until, m.Held = 0, false
	m.ready = q.ready.PushBack(m)
	q.wake(1)
}

// hide makes a message invisible until a time, held if a receiver has it. Long polls
// sleep until the earliest such time, so they are woken for an earlier one.
func (q *queue) hide(m *message, until int64, held bool) {
	q.lift(m)
	m.Until, m.Held = until, held
	q.hidden.add(m)
	if held {
		q.inFlight++
	}
	if q.hidden.first() == m {
		q.wake(q.waiters.Len())
	}
}

// advance makes due messages visible.
func (q *queue) advance(now time.Time) {
	for m := q.hidden.first(); m != nil && m.Until <= now.UnixNano(); m = q.hidden.first() {
		q.show(m)
	}
}

// expired returns the oldest message, if it is older than the retention period.
func (q *queue) expired(now time.Time) (*message, bool) {
	m := q.ages.first()
	return m, m != nil && now.Sub(time.Unix(0, m.Sent)) >= q.settings.retention
}

// untilDue returns the time until a hidden message becomes visible; false if none is
// hidden.
func (q *queue) untilDue(now time.Time) (time.Duration, bool) {
	m := q.hidden.first()
	if m == nil {
		return 0, false
	}
	return time.Unix(0, m.Until).Sub(now), true
}

// wait registers a long poll. The channel gets one token when there may be something to
// receive; the poll must call leave when it stops waiting.
func (q *queue) wait() *list.Element {
	return q.waiters.PushBack(make(chan struct{}, 1))
}

// leave ends a wait. An unread token is passed on: otherwise a message would stay
// unnoticed if the poll woken for it ended at that moment.
func (q *queue) leave(w *list.Element) {
	q.waiters.Remove(w)
	select {
	case <-w.Value.(chan struct{}):
		if q.ready.Len() > 0 {
			q.wake(1)
		}
	default:
	}
}

func (q *queue) wake(n int) {
	for ; n > 0 && q.waiters.Len() > 0; n-- {
		w := q.waiters.Front()
		q.waiters.Remove(w)
		w.Value.(chan struct{}) <- struct{}{}
	}
}
