// Package scratch gives a process a folder that ends with the process: in memory, where the system
// has a file system there, and otherwise among the temporary files.
//
// It does not depend on what the files are. What a killed process leaves is removed when the next one
// asks for a folder.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// memory is Linux's file system in memory that every user may write to. macOS has none.
	memory = "/dev/shm"
	// Least is how much room a folder in memory must have, in bytes.
	Least = 32 << 20
	// tmpfs is how Linux's statfs names a file system in memory.
	tmpfs = 0x01021994
)

// Folder is a folder that only this user may open.
type Folder struct {
	Path string
	// Why it is not in memory; nil if it is.
	Why error
	// held is the open folder, whose lock says that this process lives: the system takes the lock away
	// with the process, however that ends.
	held *os.File
}

// Open makes a folder. It fails only if there is none among the temporary files either.
func Open() (*Folder, error) { return open(memory, Least, os.TempDir()) }

func open(memory string, least int64, temporary string) (*Folder, error) {
	why := suits(memory, least)
	if why == nil {
		f, err := in(memory)
		if err == nil {
			return f, nil
		}
		why = err
	}
	f, err := in(temporary)
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	f.Why = why
	return f, nil
}

// suits fails unless that is a file system in memory with so many free bytes.
func suits(path string, least int64) error {
	var s syscall.Statfs_t
	err := syscall.Statfs(path, &s)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %s", path)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case int64(s.Type) != tmpfs:
		return fmt.Errorf("%s is not in memory", path)
	case free(s) < least:
		return fmt.Errorf("%s has %d MB left of the %d MB that are needed", path, free(s)>>20, least>>20)
	}
	return nil
}

// Free returns how many bytes a file system has left for this user, by one of its folders.
func Free(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, fmt.Errorf("look for space in %s: %w", path, err)
	}
	return free(s), nil
}

func free(s syscall.Statfs_t) int64 { return int64(s.Bavail) * int64(s.Bsize) }

// in makes a folder below another one, after it has removed those of dead processes.
func in(parent string) (*Folder, error) {
	prefix := fmt.Sprintf("flashsale-%d-", os.Getuid())
	others, _ := filepath.Glob(filepath.Join(parent, prefix+"*"))
	for _, path := range others {
		left, err := hold(path, syscall.LOCK_NB)
		if err != nil {
			continue
		}
		if !inUse(path) {
			_ = os.RemoveAll(path)
		}
		_ = left.Close()
	}
	for {
		path, err := os.MkdirTemp(parent, prefix)
		if err != nil {
			return nil, err
		}
		held, err := hold(path, 0)
		if err == nil {
			if _, err = os.Lstat(path); err == nil {
				return &Folder{Path: path, held: held}, nil
			}
			_ = held.Close()
		}
		// Until it was locked, it looked like that of a dead process, and another one may have removed it.
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, os.RemoveAll(path))
		}
	}
}

// Lock is the file by which a program that goes on with a folder's data locks it.
const Lock = "lock"

// inUse reports whether a program goes on with the data that a dead process has left there.
func inUse(path string) bool {
	f, err := os.OpenFile(filepath.Join(path, Lock), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// hold opens and locks a folder of this user's; how is added to the lock's flags.
func hold(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
		err = fs.ErrPermission
	}
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|how)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error {
	return errors.Join(os.RemoveAll(f.Path), f.held.Close())
}
