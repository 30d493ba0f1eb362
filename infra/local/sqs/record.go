package sqs

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A record is one change of the state, one line of the journal. Op determines which
// other fields are used. Times are Unix nanoseconds.
type record struct {
	Op      string    `json:"op"`
	Queue   string    `json:"queue,omitempty"` // key of the queue
	ID      string    `json:"id,omitempty"`    // of the message
	To      string    `json:"to,omitempty"`    // key of the queue a message moves to
	NewID   string    `json:"newId,omitempty"` // of the message in that queue
	At      int64     `json:"at,omitempty"`
	Until   int64     `json:"until,omitempty"`
	Config  *config   `json:"config,omitempty"`
	Message *message  `json:"message,omitempty"`
	Task    *moveTask `json:"task,omitempty"`
	TaskID  string    `json:"taskId,omitempty"`
}

const (
	opConfigure = "configure" // Config: a new queue, or a new configuration
	opDrop      = "drop"      // the queue is deleted with its messages
	opSend      = "send"      // Message
	opReceive   = "receive"   // ID, At, Until
	opShow      = "show"      // ID becomes visible
	opHide      = "hide"      // ID, Until
	opDelete    = "delete"    // ID
	opPurge     = "purge"     // At: all messages are deleted
	opDead      = "dead"      // ID becomes a dead letter in To
	opMove      = "move"      // ID moves to To as NewID, sent At, by TaskID
	opTask      = "task"      // Task: a new or changed move task
)

var errRecord = errors.New("record does not fit the state")

// apply makes one change. It is deterministic: the live server and the replay of its
// journal reach the same state.
func (s *Server) apply(r record) error {
	switch r.Op {
	case opConfigure:
		return s.applyConfig(r.Config)
	case opTask:
		if r.Task == nil || r.Task.ID == "" {
			return fmt.Errorf("%w: a task without an id", errRecord)
		}
		return s.applyTask(*r.Task)
	}
	q := s.keyed[r.Queue]
	if q == nil {
		return fmt.Errorf("%w: %s in unknown queue %q", errRecord, r.Op, r.Queue)
	}
	switch r.Op {
	case opDrop:
		delete(s.keyed, q.Key)
		delete(s.named, q.Name)
		q.wake(q.waiters.Len())
		return nil
	case opPurge:
		for id := range q.messages {
			q.remove(id)
		}
		q.Purged = r.At
		return nil
	case opSend:
		if r.Message == nil || r.Message.ID == "" || q.messages[r.Message.ID] != nil {
			return fmt.Errorf("%w: a send without a new message", errRecord)
		}
		// The queue changes its copy; the record must not change.
		m := *r.Message
		q.add(&m)
		return nil
	}
	return s.applyToMessage(q, r)
}

func (s *Server) applyToMessage(q *queue, r record) error {
	m := q.messages[r.ID]
	if m == nil {
		return fmt.Errorf("%w: %s of unknown message %q", errRecord, r.Op, r.ID)
	}
	switch r.Op {
	case opReceive:
		m.Receives++
		m.Generation++
		m.Received = r.At
		if m.First == 0 {
			m.First = r.At
		}
		q.hide(m, r.Until, true)
	case opShow:
		q.show(m)
	case opHide:
		q.hide(m, r.Until, true)
	case opDelete:
		q.remove(m.ID)
	case opDead, opMove:
		to := s.keyed[r.To]
		if to == nil {
			return fmt.Errorf("%w: %s to unknown queue %q", errRecord, r.Op, r.To)
		}
		id := m.ID
		if r.Op == opMove {
			id = r.NewID
		}
		if id == "" || to.messages[id] != nil {
			return fmt.Errorf("%w: %s as %q, which is no new message", errRecord, r.Op, id)
		}
		s.transfer(q, to, m, r)
	default:
		return fmt.Errorf("%w: unknown operation %q", errRecord, r.Op)
	}
	return nil
}

// transfer moves a message from one queue to another. A dead letter stays the same
// message; a redriven one is a new message, with a new id and age. Both start again
// with a receive count of 0.
func (s *Server) transfer(from, to *queue, m *message, r record) {
	from.remove(m.ID)
	m.Receives, m.First, m.Received = 0, 0, 0
	switch r.Op {
	case opDead:
		m.Source = s.arn(from.Name)
	case opMove:
		m.ID, m.Sent, m.Source = r.NewID, r.At, ""
		if t := s.tasks[r.TaskID]; t != nil {
			t.Moved++
		}
	}
	to.add(m)
}

func (s *Server) applyConfig(c *config) error {
	if c == nil || c.Name == "" || c.Key == "" {
		return fmt.Errorf("%w: a queue without a name", errRecord)
	}
	if q := s.keyed[c.Key]; q != nil {
		if q.Name != c.Name {
			return fmt.Errorf("%w: queue %q changes its name", errRecord, q.Name)
		}
		return q.configure(*c)
	}
	if s.named[c.Name] != nil {
		return fmt.Errorf("%w: queue %q is there already", errRecord, c.Name)
	}
	q, err := newQueue(*c)
	if err != nil {
		return fmt.Errorf("configure queue %q: %w", c.Name, err)
	}
	s.keyed[c.Key], s.named[c.Name] = q, q
	return nil
}

// commit makes a change that an operation has decided on and appends it to the
// journal. The caller holds the lock and answers after s.journal.wait.
func (s *Server) commit(r record) error {
	if err := s.apply(r); err != nil {
		return err
	}
	return s.journal.append(r)
}

// replay applies one journal line.
func (s *Server) replay(line []byte) error {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("decode record: %w", err)
	}
	return s.apply(r)
}

// snapshot returns the state as records, in an order that can be replayed.
func (s *Server) snapshot() []record {
	var records []record
	for _, key := range slices.Sorted(maps.Keys(s.keyed)) {
		q := s.keyed[key]
		c := q.config
		records = append(records, record{Op: opConfigure, Config: &c})
		for e := q.ready.Front(); e != nil; e = e.Next() {
			records = append(records, record{Op: opSend, Queue: key, Message: e.Value.(*message)})
		}
		for _, m := range q.hidden.messages {
			records = append(records, record{Op: opSend, Queue: key, Message: m})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.tasks)) {
		t := *s.tasks[id]
		records = append(records, record{Op: opTask, Task: &t})
	}
	return records
}
