package cache

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// scriptAndQueue is the best known of all: a script looks for the buyer, counts
// the stock down and remembers the buyer in one step, the buyer is told yes, and
// the order waits in the process's memory for a worker that writes it into the
// database. The process dies, and with it every order that waited.
func scriptAndQueue() shop.Spec {
	return shop.Spec{
		Name: "redis-lua-queue", Family: family, Needs: []shop.Need{shop.Redis, shop.MariaDB}, Prepare: prepareBoth, Orders: inserted,
		Does: "one Lua script checks and counts; orders wait in memory for a worker that writes them to the database",
		Flaw: "a process that dies takes the orders along that waited in it: accepted, and lost",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			db, err := openDatabase(h.Place)
			if err != nil {
				return nil, err
			}
			s := &scripted{desk: newDesk(h), db: db, queue: make(chan string, 1024*1024)}
			s.worker.Go(s.write)
			return s, nil
		},
	}
}

// countOnce answers 1 when there is no unit left and 2 when the user has one; else it
// counts one off, remembers the user and goes on.
const countOnce = `
if redis.call('sismember', KEYS[2], ARGV[1]) == 1 then
	return 2
end
if tonumber(redis.call('get', KEYS[1]) or '0') <= 0 then
	return 1
end
redis.call('incrby', KEYS[1], -1)
redis.call('sadd', KEYS[2], ARGV[1])
`

// checkAndCount answers 0 when the unit is the user's, else as countOnce.
var checkAndCount = redis.NewScript(countOnce + `return 0`)

var told = []shop.Outcome{shop.Accepted, shop.SoldOut, shop.AlreadyOrdered}

// outcomeOf is what the script's answer means.
func outcomeOf(answer int, err error) (shop.Outcome, error) {
	if err != nil {
		return "", fmt.Errorf("run script: %w", err)
	}
	if answer < 0 || answer >= len(told) {
		return "", fmt.Errorf("run script: it answered %d", answer)
	}
	return told[answer], nil
}

type scripted struct {
	*desk
	db     *sql.DB
	queue  chan string
	// waiting are the orders in the queue and in the worker's hands.
	waiting atomic.Int64
	worker sync.WaitGroup
}

// Buy lets the script decide and puts the order into the queue.
func (s *scripted) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := s.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	o, err := outcomeOf(checkAndCount.Run(ctx, s.redis, []string{stockKey(s.host.Place), buyersKey(s.host.Place)}, user).Int())
	if err != nil || o != shop.Accepted {
		return o, err
	}
	s.host.At(ctx, shop.Taken)
	s.waiting.Add(1)
	s.queue <- user
	return shop.Accepted, nil
}

// write is the worker: one order after the other, as long as it takes.
func (s *scripted) write() {
	ctx := context.Background()
	for user := range s.queue {
		s.host.At(ctx, shop.Queued)
		for insertOrder(ctx, s.db, s.host.Sale, user) != nil {
			time.Sleep(retryPause)
		}
		s.waiting.Add(-1)
	}
}

// Backlog is how many orders wait in this process.
func (s *scripted) Backlog(context.Context) (int, error) { return int(s.waiting.Load()), nil }

// retryPause is between two tries of a worker whose database does not answer.
const retryPause = 20 * time.Millisecond

// Close waits until the queue is written: an orderly end loses nothing.
func (s *scripted) Close() error {
	close(s.queue)
	s.worker.Wait()
	if err := s.db.Close(); err != nil {
		return err
	}
	return s.desk.Close()
}
