// Package ids compares ways to issue order ids: how fast, in which order, and
// how easily one that was issued tells of another.
//
// It contains no sale and no verdict.
package ids

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	_ "github.com/go-sql-driver/mysql" // registers the driver
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
)

// Issue makes one or more ids, in the order in which they are to sort. Each
// application server has one of its own.
type Issue func(ctx context.Context) ([]string, error)

// Generator is one way to make ids.
type Generator struct {
	// Name is unique; Does says in one line how an id comes about.
	Name, Does string
	// Needs is the engine that it cannot do without, "" for none.
	Needs shop.Need
	// Open connects one application server; close ends that.
	Open func(ctx context.Context, p shop.Place) (issue Issue, close func() error, err error)
}

// All are the lab's generators.
func All() []Generator {
	return []Generator{randomUUID(), timeUUID(), autoIncrement(), datedCounter(), blocks()}
}

func nothingToClose() error { return nil }

func randomUUID() Generator {
	return Generator{Name: "uuid-v4", Does: "122 random bits", Open: ofUUIDs(uuid.NewRandom)}
}

func timeUUID() Generator {
	return Generator{Name: "uuid-v7", Does: "milliseconds, then 74 random bits", Open: ofUUIDs(uuid.NewV7)}
}

func ofUUIDs(next func() (uuid.UUID, error)) func(context.Context, shop.Place) (Issue, func() error, error) {
	return func(context.Context, shop.Place) (Issue, func() error, error) {
		return func(context.Context) ([]string, error) {
			id, err := next()
			if err != nil {
				return nil, fmt.Errorf("make uuid: %w", err)
			}
			return []string{id.String()}, nil
		}, nothingToClose, nil
	}
}

// autoIncrement lets the database number the orders: an id is the row's.
func autoIncrement() Generator {
	return Generator{
		Name: "auto-increment", Does: "the number of the inserted row", Needs: shop.MariaDB,
		Open: func(ctx context.Context, p shop.Place) (Issue, func() error, error) {
			db, err := sql.Open("mysql", p.MariaDB)
			if err != nil {
				return nil, nil, fmt.Errorf("open database: %w", err)
			}
			_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS numbered (id BIGINT AUTO_INCREMENT PRIMARY KEY, sale VARCHAR(64) NOT NULL)`)
			if err != nil {
				return nil, nil, fmt.Errorf("create table: %w", err)
			}
			return func(ctx context.Context) ([]string, error) {
				done, err := db.ExecContext(ctx, `INSERT INTO numbered (sale) VALUES (?)`, p.Sale)
				if err != nil {
					return nil, fmt.Errorf("insert: %w", err)
				}
				id, err := done.LastInsertId()
				if err != nil {
					return nil, fmt.Errorf("read the row's number: %w", err)
				}
				return []string{strconv.FormatInt(id, 10)}, nil
			}, db.Close, nil
		},
	}
}

// counterEpoch is the second from which datedCounter counts.
var counterEpoch = time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)

// datedCounter is the well-known "global id": seconds above a counter that Redis
// keeps under a key with the date. The second is read before the counter is
// asked, so two servers may get their numbers in the other order.
func datedCounter() Generator {
	return Generator{
		Name: "redis-dated-counter", Does: "seconds, then INCR on a key of the day", Needs: shop.Redis,
		Open: func(_ context.Context, p shop.Place) (Issue, func() error, error) {
			c := redis.NewClient(&redis.Options{Addr: p.Redis[0]})
			return func(ctx context.Context) ([]string, error) {
				now := time.Now().UTC()
				n, err := c.Incr(ctx, "icr:order:"+now.Format("2006:01:02")).Result()
				if err != nil {
					return nil, fmt.Errorf("count: %w", err)
				}
				return []string{strconv.FormatInt((now.Unix()-counterEpoch.Unix())<<32|n, 10)}, nil
			}, c.Close, nil
		},
	}
}

// block is how many ids finalize reserves for a full batch of order messages.
const block = 25

// blocks is this project's way: one write reserves the numbers of a whole batch,
// under a second that is read before it.
func blocks() Generator {
	return Generator{
		Name: "flashsale", Does: "seconds, then the day's count; one write reserves a batch's", Needs: shop.DynamoDB,
		Open: func(_ context.Context, p shop.Place) (Issue, func() error, error) {
			l := ledger.New(engine.Client(p.DynamoDB), p.Table, ledger.Options{Now: time.Now})
			return func(ctx context.Context) ([]string, error) {
				reserved, err := l.ReserveOrderIDs(ctx, block)
				var out []string
				for _, id := range reserved {
					out = append(out, orderid.String(id))
				}
				return out, err
			}, nothingToClose, nil
		},
	}
}
