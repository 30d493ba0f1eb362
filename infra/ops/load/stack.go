package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"flashsale/infra/local/child"
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
	dir  string // of its data and log
	log  *os.File
	tail child.Tail
}

// startStack runs the program with a new data folder and returns when the stack is healthy.
func startStack(ctx context.Context, program string, out io.Writer) (*stack, error) {
	dir, err := os.MkdirTemp("", "flashsale-demo-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	s := &stack{dir: dir}
	if err := s.start(ctx, program); err != nil {
		s.end(out, s.Stack != nil && ctx.Err() == nil)
		return nil, err
	}
	return s, nil
}

func (s *stack) data() string { return filepath.Join(s.dir, "data") }

func (s *stack) start(ctx context.Context, program string) (err error) {
	if s.Stack, err = launch.New(program, s.data()); err != nil {
		return err
	}
	if s.log, err = os.Create(filepath.Join(s.dir, "stack.log")); err != nil {
		return fmt.Errorf("make log: %w", err)
	}
	s.Command.Output = io.MultiWriter(s.log, &s.tail)
	// Ctrl-C reaches only this program, which then stops the stack.
	s.Command.OwnGroup = true
	ctx, cancel := context.WithTimeout(ctx, healthyTime)
	defer cancel()
	return s.Start(ctx)
}

// end stops the stack and removes its folder, or keeps it and prints where it is.
func (s *stack) end(out io.Writer, keep bool) {
	died := s.Stack != nil && s.Ended()
	var failure error
	if s.Stack != nil {
		failure = s.Stop(stopTime)
	}
	if s.log != nil {
		failure = errors.Join(failure, s.log.Close())
	}
	if !keep {
		if err := os.RemoveAll(s.dir); err != nil {
			fmt.Fprintf(out, "remove the stack's folder: %v\n", err)
		}
		return
	}
	if died {
		fmt.Fprintf(out, "the stack had stopped unexpectedly (%v)\n", failure)
	}
	fmt.Fprintf(out, "the stack's last lines (%s):\n%s\n", filepath.Join(s.dir, "stack.log"), &s.tail)
	fmt.Fprintf(out, "its data is kept; to inspect it: make run DATA=%s\n", s.data())
}
