package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"flashsale/infra/local/scratch"
)

// openData makes the data folder if it is missing, and locks it: a second stack on it would publish the
// first one's events again and mix its lines with theirs. The system takes the lock away with the process.
func (s *Stack) openData() error {
	if err := os.MkdirAll(s.o.Data, 0o755); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(s.o.Data, scratch.Lock), os.O_CREATE|os.O_RDWR, 0o600)
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

// scarce is how many free bytes are worth a warning: a rush fills them within seconds.
const scarce = 8 << 20

// watchSpace says that the data's file system is nearly full. The engine then refuses every write, and
// buyers get 503 until there is space again; nothing that was answered is lost.
func (s *Stack) watchSpace(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for low := false; ; {
		if free, err := scratch.Free(s.o.Data); err == nil {
			low = s.lookAtSpace(free, low)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// lookAtSpace says what has changed since the space was low, or was not.
func (s *Stack) lookAtSpace(free int64, low bool) bool {
	switch {
	case free < scarce && !low:
		s.o.Log.Warn("hardly any space is left for the stack's data; when there is none, every buyer gets 503", "folder", s.o.Data, "bytes", free)
	case free >= 2*scarce && low:
		s.o.Log.Info("there is space for the stack's data again", "folder", s.o.Data)
	default:
		return low
	}
	return !low
}
