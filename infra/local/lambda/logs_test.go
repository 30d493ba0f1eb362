package lambda

import (
	"bytes"
	"syscall"
	"testing"
)

// disk is a log with limited capacity in bytes.
type disk struct {
	bytes.Buffer
	space int
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.space)
	d.space -= n
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func TestAFullDiskCostsWholeLinesOfTheLog(t *testing.T) {
	d := &disk{space: 10}
	s := &stream{sink: &sink{to: d}, prefix: "P "}
	for _, line := range []string{"one\n", "too long\n", "lost\n"} {
		if n, err := s.Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("a function's write of %q: %d, %v", line, n, err)
		}
	}
	d.space = 100
	_, _ = s.Write([]byte("two\n"))
	_, _ = s.Write([]byte("three\n"))
	if got, want := d.String(), "P one\nP to\nP two\nP three\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}
