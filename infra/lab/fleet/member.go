package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"flashsale/infra/local/child"
)

// stopGrace is how long a server may take to close its strategy.
const stopGrace = time.Second

// freezeLimit is how long the threads of a server may take to stop.
const freezeLimit = 5 * time.Second

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
	out := &child.Tail{}
	process, err := child.Start(child.Command{
		Path: program, Env: append(os.Environ(), variable+"="+string(text)), Output: out,
	})
	if err != nil {
		return nil, err
	}
	m := &member{process: process}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	for {
		if _, where, ok := strings.Cut(out.String(), listening); ok && strings.Contains(where, "\n") {
			m.address, _, _ = strings.Cut(where, "\n")
			return m, nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-process.Done():
			return nil, fmt.Errorf("start application server %d: it ended (%w):\n%s", c.Number, process.Wait(), out)
		case <-ctx.Done():
			m.kill()
			return nil, fmt.Errorf("start application server %d: %w; it printed:\n%s", c.Number, ctx.Err(), out)
		}
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

// freeze stops all threads of the server. The signal takes effect when each thread
// next runs, so until then the server may still answer.
func (m *member) freeze() error {
	if err := m.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	threads := fmt.Sprintf("/proc/%d/task/*/stat", m.process.Pid())
	for end := time.Now().Add(freezeLimit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		files, err := filepath.Glob(threads)
		if err != nil || !slices.ContainsFunc(files, isRunning) {
			return err // none is left, or there is no /proc
		}
	}
	return fmt.Errorf("freeze application server: it still runs after %v", freezeLimit)
}

// isRunning reads a thread's state, the field after its name in parentheses: T is
// stopped. A thread that has ended runs no more.
func isRunning(stat string) bool {
	text, err := os.ReadFile(stat)
	_, state, _ := bytes.Cut(text, []byte(") "))
	return err == nil && !bytes.HasPrefix(state, []byte("T"))
}

// stop ends the server in order. What it is worth is in the durable store, so
// how it ends does not matter.
func (m *member) stop() { _ = m.process.Stop(stopGrace) }
