package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"flashsale/infra/local/child"
)

// nemesis kills. Only it touches the machine's processes while it runs.
type nemesis struct {
	machine *machine
	chance  *rand.Rand
	kills   map[string]int // by what was killed
	problem func(format string, a ...any)
}

// run strikes at random moments until ctx ends, then leaves everything
// running. The error is that something does not start any more.
func (n *nemesis) run(ctx context.Context) error {
	for pause(ctx, time.Duration(20+n.chance.IntN(250))*time.Millisecond) {
		if err := n.strike(); err != nil {
			return err
		}
	}
	return nil
}

// strike kills one thing and starts it again, unless the stack does that by
// itself. It is not interrupted half-way.
func (n *nemesis) strike() error {
	ctx := context.Background()
	if err := n.revive(ctx); err != nil {
		return err
	}
	switch roll := n.chance.IntN(100); {
	case roll < 64:
		return n.killFunction()
	case roll < 80:
		return n.killEngine()
	case roll < 90:
		return n.killPrograms(ctx, n.machine.queues)
	case roll < 97:
		return n.killPrograms(ctx, n.machine.stack)
	default:
		return n.killPrograms(ctx, n.machine.stack, n.machine.queues)
	}
}

// killFunction kills a process of a function: any function, for some have many
// processes and some have one.
func (n *nemesis) killFunction() error {
	all, err := victims(n.machine.stack.Pid())
	if err != nil {
		return err
	}
	var kinds []string
	for _, v := range all {
		if v.kind != engine && !slices.Contains(kinds, v.kind) {
			kinds = append(kinds, v.kind)
		}
	}
	if len(kinds) == 0 {
		return nil // none since the stack was killed
	}
	slices.Sort(kinds)
	return n.killOne(kinds[n.chance.IntN(len(kinds))])
}

// killEngine kills the engine; now and then also its successor while it starts.
func (n *nemesis) killEngine() error {
	if err := n.killOne(engine); err != nil || n.chance.IntN(3) > 0 {
		return err
	}
	time.Sleep(time.Duration(n.chance.IntN(12)) * time.Millisecond)
	return n.killOne(engine)
}

// killOne kills one process of a kind, if there is one.
func (n *nemesis) killOne(kind string) error {
	all, err := victims(n.machine.stack.Pid())
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(v victim) bool { return v.kind != kind })
	if len(all) > 0 && all[n.chance.IntN(len(all))].Signal(syscall.SIGKILL) == nil {
		n.kills[kind]++
	}
	return nil
}

// killPrograms kills, waits a while, and starts again: the queues, which the
// stack needs to start, first.
func (n *nemesis) killPrograms(ctx context.Context, programs ...*child.Program) error {
	for _, p := range programs {
		p.Kill()
		n.kills[p.Name]++
	}
	time.Sleep(time.Duration(n.chance.IntN(500)) * time.Millisecond)
	for i := len(programs) - 1; i >= 0; i-- {
		if err := n.machine.start(ctx, programs[i]); err != nil {
			return err
		}
	}
	return nil
}

// revive starts what has ended without being killed, which it must not do: the
// death of anything else is no reason for these two to give up.
func (n *nemesis) revive(ctx context.Context) error {
	for _, p := range []*child.Program{n.machine.queues, n.machine.stack} {
		if !p.Ended() {
			continue
		}
		n.problem("the %s ended by itself: %v", p.Name, p.Failure())
		if err := n.machine.start(ctx, p); err != nil {
			return fmt.Errorf("revive: %w", err)
		}
	}
	return nil
}

// pause waits; false means that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
