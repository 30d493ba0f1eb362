package sqs

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// Options are the options of a server.
type Options struct {
	AccountID string           // "" is 000000000000
	Region    string           // "" is us-east-1
	Now       func() time.Time // nil is time.Now; safe for concurrent use
	Disorder  Disorder         // zero: none
}

// Server is a queue service. It is an http.Handler and safe for concurrent use.
type Server struct {
	options Options
	ctx     context.Context // ends with Close
	stop    context.CancelFunc

	mu     sync.Mutex
	queues map[string]*queue // by name
	chance *rand.Rand        // of the disorder
}

// New returns a server without queues.
func New(o Options) *Server {
	if o.AccountID == "" {
		o.AccountID = "000000000000"
	}
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, queues: map[string]*queue{}, chance: rand.New(rand.NewPCG(o.Disorder.Seed, 0))}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends long polls. Later requests get an error. A second Close does nothing.
func (s *Server) Close() { s.stop() }

// with runs an operation on the queue named by a QueueUrl's last segment, under the lock.
func (s *Server) with(url string, operate func(q *queue, now time.Time) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(url)
	if err != nil {
		return err
	}
	return operate(q, s.options.Now())
}

// find returns the queue named by a QueueUrl's last segment. The caller holds the lock.
func (s *Server) find(url string) (*queue, error) {
	switch {
	case s.ctx.Err() != nil:
		return nil, errClosed()
	case url == "":
		return nil, errMissing("QueueUrl")
	}
	q := s.queues[url[strings.LastIndexByte(url, '/')+1:]]
	if q == nil {
		return nil, errNoQueue()
	}
	return q, nil
}

func (s *Server) url(base, name string) string {
	return base + "/" + s.options.AccountID + "/" + name
}

func (s *Server) arn(name string) string {
	return "arn:aws:sqs:" + s.options.Region + ":" + s.options.AccountID + ":" + name
}

// byARN finds a queue of this server, nil if there is none.
func (s *Server) byARN(arn string) *queue {
	name, ok := strings.CutPrefix(arn, s.arn(""))
	if !ok {
		return nil
	}
	return s.queues[name]
}
