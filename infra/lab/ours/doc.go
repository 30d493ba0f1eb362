// Package ours holds this project's own system as strategies: the ledger called
// directly, and the whole way through the HTTP API, the queue and the functions of
// the local stack, each with the three ways in which a client may name its
// requests. They meet the same buyers and accidents as all others.
//
// What was sold is read from the raw table, with no code of what wrote it: the
// orders that exist once every claim that can get one has it.
package ours

import (
	"context"
	"crypto/rand"
	"time"

	"flashsale/infra/lab/shop"
)

// Specs are all strategies of the package.
func Specs() []shop.Spec {
	var all []shop.Spec
	for _, base := range []func(nextKey) shop.Spec{direct, overHTTP} {
		for _, k := range []struct {
			name, does, flaw string
			next             nextKey
		}{
			{"", "", "", func() string { return "lab" }},
			{"-no-key", ", without an Idempotency-Key", "a winner whose answer was lost and who asks again is told \"sold out\" when the table has no room for a read at that moment", func() string { return "" }},
			{"-new-key", ", with a new Idempotency-Key for each click", "", rand.Text},
		} {
			s := base(k.next)
			s.Name, s.Does, s.Flaw, s.Family, s.Orders = s.Name+k.name, s.Does+k.does, k.flaw, "ours", orders
			all = append(all, s)
		}
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
