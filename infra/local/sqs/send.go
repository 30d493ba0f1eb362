package sqs

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"time"
)

const maxMessageBytes = 1 << 20

func (s *Server) sendMessage(r request) (any, error) {
	in, err := decode[struct {
		QueueUrl, MessageBody string
		DelaySeconds          int
	}](r)
	if err != nil {
		return nil, err
	}
	m := &message{id: rand.Text(), body: in.MessageBody, sent: time.Now()}
	return struct{ MessageId, MD5OfMessageBody string }{m.id, md5Hex(m.body)}, s.send(in.QueueUrl, m, time.Duration(in.DelaySeconds)*time.Second)
}

// Send sends a message to the queue of that name, for what runs in the same process.
func (s *Server) Send(queue, body string) error {
	return s.send(queue, &message{id: rand.Text(), body: body, sent: time.Now()}, 0)
}

func (s *Server) send(url string, m *message, delay time.Duration) error {
	return s.with(url, func(q *queue) error {
		if m.body == "" || len(m.body) > maxMessageBytes {
			return errParameter("A message has 1 to %d bytes.", maxMessageBytes)
		}
		q.put(m, m.sent.Add(s.disorder.delay(s.chance)+delay))
		return nil
	})
}

func md5Hex(body string) string {
	sum := md5.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}
