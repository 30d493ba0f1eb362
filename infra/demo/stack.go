package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	healthyTime = time.Minute
	healthyPoll = 100 * time.Millisecond
	// stopTime is what the stack has to stop in order before it is killed.
	stopTime = 20 * time.Second
	tailSize = 2000
)

// stack is a local stack that this program started.
type stack struct {
	where   endpoints
	health  health
	dir     string // its data and its log
	process *os.Process
	exited  chan struct{} // closed when the process has ended
	failure error         // how it ended; valid after exited
}

// startStack runs the program on free ports with a data folder of its own, and
// returns when it is healthy.
func startStack(ctx context.Context, program string, out io.Writer) (*stack, error) {
	ports, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "flashsale-demo-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	s := &stack{where: localEndpoints(ports[0], ports[1], ports[2]), dir: dir, exited: make(chan struct{})}
	if err := s.start(program, ports); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.waitHealthy(ctx); err != nil {
		s.stop()
		if ctx.Err() == nil {
			fmt.Fprintf(out, "the stack's last lines (%s):\n%s\n", s.log(), s.tail())
		} else {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return nil, err
	}
	return s, nil
}

func (s *stack) log() string { return filepath.Join(s.dir, "stack.log") }

func (s *stack) data() string { return filepath.Join(s.dir, "data") }

func (s *stack) start(program string, ports []int) error {
	log, err := os.Create(s.log())
	if err != nil {
		return fmt.Errorf("make log: %w", err)
	}
	defer log.Close() // the process has its own handle
	command := exec.Command(program,
		"-api-port", strconv.Itoa(ports[0]), "-lambda-port", strconv.Itoa(ports[1]),
		"-dynamodb-port", strconv.Itoa(ports[2]), "-sqs-port", strconv.Itoa(ports[3]), "-data", s.data())
	command.Stdout, command.Stderr = log, log
	// A group of its own: Ctrl-C reaches this program alone, which then stops
	// the stack once and in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start stack: %w", err)
	}
	s.process = command.Process
	go func() {
		s.failure = command.Wait()
		close(s.exited)
	}()
	return nil
}

func (s *stack) waitHealthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthyTime)
	defer cancel()
	c := newClient(s.where, 1)
	defer c.close()
	for {
		health, err := c.health(ctx)
		if err == nil {
			s.health = health
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("start stack: it ended by itself (%w)", s.ending())
		case <-ctx.Done():
			return fmt.Errorf("wait for the stack: %w", err)
		case <-time.After(healthyPoll):
		}
	}
}

func (s *stack) ending() error {
	if s.failure == nil {
		return errors.New("exit status 0")
	}
	return s.failure
}

// stop ends the process: by SIGTERM, and by force if that takes too long. It
// returns when the process has ended.
func (s *stack) stop() {
	// Signalling fails only when the process has ended, which is waited for.
	_ = s.process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
		return
	case <-time.After(stopTime):
	}
	_ = s.process.Kill()
	<-s.exited
}

// end stops the stack and removes its folder, or keeps it and says what there
// is to inspect.
func (s *stack) end(out io.Writer, keep bool) {
	died := false
	select {
	case <-s.exited:
		died = true
	default:
	}
	s.stop()
	if !keep {
		if err := os.RemoveAll(s.dir); err != nil {
			fmt.Fprintf(out, "remove the stack's folder: %v\n", err)
		}
		return
	}
	if died {
		fmt.Fprintf(out, "the stack had ended by itself (%v)\n", s.ending())
	}
	fmt.Fprintf(out, "the stack's last lines (%s):\n%s\n", s.log(), s.tail())
	fmt.Fprintf(out, "its data is kept; to look into it: make run DATA=%s\n", s.data())
}

// tail is the end of the log.
func (s *stack) tail() string {
	text, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	if len(text) > tailSize {
		text = text[len(text)-tailSize:]
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(text)), "?")
}

// freePorts are ports of 127.0.0.1 that nobody listens on. All are held until
// the last is found, so that they differ.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find free port: %w", err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
