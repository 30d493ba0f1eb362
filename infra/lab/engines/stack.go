package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/child"
	"flashsale/infra/local/stack"
)

const (
	installStack     = "make host"
	purchaseFunction = "PurchaseFunction"
)

// Workers is an engine that runs the strategy's code in processes of its own,
// besides the application servers.
type Workers interface {
	// SignalWorkers sends all of them a signal at once, and tells how many
	// there were.
	SignalWorkers(s syscall.Signal) (int, error)
}

// system is the project's local stack, with a dynoxide that can be killed
// apart from it.
type system struct {
	dynamo *dynamo
	stack  *stack.Stack
}

func startStack(ctx context.Context, dir string, o Options) (Engine, error) {
	if err := present(filepath.Join(o.Root, ".build", "host", purchaseFunction, "bootstrap"), "the stack", installStack); err != nil {
		return nil, err
	}
	d, err := launchDynamo(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	s, err := stack.Start(ctx, stack.Options{Root: o.Root, Data: filepath.Join(dir, "stack"), DynamoDBEndpoint: d.running.Endpoint()})
	if err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	return &system{dynamo: d, stack: s}, nil
}

// Reset has nothing to do, as with dynoxide alone.
func (s *system) Reset(context.Context) error { return nil }

func (s *system) Describe(p *shop.Place) {
	p.API, p.Lambda, p.DynamoDB, p.Table = s.stack.API, s.stack.Lambda, s.stack.DynamoDB, s.stack.Table
}

func (s *system) Crash() error { return s.dynamo.Crash() }

func (s *system) Recover(ctx context.Context) error { return s.dynamo.Recover(ctx) }

func (s *system) Stop() error { return errors.Join(s.stack.Stop(), s.dynamo.Stop()) }

// SignalWorkers signals every process of every function. They are
// children of this process, because the stack runs in it; only those are touched.
func (s *system) SignalWorkers(signal syscall.Signal) (int, error) {
	all, err := child.Children(os.Getpid())
	if err != nil {
		return 0, err
	}
	signalled := 0
	for _, process := range all {
		if !strings.HasSuffix(filepath.Dir(process.Program()), "Function") {
			continue
		}
		if err := process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return signalled, fmt.Errorf("send %v to function: %w", signal, err)
		}
		signalled++
	}
	return signalled, nil
}
