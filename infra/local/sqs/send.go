package sqs

import (
	"regexp"
	"time"
)

// A sendEntry is one message of a SendMessage or SendMessageBatch.
type sendEntry struct {
	Id                      string
	MessageBody             *string
	DelaySeconds            *int
	MessageAttributes       map[string]wireAttribute
	MessageSystemAttributes map[string]wireAttribute
	MessageDeduplicationId  *string
	MessageGroupId          *string
}

// A sent is the answer for one message.
type sent struct {
	Id                           string `json:",omitempty"`
	MessageId                    string
	MD5OfMessageBody             string
	MD5OfMessageAttributes       string `json:",omitempty"`
	MD5OfMessageSystemAttributes string `json:",omitempty"`
}

var groupID = regexp.MustCompile(`^[!-~]{1,128}$`)

// check converts an entry to a message, without the fields that the queue sets.
func (e sendEntry) check() (*message, error) {
	if err := checkBody(e.MessageBody); err != nil {
		return nil, err
	}
	attributes, err := checkMessageAttributes(e.MessageAttributes)
	if err != nil {
		return nil, err
	}
	m := &message{ID: newID(), Body: *e.MessageBody, Attributes: attributes}
	for name, in := range e.MessageSystemAttributes {
		a, err := checkValue("Message (system) attribute '"+name+"'", in)
		switch {
		case err != nil:
			return nil, err
		case name != "AWSTraceHeader" || a.Type != "String":
			return nil, errParameter("Message (system) attribute '%s' is invalid: only AWSTraceHeader of type String is supported.", name)
		}
		m.Trace = a.Text
	}
	if d := e.DelaySeconds; d != nil && (*d < 0 || *d > maxDelaySeconds) {
		return nil, errParameter("Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.", *d)
	}
	if e.MessageDeduplicationId != nil {
		return nil, errParameter("Value %s for parameter MessageDeduplicationId is invalid. Reason: The request includes a parameter that is not valid for this queue type.", *e.MessageDeduplicationId)
	}
	if e.MessageGroupId != nil {
		if !groupID.MatchString(*e.MessageGroupId) {
			return nil, errParameter("Value %s for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.", *e.MessageGroupId)
		}
		m.Group = *e.MessageGroupId
	}
	return m, nil
}

// size returns the entry's size for the limits, whether it is valid or not.
func (e sendEntry) size() int {
	size := 0
	if e.MessageBody != nil {
		size = len(*e.MessageBody)
	}
	for name, a := range e.MessageAttributes {
		size += len(name) + len(a.DataType) + len(a.BinaryValue)
		if a.StringValue != nil {
			size += len(*a.StringValue)
		}
	}
	return size
}

func (m *message) sent(id string) sent {
	answer := sent{Id: id, MessageId: m.ID, MD5OfMessageBody: md5Hex(m.Body), MD5OfMessageAttributes: digest(m.Attributes)}
	if m.Trace != "" {
		answer.MD5OfMessageSystemAttributes = digest(map[string]attribute{"AWSTraceHeader": {Type: "String", Text: m.Trace}})
	}
	return answer
}

// enqueue puts a checked message into a queue, with its own delay or else the queue's.
func (s *Server) enqueue(q *queue, m *message, delaySeconds *int, now time.Time) error {
	delay := q.settings.delay
	if delaySeconds != nil {
		delay = time.Duration(*delaySeconds) * time.Second
	}
	delay += s.disorder.delay(s.chance)
	m.Sent = now.UnixNano()
	if delay > 0 {
		m.Until = now.Add(delay).UnixNano()
	}
	return s.commit(record{Op: opSend, Queue: q.Key, Message: m})
}

func (s *Server) sendMessage(c call) (any, error) {
	in, err := decode[struct {
		sendEntry
		QueueUrl string
	}](c)
	if err != nil {
		return nil, err
	}
	m, invalid := in.check()
	err = s.update(func(now time.Time) error {
		q, err := s.find(in.QueueUrl, now)
		switch {
		case err != nil:
			return err
		case invalid != nil:
			return invalid
		case sizeOf(m.Body, m.Attributes) > q.settings.maxBytes:
			return errParameter("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", q.settings.maxBytes)
		}
		return s.enqueue(q, m, in.DelaySeconds, now)
	})
	if err != nil {
		return nil, err
	}
	return m.sent(""), nil
}

func (s *Server) sendMessageBatch(c call) (any, error) {
	in, err := decode[batch[sendEntry]](c)
	if err != nil {
		return nil, err
	}
	total := 0
	messages, invalid := make([]*message, len(in.Entries)), make([]error, len(in.Entries))
	for i, e := range in.Entries {
		total += e.size()
		messages[i], invalid[i] = e.check()
	}
	out := answers[sent]{}
	err = s.update(func(now time.Time) error {
		q, err := s.find(in.QueueUrl, now)
		if err != nil {
			return err
		}
		if err := in.check("SendMessageBatchRequestEntry", func(e sendEntry) string { return e.Id }); err != nil {
			return err
		}
		// A batch has only this limit, not the queue's.
		if total > maxMessageBytes {
			return errBatch("BatchRequestTooLong", "Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxMessageBytes, total)
		}
		for i, e := range in.Entries {
			err := invalid[i]
			if err == nil {
				err = s.enqueue(q, messages[i], e.DelaySeconds, now)
			}
			if err == nil {
				out.Successful = append(out.Successful, messages[i].sent(e.Id))
			}
			if err := out.fail(e.Id, err); err != nil {
				return err
			}
		}
		return nil
	})
	return out.filled(), err
}
