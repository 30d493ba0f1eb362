package sqs

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// newJournal is an empty one, which lives until the test closes it.
func newJournal(t *testing.T) *journal {
	t.Helper()
	j, err := openJournal(t.TempDir(), func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := j.rewrite(nil); err != nil {
		t.Fatal(err)
	}
	return j
}

func (j *journal) frames(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(j.path())
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(data, frameMark)
}

// keep makes one change and waits for it.
func (j *journal) keep(t *testing.T) {
	t.Helper()
	if err := j.append(record{Op: opPurge, Queue: "q"}); err != nil {
		t.Error(err)
	}
	if err := j.wait(j.last()); err != nil {
		t.Error(err)
	}
}

// keepTogether makes n changes that all wait for one write.
func (j *journal) keepTogether(t *testing.T, n int) {
	t.Helper()
	j.file.Lock() // no write can begin
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { j.keep(t) })
	}
	for waiting := 0; waiting < n; runtime.Gosched() {
		j.state.Lock()
		waiting = j.waiting
		j.state.Unlock()
	}
	j.file.Unlock()
	wg.Wait()
}

func TestChangesThatWaitTogetherAreOneWrite(t *testing.T) {
	j := newJournal(t)
	before := j.frames(t)
	j.keepTogether(t, 8)
	if got := j.frames(t) - before; got != 1 {
		t.Errorf("%d writes, want 1", got)
	}
	if err := j.close(); err != nil {
		t.Error(err)
	}
}

func TestOnlyABusyJournalMakesAWriterWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		start := time.Now()
		for range 5 {
			j.keep(t)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("a writer that is alone waited %v for nobody", took)
		}
		j.keepTogether(t, 2)
		start = time.Now()
		j.keep(t)
		if took := time.Since(start); took <= 0 || took > pace {
			t.Errorf("after a shared write the next one came %v later, want up to %v", took, pace)
		}
		start = time.Now()
		j.keep(t)
		if took := time.Since(start); took != 0 {
			t.Errorf("a writer that is alone again waited %v", took)
		}
		if err := j.close(); err != nil {
			t.Error(err)
		}
	})
}
