package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen.
const patience = time.Minute

// freePorts are ports of this machine that nobody listens on. All are held until
// the last is found, so that they differ.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// localStack runs a stack as a process until the test ends.
func localStack(t *testing.T) (url, data string) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(root, ".build", "host", "local"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("the stack is not built: run make test (%v)", err)
	}
	data = t.TempDir()
	args := []string{"-data", data}
	ports := freePorts(t, 4)
	for i, name := range []string{"-api-port", "-lambda-port", "-dynamodb-port", "-sqs-port"} {
		args = append(args, name, fmt.Sprint(ports[i]))
	}
	c := exec.Command(program, args...)
	c.Dir = root
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			t.Errorf("the stack ended with %v:\n%s", err, &said)
		}
	})
	url = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(url + "/_local/health")
		if err == nil {
			response.Body.Close()
			return url, data
		}
		if time.Now().After(end) {
			t.Fatalf("the stack is not healthy: %v", err)
		}
	}
}

func TestTheLocalStackIsSmokedAndRehearsedOn(t *testing.T) {
	url, data := localStack(t)
	b := newBench(t, "1000")
	b.program("aws", "echo asked >&2; exit 1\n")

	out, err := b.make("smoke", "URL="+url)
	if err != nil || strings.Count(out, "  ok  ") != 13 {
		t.Errorf("%v; want 13 checks that pass:\n%s", err, out)
	}
	report := filepath.Join(t.TempDir(), "report.html")
	out, err = b.make("rehearse", "URL="+url, "DATA="+data, "REPORT="+report, "RATE=10", "DURATION=2s", "STOCK=5", "SHARDS=1")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"of 5 units on 1 shards", "balanced: stock left + claims = seeded", "no promise was seen broken",
		"cost of 5 orders", "write units", "per 1,000",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if _, err := os.Stat(report); err != nil {
		t.Error(err)
	}
}
