package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func opened(t *testing.T, memory string, least int64, temporary string) *Folder {
	t.Helper()
	f, err := open(memory, least, temporary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Remove() })
	return f
}

func TestAFolderIsInMemoryOrSaysWhyNot(t *testing.T) {
	temporary := t.TempDir()
	file := filepath.Join(temporary, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for place, least := range map[string]int64{filepath.Join(temporary, "none"): 0, "/": 0, file: 0, "/dev/shm": 1 << 60} {
		f := opened(t, place, least, temporary)
		if f.Why == nil || !strings.Contains(f.Why.Error(), place) || filepath.Dir(f.Path) != temporary {
			t.Errorf("%s: got %s because %v, want one in %s because of it", place, f.Path, f.Why, temporary)
		}
	}
	f, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(f.Path)
	if err != nil || info.Mode() != os.ModeDir|0o700 {
		t.Errorf("the folder is %v, %v, want one that only this user may open", info, err)
	}
	if suits("/dev/shm", Least) == nil && (f.Why != nil || filepath.Dir(f.Path) != "/dev/shm") {
		t.Errorf("got %s because %v, want one in /dev/shm", f.Path, f.Why)
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.Path); err == nil {
		t.Errorf("%s is still there", f.Path)
	}
	if f, err := open("/none", 0, file); err == nil {
		t.Errorf("got %s though no folder can be made", f.Path)
	}
}

func TestOnlyTheFoldersOfDeadProcessesAreRemoved(t *testing.T) {
	parent := t.TempDir()
	alive, dead := opened(t, "", 0, parent), opened(t, "", 0, parent)
	if err := os.WriteFile(filepath.Join(dead.Path, "table"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// The system closes a dead process's files.
	if err := dead.held.Close(); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if err := os.Symlink(other, strings.TrimRight(alive.Path, "0123456789")+"link"); err != nil {
		t.Fatal(err)
	}
	// Somebody goes on with the data of another one that was killed.
	rescued := opened(t, "", 0, parent)
	lock, err := os.OpenFile(filepath.Join(rescued.Path, Lock), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = errors.Join(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX), rescued.held.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	opened(t, "", 0, parent)
	for path, want := range map[string]bool{alive.Path: true, dead.Path: false, rescued.Path: true, other: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", path, err == nil, want)
		}
	}
}

func TestProcessesThatStartAtOnceHaveFoldersOfTheirOwn(t *testing.T) {
	parent := t.TempDir()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			f, err := open("", 0, parent)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = f.Remove() })
		})
	}
	all.Wait()
	if left, err := os.ReadDir(parent); len(left) != 50 {
		t.Errorf("%d folders, %v, want 50", len(left), err)
	}
}
