package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/local/child"
	"flashsale/infra/local/launch"
)

const (
	// readyTime bounds a start, including failed attempts.
	readyTime = time.Minute
	readyPoll = 20 * time.Millisecond
	stopTime  = 20 * time.Second
	// visibility is after how long messages held by a killed FinalizeFunction reappear.
	visibility = "OrderVisibilityTimeout=9"
)

// machine is the system under torture: a separate process for the queues, so that they can
// be killed alone, and the stack with everything else.
type machine struct {
	dir           string // data and logs
	at            *launch.Stack
	queues, stack *child.Program
	log           *os.File
}

// newMachine prepares a machine with empty data. It starts nothing. The program release takes
// the place of ReleaseFunction's.
func newMachine(root, release string, killAtResponse float64) (*machine, error) {
	if _, err := child.Children(os.Getpid()); err != nil {
		return nil, err // processes cannot be listed here
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find root: %w", err)
	}
	dir, err := os.MkdirTemp("", "flashsale-torture-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	data, project := filepath.Join(dir, "data"), filepath.Join(dir, "project")
	if err := link(root, release, project); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	at, err := launch.New(launch.Built(root), data,
		"-root", project, "-sqs-port", "0", "-kill-at-response", strconv.FormatFloat(killAtResponse, 'g', -1, 64),
		"-parameter", visibility)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	log, err := os.OpenFile(filepath.Join(dir, "stack.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "AWS_EC2_METADATA_DISABLED=true"}
	at.Command.Dir, at.Command.Output, at.Command.Env = root, log, append(env[:len(env):len(env)], "AWS_ENDPOINT_URL_SQS="+at.SQS)
	queues := &child.Program{Name: "queues", ReadyURL: at.SQS, AnyStatus: true, Command: child.Command{
		Path: at.Command.Path, Dir: root, Env: env, Output: log,
		Args: []string{"-only", "sqs", "-sqs-port", strconv.Itoa(at.Ports[3]), "-root", project, "-parameter", visibility,
			// A real standard queue may do the same.
			"-faults", "duplicate=0.05,reorder=0.1"},
	}}
	return &machine{dir: dir, at: at, queues: queues, stack: at.Program, log: log}, nil
}

// link makes a folder that the stack takes for the project.
func link(root, release, project string) error {
	release, err := filepath.Abs(release)
	if err != nil {
		return fmt.Errorf("find release: %w", err)
	}
	if _, err := os.Stat(release); err != nil {
		return fmt.Errorf("find release (make torture builds it): %w", err)
	}
	return launch.Link(root, project, map[string]string{".build/host/" + client.ReleaseFunction + "/bootstrap": release})
}

// start starts a program and waits until it serves. If the program exits, it is started
// again: its killed predecessor's port or lock may take a moment to be released.
func (m *machine) start(ctx context.Context, p *child.Program) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for {
		err := p.Start(ctx)
		if !errors.Is(err, child.ErrEnded) || !pause(ctx, readyPoll) {
			return err
		}
	}
}

// stop stops both programs in order and closes the log.
func (m *machine) stop() error {
	return errors.Join(m.stack.Stop(stopTime), m.queues.Stop(stopTime), m.log.Close())
}
