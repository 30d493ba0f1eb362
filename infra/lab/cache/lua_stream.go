package cache

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// scriptAndStream lets the script append the order to a stream in the same step,
// and a group of workers carries it into the database. A process that dies
// loses nothing: what it had not acknowledged is read again. Redis that dies
// does, as far as its last snapshot is behind.
func scriptAndStream() shop.Spec {
	return streamSpec("redis-lua-stream", shop.Redis, "one Lua script checks, counts and appends to a stream; a consumer group writes to the database",
		"Redis as it is installed saves snapshots only: when it dies, what it said since the last one never was")
}

// scriptAndStreamOnDisk is the same with Redis's append-only file.
func scriptAndStreamOnDisk() shop.Spec {
	return streamSpec("redis-lua-stream-aof", shop.RedisAppend, "the same on a Redis with an append-only file",
		"synced every second, the file survives a process that dies, not the machine: up to a second of orders")
}

func streamSpec(name string, redisNeed shop.Need, does, flaw string) shop.Spec {
	return shop.Spec{
		Name: name, Family: family, Does: does, Flaw: flaw, Needs: []shop.Need{redisNeed, shop.MariaDB},
		Orders: inserted,
		Prepare: func(ctx context.Context, p shop.Place) error {
			if err := prepareBoth(ctx, p); err != nil {
				return err
			}
			c := stockServer(p)
			defer c.Close()
			return makeGroup(ctx, c, p)
		},
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			db, err := openDatabase(h.Place)
			if err != nil {
				return nil, err
			}
			working, stop := context.WithCancel(context.Background())
			s := &streamed{desk: newDesk(h), db: db, stop: stop}
			s.worker.Go(func() { s.carry(working) })
			return s, nil
		},
	}
}

const group = "order-writers"

func streamKey(p shop.Place) string { return "stream.orders:" + p.Sale }

// makeGroup makes the consumer group, unless it is there.
func makeGroup(ctx context.Context, c *redis.Client, p shop.Place) error {
	err := c.XGroupCreateMkStream(ctx, streamKey(p), group, "0").Err()
	if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
		return fmt.Errorf("make consumer group: %w", err)
	}
	return nil
}

var checkCountAndAppend = redis.NewScript(countOnce + `redis.call('xadd', KEYS[3], '*', 'user', ARGV[1])
return 0`)

type streamed struct {
	*desk
	db     *sql.DB
	stop   context.CancelFunc
	worker sync.WaitGroup
}

// Buy lets the script decide and append.
func (s *streamed) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := s.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	keys := []string{stockKey(s.host.Place), buyersKey(s.host.Place), streamKey(s.host.Place)}
	o, err := outcomeOf(checkCountAndAppend.Run(ctx, s.redis, keys, user).Int())
	if err == nil && o == shop.Accepted {
		s.host.At(ctx, shop.Recorded)
	}
	return o, err
}

// idleAfter is how long a message may be with a worker that says nothing before
// another takes it over.
const idleAfter = 300 * time.Millisecond

// carry is the worker: new messages, and those that a dead worker has left.
func (s *streamed) carry(ctx context.Context) {
	name := fmt.Sprint("server-", s.host.Server)
	for ctx.Err() == nil {
		left, _, err := s.redis.XAutoClaim(ctx, &redis.XAutoClaimArgs{
			Stream: streamKey(s.host.Place), Group: group, Consumer: name, MinIdle: idleAfter, Start: "0", Count: 100,
		}).Result()
		if err == nil {
			s.store(ctx, left)
		}
		streams, err := s.redis.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: group, Consumer: name, Streams: []string{streamKey(s.host.Place), ">"}, Count: 10, Block: 50 * time.Millisecond,
		}).Result()
		switch {
		case err == nil:
			for _, one := range streams {
				s.store(ctx, one.Messages)
			}
		case errors.Is(err, redis.Nil):
		case redis.HasErrorPrefix(err, "NOGROUP"):
			_ = makeGroup(ctx, s.redis, s.host.Place) // Redis lost it; again in the next round
		default:
			time.Sleep(retryPause)
		}
	}
}

// store writes messages and acknowledges what was written; the rest comes again.
func (s *streamed) store(ctx context.Context, messages []redis.XMessage) {
	for _, m := range messages {
		user, _ := m.Values["user"].(string)
		s.host.At(ctx, shop.Queued)
		if insertOrder(ctx, s.db, s.host.Sale, user) == nil {
			_ = s.redis.XAck(ctx, streamKey(s.host.Place), group, m.ID).Err()
		}
	}
}

// Backlog is how many messages nobody has acknowledged.
func (s *streamed) Backlog(ctx context.Context) (int, error) {
	groups, err := s.redis.XInfoGroups(ctx, streamKey(s.host.Place)).Result()
	if err != nil || len(groups) == 0 {
		return 0, err
	}
	return int(groups[0].Pending + groups[0].Lag), nil
}

// Close stops the worker; what it has not written another one will.
func (s *streamed) Close() error {
	s.stop()
	s.worker.Wait()
	return errors.Join(s.db.Close(), s.desk.Close())
}
