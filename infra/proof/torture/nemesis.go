package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"flashsale/infra/local/child"
)

// nemesis kills processes. While it runs, nothing else starts or stops them.
type nemesis struct {
	machine *machine
	chance  *rand.Rand
	kills   map[string]int // by kind of victim
	problem func(format string, a ...any)
}

// run kills at random moments until ctx ends and leaves everything running. It fails if a
// program does not start again.
func (n *nemesis) run(ctx context.Context) error {
	for pause(ctx, time.Duration(20+n.chance.IntN(250))*time.Millisecond) {
		if err := n.killRandom(); err != nil {
			return err
		}
	}
	return nil
}

// killRandom kills one victim and restarts it unless the stack does that. It is not interrupted
// half-way.
func (n *nemesis) killRandom() error {
	ctx := context.Background()
	if err := n.restartEnded(ctx); err != nil {
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

// killFunction kills a process of a random function. It chooses the function first, because
// some functions have many processes and some have one.
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

// killEngine kills the engine and sometimes also its successor during startup.
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

// killPrograms kills the programs, waits a while and restarts them in reverse order: the
// stack needs the queues to start.
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

// restartEnded restarts programs that ended without being killed, which is a violation: neither
// of the two may exit because something else died.
func (n *nemesis) restartEnded(ctx context.Context) error {
	for _, p := range []*child.Program{n.machine.queues, n.machine.stack} {
		if !p.Ended() {
			continue
		}
		n.problem("the %s ended without being killed: %v", p.Name, p.Failure())
		if err := n.machine.start(ctx, p); err != nil {
			return fmt.Errorf("restart: %w", err)
		}
	}
	return nil
}

// engine is the kind of the DynamoDB engine's process.
const engine = "engine"

// victim is a child process of the stack.
type victim struct {
	child.Running
	kind string // a function's name, or engine
}

// victims lists the functions' processes and the engine's among a process's children.
func victims(parent int) ([]victim, error) {
	all, err := child.Children(parent)
	if err != nil {
		return nil, err
	}
	var found []victim
	for _, r := range all {
		switch program := r.Program(); filepath.Base(program) {
		case "bootstrap":
			found = append(found, victim{r, filepath.Base(filepath.Dir(program))})
		case "dynoxide":
			found = append(found, victim{r, engine})
		}
	}
	return found, nil
}

// pause waits for d; false means that ctx ended first.
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
