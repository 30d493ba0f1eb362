package stack

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASecondStackOnTheSameDataIsRefused(t *testing.T) {
	data := t.TempDir()
	first, second := &Stack{o: Options{Data: data}}, &Stack{o: Options{Data: data}}
	if err := first.openData(); err != nil {
		t.Fatal(err)
	}
	if err := second.openData(); err == nil || !strings.Contains(err.Error(), "another stack runs on the data in "+data) {
		t.Errorf("the second one got %v", err)
	}
	for _, stop := range first.closers {
		_ = stop()
	}
	if err := second.openData(); err != nil {
		t.Errorf("after the end of the first one: %v", err)
	}
}

func TestTheFunctionsLogBeginsAnewWhenItIsFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "functions.log")
	for _, line := range []string{"one\n", "two\n", "a third\n", "4\n", "the fifth is longer than a log may be\n", "six\n"} {
		l, err := openLog(path, 10) // each time by another run
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if line == "a third\n" {
			hasText(t, path, "a third\n")
			hasText(t, path+".1", "one\ntwo\n")
		}
		_ = l.Close()
	}
	hasText(t, path, "six\n")
	hasText(t, path+".1", "the fifth is longer than a log may be\n")
}

func hasText(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); string(got) != want || err != nil {
		t.Errorf("%s has %q (%v), want %q", filepath.Base(path), got, err, want)
	}
}

func TestTheEndOfTheSpaceIsSaidOnceAndTakenBackOnce(t *testing.T) {
	var said bytes.Buffer
	s, low := &Stack{o: Options{Log: slog.New(slog.NewTextHandler(&said, nil))}}, false
	for _, free := range []int64{scarce, scarce - 1, 0, scarce, 2 * scarce, 3 * scarce} {
		low = s.lookAtSpace(free, low)
	}
	if text := said.String(); strings.Count(text, "\n") != 2 || strings.Count(text, "hardly any space") != 1 || low {
		t.Errorf("it said %q, want a warning and its end", text)
	}
}
