package engines

import (
	"context"
	"errors"
	"sync"

	"flashsale/infra/lab/shop"
)

// Pool starts each engine when it is first needed and keeps it.
type Pool struct {
	options Options

	mu      sync.Mutex
	running map[kind]Engine
	failed  map[kind]error
}

// kind is an engine with the machine's clock or with one of its own.
type kind struct {
	need    shop.Need
	clocked bool
}

// NewPool is a pool that has started nothing.
func NewPool(o Options) *Pool {
	return &Pool{options: o, running: map[kind]Engine{}, failed: map[kind]error{}}
}

// Get returns the engines of the needs, empty; clocked, the first is a Clocked one that
// goes right. What failed to start fails again with the same error, a *MissingError if it
// is not installed.
func (p *Pool) Get(ctx context.Context, needs []shop.Need, clocked bool) ([]Engine, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Engine
	for i, need := range needs {
		e, err := p.get(ctx, kind{need, clocked && i == 0})
		if err != nil {
			return nil, err
		}
		if err := e.Reset(ctx); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (p *Pool) get(ctx context.Context, k kind) (e Engine, err error) {
	if err := p.failed[k]; err != nil {
		return nil, err
	}
	if e = p.running[k]; e == nil {
		o := p.options
		o.Clocked = k.clocked
		if e, err = Start(ctx, k.need, o); err != nil {
			if ctx.Err() == nil {
				p.failed[k] = err
			}
			return nil, err
		}
		p.running[k] = e
	}
	if k.clocked {
		err = e.(Clocked).Jump(0)
	}
	return e, err
}

// Stop stops every engine that runs.
func (p *Pool) Stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var stops sync.WaitGroup
	errs := make(chan error, len(p.running))
	for _, e := range p.running {
		stops.Go(func() { errs <- e.Stop() })
	}
	stops.Wait()
	close(errs)
	clear(p.running)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}
