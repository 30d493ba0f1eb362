package engines

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const installFaketime = "apt-get install -y libfaketime"

// fakeClock is a wall clock that libfaketime shows to one server; the monotonic clock stays
// the machine's. dynoxide cannot have one: it is linked statically.
type fakeClock struct{ library, file string }

func newFakeClock(o Options, dir string) (*fakeClock, error) {
	if !o.Clocked {
		return nil, nil
	}
	for _, pattern := range []string{"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib*/faketime/libfaketime.so.1"} {
		if all, err := filepath.Glob(pattern); err == nil && len(all) > 0 && o.Path == "" {
			c := &fakeClock{all[0], filepath.Join(dir, "clock")}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return nil, fmt.Errorf("make folder for clock: %w", err)
			}
			return c, c.set(0)
		}
	}
	return nil, &MissingError{Program: "libfaketime", Install: installFaketime}
}

// set writes the file that the server reads whenever it asks for the time. A rename
// keeps it from reading half of it.
func (c *fakeClock) set(ahead time.Duration) error {
	err := os.WriteFile(c.file+".new", fmt.Appendf(nil, "%+.3f", ahead.Seconds()), 0o644)
	if err == nil {
		err = os.Rename(c.file+".new", c.file)
	}
	if err != nil {
		return fmt.Errorf("set clock: %w", err)
	}
	return nil
}

// environment is what a server is started with. libc comes before the server's own
// allocator: jemalloc asks for the time while libfaketime asks for its first memory.
func (c *fakeClock) environment() []string {
	if c == nil {
		return nil
	}
	return []string{
		"LD_PRELOAD=" + c.library + " libc.so.6", "FAKETIME_TIMESTAMP_FILE=" + c.file,
		"FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	}
}
