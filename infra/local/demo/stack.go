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
	"flashsale/infra/local/scratch"
)

const (
	healthyTime = time.Minute
	// stopTime is how long the stack may take to stop before it is killed.
	stopTime = 20 * time.Second
)

// stack is a local stack that this program started.
type stack struct {
	*launch.Stack
	folder *scratch.Folder // of its data
}

// startStack runs the program, in .build/host of a checkout, with a new data folder and returns when the stack is healthy.
func startStack(ctx context.Context, program string, out io.Writer) (*stack, error) {
	folder, err := scratch.Open()
	if err != nil {
		return nil, err
	}
	s := &stack{folder: folder}
	if s.Stack, err = launch.New(program, folder.Path, "-root", filepath.Join(filepath.Dir(program), "..", "..")); err != nil {
		return nil, errors.Join(err, folder.Remove())
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

// end stops the stack and removes its folder, or keeps a copy on disk and prints where it is.
func (s *stack) end(out io.Writer, keep bool) {
	died := s.Ended()
	failure := s.Stop(stopTime)
	if keep {
		if died {
			fmt.Fprintf(out, "the stack had stopped unexpectedly (%v)\n", failure)
		}
		fmt.Fprintf(out, "the stack's last lines:\n%s\n", s.Output)
		if folder, err := s.keep(); err != nil {
			fmt.Fprintf(out, "its data could not be kept: %v\n", err)
		} else {
			fmt.Fprintf(out, "its data is kept; to inspect it: make run DATA=%s\n", folder)
		}
	}
	if err := s.folder.Remove(); err != nil {
		fmt.Fprintf(out, "remove the stack's folder: %v\n", err)
	}
}

// keep copies the data to a folder that stays.
func (s *stack) keep() (string, error) {
	folder, err := os.MkdirTemp("", "flashsale-demo-")
	if err != nil {
		return "", fmt.Errorf("make folder: %w", err)
	}
	return folder, os.CopyFS(folder, os.DirFS(s.folder.Path))
}
