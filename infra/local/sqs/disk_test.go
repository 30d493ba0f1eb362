package sqs_test

import (
	"errors"
	"syscall"
	"testing"

	"flashsale/infra/local/sqs"
)

// fillDisk makes every write of this process to a file fail, as on a full disk, until
// the function that it returns frees the disk. The process must run no other test
// meanwhile.
func fillDisk(t *testing.T) (free func()) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	set := func(bytes uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: limit.Max}); err != nil {
			t.Fatal(err)
		}
	}
	free = func() { set(limit.Cur) }
	set(0)
	t.Cleanup(free)
	return free
}

func TestAQueueWorksAgainWhenTheDiskHasSpaceAgain(t *testing.T) {
	dir := t.TempDir()
	var told []error
	f := open(t, sqs.Options{Dir: dir, HealPause: 1, Report: func(err error) { told = append(told, err) }})
	url := f.queue("q")
	f.send(url, "before")

	free := fillDisk(t)
	if err := f.trySend(url, "meanwhile"); err == nil {
		t.Error("a message is taken although it cannot be kept")
	}
	free()

	eventually(t, "a queue that takes messages", func() bool { return f.trySend(url, "after") == nil })
	again := open(t, sqs.Options{Dir: crashed(t, dir)})
	bodies := map[string]bool{}
	for _, m := range again.receive(again.url + "/000000000000/q") {
		bodies[*m.Body] = true
	}
	if !bodies["before"] || !bodies["after"] {
		t.Errorf("after a crash there are %v, want all that was taken", bodies)
	}
	if err := f.server.Close(); err != nil {
		t.Error(err)
	}
	if len(told) != 2 || !errors.Is(told[0], syscall.EFBIG) || told[1] != nil {
		t.Errorf("told %v, want the error once and then that it is over", told)
	}
}
