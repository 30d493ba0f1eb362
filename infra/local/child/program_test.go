package child

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// serve is the child that serves: it answers with 404 at "/" and with 200 elsewhere.
func serve(port string) {
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		os.Exit(3)
	}
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.NotFound(w, r)
		}
	}))
}

func program(t *testing.T, what, path string, anyStatus bool) *Program {
	t.Helper()
	ports, err := FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{Name: "server", Command: self(what, nil), ReadyURL: fmt.Sprintf("http://127.0.0.1:%d%s", ports[0], path), AnyStatus: anyStatus}
	p.Command.Args = []string{fmt.Sprint(ports[0])}
	t.Cleanup(p.Kill)
	return p
}

func TestAProgramIsKilledAndStartedAgainWhereItWas(t *testing.T) {
	p := program(t, "serve", "/", true)
	if !p.Ended() {
		t.Error("it runs before it was started")
	}
	if err := p.Start(t.Context()); err != nil || p.Ended() {
		t.Fatalf("%v; ended: %v", err, p.Ended())
	}
	first := p.Pid()
	if err := p.Start(t.Context()); err != nil || p.Pid() != first {
		t.Errorf("what runs was started: process %d after %d, %v", p.Pid(), first, err)
	}
	p.Kill()
	if !p.Ended() || !strings.Contains(p.Failure().Error(), "killed") {
		t.Errorf("ended: %v, by %v", p.Ended(), p.Failure())
	}
	if err := p.Start(t.Context()); err != nil || p.Pid() == first {
		t.Errorf("process %d again, %v", p.Pid(), err)
	}
	if err := p.Stop(time.Minute); err == nil || !p.Ended() || !strings.Contains(err.Error(), "stop the server") {
		t.Errorf("SIGTERM ends it with %v", err)
	}
}

func TestAProgramThatDoesNotServeIsAnError(t *testing.T) {
	for what, how := range map[string]string{"exit": "exit status 3", "print": "exit status 0"} {
		if err := program(t, what, "/", true).Start(t.Context()); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), how) {
			t.Errorf("%v, want %v and %s", err, ErrEnded, how)
		}
	}
	p := program(t, "serve", "/", false) // 404
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := p.Start(ctx); !errors.Is(err, context.DeadlineExceeded) || p.Ended() {
		t.Errorf("%v, ended: %v", err, p.Ended())
	}
}

func TestPortsAreFreeAndOneProcesss(t *testing.T) {
	ports, err := FreePorts(50)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(ports); len(slices.Compact(slices.Clone(ports))) != 50 || ports[0] < 20000 || ports[49] >= 32000 {
		t.Errorf("ports %v", ports)
	}
	free := int(time.Now().UnixNano()) // no port, so that nobody else reserves it
	for port, want := range map[int]string{ports[0]: "true\n", free: "false\n"} {
		var out recorder
		c := self("reserve", &out)
		c.Args, c.Env = []string{strconv.Itoa(port)}, append(c.Env, "TMPDIR="+os.TempDir())
		if err := launch(t, c).Wait(); err != nil || strings.Join(out.all(), "") != want {
			t.Errorf("port %d is reserved: %q, %v, want %q", port, out.all(), err, want)
		}
	}
	if err := reserve(free); err != nil {
		t.Errorf("the port of a process that has ended: %v", err)
	}
}
