package sqs

import "time"

// The operations on a receipt handle: delete the message, or change how long it stays
// hidden.

type receiptEntry struct {
	Id                string
	ReceiptHandle     *string
	VisibilityTimeout *int
}

// A done is the answer for one entry.
type done struct{ Id string }

// onReceipt runs an operation on one receipt handle.
func (s *Server) onReceipt(c call, change func(*queue, receiptEntry, time.Time) error) (any, error) {
	in, err := decode[struct {
		receiptEntry
		QueueUrl string
	}](c)
	if err != nil {
		return nil, err
	}
	return empty{}, s.update(func(now time.Time) error {
		q, err := s.find(in.QueueUrl, now)
		if err != nil {
			return err
		}
		return change(q, in.receiptEntry, now)
	})
}

// onReceipts runs an operation on every receipt handle of a batch.
func (s *Server) onReceipts(c call, entry string, change func(*queue, receiptEntry, time.Time) error) (any, error) {
	in, err := decode[batch[receiptEntry]](c)
	if err != nil {
		return nil, err
	}
	out := answers[done]{}
	err = s.update(func(now time.Time) error {
		q, err := s.find(in.QueueUrl, now)
		if err != nil {
			return err
		}
		if err := in.check(entry, func(e receiptEntry) string { return e.Id }); err != nil {
			return err
		}
		for _, e := range in.Entries {
			err := change(q, e, now)
			if err == nil {
				out.Successful = append(out.Successful, done{e.Id})
			}
			if err := out.fail(e.Id, err); err != nil {
				return err
			}
		}
		return nil
	})
	return out.filled(), err
}

func (s *Server) deleteMessage(c call) (any, error) { return s.onReceipt(c, s.deleteByHandle) }

func (s *Server) deleteMessageBatch(c call) (any, error) {
	return s.onReceipts(c, "DeleteMessageBatchRequestEntry", s.deleteByHandle)
}

func (s *Server) changeVisibility(c call) (any, error) { return s.onReceipt(c, s.hideByHandle) }

func (s *Server) changeVisibilityBatch(c call) (any, error) {
	return s.onReceipts(c, "ChangeMessageVisibilityBatchRequestEntry", s.hideByHandle)
}

// deleteByHandle deletes the handle's message. A standard queue accepts the handle of
// an earlier receive, or of a deleted message, and does nothing.
func (s *Server) deleteByHandle(q *queue, e receiptEntry, _ time.Time) error {
	if e.ReceiptHandle == nil || *e.ReceiptHandle == "" {
		return errMissing("ReceiptHandle")
	}
	h, err := parseHandle(*e.ReceiptHandle, q.Key)
	if err != nil {
		return err
	}
	if m := q.messages[h.message]; m == nil || m.Generation != h.generation {
		return nil
	}
	return s.commit(record{Op: opDelete, Queue: q.Key, ID: h.message})
}

// hideByHandle sets how long a message in flight stays hidden, counted from now.
func (s *Server) hideByHandle(q *queue, e receiptEntry, now time.Time) error {
	switch {
	case e.ReceiptHandle == nil || *e.ReceiptHandle == "":
		return errMissing("ReceiptHandle")
	case e.VisibilityTimeout == nil:
		return errMissing("VisibilityTimeout")
	}
	seconds := *e.VisibilityTimeout
	if seconds < 0 || seconds > maxVisibilitySeconds {
		return errParameter("Value %d for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and %d, if provided.", seconds, maxVisibilitySeconds)
	}
	h, err := parseHandle(*e.ReceiptHandle, q.Key)
	if err != nil {
		return err
	}
	m := q.messages[h.message]
	switch {
	case m == nil || m.Generation != h.generation:
		return errParameter("Value %s for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.", *e.ReceiptHandle)
	case !m.Held:
		return errNotInFlight()
	}
	// A receiver can keep a message for twelve hours in total.
	if held := int(now.Sub(time.Unix(0, m.Received)) / time.Second); held+seconds > maxVisibilitySeconds {
		return errParameter("Value %d for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [%d seconds].", seconds, maxVisibilitySeconds)
	}
	if seconds == 0 {
		return s.commit(record{Op: opShow, Queue: q.Key, ID: m.ID})
	}
	return s.commit(record{Op: opHide, Queue: q.Key, ID: m.ID, Until: now.Add(time.Duration(seconds) * time.Second).UnixNano()})
}
