//go:build linux

package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

type request struct {
	cmd    *exec.Cmd
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
			r.result <- r.cmd.Start()
		}
	}()
	return requests
})

func start(cmd *exec.Cmd) error {
	r := request{cmd, make(chan error, 1)}
	forker() <- r
	return <-r.result
}
