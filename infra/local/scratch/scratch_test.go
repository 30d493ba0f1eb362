package scratch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

func TestAFolderThatIsInUseStays(t *testing.T) {
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	for name, pid := range map[string]int{"alive": os.Getpid(), "dead": ended.Process.Pid, "continued": ended.Process.Pid} {
		path := filepath.Join(parent, fmt.Sprintf("flashsale-%d-%d-%s", os.Getuid(), pid, name))
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := os.Stat(path); (err == nil) == (name == "dead") {
				t.Errorf("%s: %v", name, err)
			}
		}()
		if name == "continued" {
			lock, err := os.Create(filepath.Join(path, Lock))
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
		}
	}
	removeDead(parent)
}
