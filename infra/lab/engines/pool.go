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
	running map[shop.Need]Engine
	failed  map[shop.Need]error
}

// NewPool is a pool that has started nothing.
func NewPool(o Options) *Pool {
	return &Pool{options: o, running: map[shop.Need]Engine{}, failed: map[shop.Need]error{}}
}

// Get returns the engines of the needs, empty. What failed to start fails again with the same
// error, a *MissingError if it is not installed.
func (p *Pool) Get(ctx context.Context, needs []shop.Need) ([]Engine, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Engine
	for _, need := range needs {
		e, err := p.get(ctx, need)
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

func (p *Pool) get(ctx context.Context, need shop.Need) (e Engine, err error) {
	if err := p.failed[need]; err != nil {
		return nil, err
	}
	if e = p.running[need]; e == nil {
		if e, err = Start(ctx, need, p.options); err != nil {
			if ctx.Err() == nil {
				p.failed[need] = err
			}
			return nil, err
		}
		p.running[need] = e
	}
	return e, nil
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
