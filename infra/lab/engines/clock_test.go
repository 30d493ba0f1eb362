package engines

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// A lock expires by its server's clock. That of the application server is another one.
func TestAnEnginesClockCanBeSetAndPutRight(t *testing.T) {
	pool := NewPool(Options{Dir: t.TempDir()})
	defer func() {
		if err := pool.Stop(); err != nil {
			t.Error(err)
		}
	}()
	get := func() (Engine, error) {
		all, err := pool.Get(t.Context(), []shop.Need{shop.Redis}, true)
		return append(all, nil)[0], err
	}
	e, err := get()
	var missing *MissingError
	if errors.As(err, &missing) && !required {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: place(e).Redis[0]})
	defer c.Close()
	if err := c.Set(t.Context(), "lock", 1, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if err := e.(Clocked).Jump(2 * time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), "lock").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("two hours later the lock of an hour is there (%v)", err)
	}
	if _, err := get(); err != nil {
		t.Fatal(err)
	}
	if now, err := c.Time(t.Context()).Result(); err != nil || time.Since(now).Abs() > time.Hour {
		t.Errorf("after a reset it is %v (%v)", now, err)
	}
}
