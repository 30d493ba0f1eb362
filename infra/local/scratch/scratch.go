// Package scratch gives a process a folder for as long as it runs: in memory, where the system
// has a file system there, and otherwise among the temporary files.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// memory is Linux's file system in memory that every user may write to. macOS has none.
	memory = "/dev/shm"
	// least is how much room a folder in memory must have, in bytes.
	least = 32 << 20
)

// Folder is a folder that only this user may open.
type Folder struct {
	Path string
	Why  error // it is not in memory; nil if it is
}

// Open makes a folder, after it has removed what killed processes have left.
func Open() (*Folder, error) {
	parent, why := memory, suits()
	if why != nil {
		parent = os.TempDir()
	}
	removeDead(parent)
	path, err := os.MkdirTemp(parent, fmt.Sprintf("flashsale-%d-%d-", os.Getuid(), os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	return &Folder{path, why}, nil
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error { return os.RemoveAll(f.Path) }

func suits() error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(memory, &s); err != nil {
		return fmt.Errorf("%s cannot be used: %w", memory, err)
	}
	if free := int64(s.Bavail) * int64(s.Bsize); free < least {
		return fmt.Errorf("%s has %d MB left of the %d MB that are needed", memory, free>>20, least>>20)
	}
	return nil
}

// removeDead removes the folders of this user's dead processes, which would fill the memory.
func removeDead(parent string) {
	head := fmt.Sprintf("flashsale-%d-", os.Getuid())
	all, _ := filepath.Glob(filepath.Join(parent, head+"*"))
	for _, path := range all {
		var pid int
		_, err := fmt.Sscanf(filepath.Base(path), head+"%d-", &pid)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(path)
		}
	}
}
