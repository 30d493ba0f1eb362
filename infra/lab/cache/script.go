package cache

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
	store "flashsale/infra/lab/sql"
)

// script describes a strategy in which a script looks for the buyer, counts the stock
// down and remembers the buyer in one step.
// With a stream the script appends the order to it, and what a worker has not acknowledged another one reads again.
// Otherwise the order waits in memory.
func script(name, does, flaw string, need shop.Need, stream bool) shop.Spec {
	s := spec(name, does, flaw, need, func(_ context.Context, d *desk) (shop.Strategy, error) {
		db, err := store.Open(d.host.Place)
		if err != nil {
			return nil, err
		}
		working, stop := context.WithCancel(context.Background())
		s := &scripted{desk: d, stream: stream, db: db, stop: stop, queue: make(chan string, 1<<20)}
		work := s.carryQueue
		if stream {
			work = s.carryStream
		}
		s.worker.Go(func() { work(working) })
		return s, nil
	})
	s.Needs = append(s.Needs, shop.MariaDB)
	s.Orders = store.Orders
	s.Prepare = func(ctx context.Context, p shop.Place) error {
		if err := errors.Join(stockUp(ctx, p), store.Create(ctx, p)); err != nil || !stream {
			return err
		}
		c := server(p)
		defer c.Close()
		return makeGroup(ctx, c, p)
	}
	return s
}

// alone describes the same script without a database behind it: the set of buyers is the orders.
func alone(name, does string) shop.Spec {
	s := spec(name, does, "", shop.RedisAlways, func(_ context.Context, d *desk) (shop.Strategy, error) { return lone{d}, nil })
	s.Orders = func(ctx context.Context, p shop.Place) ([]shop.Order, error) {
		c := server(p)
		defer c.Close()
		users, err := c.SMembers(ctx, buyersKey(p)).Result()
		return shop.OrdersOf(users), err
	}
	return s
}

type lone struct{ *desk }

// Buy lets the script decide, and nothing follows.
func (l lone) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := l.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	o, err := l.decide(ctx, user, 0)
	l.host.At(ctx, shop.Recorded)
	return o, err
}

// The script looks for the buyer first: a winner whose answer was lost asks again. A
// stock that is not there is no stock of 0, but a Redis that has lost its data.
var (
	decide = redis.NewScript(`
if redis.call('sismember', KEYS[2], ARGV[1]) == 1 then
	return 2
end
local stock = redis.call('get', KEYS[1])
if not stock then
	return 3
end
if tonumber(stock) < tonumber(ARGV[3]) then
	return 1
end
redis.call('decrby', KEYS[1], ARGV[3])
redis.call('sadd', KEYS[2], ARGV[1])
if ARGV[2] == '1' then
	redis.call('xadd', KEYS[3], '*', 'user', ARGV[1])
end
return 0`)
	outcomes = []shop.Outcome{shop.Accepted, shop.SoldOut, shop.AlreadyOrdered, shop.Busy}
	// reload puts back what the database knows, unless somebody else has.
	reload = redis.NewScript(`
if redis.call('exists', KEYS[1]) == 1 then
	return 0
end
for i = 2, #ARGV do
	redis.call('sadd', KEYS[2], ARGV[i])
end
redis.call('set', KEYS[1], ARGV[1])
return 1`)
)

type scripted struct {
	*desk
	stream bool
	db     *sql.DB
	stop   context.CancelFunc
	worker sync.WaitGroup
	queue  chan string
	// waiting are the orders in the queue and in the worker's hands.
	waiting atomic.Int64
}

func (d *desk) keys() []string {
	return []string{stockKey(d.host.Place), buyersKey(d.host.Place), streamKey(d.host.Place)}
}

func (s *scripted) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := s.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	appends := 0
	if s.stream {
		appends = 1
	}
	o, err := s.decide(ctx, user, appends)
	switch {
	case err != nil:
		return "", err
	case o == shop.Busy:
		return o, s.rebuild(ctx)
	case o != shop.Accepted:
		return o, nil
	case s.stream:
		s.host.At(ctx, shop.Recorded)
		return o, nil
	}
	s.host.At(ctx, shop.Taken)
	s.waiting.Add(1)
	s.queue <- user
	return o, nil
}

// decide runs the script, which appends to the stream if told 1.
func (d *desk) decide(ctx context.Context, user string, appends int) (shop.Outcome, error) {
	n, err := decide.Run(ctx, d.redis, d.keys(), user, appends, shop.Units(user)).Int()
	if err != nil {
		return "", fmt.Errorf("run script: %w", err)
	}
	return outcomes[n], nil
}

// rebuild fills a Redis that has lost its data with what the database has.
func (s *scripted) rebuild(ctx context.Context) error {
	buyers, err := store.Buyers(ctx, s.db)
	if err != nil {
		return err
	}
	args := []any{max(0, s.host.Stock-len(buyers))}
	for _, user := range buyers {
		args = append(args, user)
	}
	if err := reload.Run(ctx, s.redis, s.keys(), args...).Err(); err != nil {
		return fmt.Errorf("reload stock: %w", err)
	}
	return nil
}

const (
	// batch is how many orders are written at once.
	batch = 200
	// retryPause is between two tries of a worker whose database does not answer.
	retryPause = 20 * time.Millisecond
)

// carryQueue writes what waits in memory, as long as it takes.
func (s *scripted) carryQueue(context.Context) {
	ctx := context.Background()
	for user := range s.queue {
		s.host.At(ctx, shop.Queued)
		users := []string{user}
		for len(users) < batch && len(s.queue) > 0 {
			users = append(users, <-s.queue)
		}
		for write(ctx, s.db, users) != nil {
			time.Sleep(retryPause)
		}
		s.waiting.Add(int64(-len(users)))
	}
}

// Backlog is how many orders wait here, or in the stream.
func (s *scripted) Backlog(ctx context.Context) (int, error) {
	if !s.stream {
		return int(s.waiting.Load()), nil
	}
	groups, err := s.redis.XInfoGroups(ctx, streamKey(s.host.Place)).Result()
	if err != nil || len(groups) == 0 {
		return 0, err
	}
	return int(groups[0].Pending + max(0, groups[0].Lag)), nil
}

// Close writes what waits in memory; what is in the stream another worker will write.
func (s *scripted) Close() error {
	s.stop()
	close(s.queue)
	s.worker.Wait()
	return errors.Join(s.db.Close(), s.desk.Close())
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

// Some strategies keep their orders in the database of package sql's, under its unique index:
// a user has one order, whatever a queue delivers twice. Redis only decides, or only locks.

// write inserts the orders that are not there yet and takes their units in the
// same transaction; whoever gets none has no order.
func write(ctx context.Context, db *sql.DB, users []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	values := make([]any, len(users))
	for i, user := range users {
		values[i] = user
	}
	n, err := store.Affected(tx.ExecContext(ctx, "INSERT IGNORE INTO orders (buyer) VALUES (?)"+strings.Repeat(", (?)", len(users)-1), values...))
	if err != nil {
		return fmt.Errorf("insert orders: %w", err)
	}
	if n > 0 {
		taken, err := store.Affected(tx.ExecContext(ctx, "UPDATE sale SET stock = stock - ? WHERE id = 1 AND stock >= ?", n, n))
		switch {
		case err != nil:
			return fmt.Errorf("update stock: %w", err)
		case taken == 0 && len(users) == 1:
			return nil // rolled back: nothing is left
		case taken == 0:
			_ = tx.Rollback()
			for _, user := range users {
				if err := write(ctx, db, []string{user}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
