package sqs

import (
	"regexp"
	"time"
)

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// purgePause is the minimum time between two purges.
const purgePause = 60 * time.Second

type urlRequest struct{ QueueUrl string }

type urlAnswer struct{ QueueUrl string }

func (s *Server) createQueue(c call) (any, error) {
	in, err := decode[struct {
		QueueName  string
		Attributes map[string]string
	}](c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.create(in.QueueName, in.Attributes, s.options.Now()); err != nil {
		return nil, err
	}
	return urlAnswer{s.url(c.baseURL, in.QueueName)}, nil
}

// create creates a queue, or finds one of the same name and attributes.
func (s *Server) create(name string, wanted map[string]string, now time.Time) error {
	switch {
	case s.ctx.Err() != nil:
		return errClosed()
	case name == "":
		return errMissing("QueueName")
	case !queueName.MatchString(name):
		return errParameter("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	if q := s.queues[name]; q != nil {
		if differing := q.attributes.differs(wanted); differing != "" {
			return errQueueExists(differing)
		}
		return nil
	}
	q := newQueue(name, now)
	if err := s.configure(q, wanted, now); err != nil {
		return err
	}
	s.queues[name] = q
	return nil
}

func (s *Server) setQueueAttributes(c call) (any, error) {
	in, err := decode[struct {
		QueueUrl   string
		Attributes map[string]string
	}](c)
	if err != nil {
		return nil, err
	}
	return empty{}, s.with(in.QueueUrl, func(q *queue, now time.Time) error {
		if len(in.Attributes) == 0 {
			return errMissing("Attributes")
		}
		if q.attributes.differs(in.Attributes) == "" {
			return nil
		}
		return s.configure(q, in.Attributes, now)
	})
}

func (s *Server) getQueueURL(c call) (any, error) {
	in, err := decode[struct{ QueueName, QueueOwnerAWSAccountId string }](c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch owner := in.QueueOwnerAWSAccountId; {
	case in.QueueName == "":
		return nil, errMissing("QueueName")
	case s.queues[in.QueueName] == nil, owner != "" && owner != s.options.AccountID:
		return nil, errNoQueue()
	}
	return urlAnswer{s.url(c.baseURL, in.QueueName)}, nil
}

func (s *Server) getQueueAttributes(c call) (any, error) {
	in, err := decode[struct {
		QueueUrl       string
		AttributeNames []string
	}](c)
	if err != nil {
		return nil, err
	}
	var out struct{ Attributes map[string]string }
	err = s.with(in.QueueUrl, func(q *queue, _ time.Time) (err error) {
		out.Attributes, err = q.describe(s.arn(q.name), in.AttributeNames)
		return err
	})
	return out, err
}

func (s *Server) purgeQueue(c call) (any, error) {
	in, err := decode[urlRequest](c)
	if err != nil {
		return nil, err
	}
	return empty{}, s.with(in.QueueUrl, func(q *queue, now time.Time) error {
		if !q.purged.IsZero() && now.Sub(q.purged) < purgePause {
			return errPurging(q.name)
		}
		q.empty()
		q.purged = now
		return nil
	})
}
