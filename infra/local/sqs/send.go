package sqs

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"
)

const (
	maxMessageBytes = 1 << 20
	maxDelaySeconds = 900
)

func (s *Server) sendMessage(r request) (any, error) {
	in, err := decode[struct {
		QueueUrl, MessageBody string
		DelaySeconds          int
	}](r)
	if err != nil {
		return nil, err
	}
	m := &message{id: rand.Text(), body: in.MessageBody, sent: time.Now()}
	return struct{ MessageId, MD5OfMessageBody string }{m.id, md5Hex(m.body)}, s.with(in.QueueUrl, func(q *queue) error {
		switch {
		case strings.ContainsFunc(m.body, notXML):
			return errContents
		case m.body == "" || len(m.body) > maxMessageBytes:
			return errParameter("A message has 1 to %d bytes.", maxMessageBytes)
		case in.DelaySeconds < 0 || in.DelaySeconds > maxDelaySeconds:
			return errParameter("Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.", in.DelaySeconds)
		}
		q.put(m, m.sent.Add(s.disorder.delay(s.chance)+time.Duration(in.DelaySeconds)*time.Second))
		return nil
	})
}

// notXML reports whether SQS refuses a character: it allows those of an XML document.
func notXML(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

func md5Hex(body string) string {
	sum := md5.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}
