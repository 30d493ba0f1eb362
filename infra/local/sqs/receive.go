package sqs

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

type receiveRequest struct {
	QueueUrl                    string
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	AttributeNames              []string
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
}

// A received is one delivery of a message.
type received struct {
	MessageId              string
	ReceiptHandle          string
	MD5OfBody              string
	Body                   string
	Attributes             map[string]string        `json:",omitempty"`
	MD5OfMessageAttributes string                   `json:",omitempty"`
	MessageAttributes      map[string]wireAttribute `json:",omitempty"`
}

var systemAttributes = []string{
	"All", "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
	"SequenceNumber", "MessageDeduplicationId", "MessageGroupId", "AWSTraceHeader", "DeadLetterQueueSourceArn",
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
	for _, name := range slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames) {
		// The older of the two lists may name queue attributes, which do not apply to
		// messages.
		if !slices.Contains(systemAttributes, name) && !isAttribute(name) {
			return errUnknownAttribute(name)
		}
	}
	return nil
}

// receiveMessage answers at once with visible messages, or waits for one. It records a
// receive without waiting for the disk: at worst a crash makes a received message
// visible again, as a standard queue may do.
func (s *Server) receiveMessage(c call) (any, error) {
	in, err := decode[receiveRequest](c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	q, err := s.find(in.QueueUrl, s.options.Now())
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	if err := in.check(); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	wait := q.settings.wait
	if in.WaitTimeSeconds != nil {
		wait = time.Duration(*in.WaitTimeSeconds) * time.Second
	}
	s.mu.Unlock()

	taken, err := s.poll(c, q, in, wait)
	if err != nil {
		return nil, err
	}
	out := struct {
		Messages []received `json:",omitempty"`
	}{}
	for _, m := range taken {
		out.Messages = append(out.Messages, in.answer(m, q.Key, s.options.AccountID))
	}
	return out, nil
}

// poll takes messages as soon as there are any, waiting at most wait.
func (s *Server) poll(c call, q *queue, in receiveRequest, wait time.Duration) ([]message, error) {
	end := time.NewTimer(wait)
	defer end.Stop()
	for over := wait <= 0; ; {
		s.mu.Lock()
		taken, err := s.take(c, q, in)
		if err != nil || len(taken) > 0 || over {
			s.mu.Unlock()
			return taken, err
		}
		w := q.wait()
		// Nothing else wakes a poll when a hidden message becomes visible.
		var due <-chan time.Time
		var timer *time.Timer
		if d, ok := q.untilDue(s.options.Now()); ok {
			timer = time.NewTimer(d)
			due = timer.C
		}
		s.mu.Unlock()
		select {
		case <-w.Value.(chan struct{}):
		case <-due:
		case <-end.C:
			over = true
		case <-c.ctx.Done():
		case <-s.ctx.Done():
			over = true
		}
		if timer != nil {
			timer.Stop()
		}
		s.mu.Lock()
		q.leave(w)
		s.mu.Unlock()
	}
}

// take receives visible messages, up to the requested number. A caller that has gone
// gets none: it could not delete them.
func (s *Server) take(c call, q *queue, in receiveRequest) ([]message, error) {
	now := s.options.Now()
	switch {
	case c.ctx.Err() != nil:
		// Pass this poll's wake-up on to another poll.
		if q.ready.Len() > 0 {
			q.wake(1)
		}
		return nil, c.ctx.Err()
	case s.closed:
		return nil, nil
	case s.keyed[q.Key] == nil:
		return nil, errNoQueue()
	}
	if err := s.refresh(q, now); err != nil {
		return nil, err
	}
	most, hidden := 1, q.settings.visibility
	if in.MaxNumberOfMessages != nil {
		most = *in.MaxNumberOfMessages
	}
	if in.VisibilityTimeout != nil {
		hidden = time.Duration(*in.VisibilityTimeout) * time.Second
	}
	var taken []message
	for len(taken) < most && q.ready.Len() > 0 {
		m := s.disorder.pick(s.chance, q.ready)
		if to := s.deadLetterQueue(q, m); to != nil {
			if err := s.commit(record{Op: opDead, Queue: q.Key, ID: m.ID, To: to.Key}); err != nil {
				return nil, err
			}
			continue
		}
		if q.inFlight >= maxInFlight {
			if len(taken) == 0 {
				return nil, errOverLimit()
			}
			break
		}
		until := now.Add(s.disorder.visibility(s.chance, hidden))
		if err := s.commit(record{Op: opReceive, Queue: q.Key, ID: m.ID, At: now.UnixNano(), Until: until.UnixNano()}); err != nil {
			return nil, err
		}
		taken = append(taken, *m)
	}
	if q.ready.Len() > 0 {
		q.wake(1)
	}
	return taken, nil
}

// deadLetterQueue returns the target of a message that has been received as often as
// its queue allows, nil if it may be received again. If the dead-letter queue was
// deleted, the message stays.
func (s *Server) deadLetterQueue(q *queue, m *message) *queue {
	p := q.settings.redrive
	if p == nil || m.Receives < p.MaxReceiveCount {
		return nil
	}
	if to := s.byARN(p.Target); to != q {
		return to
	}
	return nil
}

// answer returns a delivery with the requested attributes.
func (in receiveRequest) answer(m message, key, account string) received {
	out := received{
		MessageId:     m.ID,
		ReceiptHandle: handle{queue: key, message: m.ID, generation: m.Generation}.String(),
		MD5OfBody:     md5Hex(m.Body),
		Body:          m.Body,
	}
	asked := slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames)
	all := slices.Contains(asked, "All")
	for name, value := range m.system(account) {
		if value != "" && (all || slices.Contains(asked, name)) {
			if out.Attributes == nil {
				out.Attributes = map[string]string{}
			}
			out.Attributes[name] = value
		}
	}
	shown := map[string]attribute{}
	for name, a := range m.Attributes {
		if slices.ContainsFunc(in.MessageAttributeNames, func(pattern string) bool { return matches(pattern, name) }) {
			shown[name] = a
			if out.MessageAttributes == nil {
				out.MessageAttributes = map[string]wireAttribute{}
			}
			out.MessageAttributes[name] = a.wire()
		}
	}
	// The digest covers the returned attributes, so that the receiver can check it.
	out.MD5OfMessageAttributes = digest(shown)
	return out
}

// matches reports whether a message attribute is requested: by name, by prefix and .*,
// or by All.
func matches(pattern, name string) bool {
	if pattern == "All" || pattern == ".*" || pattern == name {
		return true
	}
	prefix, ok := strings.CutSuffix(pattern, ".*")
	return ok && strings.HasPrefix(name, prefix)
}

// system returns a message's system attributes, "" for those it does not have.
func (m *message) system(account string) map[string]string {
	millis := func(t int64) string { return strconv.FormatInt(time.Unix(0, t).UnixMilli(), 10) }
	return map[string]string{
		"SenderId":                         account,
		"SentTimestamp":                    millis(m.Sent),
		"ApproximateReceiveCount":          strconv.Itoa(m.Receives),
		"ApproximateFirstReceiveTimestamp": millis(m.First),
		"MessageGroupId":                   m.Group,
		"AWSTraceHeader":                   m.Trace,
		"DeadLetterQueueSourceArn":         m.Source,
	}
}
