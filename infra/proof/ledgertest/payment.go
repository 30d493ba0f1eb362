package ledgertest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// attributes are the values of an update, each an int, an instant or a string.
func attributes(values map[string]any) map[string]types.AttributeValue {
	all := map[string]types.AttributeValue{}
	for name, value := range values {
		switch v := value.(type) {
		case time.Time:
			all[name] = &types.AttributeValueMemberN{Value: strconv.FormatInt(v.UnixMilli(), 10)}
		case int:
			all[name] = &types.AttributeValueMemberN{Value: strconv.Itoa(v)}
		case string:
			all[name] = &types.AttributeValueMemberS{Value: v}
		}
	}
	return all
}

// asksForPayment makes the sale one that a later release has created with a payWithin.
func (w *World) asksForPayment(within time.Duration) {
	w.T.Helper()
	w.tamper("SALE#moutai", "SALE", "SET payWithin = :p, minReader = :r",
		attributes(map[string]any{":p": int(within / time.Second), ":r": 2}))
}

// final writes what a later release writes into a claim that is paid or released.
func (w *World) final(user string, shards int, update string, values map[string]any) {
	w.T.Helper()
	w.tamper(fmt.Sprintf("CLAIM#moutai#%d", sale.BucketOf(user, sale.BucketsFor(shards))), user, update, attributes(values))
}

func (w *World) paid(user string, shards int) {
	w.T.Helper()
	w.final(user, shards, "SET paidAt = :at, payment = :p",
		map[string]any{":at": w.Now(), ":p": "stripe#pi_1"})
}

// releasedClaim releases a claim and counts it in its shard.
func (w *World) releasedClaim(user string, shards int, by string) (shard int64) {
	w.T.Helper()
	w.final(user, shards, "SET releasedAt = :at, releasedBy = :by",
		map[string]any{":at": w.Now(), ":by": by})
	c, err := w.Environment().Claim(w.Ctx, "moutai", user)
	if err != nil {
		w.T.Fatal(err)
	}
	w.tamper(fmt.Sprintf("STOCK#moutai#%d", c.Shard), "STOCK", "ADD released :one", one())
	return int64(c.Shard)
}

var paying = map[string]func(*testing.T, *World){
	"a claim that a later release has paid or released is read in its state": func(t *testing.T, w *World) {
		w.Open(20, 4)
		w.asksForPayment(time.Hour)
		w.confirmed(w.bought("paid", "expired", "cancelled", "withdrawn", "unpaid"))
		w.bought("pending")
		w.paid("paid", 4)
		for user, by := range map[string]string{"expired": "expiry", "cancelled": "buyer", "withdrawn": "operator"} {
			w.releasedClaim(user, 4, by)
		}
		for user, want := range map[string]sale.ClaimState{
			"paid": sale.Paid, "expired": sale.Expired, "cancelled": sale.Cancelled, "withdrawn": sale.Cancelled,
			"unpaid": sale.Confirmed, "pending": sale.Pending,
		} {
			c, err := w.Environment().Claim(w.Ctx, "moutai", user)
			if err != nil || c.State() != want {
				t.Errorf("%s: got %+v (%v), want %s", user, c, err, want)
			}
			_, err = w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user})
			if e := w.Refused(sale.AlreadyOrdered, err); e.Claim.State() != want {
				t.Errorf("%s asks again and is told %s, want %s", user, e.Claim.State(), want)
			}
		}
		if c, _ := w.Environment().Claim(w.Ctx, "moutai", "paid"); c.Payment != "stripe#pi_1" || !c.PaidAt.Equal(w.Now()) {
			t.Errorf("got %+v, want its payment", c)
		}
		w.final("unpaid", 4, "SET releasedAt = :one, releasedBy = :by",
			map[string]any{":one": 1, ":by": "nobody"})
		_, err := w.Ledger.Claim(w.Ctx, "moutai", "unpaid")
		w.Refused(sale.Internal, err)
		w.final("paid", 4, "SET releasedAt = :one, releasedBy = :by",
			map[string]any{":one": 1, ":by": "buyer"})
		_, err = w.Ledger.Claim(w.Ctx, "moutai", "paid")
		w.Refused(sale.Internal, err)
	},
	"released units that are back in stock balance, and are sold again": func(t *testing.T, w *World) {
		w.Open(4, 1)
		w.asksForPayment(time.Hour)
		w.confirmed(w.bought(people(4)...))
		w.paid(people(4)[0], 1)
		for _, user := range people(4)[1:3] {
			w.releasedClaim(user, 1, "buyer")
		}
		r, _ := w.audit()
		if !r.Balanced || r.Confirmed != 4 || r.Paid != 1 || r.Unpaid != 1 || r.Released != 2 {
			t.Errorf("before they are back: %+v", r)
		}
		w.tamper("STOCK#moutai#0", "STOCK", "SET stock = stock + :n, putBack = :n", attributes(map[string]any{":n": 2}))
		w.confirmed(w.bought("fifth"))
		if r, _ = w.audit(); !r.Balanced || r.Stock != 1 || r.Claims != 5 || r.Released != 2 {
			t.Errorf("one is sold again: %+v", r)
		}
	},
	"released claims that the shards do not count are found, and the reverse": func(t *testing.T, w *World) {
		w.Open(4, 1)
		w.confirmed(w.bought("alice"))
		w.tamper("STOCK#moutai#0", "STOCK", "ADD released :one", one())
		w.finds("count 1 to 1 released claims, there are 0 (P2)")
		w.releasedClaim("alice", 1, "buyer")
		w.finds("count 2 to 2 released claims, there are 1 (P2)")
		w.tamper("STOCK#moutai#0", "STOCK", "SET released = :one, stock = stock + :two, putBack = :two",
			attributes(map[string]any{":one": 1, ":two": 2}))
		w.finds("2 units were put back, but only 1 released (P2)")
		w.tamper("STOCK#moutai#0", "STOCK", "SET released = :zero, stock = stock - :two, putBack = :zero",
			attributes(map[string]any{":zero": 0, ":two": 2}))
		w.finds("count 0 to 0 released claims, there are 1 (P2)")
	},
	"a sale that asks for payment is finished when all is paid or back in stock": func(t *testing.T, w *World) {
		c := w.Open(4, 1)
		w.asksForPayment(time.Hour)
		w.confirmed(w.bought("alice", "bob"))
		w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
		finished := func(want bool, when string) {
			t.Helper()
			if r, _ := w.audit(); r.Finished != want || !r.Balanced {
				t.Errorf("%s: got %+v, want finished: %t", when, r, want)
			}
		}
		finished(false, "two are unpaid")
		w.paid("alice", 1)
		finished(false, "one is unpaid")
		w.releasedClaim("bob", 1, "expiry")
		finished(false, "a unit is released and not back")
		w.tamper("STOCK#moutai#0", "STOCK", "SET stock = stock + :one, putBack = :one", one())
		finished(true, "all is settled")
	},
}

// finds makes a pass that must have that finding.
func (w *World) finds(want string) {
	w.T.Helper()
	r, _ := w.audit()
	for _, f := range r.Findings {
		if strings.HasSuffix(f, want) {
			return
		}
	}
	w.T.Errorf("got %q, want a finding that ends %q", r.Findings, want)
}
