package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

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

// idleAfter is how long a message may be with a worker that says nothing before
// another takes it over.
const idleAfter = 300 * time.Millisecond

// carryStream writes new messages, and those that a dead worker has left.
func (s *scripted) carryStream(ctx context.Context) {
	name := fmt.Sprint("server-", s.host.Server)
	for ctx.Err() == nil {
		left, _, err := s.redis.XAutoClaim(ctx, &redis.XAutoClaimArgs{
			Stream: streamKey(s.host.Place), Group: group, Consumer: name, MinIdle: idleAfter, Start: "0", Count: batch,
		}).Result()
		if err == nil {
			s.store(ctx, left)
		}
		streams, err := s.redis.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: group, Consumer: name, Streams: []string{streamKey(s.host.Place), ">"}, Count: batch, Block: 50 * time.Millisecond,
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

// store writes messages and acknowledges them; what was not written comes again.
func (s *scripted) store(ctx context.Context, messages []redis.XMessage) {
	if len(messages) == 0 {
		return
	}
	var users, ids []string
	for _, m := range messages {
		user, _ := m.Values["user"].(string)
		users, ids = append(users, user), append(ids, m.ID)
	}
	s.host.At(ctx, shop.Queued)
	if write(ctx, s.db, users) == nil {
		_ = s.redis.XAck(ctx, streamKey(s.host.Place), group, ids...).Err()
	}
}
