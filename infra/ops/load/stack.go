package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"flashsale/infra/local/launch"
)

const (
	healthyTime = time.Minute
	// stopTime is how long the stack may take to stop before it is killed.
	stopTime = 20 * time.Second
)

// stack is a local stack that this program started.
type stack struct {
	*launch.Stack
	dir string // of its data
}

// startStack runs the program with a new data folder and returns when the stack is healthy.
func startStack(ctx context.Context, program string, out io.Writer) (*stack, error) {
	dir, err := os.MkdirTemp("", "flashsale-demo-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	s := &stack{dir: dir}
	if s.Stack, err = launch.New(program, s.data()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	// Ctrl-C reaches only this program, which then stops the stack.
	s.Command.OwnGroup = true
	starting, cancel := context.WithTimeout(ctx, healthyTime)
	defer cancel()
	if err := s.Start(starting); err != nil {
		s.end(out, ctx.Err() == nil)
		return nil, err
	}
	return s, nil
}

func (s *stack) data() string { return filepath.Join(s.dir, "data") }

// end stops the stack and removes its folder, or keeps it and prints where it is.
func (s *stack) end(out io.Writer, keep bool) {
	died := s.Ended()
	failure := s.Stop(stopTime)
	if !keep {
		if err := os.RemoveAll(s.dir); err != nil {
			fmt.Fprintf(out, "remove the stack's folder: %v\n", err)
		}
		return
	}
	if died {
		fmt.Fprintf(out, "the stack had stopped unexpectedly (%v)\n", failure)
	}
	fmt.Fprintf(out, "the stack's last lines:\n%s\nits data is kept; to inspect it: make run DATA=%s\n", s.Output, s.data())
}
