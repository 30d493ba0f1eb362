//go:build linux

package lambda

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/infra/kit/wait"
)

func TestNoFunctionOutlivesTheService(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentMode+"="+bootstrap)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_ = parent.Process.Signal(syscall.SIGKILL)
	if err != nil {
		t.Error(err)
	}
	_ = parent.Wait()
	var pids [2]int
	if _, err := fmt.Sscanf(line, "pids [%d %d]", &pids[0], &pids[1]); err != nil {
		t.Fatalf("read %q: %v", line, err)
	}
	wait.Until(t, 30*time.Second, "the end of the functions", func() bool { return !running(pids[0]) && !running(pids[1]) })
}

// running reports whether a process is there and more than a zombie, which is
// what an orphan stays where nobody collects it.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
