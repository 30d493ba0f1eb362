package engines

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// The persistence of a server: Debian's, with snapshots after an hour, five minutes or a minute, which a short sale
// never reaches, or an append-only file, in which each write is on disk before it is answered.
const (
	snapshots = "no"
	always    = "yes"
)

func startRedis(ctx context.Context, dir string, o Options, n int, appendOnly string, delay time.Duration) (Engine, error) {
	e, err := newRedis(dir, o, n, appendOnly)
	if err != nil {
		return nil, err
	}
	e.delay = delay
	return e.started(ctx)
}

func newRedis(dir string, o Options, n int, appendOnly string) (*servers, error) {
	path, err := find(o, "apt-get install -y redis-server", "redis-server")
	if err != nil {
		return nil, err
	}
	e := &servers{
		reset: func(ctx context.Context, s *server) error {
			return s.ask(func(c *redis.Client) error { return c.FlushAll(ctx).Err() })
		},
		describe: func(p *shop.Place, s *server) { p.Redis = append(p.Redis, address(s.port)) },
	}
	for i := range n {
		own := filepath.Join(dir, strconv.Itoa(i))
		if err := os.MkdirAll(own, 0o755); err != nil {
			return nil, fmt.Errorf("make folder for redis: %w", err)
		}
		e.all = append(e.all, &server{
			path: path,
			args: func(port int) []string {
				return []string{
					"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", own, "--daemonize", "no",
					"--save", "3600", "1", "300", "100", "60", "10000",
					"--appendonly", appendOnly, "--appendfsync", "always",
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
		})
	}
	return e, nil
}

// ask makes one call on a server by a connection of its own.
func (s *server) ask(call func(c *redis.Client) error) error {
	c := redis.NewClient(&redis.Options{Addr: address(s.port)})
	defer c.Close()
	return call(c)
}

func (s *server) replicate(ctx context.Context, host, port string) error {
	if err := s.ask(func(c *redis.Client) error { return c.ReplicaOf(ctx, host, port).Err() }); err != nil {
		return fmt.Errorf("make a replica of %s:%s: %w", host, port, err)
	}
	return nil
}

// pair is a primary and its replica behind one address, as a managed Redis or a
// Sentinel offers it: after a fail-over the address leads to the replica.
// Replication is asynchronous, so what the primary answered may not have
// reached the replica.
type pair struct {
	*servers
	primary, replica *server
	// front leads clients to whichever is the primary, copies the replica to what it copies.
	front, copies *Relay
}

func startPair(ctx context.Context, dir string, o Options) (Engine, error) {
	e, err := newRedis(dir, o, 2, snapshots)
	if err != nil {
		return nil, err
	}
	p := &pair{servers: e, primary: e.all[0], replica: e.all[1]}
	if _, err = e.started(ctx); err != nil {
		return nil, err
	}
	for _, r := range []**Relay{&p.front, &p.copies} {
		if *r, err = NewRelay(address(p.primary.port), nil); err != nil {
			e.Stop()
			return nil, err
		}
	}
	return p, nil
}

// Reset makes the first server the primary again, if it is not, and empties it;
// then it waits until the replica has nothing left to copy.
func (p *pair) Reset(ctx context.Context) error {
	err := p.primary.ask(func(c *redis.Client) error {
		return errors.Join(c.ReplicaOf(ctx, "NO", "ONE").Err(), c.FlushAll(ctx).Err())
	})
	if err != nil {
		return fmt.Errorf("empty redis: %w", err)
	}
	p.front.lead(address(p.primary.port))
	p.copies.lead(address(p.primary.port))
	host, port, _ := net.SplitHostPort(p.copies.Address())
	if err := p.replica.replicate(ctx, host, port); err != nil {
		return err
	}
	return await(ctx, p.replica.process.Done(), func(ctx context.Context) error {
		return p.replica.ask(func(c *redis.Client) error {
			info, err := c.Info(ctx, "replication").Result()
			if err == nil && !strings.Contains(info, "master_link_status:up") {
				err = errors.New("the replica is not connected")
			}
			return err
		})
	})
}

// Describe offers the one address that leads to the primary.
func (p *pair) Describe(place *shop.Place) { place.Redis = []string{p.front.Address()} }

// lag is how far the replica is behind when the primary dies: the network
// between the two failed before.
const lag = 150 * time.Millisecond

// Ail cuts the replica off, as the failing network of a real fail-over does:
// what the primary answers from here on is what the replica will not have.
func (p *pair) Ail() time.Duration {
	p.copies.lead("")
	return lag
}

// Crash kills the primary, and nobody reaches anything until Recover.
func (p *pair) Crash() {
	p.copies.lead("")
	p.front.lead("")
	p.primary.kill()
}

// Recover lets the replica take over, and starts the old primary as its replica.
func (p *pair) Recover(ctx context.Context) error {
	if err := p.replica.replicate(ctx, "NO", "ONE"); err != nil {
		return err
	}
	p.front.lead(address(p.replica.port))
	if err := p.servers.Recover(ctx); err != nil {
		return err
	}
	return p.primary.replicate(ctx, "127.0.0.1", strconv.Itoa(p.replica.port))
}

func (p *pair) Stop() {
	p.front.Close()
	p.copies.Close()
	p.servers.Stop()
}
