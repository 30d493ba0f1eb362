package engines

import (
	"errors"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine/enginetest"
)

// required makes a missing engine a failure, as it is where they are installed.
var required = os.Getenv("LAB_ENGINES") == "required"

// running is a started engine, or nil where it is not installed: then what is
// said of that has been checked.
func running(t *testing.T, need shop.Need, install string) Engine {
	t.Helper()
	e, err := Start(t.Context(), need, Options{Dir: t.TempDir(), Root: enginetest.Root(t)})
	var missing *MissingError
	if errors.As(err, &missing) && !required {
		if missing.Install != install {
			t.Errorf("%s is installed by %q, want %q", missing.Program, missing.Install, install)
		}
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func place(e Engine) (p shop.Place) {
	e.Describe(&p)
	return p
}

func crash(t *testing.T, e Engine) {
	t.Helper()
	if err := e.Crash(); err != nil {
		t.Fatal(err)
	}
	if err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// write writes one key.
func write(t *testing.T, addr string) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	if err := c.Set(t.Context(), "key", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

// keys counts those that are there.
func keys(t *testing.T, addr string) int64 {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	n, err := c.DBSize(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRedisForgetsInACrashAndTheAppendOnlyFileDoesNot(t *testing.T) {
	for need, want := range map[shop.Need]int64{shop.Redis: 0, shop.RedisAlways: 1} {
		e := running(t, need, installRedis)
		if e == nil {
			continue
		}
		addr := place(e).Redis[0]
		write(t, addr)
		crash(t, e)
		if n := keys(t, addr); n != want {
			t.Errorf("%s has %d keys after a crash, want %d", need, n, want)
		}
		write(t, addr)
		if err := e.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := keys(t, addr); n != 0 {
			t.Errorf("%s has %d keys after a reset", need, n)
		}
	}
}

func TestWhatTheReplicaWasCutOffFromIsLostInTheFailOver(t *testing.T) {
	e := running(t, shop.RedisPair, installRedis)
	if e == nil {
		return
	}
	addr := place(e).Redis[0]
	if lasts := e.(Ailing).Ail(); lasts != lag {
		t.Errorf("it serves on for %v, want %v", lasts, lag)
	}
	write(t, addr) // the primary confirms it
	crash(t, e)
	if n := keys(t, addr); n != 0 {
		t.Errorf("%d keys after the fail-over, want none", n)
	}
	if err := e.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, addr)
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	if n, err := c.Wait(t.Context(), 1, startLimit).Result(); err != nil || n != 1 {
		t.Errorf("after a reset %d replicas have the write (%v), want 1", n, err)
	}
}
