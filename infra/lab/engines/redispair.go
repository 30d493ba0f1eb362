package engines

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// pair is a primary and its replica behind one address, as a managed Redis or a
// Sentinel offers it: after a fail-over the address leads to the replica.
// Replication is asynchronous, so what the primary answered may not have
// reached the replica.
type pair struct {
	primary, replica *server
	failover
}

func startPair(ctx context.Context, dir string, o Options) (Engine, error) {
	p := &pair{}
	for i, s := range []**server{&p.primary, &p.replica} {
		made, err := newRedis(filepath.Join(dir, strconv.Itoa(i)), o, snapshots)
		if err != nil {
			return nil, err
		}
		if err := made.start(ctx); err != nil {
			return nil, errors.Join(err, p.Stop())
		}
		*s = made
	}
	lead, err := newFailover(address(p.primary.port))
	if err == nil {
		p.failover = lead
		err = p.Reset(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.Stop())
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
	p.restore(address(p.primary.port))
	host, port, err := net.SplitHostPort(p.copies.Address())
	if err != nil {
		return fmt.Errorf("read relay address: %w", err)
	}
	err = p.replica.ask(func(c *redis.Client) error { return c.ReplicaOf(ctx, host, port).Err() })
	if err != nil {
		return fmt.Errorf("make a replica: %w", err)
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

// Crash kills the primary, and nobody reaches anything until Recover.
func (p *pair) Crash() error {
	p.cut()
	p.primary.kill()
	return nil
}

// Recover lets the replica take over, and starts the old primary as its replica.
func (p *pair) Recover(ctx context.Context) error {
	err := p.replica.ask(func(c *redis.Client) error { return c.ReplicaOf(ctx, "NO", "ONE").Err() })
	if err != nil {
		return fmt.Errorf("promote the replica: %w", err)
	}
	p.front.lead(address(p.replica.port))
	if err := p.primary.start(ctx); err != nil {
		return err
	}
	return p.primary.ask(func(c *redis.Client) error {
		return c.ReplicaOf(ctx, "127.0.0.1", strconv.Itoa(p.replica.port)).Err()
	})
}

func (p *pair) Stop() error {
	p.failover.close()
	for _, s := range []*server{p.primary, p.replica} {
		if s != nil {
			s.stop()
		}
	}
	return nil
}
