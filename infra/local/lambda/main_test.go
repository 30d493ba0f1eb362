package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// bootstrap is the path of the function that the tests run.
var bootstrap string

// parentMode names the variable which turns the test binary into a program
// that runs a service of its own.
const parentMode = "LAMBDA_TEST_PARENT"

func TestMain(m *testing.M) {
	if command := os.Getenv(parentMode); command != "" {
		runParent(command)
	}
	os.Exit(buildAndRun(m))
}

func runParent(command string) {
	s, err := New([]Function{{Name: "TestFunction", Command: command, Timeout: time.Minute, Processes: 2}}, Options{})
	if err == nil {
		go func() { _, _, _ = s.Invoke(context.Background(), "TestFunction", []byte(`{"mode":"hang"}`)) }()
		_, _, err = s.Invoke(context.Background(), "TestFunction", nil)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	// One process is idle and one is busy.
	for len(s.Processes("TestFunction")) < 2 {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("pids", s.Processes("TestFunction"))
	select {}
}

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

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
