package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"flashsale/infra/local/child"
)

// stopGrace is how long a server may take to close its strategy.
const stopGrace = time.Second

// member is one application server as the lab sees it.
type member struct {
	address string
	process *child.Process
}

func launch(ctx context.Context, program string, c config) (*member, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	out := &greeting{heard: make(chan string, 1)}
	process, err := child.Start(child.Command{
		Path: program, Env: append(os.Environ(), variable+"="+string(text)), Output: out,
	})
	if err != nil {
		return nil, err
	}
	m := &member{process: process}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	select {
	case m.address = <-out.heard:
		return m, nil
	case <-process.Done():
		return nil, fmt.Errorf("start application server %d: it ended (%w):\n%s", c.Number, process.Wait(), out.said())
	case <-ctx.Done():
		m.kill()
		return nil, fmt.Errorf("start application server %d: %w; it printed:\n%s", c.Number, ctx.Err(), out.said())
	}
}

func (m *member) kill() {
	m.process.Kill()
	_ = m.process.Wait() // it says that it was killed
}

// signal does nothing to a server that has ended.
func (m *member) signal(s syscall.Signal) error {
	select {
	case <-m.process.Done():
		return nil
	default:
	}
	if err := syscall.Kill(m.process.Pid(), s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to application server: %w", s, err)
	}
	return nil
}

// stop ends the server in order. What it is worth is in the durable store, so
// how it ends does not matter.
func (m *member) stop() { _ = m.process.Stop(stopGrace) }

// greeting waits for the line that says where a server listens.
type greeting struct {
	heard chan string

	mu   sync.Mutex
	text strings.Builder
}

// Write gets one line; child promises that.
func (g *greeting) Write(line []byte) (int, error) {
	if where, ok := strings.CutPrefix(string(line), listening); ok {
		select {
		case g.heard <- strings.TrimSpace(where):
		default: // only the first one counts
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.text.Len() < 4000 {
		g.text.Write(line)
	}
	return len(line), nil
}

func (g *greeting) said() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}
