package engines

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/child"
)

const (
	// startLimit bounds a start; a loaded machine may take seconds.
	startLimit = 30 * time.Second
	startPoll  = 5 * time.Millisecond
	stopGrace  = 5 * time.Second
)

// server is one program on one port, which can die and come back.
type server struct {
	path string
	args func(port int) []string
	// serves asks it something that only a server in service answers.
	serves func(ctx context.Context, port int) error

	port    int
	process *child.Process
	log     child.Tail
}

// start starts it on its port, or the first time on a free one.
func (s *server) start(ctx context.Context) error {
	if s.port == 0 {
		free, err := child.FreePorts(1)
		if err != nil {
			return err
		}
		s.port = free[0]
	}
	var err error
	if s.process, err = child.Start(child.Command{
		Path: s.path, Args: s.args(s.port), Output: &s.log,
		// An engine must not read the user's own configuration.
		Env: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"},
	}); err != nil {
		return err
	}
	if err = await(ctx, s.process.Done(), func(ctx context.Context) error { return s.serves(ctx, s.port) }); err != nil {
		s.kill()
		return fmt.Errorf("start %s: %w; it printed:\n%s", s.path, err, s.log.String())
	}
	return nil
}

// kill ends it as kill -9 does and waits until it is gone.
func (s *server) kill() {
	s.process.Kill()
	_ = s.process.Wait()
}

func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// servers are an engine of one or more independent servers.
type servers struct {
	all      []*server
	reset    func(ctx context.Context, s *server) error
	describe func(p *shop.Place, s *server)
	// delay is how long one that died stays away on purpose.
	delay time.Duration
}

// started starts them all, and empties them.
func (e *servers) started(ctx context.Context) (Engine, error) {
	for _, s := range e.all {
		if err := s.start(ctx); err != nil {
			e.Stop()
			return nil, err
		}
	}
	return e, nil
}

func (e *servers) Reset(ctx context.Context) error {
	for _, s := range e.all {
		if err := e.reset(ctx, s); err != nil {
			return fmt.Errorf("empty %s: %w", s.path, err)
		}
	}
	return nil
}

func (e *servers) Describe(p *shop.Place) {
	for _, s := range e.all {
		e.describe(p, s)
	}
}

func (*servers) Ail() time.Duration { return 0 }

func (e *servers) Crash() { e.all[0].kill() }

// Recover starts the killed server. Its children, if it has some, end by themselves a moment after it.
func (e *servers) Recover(ctx context.Context) (err error) {
	time.Sleep(e.delay)
	for limit := time.Now().Add(startLimit); time.Now().Before(limit) && ctx.Err() == nil; time.Sleep(startPoll) {
		if err = e.all[0].start(ctx); err == nil {
			return nil
		}
	}
	return err
}

// Stop ends them in order, or by force if that takes too long.
func (e *servers) Stop() {
	for _, s := range e.all {
		if s.process != nil {
			_ = s.process.Stop(stopGrace)
		}
	}
}
