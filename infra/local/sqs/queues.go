package sqs

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// purgePause is the minimum time between two purges.
const purgePause = 60 * time.Second

type urlRequest struct{ QueueUrl string }

type urlAnswer struct{ QueueUrl string }

// EnsureQueue creates a queue with these attributes, or updates those of an existing
// queue that differ. It returns the queue's URL.
func (s *Server) EnsureQueue(name string, attributes map[string]string) (string, error) {
	err := s.update(func(now time.Time) error {
		if s.named[name] == nil {
			return s.create(name, attributes, nil, now)
		}
		return s.reconfigure(s.named[name], attributes, now)
	})
	return s.url(s.options.BaseURL, name), err
}

func (s *Server) createQueue(c call) (any, error) {
	in, err := decode[struct {
		QueueName  string
		Attributes map[string]string
		Tags       map[string]string `json:"tags"`
	}](c)
	if err != nil {
		return nil, err
	}
	err = s.update(func(now time.Time) error { return s.create(in.QueueName, in.Attributes, in.Tags, now) })
	return urlAnswer{s.url(c.baseURL, in.QueueName)}, err
}

// create creates a queue, or finds one of the same name and attributes.
func (s *Server) create(name string, attributes, tags map[string]string, now time.Time) error {
	if err := checkName(name, attributes); err != nil {
		return err
	}
	kept, err := checkAttributes(attributes)
	if err != nil {
		return err
	}
	if q := s.named[name]; q != nil {
		if differing := q.differs(kept); differing != "" {
			return errQueueExists(differing)
		}
		return nil
	}
	if err := s.checkTarget(name, kept["RedrivePolicy"]); err != nil {
		return err
	}
	made := config{Name: name, Key: newID(), Tags: tags, Created: now.UnixNano(), Modified: now.UnixNano()}.with(kept)
	return s.commit(record{Op: opConfigure, Config: &made})
}

// checkName refuses invalid names of standard queues. FIFO queues are not supported.
func checkName(name string, attributes map[string]string) error {
	fifoName := strings.HasSuffix(name, ".fifo") && queueName.MatchString(strings.TrimSuffix(name, ".fifo"))
	fifo := attributes["FifoQueue"] == "true"
	switch {
	case name == "":
		return errMissing("QueueName")
	case fifo && fifoName:
		return errUnsupported("FIFO queues are not supported here, only standard queues.")
	case fifo:
		return errParameter("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.")
	case !queueName.MatchString(name):
		return errParameter("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	return nil
}

// reconfigure sets attributes of an existing queue.
func (s *Server) reconfigure(q *queue, attributes map[string]string, now time.Time) error {
	kept, err := checkAttributes(attributes)
	if err != nil {
		return err
	}
	if q.differs(kept) == "" {
		return nil
	}
	if err := s.checkTarget(q.Name, kept["RedrivePolicy"]); err != nil {
		return err
	}
	changed := q.with(kept)
	changed.Modified = now.UnixNano()
	return s.commit(record{Op: opConfigure, Config: &changed})
}

func (s *Server) deleteQueue(c call) (any, error) {
	in, err := decode[urlRequest](c)
	if err != nil {
		return nil, err
	}
	return empty{}, s.update(func(now time.Time) error {
		q, err := s.find(in.QueueUrl, now)
		if err != nil {
			return err
		}
		return s.commit(record{Op: opDrop, Queue: q.Key})
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
	case s.named[in.QueueName] == nil, owner != "" && owner != s.options.AccountID:
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
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(in.QueueUrl, s.options.Now())
	if err != nil {
		return nil, err
	}
	attributes, err := q.describe(s.arn(q.Name), in.AttributeNames)
	return struct{ Attributes map[string]string }{attributes}, err
}

func (s *Server) setQueueAttributes(c call) (any, error) {
	in, err := decode[struct {
		QueueUrl   string
		Attributes map[string]string
	}](c)
	if err != nil {
		return nil, err
	}
	return empty{}, s.update(func(now time.Time) error {
		q, err := s.find(in.QueueUrl, now)
		if err != nil {
			return err
		}
		if len(in.Attributes) == 0 {
			return errMissing("Attributes")
		}
		return s.reconfigure(q, in.Attributes, now)
	})
}

func (s *Server) purgeQueue(c call) (any, error) {
	in, err := decode[urlRequest](c)
	if err != nil {
		return nil, err
	}
	return empty{}, s.update(func(now time.Time) error {
		q, err := s.find(in.QueueUrl, now)
		if err != nil {
			return err
		}
		if q.Purged != 0 && now.Sub(time.Unix(0, q.Purged)) < purgePause {
			return errPurging(q.Name)
		}
		return s.commit(record{Op: opPurge, Queue: q.Key, At: now.UnixNano()})
	})
}

func (s *Server) tagQueue(c call) (any, error) {
	in, err := decode[struct {
		QueueUrl string
		Tags     map[string]string
	}](c)
	if err != nil {
		return nil, err
	}
	return s.retag(in.QueueUrl, func(tags map[string]string) { maps.Copy(tags, in.Tags) })
}

func (s *Server) untagQueue(c call) (any, error) {
	in, err := decode[struct {
		QueueUrl string
		TagKeys  []string
	}](c)
	if err != nil {
		return nil, err
	}
	return s.retag(in.QueueUrl, func(tags map[string]string) {
		maps.DeleteFunc(tags, func(k, _ string) bool { return slices.Contains(in.TagKeys, k) })
	})
}

func (s *Server) retag(url string, change func(map[string]string)) (any, error) {
	return empty{}, s.update(func(now time.Time) error {
		q, err := s.find(url, now)
		if err != nil {
			return err
		}
		changed := q.config
		changed.Tags = maps.Clone(q.Tags)
		if changed.Tags == nil {
			changed.Tags = map[string]string{}
		}
		change(changed.Tags)
		return s.commit(record{Op: opConfigure, Config: &changed})
	})
}

func (s *Server) listQueueTags(c call) (any, error) {
	in, err := decode[urlRequest](c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(in.QueueUrl, s.options.Now())
	if err != nil {
		return nil, err
	}
	return struct{ Tags map[string]string }{maps.Clone(q.Tags)}, nil
}
