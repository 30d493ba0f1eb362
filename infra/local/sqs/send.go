package sqs

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"time"
)

func (s *Server) sendMessage(c call) (any, error) {
	in, err := decode[struct {
		QueueUrl     string
		MessageBody  string
		DelaySeconds int

		MessageAttributes, MessageSystemAttributes map[string]json.RawMessage
		MessageDeduplicationId, MessageGroupId     *string
	}](c)
	if err != nil {
		return nil, err
	}
	m := &message{id: rand.Text(), body: in.MessageBody}
	err = s.with(in.QueueUrl, func(q *queue, now time.Time) error {
		switch {
		case in.MessageBody == "":
			return errMissing("MessageBody")
		case !isText(in.MessageBody):
			return errContents()
		case len(in.MessageAttributes) > 0 || len(in.MessageSystemAttributes) > 0:
			return errUnsupported("Message attributes are not supported here, only bodies.")
		case in.MessageDeduplicationId != nil || in.MessageGroupId != nil:
			return errUnsupported("Message groups are not supported here.")
		case in.DelaySeconds < 0 || in.DelaySeconds > maxDelaySeconds:
			return errParameter("Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.", in.DelaySeconds)
		case len(in.MessageBody) > maxMessageBytes:
			return errParameter("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", maxMessageBytes)
		}
		m.sent = now
		q.put(m, now.Add(s.options.Disorder.delay(s.chance)+time.Duration(in.DelaySeconds)*time.Second))
		return nil
	})
	return struct{ MessageId, MD5OfMessageBody string }{m.id, md5Hex(m.body)}, err
}

// isText reports whether a string contains only characters that SQS allows: those of an
// XML document.
func isText(s string) bool {
	for _, r := range s {
		switch {
		case r == '\t', r == '\n', r == '\r':
		case r >= 0x20 && r <= 0xD7FF, r >= 0xE000 && r <= 0xFFFD, r >= 0x10000 && r <= 0x10FFFF:
		default:
			return false
		}
	}
	return true
}

func md5Hex(body string) string {
	sum := md5.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}
