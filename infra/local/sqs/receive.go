package sqs

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

type receiveRequest struct {
	QueueUrl                    string
	MaxNumberOfMessages         int // 0: one
	VisibilityTimeout           int // 0: the queue's
	WaitTimeSeconds             int
	MessageSystemAttributeNames []string // none or All
}

// A received is one delivery of a message.
type received struct {
	MessageId     string
	ReceiptHandle string
	MD5OfBody     string
	Body          string
	Attributes    map[string]string `json:",omitempty"`
}

// receiveMessage answers at once with visible messages, or waits for one.
func (s *Server) receiveMessage(r request) (any, error) {
	in, err := decode[receiveRequest](r)
	if err != nil {
		return nil, err
	}
	if names := in.MessageSystemAttributeNames; len(names) > 0 && !slices.Equal(names, []string{"All"}) {
		return nil, errUnsupported("some of a message's system attributes, but not All")
	}
	var out struct {
		Messages []received `json:",omitempty"`
	}
	for end := time.Now().Add(time.Duration(in.WaitTimeSeconds) * time.Second); ; {
		var changed chan struct{}
		left := time.Until(end)
		err := s.with(in.QueueUrl, func(q *queue) error {
			// A caller that has gone gets nothing: it could not delete it.
			if r.ctx.Err() != nil {
				return r.ctx.Err()
			}
			now := time.Now()
			out.Messages = s.take(q, in, now)
			changed = q.changed
			// Nothing else wakes a poll when a hidden message becomes visible.
			if n := q.visible(now); n < len(q.order) {
				left = min(left, q.order[n].visible.Sub(now))
			}
			return nil
		})
		if err != nil || len(out.Messages) > 0 || time.Until(end) <= 0 {
			return out, err
		}
		s.wait(r.ctx, changed, left)
	}
}

// wait ends with a change, with the caller, with the server or after some time.
func (s *Server) wait(ctx context.Context, changed <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}

// take receives visible messages, up to the requested number. One that has been received as
// often as its queue allows becomes a dead letter: the same message, received by nobody.
func (s *Server) take(q *queue, in receiveRequest, now time.Time) (taken []received) {
	hidden := q.visibility
	if in.VisibilityTimeout > 0 {
		hidden = time.Duration(in.VisibilityTimeout) * time.Second
	}
	// A message that this receive makes visible again comes behind these, and waits for the next.
	for left := q.visible(now); len(taken) < max(1, in.MaxNumberOfMessages) && left > 0; left-- {
		m := s.disorder.pick(s.chance, q.order[:left])
		if q.deadLetters != nil && m.receives >= q.maxReceives {
			q.remove(m)
			m.received, m.receives, m.first = false, 0, time.Time{}
			q.deadLetters.put(m, now)
			continue
		}
		m.receives++
		m.generation++
		m.received, m.taken = true, now
		if m.first.IsZero() {
			m.first = now
		}
		q.put(m, now.Add(s.disorder.visibility(s.chance, hidden)))
		taken = append(taken, in.answer(m, q.name))
	}
	return taken
}

// answer returns a delivery, with the message's system attributes if they are requested.
func (in receiveRequest) answer(m *message, queue string) received {
	out := received{
		MessageId: m.id, ReceiptHandle: handle{queue, m.id, m.generation}.String(), MD5OfBody: md5Hex(m.body), Body: m.body,
	}
	if len(in.MessageSystemAttributeNames) > 0 {
		millis := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
		out.Attributes = map[string]string{
			"SenderId": "000000000000", "SentTimestamp": millis(m.sent), "ApproximateReceiveCount": strconv.Itoa(m.receives),
			"ApproximateFirstReceiveTimestamp": millis(m.first),
		}
	}
	return out
}

// A handle is a receipt handle: one delivery of one message from one queue. It is opaque text
// for clients.
type handle struct {
	queue, message string // their name and id
	generation     uint64
}

func (h handle) String() string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s/%s/%d", h.queue, h.message, h.generation))
}

// find returns the message of a receipt handle, nil if it is deleted or has been received
// again since.
func (q *queue) find(text string) (*message, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	parts := strings.Split(string(b), "/")
	if err != nil || len(parts) != 3 || parts[0] != q.name {
		return nil, errHandle
	}
	m := q.messages[parts[1]]
	if m == nil || strconv.FormatUint(m.generation, 10) != parts[2] {
		return nil, nil
	}
	return m, nil
}

func (s *Server) deleteMessage(r request) (any, error) {
	in, err := decode[struct{ QueueUrl, ReceiptHandle string }](r)
	if err != nil {
		return nil, err
	}
	return empty{}, s.with(in.QueueUrl, func(q *queue) error { return q.delete(in.ReceiptHandle) })
}

// delete deletes the handle's message. A standard queue accepts the handle of an earlier
// receive, or of a deleted message, and does nothing.
func (q *queue) delete(handle string) error {
	m, err := q.find(handle)
	if m != nil {
		q.remove(m)
	}
	return err
}

func (s *Server) deleteMessageBatch(r request) (any, error) {
	in, err := decode[struct {
		QueueUrl string
		Entries  []struct{ Id, ReceiptHandle string }
	}](r)
	if err != nil {
		return nil, err
	}
	type deleted struct{ Id string }
	type failure struct {
		Id, Code, Message string
		SenderFault       bool
	}
	// Both lists are empty, not null: clients may rely on both.
	out := struct {
		Successful []deleted
		Failed     []failure
	}{[]deleted{}, []failure{}}
	err = s.with(in.QueueUrl, func(q *queue) error {
		for _, e := range in.Entries {
			if q.delete(e.ReceiptHandle) != nil {
				out.Failed = append(out.Failed, failure{e.Id, errHandle.code, errHandle.message, true})
				continue
			}
			out.Successful = append(out.Successful, deleted{e.Id})
		}
		return nil
	})
	return out, err
}

// longestHidden is how long a message may be hidden, counted from its receive.
const longestHidden = 12 * time.Hour

// changeVisibility makes a message in flight visible at once, or hides it from now on for so long.
func (s *Server) changeVisibility(r request) (any, error) {
	in, err := decode[struct {
		QueueUrl, ReceiptHandle string
		VisibilityTimeout       int
	}](r)
	if err != nil {
		return nil, err
	}
	hidden := time.Duration(in.VisibilityTimeout) * time.Second
	return empty{}, s.with(in.QueueUrl, func(q *queue) error {
		now := time.Now()
		m, err := q.find(in.ReceiptHandle)
		switch {
		case err != nil:
		case m == nil || !m.inFlight(now):
			err = errNotInFlight
		case hidden < 0 || now.Add(hidden).After(m.taken.Add(longestHidden)):
			err = errParameter("A message is hidden for at most %v after it was received.", longestHidden)
		default:
			q.put(m, now.Add(hidden))
		}
		return err
	})
}
