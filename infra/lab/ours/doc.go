// Package ours holds this project's own system as strategies: the ledger called
// directly, with and without an Idempotency-Key of the client's. It meets the same buyers and
// accidents as all others.
//
// What was sold is read from the raw table, with no code of what wrote it: the
// orders that exist once every claim that can get one has it.
package ours

import (
	"context"
	"time"

	"flashsale/infra/lab/shop"
)

// Specs are all strategies of the package.
func Specs() []shop.Spec {
	same := func() string { return "lab" }
	none := direct(func() string { return "" })
	none.Name += "-no-key"
	none.Does += ", without an Idempotency-Key"
	none.Flaw = "a winner whose answer was lost and who asks again is told \"sold out\" when the table has no room for a read at that moment"
	all := []shop.Spec{direct(same), none}
	for i := range all {
		all[i].Family, all[i].Orders = "ours", Orders
	}
	return all
}

// nextKey is the Idempotency-Key of a buyer's next click, "" for none.
type nextKey func() string

// maxShards is how many shards a sale gets if it has as many units.
const maxShards = 4

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
