//go:build linux

package child

import (
	"bytes"
	"fmt"
	"os"
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

// running reports whether the process is there and more than a zombie, which is
// what an orphan stays where nobody collects it.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}
