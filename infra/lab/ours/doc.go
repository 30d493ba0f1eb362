// Package ours holds this project's own system as two strategies: the ledger
// called directly, and the whole way through the HTTP API, the queue and the
// functions of the local stack. They meet the same buyers and accidents as all
// others.
//
// What was sold is read from the raw table, with no code of what wrote it.
package ours

import (
	"context"
	"time"

	"flashsale/infra/lab/shop"
)

// Specs are all strategies of the package.
func Specs() []shop.Spec { return []shop.Spec{direct(), overHTTP()} }

const family = "ours"

// maxShards is how many shards a sale gets if it has as many units.
const maxShards = 4

// requestKey is the Idempotency-Key of all of a buyer's clicks: one page, one
// key, as the API's clients do.
const requestKey = "lab"

// What sets a sale up and reads its books may be repeated: it changes nothing.
// It must be, because the AWS client now and then closes a connection under an
// answer that it is reading, and makes one attempt here.
const (
	tries = 3
	pause = 20 * time.Millisecond
)

// again repeats what may be repeated until it succeeds.
func again(ctx context.Context, do func() error) (err error) {
	for range tries {
		if err = do(); err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(pause)
	}
	return err
}
