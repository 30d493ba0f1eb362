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
	ages     timeline   // all messages
	inFlight int

	waiters *list.List // of chan struct{}: long polls, the longest waiting first
}

func newQueue(name string, now time.Time) *queue {
	q := &queue{name: name, created: now, waiters: list.New()}
	q.empty()
	return q
}

// empty removes all messages.
func (q *queue) empty() {
	q.messages, q.ready, q.hidden, q.ages, q.inFlight = map[string]*message{}, list.New(), byUntil(), bySent(), 0
}

// configure changes attributes that checkAttributes has accepted.
func (q *queue) configure(changes attributes, now time.Time) error {
	changed := q.attributes.with(changes)
	parsed, err := changed.parse()
	if err != nil {
		return err
	}
	q.attributes, q.settings, q.modified = changed, parsed, now
	return nil
}

// refresh advances the queue to now: it removes expired messages and shows due ones.
func (q *queue) refresh(now time.Time) {
	for m := q.ages.first(); m != nil && now.Sub(m.sent) >= q.settings.retention; m = q.ages.first() {
		q.remove(m)
	}
	for m := q.hidden.first(); m != nil && !m.until.After(now); m = q.hidden.first() {
		q.show(m)
	}
}

// add adds a message, which is hidden until a time if that is not zero.
func (q *queue) add(m *message, until time.Time) {
	q.messages[m.id] = m
	q.ages.add(m)
	m.hidden = -1
	if until.IsZero() {
		q.show(m)
		return
	}
	q.hide(m, until, false)
}

func (q *queue) remove(m *message) {
	delete(q.messages, m.id)
	q.ages.remove(m)
	q.lift(m)
}

// lift removes a message from the visible or the hidden ones.
func (q *queue) lift(m *message) {
	if m.ready != nil {
		q.ready.Remove(m.ready)
		m.ready = nil
	}
	if m.hidden >= 0 {
		q.hidden.remove(m)
		if m.held {
			q.inFlight--
		}
	}
}

// show makes a message visible and wakes a long poll.
func (q *queue) show(m *message) {
	q.lift(m)
	m.held = false
	m.ready = q.ready.PushBack(m)
	q.wake(1)
}

// hide makes a message invisible until a time, held if a receiver has it. Long polls
// sleep until the earliest such time, so they are woken for an earlier one.
func (q *queue) hide(m *message, until time.Time, held bool) {
	q.lift(m)
	m.until, m.held = until, held
	q.hidden.add(m)
	if held {
		q.inFlight++
	}
	if q.hidden.first() == m {
		q.wake(q.waiters.Len())
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
	age    int           // place in the queue's heap by sent
}

// A timeline is a heap of messages by one of their times. Each message stores its
// index, so that any of them can be removed.
type timeline struct {
	messages []*message
	time     func(*message) time.Time
	place    func(*message) *int
}

func byUntil() timeline {
	return timeline{time: func(m *message) time.Time { return m.until }, place: func(m *message) *int { return &m.hidden }}
}

func bySent() timeline {
	return timeline{time: func(m *message) time.Time { return m.sent }, place: func(m *message) *int { return &m.age }}
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
func (t *timeline) Less(i, j int) bool { return t.time(t.messages[i]).Before(t.time(t.messages[j])) }

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
