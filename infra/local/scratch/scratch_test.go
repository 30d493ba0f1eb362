package scratch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestOnlyFoldersOfDeadProcessesAreRemoved(t *testing.T) {
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	for _, pid := range []int{os.Getpid(), ended.Process.Pid} {
		path := filepath.Join(parent, fmt.Sprintf("flashsale-%d-%d-x", os.Getuid(), pid))
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := os.Stat(path); (err == nil) != (pid == os.Getpid()) {
				t.Errorf("%s: %v", path, err)
			}
		}()
	}
	removeDead(parent)
}
