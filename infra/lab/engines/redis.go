package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

const installRedis = "apt-get install -y redis-server"

// redises are one or more independent servers.
type redises struct {
	servers []*server
	// delay is how long one that died stays away on purpose.
	delay time.Duration
}

// snapshots is the persistence of a server without an append-only file; all others
// are values of its appendfsync.
const snapshots = ""

func startRedis(ctx context.Context, dir string, o Options, n int, sync string, delay time.Duration) (Engine, error) {
	r := &redises{delay: delay}
	for i := range n {
		s, err := newRedis(filepath.Join(dir, strconv.Itoa(i)), o, sync)
		if err != nil {
			return nil, err
		}
		if err := s.start(ctx); err != nil {
			return nil, errors.Join(err, r.Stop())
		}
		r.servers = append(r.servers, s)
	}
	return r, nil
}

// newRedis is a server with the persistence of Debian's redis.conf: snapshots
// after an hour, five minutes or a minute, which a short sale never reaches.
// Otherwise each write is in the append-only file before it is answered, and on disk
// when sync says so.
func newRedis(dir string, o Options, sync string) (*server, error) {
	path, err := find(o, installRedis, "redis-server")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make folder for redis: %w", err)
	}
	persist := "yes"
	if sync == snapshots {
		persist, sync = "no", "everysec"
	}
	return &server{
		name: "redis-server", path: path,
		args: func(port int) []string {
			return []string{
				"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--daemonize", "no",
				"--save", "3600", "1", "300", "100", "60", "10000",
				"--appendonly", persist, "--appendfsync", sync,
				// A replica must have its primary's data within a cell, not
				// after the five seconds that batching several replicas costs.
				"--repl-diskless-sync-delay", "0",
			}
		},
		serves: func(ctx context.Context, port int) error {
			c := redis.NewClient(&redis.Options{Addr: address(port), MaxRetries: -1})
			defer c.Close()
			return c.Ping(ctx).Err()
		},
	}, nil
}

func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// ask makes one call on a server by a connection of its own.
func (s *server) ask(call func(c *redis.Client) error) error {
	c := redis.NewClient(&redis.Options{Addr: address(s.port)})
	defer c.Close()
	return call(c)
}

func (r *redises) Reset(ctx context.Context) error {
	for _, s := range r.servers {
		if err := s.ask(func(c *redis.Client) error { return c.FlushAll(ctx).Err() }); err != nil {
			return fmt.Errorf("empty redis: %w", err)
		}
	}
	return nil
}

func (r *redises) Describe(p *shop.Place) {
	p.Redis = nil
	for _, s := range r.servers {
		p.Redis = append(p.Redis, address(s.port))
	}
}

func (r *redises) Crash() error {
	r.servers[0].kill()
	return nil
}

func (r *redises) Recover(ctx context.Context) error {
	time.Sleep(r.delay)
	return r.servers[0].start(ctx)
}

func (r *redises) Stop() error {
	for _, s := range r.servers {
		s.stop()
	}
	return nil
}
