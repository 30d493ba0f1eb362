//go:build linux

package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/infra/kit/wait"
)

func TestNoChildOutlivesItsParent(t *testing.T) {
	var out recorder
	parent := launch(t, self("parent", &out))
	pid, err := strconv.Atoi(strings.TrimPrefix(out.await(t, "pid "), "pid "))
	if err != nil {
		t.Fatal(err)
	}
	out.await(t, "ready") // the grandchild runs, and ignores SIGTERM
	if !running(pid) {
		t.Fatalf("process %d is not there", pid)
	}
	parent.Kill()
	_ = parent.Wait()
	wait.Until(t, 20*time.Second, "the grandchild's end", func() bool { return !running(pid) })
}

func TestAChildDoesNotEndWithTheThreadThatAskedForIt(t *testing.T) {
	var out recorder
	tid := make(chan int)
	started := make(chan *Process)
	go func() {
		// When a locked goroutine ends, its thread ends, too.
		runtime.LockOSThread()
		p, err := Start(self("stubborn", &out))
		if err != nil {
			t.Error(err)
		}
		started <- p
		tid <- syscall.Gettid()
	}()
	p := <-started
	defer func() { _ = p.Stop(0) }()
	// Go never ends the first thread, whose id is the process's.
	if id := <-tid; id != os.Getpid() {
		thread := fmt.Sprintf("/proc/self/task/%d", id)
		wait.Until(t, 20*time.Second, "the thread's end", func() bool { _, err := os.Stat(thread); return os.IsNotExist(err) })
	}
	out.await(t, "ready")
	select {
	case <-p.Done():
		t.Errorf("the child ended: %v", p.Wait())
	default:
	}
}

// Each of these children prints the slack of its first thread.
func TestTheSlackOfTimersIsTheChildsAlone(t *testing.T) {
	own, err := os.ReadFile("/proc/self/timerslack_ns")
	if err != nil {
		t.Fatal(err)
	}
	usual := "slack " + strings.TrimSpace(string(own))
	for _, tt := range []struct {
		what  string
		slack time.Duration
		want  string
	}{
		{"slack", 0, usual},
		{"slack", 2 * time.Millisecond, "slack 2000000"},
		{"slack", 0, usual},
		{"calm", 0, "slack 3000000"},
	} {
		var out recorder
		c := self(tt.what, &out)
		c.Slack = tt.slack
		if err := launch(t, c).Wait(); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(strings.Join(out.all(), "")); got != tt.want {
			t.Errorf("%s with %v prints %q, want %q", tt.what, tt.slack, got, tt.want)
		}
	}
}

func TestChildrenAreFoundAndSignalled(t *testing.T) {
	p := launch(t, self("stubborn", nil))
	all, err := Children(os.Getpid())
	i := slices.IndexFunc(all, func(r Running) bool { return r.Pid == p.Pid() })
	if err != nil || i < 0 {
		t.Fatalf("found %v %v, want process %d", all, err, p.Pid())
	}
	if own, err := os.Executable(); err != nil || all[i].Program() != own {
		t.Errorf("it runs %q, want %q", all[i].Program(), own)
	}
	if err := (Running{p.Pid(), p.Pid()}).Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the child of somebody else: %v", err)
	}
	if err := all[i].Signal(syscall.SIGKILL); err != nil {
		t.Errorf("not killed: %v", err)
	}
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
	if err := all[i].Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("what has ended: %v", err)
	}
}

// running reports whether the process is there and more than a zombie, which is
// what an orphan stays where nobody collects it.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}
