package engines

import (
	"context"
	"fmt"
	"os"

	"flashsale/infra/local/child"
)

// server is one program on one port, which can die and come back.
type server struct {
	name string
	path string
	// args are its arguments for a port.
	args func(port int) []string
	// serves asks it something that only a server in service answers.
	serves func(ctx context.Context, port int) error

	port    int
	process *child.Process
	log     child.Tail
}

// start starts it on its port, or the first time on a free one.
func (s *server) start(ctx context.Context) error {
	for try := 1; ; try++ {
		port := s.port
		if port == 0 {
			free, err := child.FreePorts(1)
			if err != nil {
				return err
			}
			port = free[0]
		}
		err := s.startOn(ctx, port)
		if err == nil {
			s.port = port
			return nil
		}
		if try == starts || ctx.Err() != nil {
			return fmt.Errorf("start %s: %w; it printed:\n%s", s.name, err, s.log.String())
		}
	}
}

func (s *server) startOn(ctx context.Context, port int) error {
	process, err := child.Start(child.Command{
		Path: s.path, Args: s.args(port), Output: &s.log,
		// An engine must not read the user's own configuration.
		Env: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"},
	})
	if err != nil {
		return err
	}
	s.process = process
	err = await(ctx, process.Done(), func(ctx context.Context) error { return s.serves(ctx, port) })
	if err != nil {
		process.Kill()
		_ = process.Wait()
	}
	return err
}

// kill ends it as kill -9 does and waits until it is gone.
func (s *server) kill() {
	if s.process != nil {
		s.process.Kill()
		_ = s.process.Wait()
	}
}

// stop ends it in order, or by force if that takes too long. How a server ends
// whose data is thrown away does not matter.
func (s *server) stop() {
	if s.process != nil {
		_ = s.process.Stop(stopGrace)
	}
}
