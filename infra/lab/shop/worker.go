package shop

import (
	"context"
	"sync"
)

// Worker sells for all requests of one application server: only it touches the stock.
type Worker struct {
	host      Host
	purchases chan *Purchase
	stop      context.CancelFunc
	running   sync.WaitGroup
}

// Purchase is one that a worker makes.
type Purchase struct {
	User    string
	Outcome Outcome
	Err     error
	done    chan struct{}
}

// NewWorker starts a worker that takes that many purchases at most of those that wait, and makes them together.
func NewWorker(h Host, most int, sell func(ctx context.Context, all []*Purchase)) *Worker {
	ctx, stop := context.WithCancel(context.Background())
	w := &Worker{host: h, purchases: make(chan *Purchase), stop: stop}
	w.running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case p := <-w.purchases:
				all := []*Purchase{p}
				for full := false; len(all) < most && !full; {
					select {
					case p := <-w.purchases:
						all = append(all, p)
					default:
						full = true
					}
				}
				sell(ctx, all)
				for _, p := range all {
					close(p.done)
				}
			}
		}
	})
	return w
}

func (w *Worker) Buy(ctx context.Context, user string) (Outcome, error) {
	if err := w.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	p := &Purchase{User: user, done: make(chan struct{})}
	select {
	case w.purchases <- p:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	<-p.done
	return p.Outcome, p.Err
}

func (w *Worker) Close() error {
	w.stop()
	w.running.Wait()
	return nil
}
