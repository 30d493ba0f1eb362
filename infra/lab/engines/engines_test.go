package engines

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"os"
	"syscall"
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

func TestThreeRedisServersShareNothing(t *testing.T) {
	e := running(t, shop.RedisTrio, installRedis)
	if e == nil {
		return
	}
	all := place(e).Redis
	if len(all) != 3 {
		t.Fatalf("%d servers, want 3", len(all))
	}
	write(t, all[1])
	crash(t, e)
	for i, addr := range all {
		if n := keys(t, addr); n != map[int]int64{1: 1}[i] {
			t.Errorf("server %d has %d keys", i, n)
		}
	}
}

func TestAReplicaTakesOverBehindTheSameAddress(t *testing.T) {
	e := running(t, shop.RedisPair, installRedis)
	if e == nil {
		return
	}
	addr := place(e).Redis[0]
	write(t, addr)
	// WAIT returns when the replica has the write: a test must not depend on
	// the race that a fail-over is.
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	if n, err := c.Wait(t.Context(), 1, startLimit).Result(); err != nil || n != 1 {
		t.Fatalf("%d replicas have the write (%v), want 1", n, err)
	}
	crash(t, e)
	if n := keys(t, addr); n != 1 {
		t.Errorf("%d keys after the fail-over, want 1", n)
	}
	if err := e.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := keys(t, addr); n != 0 {
		t.Errorf("%d keys after a reset", n)
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

func TestADatabaseKeepsWhatWasCommitted(t *testing.T) {
	e := running(t, shop.MariaDB, installMariaDB)
	if e == nil {
		return
	}
	db, err := sql.Open("mysql", place(e).MariaDB)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"CREATE TABLE a (b INT) ENGINE=InnoDB", "INSERT INTO a VALUES (1)"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO a VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	crash(t, e)
	if err := tx.Commit(); err == nil {
		t.Error("a transaction of before the crash was committed after it")
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT SUM(b) FROM a").Scan(&n); err != nil || n != 1 {
		t.Errorf("the rows add up to %d (%v), want 1", n, err)
	}
	if err := e.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM a").Scan(&n); err == nil {
		t.Error("the table is there after a reset")
	}
}

func TestDynoxideKeepsItsTableAndItsPortOverACrash(t *testing.T) {
	e := running(t, shop.DynamoDB, installDynoxide)
	if e == nil {
		return
	}
	before := place(e)
	crash(t, e)
	if after := place(e); after.DynamoDB != before.DynamoDB || after.Table != ledgerTable {
		t.Errorf("after a crash it is %+v, before it was %+v", after, before)
	}
}

func TestTheStacksFunctionsCanBeKilled(t *testing.T) {
	e := running(t, shop.Stack, installStack)
	if e == nil {
		return
	}
	if p := place(e); p.API == "" || p.Lambda == "" || p.DynamoDB == "" || p.Table == "" {
		t.Errorf("the stack is at %+v", p)
	}
	// No function runs before the first request, and none of anybody else's is
	// touched.
	if n, err := e.(Workers).SignalWorkers(syscall.SIGKILL); n != 0 || err != nil {
		t.Errorf("%d functions killed (%v), want none", n, err)
	}
	crash(t, e)
	for part, url := range map[Part]string{API: place(e).API + "/_local/health", Queue: e.(*system).queues.ReadyURL} {
		repair, err := e.(Parted).KillPart(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		if answers(url) {
			t.Errorf("the %s is dead and answers", part)
		}
		if err := repair(t.Context()); err != nil || !answers(url) {
			t.Errorf("the %s is repaired (%v) and does not answer", part, err)
		}
	}
}

func answers(url string) bool {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := c.Get(url)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil
}

func TestWhatIsNotInstalledIsNamedWithTheCommandThatInstallsIt(t *testing.T) {
	nowhere := t.TempDir()
	for need, want := range map[shop.Need]MissingError{
		shop.Redis:     {"redis-server", "apt-get install -y redis-server"},
		shop.RedisTrio: {"redis-server", "apt-get install -y redis-server"},
		shop.RedisPair: {"redis-server", "apt-get install -y redis-server"},
		shop.MariaDB:   {"mariadbd", "apt-get install -y mariadb-server"},
		shop.DynamoDB:  {"dynoxide", "make engine"},
		shop.Stack:     {"the stack", "make host"},
	} {
		pool := NewPool(Options{Dir: t.TempDir(), Root: nowhere, Path: nowhere})
		for range 2 { // the second time from memory
			_, err := pool.Get(t.Context(), []shop.Need{need}, false)
			var missing *MissingError
			if !errors.As(err, &missing) || *missing != want {
				t.Errorf("%s: %v, want %+v", need, err, want)
			}
		}
		if err := pool.Stop(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Start(t.Context(), "abacus", Options{Dir: nowhere}); err == nil {
		t.Error("an engine that nobody knows was started")
	}
}

func TestAPoolKeepsAnEngineAndEmptiesIt(t *testing.T) {
	pool := NewPool(Options{Dir: t.TempDir(), Root: enginetest.Root(t)})
	defer func() {
		if err := pool.Stop(); err != nil {
			t.Error(err)
		}
	}()
	first, err := pool.Get(t.Context(), []shop.Need{shop.DynamoDB}, false)
	if err != nil {
		t.Fatal(err)
	}
	second, err := pool.Get(context.WithoutCancel(t.Context()), []shop.Need{shop.DynamoDB}, false)
	if err != nil {
		t.Fatal(err)
	}
	if first[0] != second[0] {
		t.Error("a second engine was started")
	}
}
