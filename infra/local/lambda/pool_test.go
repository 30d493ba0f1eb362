package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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

// logBook is where functions log to.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
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

func TestEveryCallerGetsItsOwnAnswerFromAWarmProcess(t *testing.T) {
	const callers, each, most = 20, 10, 16
	s := open(t, Options{}, function(func(f *Function) { f.Processes = most }))
	first := pid(t, s)
	for range 10 {
		if again := pid(t, s); again != first || len(pids(s)) != 1 {
			t.Fatalf("process %d, then %d of %v", first, again, pids(s))
		}
	}
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				text := fmt.Sprintf("%d of %d", i, caller)
				out, functionError, err := s.Invoke(context.Background(), "TestFunction", fmt.Appendf(nil, `{"mode":"echo","text":%q}`, text))
				if want := fmt.Sprintf("%q", text); err != nil || functionError != "" || string(out) != want {
					t.Errorf("answer %s, error %q %v, want %s", out, functionError, err, want)
				}
			}
		})
	}
	all.Wait()
	if n := len(pids(s)); n > most {
		t.Errorf("%d processes, want at most %d", n, most)
	}
}

func TestCallersWaitForAProcessUntilCloseEndsAll(t *testing.T) {
	s := open(t, Options{}, function(nil))
	first := pid(t, s)
	leaving, leave := context.WithCancel(context.Background())
	held := make(chan error)
	go func() {
		_, _, err := s.Invoke(leaving, "TestFunction", []byte(`{"mode":"hang"}`))
		held <- err
	}()
	wait.Until(t, 30*time.Second, "the running invocation", func() bool { return len(s.pools["TestFunction"].places) == 1 })
	leave()
	if err := <-held; !errors.Is(err, context.Canceled) {
		t.Errorf("who leaves gets %v, want context.Canceled", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := s.Invoke(ctx, "TestFunction", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Invoke: %v, want to wait behind the invocation whose caller has left", err)
	}
	go func() {
		_, _, err := s.Invoke(context.Background(), "TestFunction", nil)
		held <- err
	}()
	wait.Until(t, 30*time.Second, "the waiting caller", func() bool { return len(s.pools["TestFunction"].limit) == 2 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-held; !errors.Is(err, ErrClosed) || len(pids(s)) != 0 || syscall.Kill(first, 0) == nil {
		t.Errorf("after Close: %v and processes %v, want ErrClosed and none", err, pids(s))
	}
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

func TestAProcessKilledAtItsResponseHasDoneTheWorkButNobodyHears(t *testing.T) {
	var logs logBook
	var killing atomic.Bool
	answered := make(chan string, 3)
	s := open(t, Options{Logs: &logs, AfterResponse: func(function, requestID string) bool {
		answered <- function + " " + requestID
		return killing.Load()
	}}, function(nil))
	before := pid(t, s)
	killing.Store(true)
	response, functionError := call(t, s, `{"mode":"print","text":"work done"}`)
	killing.Store(false)

	if functionError != unhandled || !strings.Contains(response, "Runtime exited with error: signal: killed") {
		t.Errorf("response %s, error %q, want an exit by a signal", response, functionError)
	}
	if !strings.Contains(logs.String(), "TestFunction | work done\n") {
		t.Errorf("log %q, want the work", logs.String())
	}
	<-answered
	if who := <-answered; !strings.HasPrefix(who, "TestFunction ") || !strings.Contains(response, strings.TrimPrefix(who, "TestFunction ")) {
		t.Errorf("hook called with %q, response %s", who, response)
	}
	if after := pid(t, s); after == before {
		t.Errorf("process %d again", after)
	}
}

func TestBeyondItsConcurrencyLimitAFunctionIsThrottledAndOthersAreNot(t *testing.T) {
	reserved := function(func(f *Function) { f.Reserved = 2 })
	other := function(func(f *Function) { f.Name = "OtherFunction" })
	s := open(t, Options{Concurrency: 3}, reserved, other)
	ctx, release := context.WithCancel(t.Context())
	var held sync.WaitGroup
	for range 2 { // one runs, one waits for the only process
		held.Go(func() { _, _, _ = s.Invoke(ctx, "TestFunction", []byte(`{"mode":"hang"}`)) })
	}
	wait.Until(t, 30*time.Second, "both to be counted", func() bool { return len(s.pools["TestFunction"].limit) == 2 })
	if _, _, err := s.Invoke(t.Context(), "TestFunction", nil); !errors.Is(err, ErrThrottled) {
		t.Errorf("the third is told %v, want ErrThrottled", err)
	}
	if _, failure, err := s.Invoke(t.Context(), "OtherFunction", nil); err != nil || failure != "" {
		t.Errorf("another function is told %q, %v", failure, err)
	}
	r := httptest.NewRecorder()
	s.InvokeHandler().ServeHTTP(r, httptest.NewRequest(http.MethodPost, "/2015-03-31/functions/TestFunction/invocations", strings.NewReader("{}")))
	if r.Code != http.StatusTooManyRequests || r.Header().Get("X-Amzn-ErrorType") != "TooManyRequestsException" {
		t.Errorf("the Invoke API says %d %s", r.Code, r.Header().Get("X-Amzn-ErrorType"))
	}
	release()
	held.Wait()
}

func TestANewEnvironmentIsForLaterInvocations(t *testing.T) {
	s := open(t, Options{}, function(func(f *Function) { f.Processes = 2 }))
	first := pid(t, s)
	running := make(chan string, 1)
	go func() {
		_, functionError, err := s.Invoke(context.Background(), "TestFunction", []byte(`{"mode":"sleep","n":300}`))
		running <- fmt.Sprint(functionError, err)
	}()
	wait.Until(t, 30*time.Second, "the running invocation", func() bool {
		p := s.pools["TestFunction"]
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.idle) == 0
	})
	s.SetEnvironment("TestFunction", map[string]string{"INIT": "report"})
	if response, functionError := call(t, s, `{}`); functionError == "" || !strings.Contains(response, "TABLE_NAME is missing") {
		t.Errorf("the new environment is not used: %s %s", response, functionError)
	}
	if got := <-running; got != "<nil>" {
		t.Errorf("the running invocation was disturbed: %s", got)
	}
	s.SetEnvironment("TestFunction", nil)
	if again := pid(t, s); again == first {
		t.Error("a process with an old environment is used")
	}
}
