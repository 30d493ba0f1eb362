package sqs

import (
	"os"
	"path/filepath"
	"testing"
)

// FillDisk makes every write of the journal fail, as on a full disk, until the
// function that it returns frees the disk.
func (s *Server) FillDisk(t *testing.T) (free func()) {
	j := s.journal
	unwritable, err := os.Open(j.path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unwritable.Close() })
	dir := j.dir
	set := func(f *os.File, dir string) {
		j.file.Lock()
		defer j.file.Unlock()
		if j.f != f {
			_ = j.f.Close()
		}
		j.f, j.dir = f, dir
	}
	set(unwritable, filepath.Join(dir, "missing"))
	return func() { set(unwritable, dir) }
}

// Waiting is how many long polls wait on a queue of that name.
func (s *Server) Waiting(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.named[name]; q != nil {
		return q.waiters.Len()
	}
	return 0
}

// JournalName is the file of a folder that holds the journal.
const JournalName = journalName

// Rewrite compacts the journal.
func (s *Server) Rewrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.journal.rewrite(s.snapshot())
}
