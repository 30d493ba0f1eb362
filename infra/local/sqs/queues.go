package sqs

import (
	"maps"
	"regexp"
	"time"
)

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

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
	if err := s.create(in.QueueName, in.Attributes); err != nil {
		return nil, err
	}
	return urlAnswer{s.url(c.baseURL, in.QueueName)}, nil
}

// create creates a queue, or finds one of the same name and attributes.
func (s *Server) create(name string, wanted attributes) error {
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
	parsed, err := wanted.parse()
	if err != nil {
		return err
	}
	if p := parsed.redrive; p != nil && s.byARN(p.Target) == nil {
		return errParameter("Value %s for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.", wanted["RedrivePolicy"])
	}
	q := newQueue(name)
	q.attributes, q.settings = maps.Clone(wanted), parsed
	s.queues[name] = q
	return nil
}

func (s *Server) getQueueURL(c call) (any, error) {
	in, err := decode[struct{ QueueName string }](c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues[in.QueueName] == nil {
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
	err = s.with(in.QueueUrl, func(q *queue, now time.Time) (err error) {
		out.Attributes, err = q.describe(s.arn(q.name), in.AttributeNames, now)
		return err
	})
	return out, err
}

func (s *Server) purgeQueue(c call) (any, error) {
	in, err := decode[urlRequest](c)
	if err != nil {
		return nil, err
	}
	return empty{}, s.with(in.QueueUrl, func(q *queue, _ time.Time) error {
		q.empty()
		return nil
	})
}
