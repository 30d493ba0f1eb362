package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"flashsale/infra/kit/wait"
)

const (
	mode = "CHILD_TEST_MODE"
	// quick keeps the race detector from sleeping a second at each exit.
	quick = "GORACE=atexit_sleep_ms=0"
)

// TestMain also runs the children of these tests: the test binary starts itself with a
// mode.
func TestMain(m *testing.M) {
	switch os.Getenv(mode) {
	case "":
		os.Exit(m.Run())
	case "exit":
		os.Exit(3)
	case "polite":
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("ready")
		<-asked
		fmt.Println("goodbye")
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "parent":
		p, err := Start(self("stubborn", os.Stdout))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("pid", p.Pid())
		time.Sleep(time.Hour)
	}
	os.Exit(0)
}

func self(what string, output io.Writer) Command {
	return Command{Path: os.Args[0], Env: []string{mode + "=" + what, quick}, Output: output}
}

// recorder is what children write to; each Write is kept apart.
type recorder struct {
	mu     sync.Mutex
	writes []string
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = append(r.writes, string(b))
	return len(b), nil
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.writes...)
}

func (r *recorder) await(t *testing.T, prefix string) string {
	t.Helper()
	var found string
	wait.Until(t, 20*time.Second, "a line that starts with "+prefix, func() bool {
		for _, line := range r.all() {
			if strings.HasPrefix(line, prefix) {
				found = strings.TrimSuffix(line, "\n")
				return true
			}
		}
		return false
	})
	return found
}

func launch(t *testing.T, c Command) *Process {
	t.Helper()
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(0) })
	return p
}

func TestStop(t *testing.T) {
	t.Run("asks first, and what the child says last is not lost", func(t *testing.T) {
		var out recorder
		p := launch(t, self("polite", &out))
		out.await(t, "ready")
		if err := p.Stop(20 * time.Second); err != nil {
			t.Errorf("Stop: %v, want a clean exit", err)
		}
		if got := out.all(); got[len(got)-1] != "goodbye\n" {
			t.Errorf("output %q, want goodbye at its end", got)
		}
	})
	t.Run("kills a child that does not listen", func(t *testing.T) {
		var out recorder
		p := launch(t, self("stubborn", &out))
		out.await(t, "ready")
		err := p.Stop(50 * time.Millisecond)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("Stop: %v, want killed", err)
		}
	})
	t.Run("says again how a child ended that is gone", func(t *testing.T) {
		p := launch(t, self("exit", nil))
		first := p.Wait()
		var exit *exec.ExitError
		if again := p.Stop(time.Second); again != first || !errors.As(again, &exit) || exit.ExitCode() != 3 {
			t.Errorf("Stop: %v after %v, want exit status 3", again, first)
		}
	})
}
