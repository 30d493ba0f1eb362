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
	if text == "" {
		return errMissing("ReceiptHandle")
	}
	h, err := parseHandle(text, q.name)
	if err != nil {
		return err
	}
	if m := q.messages[h.message]; m != nil && m.generation == h.generation {
		q.remove(m)
	}
	return nil
}

// changeVisibility sets how long a message in flight stays hidden, counted from now.
func (s *Server) changeVisibility(c call) (any, error) {
	in, err := decode[struct {
		QueueUrl, ReceiptHandle string
		VisibilityTimeout       *int
	}](c)
	if err != nil {
		return nil, err
	}
	return empty{}, s.with(in.QueueUrl, func(q *queue, now time.Time) error {
		switch {
		case in.ReceiptHandle == "":
			return errMissing("ReceiptHandle")
		case in.VisibilityTimeout == nil:
			return errMissing("VisibilityTimeout")
		}
		return q.hideByHandle(in.ReceiptHandle, *in.VisibilityTimeout, now)
	})
}

func (q *queue) hideByHandle(text string, seconds int, now time.Time) error {
	if seconds < 0 || seconds > maxVisibilitySeconds {
		return errParameter("Value %d for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and %d, if provided.", seconds, maxVisibilitySeconds)
	}
	h, err := parseHandle(text, q.name)
	if err != nil {
		return err
	}
	m := q.messages[h.message]
	switch {
	case m == nil || m.generation != h.generation:
		return errParameter("Value %s for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.", text)
	case !m.held:
		return errNotInFlight()
	}
	// A receiver can keep a message for twelve hours in total.
	if held := int(now.Sub(m.received) / time.Second); held+seconds > maxVisibilitySeconds {
		return errParameter("Value %d for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [%d seconds].", seconds, maxVisibilitySeconds)
	}
	if seconds == 0 {
		q.show(m)
		return nil
	}
	q.hide(m, now.Add(time.Duration(seconds)*time.Second), true)
	return nil
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
