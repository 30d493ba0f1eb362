package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"flashsale/infra/kit/wait"
)

// bootstrap is the path of the function that the tests run.
var bootstrap string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "lambda-test")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bootstrap = filepath.Join(dir, "bootstrap")
	// The flags of `make host`, so that packages are not compiled again.
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-tags", "lambda.norpc", "-ldflags=-s", "-o", bootstrap, "./internal/testfunction")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("build test function: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// function is a function that the tests change as they need.
func function(change func(*Function)) Function {
	f := Function{Name: "TestFunction", Command: bootstrap, Timeout: 20 * time.Second, Processes: 1}
	if change != nil {
		change(&f)
	}
	return f
}

func open(t *testing.T, o Options, functions ...Function) *Service {
	t.Helper()
	s, err := New(functions, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// call invokes TestFunction and expects the service itself to work.
func call(t *testing.T, s *Service, payload string) (response, functionError string) {
	t.Helper()
	out, functionError, err := s.Invoke(context.Background(), "TestFunction", []byte(payload))
	if err != nil {
		t.Fatalf("Invoke(%s): %v", payload, err)
	}
	return string(out), functionError
}

// pid is the process that answers next.
func pid(t *testing.T, s *Service) int {
	t.Helper()
	response, functionError := call(t, s, `{}`)
	var n int
	if err := json.Unmarshal([]byte(response), &n); err != nil || functionError != "" {
		t.Fatalf("answer %s, error %q: %v", response, functionError, err)
	}
	return n
}

// pids are TestFunction's processes, the busy and the idle ones.
func pids(s *Service) (all []int) {
	p := s.pools["TestFunction"]
	p.mu.Lock()
	defer p.mu.Unlock()
	for proc := range p.all {
		all = append(all, proc.child.Pid())
	}
	return all
}

func TestAProcessIsReplacedAfterAllButAHandlersError(t *testing.T) {
	s := open(t, Options{}, function(nil))
	before := pid(t, s)
	for _, failure := range []string{`{"mode":"error"}`, `{"mode":"panic"}`, `{"mode":"exit","n":1}`, `{"mode":"hang"}`, "killed when idle"} {
		timeout := &s.pools["TestFunction"].fn.Timeout
		enough := *timeout
		if failure == "killed when idle" {
			_ = syscall.Kill(before, syscall.SIGKILL)
			wait.Until(t, 30*time.Second, "its end", func() bool { return len(pids(s)) == 0 })
		} else {
			if failure == `{"mode":"hang"}` {
				*timeout = 300 * time.Millisecond
			}
			if _, functionError := call(t, s, failure); functionError != unhandled {
				t.Errorf("%s: function error %q, want %q", failure, functionError, unhandled)
			}
		}
		*timeout = enough
		after := pid(t, s)
		if (after == before) != (failure == `{"mode":"error"}`) {
			t.Errorf("%s: process %d, then %d", failure, before, after)
		}
		before = after
	}
}
