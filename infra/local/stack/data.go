package stack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// openData makes the data folder if it is missing, and locks it: a second stack on it would publish the
// first one's events again and mix its lines with theirs. The system takes the lock away with the process.
func (s *Stack) openData() error {
	if err := os.MkdirAll(s.o.Data, 0o755); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(s.o.Data, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open data folder: %w", err)
	}
	s.onStop(lock.Close)
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("another stack runs on the data in %s: stop it, or use another folder", s.o.Data)
	}
	if err != nil {
		return fmt.Errorf("lock data folder: %w", err)
	}
	return nil
}

// HasTable reports whether a stack has kept its table in the folder.
func HasTable(data string) bool {
	_, err := os.Stat(database(data))
	return err == nil
}
