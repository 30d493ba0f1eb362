// Package child starts a program as a child process which cannot outlive this one, and
// forwards its output line by line. A Program is a server that can be restarted;
// Children lists the children of a process.
//
// It handles processes, signals, ports and pipes, whatever the program does.
package child

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// drain is how long output is still read after the child has exited. It only matters if
// a process started by the child still has the pipe open.
const drain = time.Second

type Command struct {
	Path string
	Args []string // without the program's name
	Env  []string // the whole environment, as "NAME=value": nothing is inherited
	Dir  string   // this process's own if empty
	// Output gets stdout and stderr in the order they were written, one Write per line,
	// each with its newline; empty lines are dropped. The Writes of one child never
	// overlap; children that share a Writer need one that is safe for it. Its errors
	// are ignored: a log that cannot be written does not stop the child. A nil Output
	// discards.
	Output io.Writer
	// OwnGroup keeps a terminal's Ctrl-C from the child: only this process gets it.
	OwnGroup bool
	// Slack is how late the kernel may wake the child's timers, to wake it less often (Linux
	// only); 0 is as this process's own. See Calmly.
	Slack time.Duration
}

// Process is a started child. All methods may be called by several goroutines
// at once and after the child has exited.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of the exit; written before done is closed
}

// Start starts the command. On Linux the kernel kills the child when this process dies
// for any reason; elsewhere only Stop and Kill end it.
func Start(c Command) (*Process, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	// A nil Env would mean this process's environment.
	cmd.Env = append([]string{}, c.Env...)
	cmd.WaitDelay = drain
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: c.OwnGroup}
	out := &lines{to: c.Output}
	if c.Output != nil {
		cmd.Stdout, cmd.Stderr = out, out
	}
	if err := start(cmd, c.Slack); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		if p.err = cmd.Wait(); errors.Is(p.err, exec.ErrWaitDelay) {
			p.err = nil
		}
		out.end()
		close(p.done)
	}()
	return p, nil
}

// Pid returns the child's process id, even after the exit.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed once the child has exited and its output was forwarded.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns when Done is closed: nil after exit status 0, otherwise an
// *exec.ExitError.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Kill ends the child at once, without waiting for it.
func (p *Process) Kill() {
	// It fails only for a child that has already exited.
	_ = p.cmd.Process.Kill()
}

// Stop sends the child SIGTERM, kills it if it still runs after the grace period, and
// waits for it. Without grace it is killed at once. The result is Wait's.
func (p *Process) Stop(grace time.Duration) error {
	if grace > 0 && p.cmd.Process.Signal(syscall.SIGTERM) == nil {
		patience := time.NewTimer(grace)
		defer patience.Stop()
		select {
		case <-p.done:
			return p.err
		case <-patience.C:
		}
	}
	p.Kill()
	return p.Wait()
}

// maxLine bounds the memory for a line that never ends: a longer line is forwarded in
// pieces.
const maxLine = 256 << 10

// lines forwards a stream in whole lines. exec writes to it from one goroutine.
type lines struct {
	to   io.Writer
	rest []byte // the beginning of a line
}

func (l *lines) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if l.rest = append(l.rest, line...); line[len(line)-1] == '\n' || len(l.rest) >= maxLine {
			l.end()
		}
	}
	return len(p), nil
}

// end forwards what has been read of a line.
func (l *lines) end() {
	if line := bytes.TrimSuffix(l.rest, []byte("\n")); len(line) > 0 {
		_, _ = l.to.Write(append(line, '\n'))
	}
	l.rest = l.rest[:0]
}

// tailSize is how much a Tail keeps, in bytes.
const tailSize = 4000

// Tail keeps the end of what is written to it. It is safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.text, []byte("?")))
}
