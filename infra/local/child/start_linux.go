//go:build linux

package child

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

type request struct {
	cmd    *exec.Cmd
	slack  time.Duration
	result chan error
}

// forker starts the one goroutine that starts every child. The kernel sends a child its
// death signal when the *thread* that forked it ends, and Go may end threads at any
// time: so the goroutine is locked to its thread and both live as long as this process.
var forker = sync.OnceValue(func() chan<- request {
	requests := make(chan request)
	go func() {
		runtime.LockOSThread()
		for r := range requests {
			r.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
			setSlack(r.slack) // a child inherits it from the thread that forks it
			err := r.cmd.Start()
			setSlack(0)
			r.result <- err
		}
	}()
	return requests
})

func start(cmd *exec.Cmd, slack time.Duration) error {
	r := request{cmd, slack, make(chan error, 1)}
	forker() <- r
	return <-r.result
}

// setSlack sets the slack of this thread's timers, and of the threads and processes that it
// starts; 0 is what the thread began with.
func setSlack(d time.Duration) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_TIMERSLACK, uintptr(d), 0)
}

// Calmly gives this process that slack, for all its threads: it executes its program again, unless
// it has that slack already. It must come before everything else.
//
// While a Go program works, its runtime's monitor thread sleeps for 20 µs at a time. With the
// system's slack of 50 µs, dozens of programs that each wait most of the time spend a tenth of
// their processor time on that.
func Calmly(slack time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if slackNow() == slack {
		return
	}
	setSlack(slack)
	// Where that has no effect, as in some sandboxes, the program would execute itself endlessly.
	if path, err := os.Executable(); err == nil && slackNow() == slack {
		_ = syscall.Exec(path, os.Args, os.Environ()) // if it returns, the program goes on as it is
	}
}

func slackNow() time.Duration {
	d, _, _ := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_GET_TIMERSLACK, 0, 0)
	return time.Duration(d)
}
