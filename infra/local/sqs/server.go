package sqs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// Options are the options of a server.
type Options struct {
	Dir       string           // folder of the journal, created if absent; "" keeps everything in memory
	BaseURL   string           // prefix of queue URLs, like http://127.0.0.1:9324; "" uses each request's Host
	AccountID string           // "" is 000000000000
	Region    string           // "" is us-east-1
	Now       func() time.Time // nil is time.Now; safe for concurrent use
	Disorder  Disorder         // zero: none
	// Report, if not nil, is called with the error when the journal cannot be written,
	// as on a full disk, and with nil when it can be written again.
	Report    func(error)
	HealPause time.Duration // between two retries; 0 is one second
}

// Server is a queue service. It is an http.Handler and safe for concurrent use.
type Server struct {
	options Options
	journal *journal
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup // move tasks, compaction

	mu       sync.Mutex
	closed   bool
	named    map[string]*queue // by name
	keyed    map[string]*queue // by key
	tasks    map[string]*moveTask
	disorder Disorder
	chance   *rand.Rand
}

// Open starts a server with the state in its folder. It fails if another server uses
// that folder, and if the journal is damaged anywhere but in an incomplete last write,
// which was never acknowledged.
func Open(o Options) (*Server, error) {
	if o.AccountID == "" {
		o.AccountID = "000000000000"
	}
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.HealPause == 0 {
		o.HealPause = time.Second
	}
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	s := &Server{options: o, named: map[string]*queue{}, keyed: map[string]*queue{}, tasks: map[string]*moveTask{}}
	s.setDisorder(o.Disorder)
	s.ctx, s.stop = context.WithCancel(context.Background())
	if o.Dir != "" {
		j, err := openJournal(o.Dir, s.replay)
		if err != nil {
			s.stop()
			return nil, fmt.Errorf("open queue journal: %w", err)
		}
		s.journal = j
		if err := j.rewrite(s.snapshot()); err != nil {
			s.stop()
			return nil, fmt.Errorf("compact queue journal: %w", errors.Join(err, j.close()))
		}
		s.running.Go(s.compact)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		if t.Status == taskRunning {
			s.runTask(t)
		}
	}
	return s, nil
}

// Close ends long polls and move tasks, writes the rest and unlocks the folder. Later
// requests get an error. A second Close does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	s.stop()
	s.running.Wait()
	return s.journal.close()
}

// compact rewrites the journal whenever it has grown far beyond the state, and after a
// failed write. In the second case the file's contents are unknown, so no change is
// accepted until a new file with the whole state has replaced it.
func (s *Server) compact() {
	failed := false
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.journal.stale:
		}
		if err := s.journal.failure(); err != nil && !failed {
			failed = true
			s.options.Report(err)
		}
		s.mu.Lock()
		// After an error the old file stays: it continues to grow, or the rewrite is
		// retried.
		_ = s.journal.rewrite(s.snapshot())
		s.mu.Unlock()
		switch err := s.journal.failure(); {
		case err != nil:
			select {
			case <-s.ctx.Done():
				return
			case <-time.After(s.options.HealPause):
				signal(s.journal.stale)
			}
		case failed:
			failed = false
			s.options.Report(nil)
		}
	}
}

// update runs a change under the lock and returns once it is on disk, with all earlier
// changes: even "nothing to do" may depend on changes that are still being written.
func (s *Server) update(change func(now time.Time) error) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed()
	}
	err := change(s.options.Now())
	last := s.journal.last()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.journal.wait(last)
}

func errClosed() *fault {
	return newFault(503, unmodelled+"ServiceUnavailableException", "ServiceUnavailable", "The queue server is stopping.")
}

// find returns the queue named by a QueueUrl's last segment, refreshed to now. The
// caller holds the lock.
func (s *Server) find(url string, now time.Time) (*queue, error) {
	switch {
	case s.closed:
		return nil, errClosed()
	case url == "":
		return nil, errMissing("QueueUrl")
	}
	q := s.named[url[strings.LastIndexByte(url, '/')+1:]]
	if q == nil {
		return nil, errNoQueue()
	}
	return q, s.refresh(q, now)
}

// refresh advances a queue to now: it removes expired messages and shows due ones. The
// removal is recorded, so that a longer retention period set later does not bring them
// back.
func (s *Server) refresh(q *queue, now time.Time) error {
	for m, ok := q.expired(now); ok; m, ok = q.expired(now) {
		if err := s.commit(record{Op: opDelete, Queue: q.Key, ID: m.ID}); err != nil {
			return err
		}
	}
	q.advance(now)
	return nil
}

func (s *Server) url(base, name string) string {
	return base + "/" + s.options.AccountID + "/" + name
}
