package invocation

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Panic is the error of a panic.
type Panic struct {
	value any
	// Stack is that of the goroutine that panicked.
	Stack string
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// Try calls do; a panic is an error, a *Panic. Nothing else recovers: a panic that nobody does ends the
// process with every event that is in flight in it.
func Try(do func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Panic: // of a Group
			err = p
		default:
			err = &Panic{p, string(debug.Stack())}
		}
	}()
	return do()
}

// Group runs functions at the same time. Its zero value is ready for use.
type Group struct {
	wait     sync.WaitGroup
	first    sync.Once
	panicked error
}

// Go calls do in a goroutine of its own.
func (g *Group) Go(do func()) {
	g.wait.Go(func() {
		if err := Try(func() error { do(); return nil }); err != nil {
			g.first.Do(func() { g.panicked = err })
		}
	})
}

// Wait waits for all. If one of them panicked, so does Wait, in its caller's goroutine.
func (g *Group) Wait() {
	if g.wait.Wait(); g.panicked != nil {
		panic(g.panicked)
	}
}
