package sqs

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"time"
)

// The operations on a receipt handle: delete the message, or change how long it stays
// hidden.

// A handle is a receipt handle: one delivery of one message from one queue. It is
// opaque text for clients, with a checksum to distinguish garbage from old handles.
type handle struct {
	queue      string
	message    string // its id
	generation uint64
}

func (h handle) String() string {
	text := h.queue + "\x00" + h.message
	b := binary.BigEndian.AppendUint64([]byte(text), h.generation)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.StdEncoding.EncodeToString(b)
}

// parseHandle reads a receipt handle of the queue with that name.
func parseHandle(text, queue string) (handle, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	const tail = 8 + 4
	if err != nil || len(b) < tail || crc32.ChecksumIEEE(b[:len(b)-4]) != binary.BigEndian.Uint32(b[len(b)-4:]) {
		return handle{}, errHandle(text)
	}
	name, id, ok := strings.Cut(string(b[:len(b)-tail]), "\x00")
	if !ok || name != queue {
		return handle{}, errHandle(text)
	}
	return handle{queue: name, message: id, generation: binary.BigEndian.Uint64(b[len(b)-tail:])}, nil
}

func (s *Server) deleteMessage(c call) (any, error) {
	in, err := decode[struct{ QueueUrl, ReceiptHandle string }](c)
	if err != nil {
		return nil, err
	}
	return empty{}, s.with(in.QueueUrl, func(q *queue, _ time.Time) error { return q.deleteByHandle(in.ReceiptHandle) })
}

// deleteByHandle deletes the handle's message. A standard queue accepts the handle of
// an earlier receive, or of a deleted message, and does nothing.
func (q *queue) deleteByHandle(text string) error {
	h, err := parseHandle(text, q.name)
	if err != nil {
		return err
	}
	if m := q.messages[h.message]; m != nil && m.generation == h.generation {
		q.remove(m)
	}
	return nil
}

// changeVisibility makes a message in flight visible at once. Nobody here keeps one longer
// than its queue does.
func (s *Server) changeVisibility(c call) (any, error) {
	in, err := decode[struct {
		QueueUrl, ReceiptHandle string
		VisibilityTimeout       int
	}](c)
	if err != nil {
		return nil, err
	}
	if in.VisibilityTimeout != 0 {
		return nil, errUnsupported("A visibility timeout is not changed to another value than 0 here.")
	}
	return empty{}, s.with(in.QueueUrl, func(q *queue, now time.Time) error {
		h, err := parseHandle(in.ReceiptHandle, q.name)
		if err != nil {
			return err
		}
		m := q.messages[h.message]
		if m == nil || m.generation != h.generation || !m.inFlight(now) {
			return errNotInFlight()
		}
		q.put(m, now)
		return nil
	})
}

// A deletion is one entry of a DeleteMessageBatch.
type deletion struct{ Id, ReceiptHandle string }

// A deleted is the answer for one entry.
type deleted struct{ Id string }

type failure struct {
	Id          string
	Code        string
	Message     string
	SenderFault bool
}

func (s *Server) deleteMessageBatch(c call) (any, error) {
	in, err := decode[struct {
		QueueUrl string
		Entries  []deletion
	}](c)
	if err != nil {
		return nil, err
	}
	// Both lists are empty, not null: clients may rely on both.
	out := struct {
		Successful []deleted
		Failed     []failure
	}{[]deleted{}, []failure{}}
	err = s.with(in.QueueUrl, func(q *queue, _ time.Time) error {
		for _, e := range in.Entries {
			var f *fault
			if errors.As(q.deleteByHandle(e.ReceiptHandle), &f) {
				out.Failed = append(out.Failed, failure{Id: e.Id, Code: f.code, Message: f.message, SenderFault: f.sender()})
				continue
			}
			out.Successful = append(out.Successful, deleted{e.Id})
		}
		return nil
	})
	return out, err
}
