package sqs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A journal is the file with every change since the last rewrite. Changes made during a
// write are collected, then written and synced together: one fsync for all waiting
// callers. A nil journal stores nothing and never blocks.
type journal struct {
	dir   string
	lock  *os.File
	stale chan struct{} // gets a token when a rewrite is needed: the file has grown, or a write failed
	work  chan struct{} // gets a token when there is something to write
	ended chan struct{} // closed when the writer has stopped

	file sync.Mutex // held while the file is written or replaced; taken before state
	f    *os.File
	size int64
	mark int64 // the size at which to rewrite

	state             sync.Mutex
	synced            *sync.Cond // durable or failed has changed
	pending           []byte     // lines not yet written
	appended, durable uint64     // lines so far: appended, on disk
	waiting           int        // callers blocked in wait
	failed            error      // while it is set no change is accepted
}

const (
	journalName = "queues.journal"
	lockName    = "queues.lock"
	// growth is the ratio of journal to state size that triggers a rewrite.
	growth    = 4
	leastMark = 4 << 20
	// pace is the minimum time between the writes of a busy journal.
	pace = 4 * time.Millisecond
)

var errJournalClosed = errors.New("journal is closed")

// openJournal locks the folder and replays its journal. It skips an incomplete last
// write, which the rewrite that must follow drops.
func openJournal(dir string, replay func(line []byte) error) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// The kernel releases the lock when the process ends for any reason.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("folder %s is used by another queue server: %w", dir, err), lock.Close())
	}
	j := &journal{
		dir: dir, lock: lock,
		stale: make(chan struct{}, 1), work: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	j.synced = sync.NewCond(&j.state)
	data, err := os.ReadFile(j.path())
	if err == nil {
		err = replayFrames(data, replay)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("read %s: %w", j.path(), err), lock.Close())
	}
	go j.write()
	return j, nil
}

func (j *journal) path() string { return filepath.Join(j.dir, journalName) }

// append adds a change. It is on disk once wait has returned.
func (j *journal) append(r record) error {
	if j == nil {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	j.state.Lock()
	defer j.state.Unlock()
	if j.failed != nil {
		return j.failed
	}
	j.pending = append(append(j.pending, line...), '\n')
	j.appended++
	signal(j.work)
	return nil
}

// last returns the number of the last change appended.
func (j *journal) last() uint64 {
	if j == nil {
		return 0
	}
	j.state.Lock()
	defer j.state.Unlock()
	return j.appended
}

// wait returns once that change and all before it are on disk.
func (j *journal) wait(change uint64) error {
	if j == nil {
		return nil
	}
	j.state.Lock()
	defer j.state.Unlock()
	j.waiting++
	for j.durable < change && j.failed == nil {
		j.synced.Wait()
	}
	j.waiting--
	if j.durable < change {
		return j.failed
	}
	return nil
}

// write is the journal's only writer. It runs until work is closed. A single caller's
// change is written at once; if several callers waited for a write, the next write is
// delayed to collect more, because an fsync costs the same for one change as for many,
// and the disk has other users.
func (j *journal) write() {
	defer close(j.ended)
	for range j.work {
		begin := time.Now()
		if j.flush() > 1 {
			time.Sleep(pace - time.Since(begin))
		}
	}
}

// flush writes the pending changes as one frame, and returns how many callers waited
// for it.
func (j *journal) flush() (answered int) {
	j.file.Lock()
	defer j.file.Unlock()
	j.state.Lock()
	lines, last, failed := j.pending, j.appended, j.failed
	j.pending = nil
	j.state.Unlock()
	if len(lines) == 0 || failed != nil && !errors.Is(failed, errJournalClosed) {
		return 0
	}
	b := frame(lines)
	_, err := j.f.Write(b)
	if err == nil {
		err = j.f.Sync()
	}
	if err == nil {
		j.size += int64(len(b))
		if j.size > j.mark {
			signal(j.stale)
		}
	}
	return j.settle(last, err)
}

// failure returns why no change is accepted, or nil.
func (j *journal) failure() error {
	j.state.Lock()
	defer j.state.Unlock()
	return j.failed
}

// settle wakes the waiting callers with the result of a write, and returns their
// number. After an error the file's contents are unknown, so no change is accepted
// until a rewrite has replaced it.
func (j *journal) settle(last uint64, err error) (waiting int) {
	j.state.Lock()
	defer j.state.Unlock()
	switch {
	case err != nil:
		j.failed = fmt.Errorf("write journal: %w", err)
		signal(j.stale)
	case errors.Is(j.failed, errJournalClosed):
		j.durable = last
	default:
		j.durable, j.failed = last, nil
	}
	j.synced.Broadcast()
	return j.waiting
}

// rewrite replaces the journal by one with only these records. They must be the state
// after all appended changes, and no change may be appended meanwhile. If the new
// journal cannot be written, the old one stays in use.
func (j *journal) rewrite(records []record) error {
	j.file.Lock()
	defer j.file.Unlock()
	f, size, err := writeJournal(j.dir, records)
	if err != nil {
		j.mark = max(growth*j.size, leastMark)
		return err
	}
	if j.f != nil {
		// Its contents are in the new file.
		_ = j.f.Close()
	}
	j.f, j.size, j.mark = f, size, max(growth*size, leastMark)
	j.state.Lock()
	j.pending = nil
	last := j.appended
	j.state.Unlock()
	err = syncDir(j.dir)
	j.settle(last, err)
	return err
}

// close writes the rest and unlocks the folder.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	j.state.Lock()
	if j.failed == nil {
		j.failed = errJournalClosed
	}
	close(j.work)
	j.state.Unlock()
	<-j.ended
	j.flush()
	if j.f == nil {
		return j.lock.Close()
	}
	return errors.Join(j.f.Close(), j.lock.Close())
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
