package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

const installRedis = "apt-get install -y redis-server"

// redises are one or more independent servers.
type redises struct{ servers []*server }

func startRedis(ctx context.Context, dir string, o Options, n int, appendOnly bool) (Engine, error) {
	r := &redises{}
	for i := range n {
		s, err := newRedis(filepath.Join(dir, strconv.Itoa(i)), o, appendOnly)
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
// With appendOnly each write is in the append-only file before it is answered.
func newRedis(dir string, o Options, appendOnly bool) (*server, error) {
	path, err := find(o, installRedis, "redis-server")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make folder for redis: %w", err)
	}
	persist := "no"
	if appendOnly {
		persist = "yes"
	}
	return &server{
		name: "redis-server", path: path,
		args: func(port int) []string {
			return []string{
				"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--daemonize", "no",
				"--save", "3600", "1", "300", "100", "60", "10000",
				"--appendonly", persist, "--appendfsync", "everysec",
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

func (r *redises) Recover(ctx context.Context) error { return r.servers[0].start(ctx) }

func (r *redises) Stop() error {
	for _, s := range r.servers {
		s.stop()
	}
	return nil
}
