package cache

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/engines"
	"flashsale/infra/lab/shop"
	store "flashsale/infra/lab/sql"
)

// onRedis is a desk on an empty server, or nil where none is installed and none is required.
func onRedis(t *testing.T, needs ...shop.Need) *desk {
	t.Helper()
	h := shop.Host{
		Place: shop.Place{Sale: "s", Stock: 3}, Servers: 1,
		Now:       time.Now,
		CheckUser: func(context.Context, string) error { return nil },
		At:        func(context.Context, shop.Point) {},
	}
	for _, need := range append(needs, shop.Redis) {
		e, err := engines.Start(t.Context(), need, engines.Options{Dir: t.TempDir()})
		var missing *engines.MissingError
		if errors.As(err, &missing) && os.Getenv("LAB_ENGINES") != "required" {
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
		e.Describe(&h.Place)
	}
	d := newDesk(h)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestTheScriptLooksForTheBuyerBeforeTheStock(t *testing.T) {
	d := onRedis(t)
	if d == nil {
		return
	}
	s := &scripted{desk: d, delivery: delivery{stream: true}}
	ask := func(user string, want shop.Outcome) {
		t.Helper()
		if got, err := s.ask(t.Context(), user); got != want || err != nil {
			t.Errorf("%s is told %s (%v), want %s", user, got, err, want)
		}
	}
	ask("a", shop.Busy) // a stock that is not there is not a stock of none
	if err := d.redis.Set(t.Context(), stockKey(d.host.Place), 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	ask("a", shop.Accepted)
	ask("b", shop.SoldOut)
	ask("a", shop.AlreadyOrdered)
	if n, err := d.redis.XLen(t.Context(), streamKey(d.host.Place)).Result(); n != 1 || err != nil {
		t.Errorf("%d messages (%v), want one per order", n, err)
	}
	if left, err := d.redis.Get(t.Context(), stockKey(d.host.Place)).Int(); left != 0 || err != nil {
		t.Errorf("%d left (%v), want 0", left, err)
	}
}

func TestAnEmptyRedisIsFilledOnceFromTheDatabase(t *testing.T) {
	d := onRedis(t, shop.MariaDB)
	if d == nil {
		return
	}
	if err := store.Create(t.Context(), d.host.Place); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(d.host.Place)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// One of the two is delivered twice; of four there are units for three.
	for _, users := range [][]string{{"a", "b"}, {"b"}} {
		if err := write(t.Context(), db, users); err != nil {
			t.Fatal(err)
		}
	}
	s := &scripted{desk: d, db: db}
	for range 2 { // whoever comes second changes nothing
		if err := s.rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		for user, want := range map[string]shop.Outcome{"a": shop.AlreadyOrdered, "b": shop.AlreadyOrdered} {
			if got, err := s.ask(t.Context(), user); got != want || err != nil {
				t.Errorf("%s is told %s (%v), want %s", user, got, err, want)
			}
		}
		if left, err := d.redis.Get(t.Context(), stockKey(d.host.Place)).Int(); left != 1 || err != nil {
			t.Errorf("%d left (%v), want 1 of 3", left, err)
		}
	}
	if err := write(t.Context(), db, []string{"a", "c", "d"}); err != nil {
		t.Fatal(err)
	}
	if all, err := store.Buyers(t.Context(), db); err != nil || !slices.Equal(slices.Sorted(slices.Values(all)), []string{"a", "b", "c"}) {
		t.Errorf("the database has %v (%v), want a, b and the first of those for whom there is one unit", all, err)
	}
	if err := d.redis.Del(t.Context(), stockKey(d.host.Place)).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.ask(t.Context(), "d"); got != shop.SoldOut || err != nil {
		t.Errorf("with all sold in the database: %s (%v)", got, err)
	}
}

// Each lock refuses the second, and its owner's release does not free the next one's; the
// incident's own does.
func TestALockIsReleasedByItsOwnerOnly(t *testing.T) {
	d := onRedis(t)
	if d == nil {
		return
	}
	for name, c := range map[string]struct {
		lock newLock
		own  bool
	}{"token": {token, true}, "watchdog": {watchdog, true}, "blind": {blind, false}, "dated": {dated, false}} {
		l := c.lock(t.Context(), d)
		first, err := l.acquire(t.Context(), name)
		if err != nil || first == nil {
			t.Fatalf("%s: not locked (%v)", name, err)
		}
		if second, err := l.acquire(t.Context(), name); second != nil || err != nil {
			t.Errorf("%s: two have it (%v)", name, err)
		}
		if err := d.redis.Del(t.Context(), name).Err(); err != nil { // as if it had expired
			t.Fatal(err)
		}
		next, err := l.acquire(t.Context(), name)
		if err != nil || next == nil {
			t.Fatalf("%s: not locked again (%v)", name, err)
		}
		first.release(t.Context())
		if n, err := d.redis.Exists(t.Context(), name).Result(); err != nil || (n == 1) != c.own {
			t.Errorf("%s: after the late release it is there: %v (%v), want %v", name, n == 1, err, c.own)
		}
		next.release(t.Context())
		if n, err := d.redis.Exists(t.Context(), name).Result(); err != nil || n != 0 {
			t.Errorf("%s: its own release leaves it (%v)", name, err)
		}
	}
}

func TestAnOlderOwnersWriteIsRefused(t *testing.T) {
	d := onRedis(t)
	if d == nil {
		return
	}
	if err := d.redis.Set(t.Context(), stockKey(d.host.Place), 2, 0).Err(); err != nil {
		t.Fatal(err)
	}
	d.host.At = func(ctx context.Context, p shop.Point) {
		if p == shop.Read { // a later owner reads meanwhile
			keys := []string{stockKey(d.host.Place), stockKey(d.host.Place) + ":fence"}
			if err := fencedGet.Run(ctx, d.redis, keys, 9).Err(); err != nil && !errors.Is(err, redis.Nil) {
				t.Error(err)
			}
		}
	}
	for i, want := range []shop.Outcome{shop.Busy, shop.Accepted} {
		if got, err := fencedSet(t.Context(), d, "a", int64(8+i)); got != want || err != nil {
			t.Errorf("owner %d is told %s (%v), want %s", 8+i, got, err, want)
		}
	}
	if left, err := d.redis.Get(t.Context(), stockKey(d.host.Place)).Int(); left != 1 || err != nil {
		t.Errorf("%d left (%v), want 1", left, err)
	}
}
