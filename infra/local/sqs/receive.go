package sqs

import (
	"slices"
	"strconv"
	"time"
)

const maxBatch = 10

type receiveRequest struct {
	QueueUrl                    string
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	MessageSystemAttributeNames []string
	AttributeNames              []string // the older name of the same
	MessageAttributeNames       []string // no message has any
}

// system returns which system attributes are asked for, by either name.
func (in receiveRequest) system() []string {
	return slices.Concat(in.MessageSystemAttributeNames, in.AttributeNames)
}

// A received is one delivery of a message.
type received struct {
	MessageId     string
	ReceiptHandle string
	MD5OfBody     string
	Body          string
	Attributes    map[string]string `json:",omitempty"`
}

func (in receiveRequest) check() error {
	between := func(name string, v *int, least, most int) error {
		if v == nil || *v >= least && *v <= most {
			return nil
		}
		return errParameter("Value %d for parameter %s is invalid. Reason: Must be between %d and %d, if provided.", *v, name, least, most)
	}
	for _, err := range []error{
		between("MaxNumberOfMessages", in.MaxNumberOfMessages, 1, maxBatch),
		between("VisibilityTimeout", in.VisibilityTimeout, 0, maxVisibilitySeconds),
		between("WaitTimeSeconds", in.WaitTimeSeconds, 0, maxWaitSeconds),
	} {
		if err != nil {
			return err
		}
	}
	for _, name := range in.system() {
		if name != "All" {
			return errUnsupported("Some of a message's system attributes are not answered here, only All.")
		}
	}
	return nil
}

// receiveMessage answers at once with visible messages, or waits for one.
func (s *Server) receiveMessage(c call) (any, error) {
	in, err := decode[receiveRequest](c)
	if err != nil {
		return nil, err
	}
	if err := s.with(in.QueueUrl, func(*queue, time.Time) error { return in.check() }); err != nil {
		return nil, err
	}
	var wait time.Duration
	if in.WaitTimeSeconds != nil {
		wait = time.Duration(*in.WaitTimeSeconds) * time.Second
	}
	out := struct {
		Messages []received `json:",omitempty"`
	}{}
	out.Messages, err = s.poll(c, in, wait)
	return out, err
}

// poll takes messages as soon as there are any, waiting at most wait.
func (s *Server) poll(c call, in receiveRequest, wait time.Duration) ([]received, error) {
	end := time.NewTimer(wait)
	defer end.Stop()
	for over := wait <= 0; s.ctx.Err() == nil; {
		s.mu.Lock()
		now := s.options.Now()
		q, err := s.find(in.QueueUrl)
		if err != nil {
			s.mu.Unlock()
			return nil, err
		}
		taken, err := s.take(c, q, in, now)
		if err != nil || len(taken) > 0 || over {
			s.mu.Unlock()
			return taken, err
		}
		w := q.wait()
		// Nothing else wakes a poll when a hidden message becomes visible.
		var due <-chan time.Time
		var timer *time.Timer
		if d, ok := q.untilDue(now); ok {
			timer = time.NewTimer(d)
			due = timer.C
		}
		s.mu.Unlock()
		select {
		case <-w:
		case <-due:
		case <-end.C:
			over = true
		case <-c.ctx.Done():
		case <-s.ctx.Done():
		}
		if timer != nil {
			timer.Stop()
		}
		s.mu.Lock()
		delete(q.waiters, w)
		s.mu.Unlock()
	}
	return nil, nil // the server is stopping
}

// take receives visible messages, up to the requested number. A caller that has gone
// gets none: it could not delete them.
func (s *Server) take(c call, q *queue, in receiveRequest, now time.Time) ([]received, error) {
	if c.ctx.Err() != nil {
		return nil, c.ctx.Err()
	}
	most, hidden := 1, q.settings.visibility
	if in.MaxNumberOfMessages != nil {
		most = *in.MaxNumberOfMessages
	}
	if in.VisibilityTimeout != nil {
		hidden = time.Duration(*in.VisibilityTimeout) * time.Second
	}
	var taken []received
	// A message that this receive makes visible again comes behind these, and waits for the next.
	for left := q.visible(now); len(taken) < most && left > 0; left-- {
		m := s.options.Disorder.pick(s.chance, q.order[:left])
		if to := s.deadLetterQueue(q, m); to != nil {
			s.bury(q, to, m, now)
			continue
		}
		m.receives++
		m.generation++
		m.received = true
		if m.first.IsZero() {
			m.first = now
		}
		q.put(m, now.Add(s.options.Disorder.visibility(s.chance, hidden)))
		taken = append(taken, in.answer(m, q.name, s.options.AccountID))
	}
	return taken, nil
}

// deadLetterQueue returns the target of a message that has been received as often as
// its queue allows, nil if it may be received again.
func (s *Server) deadLetterQueue(q *queue, m *message) *queue {
	p := q.settings.redrive
	if p == nil || m.receives < p.MaxReceiveCount {
		return nil
	}
	if to := s.byARN(p.Target); to != q {
		return to
	}
	return nil
}

// bury moves a message to a dead-letter queue. It stays the same message and starts again
// with a receive count of 0.
func (s *Server) bury(from, to *queue, m *message, now time.Time) {
	from.remove(m)
	m.received, m.receives, m.first, m.source = false, 0, time.Time{}, s.arn(from.name)
	to.put(m, now)
}

// answer returns a delivery, with the message's system attributes if they are requested.
func (in receiveRequest) answer(m *message, queue, account string) received {
	out := received{
		MessageId:     m.id,
		ReceiptHandle: handle{queue: queue, message: m.id, generation: m.generation}.String(),
		MD5OfBody:     md5Hex(m.body),
		Body:          m.body,
	}
	if len(in.system()) == 0 {
		return out
	}
	millis := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
	out.Attributes = map[string]string{
		"SenderId":                         account,
		"SentTimestamp":                    millis(m.sent),
		"ApproximateReceiveCount":          strconv.Itoa(m.receives),
		"ApproximateFirstReceiveTimestamp": millis(m.first),
	}
	if m.source != "" {
		out.Attributes["DeadLetterQueueSourceArn"] = m.source
	}
	return out
}
