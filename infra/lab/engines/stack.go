package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/child"
	"flashsale/infra/local/launch"
	"flashsale/infra/local/stack"
)

const (
	installStack     = "make host"
	purchaseFunction = "PurchaseFunction"
	finalizeFunction = "FinalizeFunction"
)

// Workers is an engine that runs the strategy's code in processes of its own,
// besides the application servers.
type Workers interface {
	// SignalWorkers sends all of them a signal at once, and tells how many
	// there were.
	SignalWorkers(s syscall.Signal) (int, error)
}

// partLimit bounds how long a function is waited for that shall be killed.
const partLimit = 5 * time.Second

// system is the project's local stack, with an engine, queues and a way to its API that
// can die alone.
type system struct {
	dynamo *dynamo
	queues *child.Program
	stack  *stack.Stack
	api    *Relay
}

func startStack(ctx context.Context, dir string, o Options) (_ Engine, err error) {
	if err := present(filepath.Join(o.Root, ".build", "host", purchaseFunction, "bootstrap"), "the stack", installStack); err != nil {
		return nil, err
	}
	s := &system{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if s.dynamo, err = launchDynamo(ctx, dir, o); err != nil {
		return nil, err
	}
	ports, err := child.FreePorts(1)
	if err != nil {
		return nil, err
	}
	queues := "http://" + address(ports[0])
	// What a killed function held comes again after 9 s, finalize's timeout. Other strategies
	// tell nobody of an order.
	parameters := map[string]string{"OrderVisibilityTimeout": "9", "PublishEvents": "false"}
	args := []string{"-only", "sqs", "-sqs-port", strconv.Itoa(ports[0]), "-root", o.Root}
	for name, value := range parameters {
		args = append(args, "-parameter", name+"="+value)
	}
	s.queues = &child.Program{Name: "queues", ReadyURL: queues, AnyStatus: true, Command: child.Command{Path: launch.Built(o.Root), Args: args}}
	if err := s.queues.Start(ctx); err != nil {
		return nil, err
	}
	s.stack, err = stack.Start(ctx, stack.Options{
		Root: o.Root, Data: filepath.Join(dir, "stack"), DynamoDBEndpoint: s.dynamo.running.Endpoint(), SQSEndpoint: queues,
		Parameters: parameters,
	})
	if err != nil {
		return nil, err
	}
	s.api, err = NewRelay(strings.TrimPrefix(s.stack.API, "http://"), nil)
	return s, err
}

// Reset has nothing to do, as with dynoxide alone.
func (s *system) Reset(context.Context) error { return nil }

func (s *system) Describe(p *shop.Place) {
	p.API, p.Lambda, p.DynamoDB, p.Table = "http://"+s.api.Address(), s.stack.Lambda, s.stack.DynamoDB, s.stack.Table
}

func (s *system) Crash() error { return s.dynamo.Crash() }

func (s *system) Recover(ctx context.Context) error { return s.dynamo.Recover(ctx) }

func (s *system) Stop() (err error) {
	if s.api != nil {
		s.api.Close()
	}
	if s.stack != nil {
		err = s.stack.Stop()
	}
	if s.queues != nil {
		err = errors.Join(err, s.queues.Stop(stopGrace))
	}
	if s.dynamo != nil {
		err = errors.Join(err, s.dynamo.Stop())
	}
	return err
}

// KillPart kills the queue, the API or the finalizers.
func (s *system) KillPart(ctx context.Context, p Part) (repair func(context.Context) error, err error) {
	switch p {
	case Queue:
		s.queues.Kill()
		return s.queues.Start, nil
	case API:
		s.api.lead("")
		return func(context.Context) error {
			s.api.lead(strings.TrimPrefix(s.stack.API, "http://"))
			return nil
		}, nil
	}
	// The first message takes its time to a function.
	for end := time.Now().Add(partLimit); ; time.Sleep(startPoll) {
		n, err := signalFunctions(syscall.SIGKILL, finalizeFunction)
		if err != nil || n > 0 || time.Now().After(end) || ctx.Err() != nil {
			return func(context.Context) error { return nil }, err // the next message starts another
		}
	}
}

// SignalWorkers signals every process of every function.
func (s *system) SignalWorkers(signal syscall.Signal) (int, error) {
	return signalFunctions(signal, "")
}

// signalFunctions signals every process of one function, or with "" of all. They are
// children of this process, because the stack runs in it; only those are touched.
func signalFunctions(signal syscall.Signal, only string) (int, error) {
	all, err := child.Children(os.Getpid())
	if err != nil {
		return 0, err
	}
	signalled := 0
	for _, process := range all {
		if name := filepath.Base(filepath.Dir(process.Program())); !strings.HasSuffix(name, "Function") || only != "" && name != only {
			continue
		}
		if err := process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return signalled, fmt.Errorf("send %v to function: %w", signal, err)
		}
		signalled++
	}
	return signalled, nil
}
