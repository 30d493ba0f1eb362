package system

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// change has SeedFunction change a sale.
func (d drill) change(request map[string]any) {
	d.t.Helper()
	if err := d.client.Ask(d.t.Context(), client.SeedFunction, request, nil); err != nil {
		d.t.Fatal(err)
	}
}

// buy makes a purchase and remembers what it promised.
func (d drill) buy(saleID, user string) client.Answer {
	d.t.Helper()
	a, err := d.purchase(d.t.Context(), saleID, user)
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

func (d drill) purchase(ctx context.Context, saleID, user string) (client.Answer, error) {
	a, err := d.client.Buy(ctx, saleID, d.token(user), "key-of-"+user)
	if err == nil && a.Status == http.StatusAccepted {
		d.promise(saleID, user, a.Claim.ClaimID)
	}
	return a, err
}

// promise remembers a claim that the user was told of.
func (d drill) promise(saleID, user, claimID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.promised[saleID] == nil {
		d.promised[saleID] = map[string]string{}
	}
	if other := d.promised[saleID][user]; other != "" && other != claimID {
		d.t.Errorf("%s was promised the claims %s and %s", user, other, claimID)
	}
	d.promised[saleID][user] = claimID
}

// sell makes a purchase that must be accepted, in the end.
func (d drill) sell(saleID string, users ...string) {
	d.t.Helper()
	for _, user := range users {
		var a client.Answer
		for range tries {
			if a = d.buy(saleID, user); a.Status == http.StatusAccepted {
				break
			}
			time.Sleep(max(a.RetryAfter, 200*time.Millisecond))
		}
		if a.Status != http.StatusAccepted {
			d.t.Fatalf("%s is told %v", user, a)
		}
	}
}

// usersOf are users who are sold from that shard first.
func usersOf(shard, shards, n int, prefix string) (users []string) {
	for i := 0; len(users) < n; i++ {
		if user := fmt.Sprint(prefix, i); sale.ShardFor(user, 0, &sale.Set{}, shards) == shard {
			users = append(users, user)
		}
	}
	return users
}

// strand makes a claim as a purchase does that dies before it sends its message, that long
// ago.
func (d drill) strand(saleID, user string, ago time.Duration) {
	d.t.Helper()
	p, err := d.ledgerAgo(ago).Purchase(d.t.Context(), ledger.Request{SaleID: saleID, User: user})
	if err != nil {
		d.t.Fatal(err)
	}
	d.promise(saleID, user, p.Claim.ID)
}

// audit recounts every sale: it balances, and every claim that somebody was promised is
// there and has its order.
func (d drill) audit() {
	d.t.Helper()
	all := d.items()
	for saleID, promised := range d.promised {
		d.balances(all, saleID)
		for user, claimID := range promised {
			if got := all.Sale(saleID).Claim(user).ClaimID; got != claimID {
				d.t.Errorf("%s was promised claim %s of %s, the table has %q", user, claimID, saleID, got)
			}
		}
	}
}

// books are what the table holds of a sale.
func (v visit) books(saleID string) *books.Sale {
	v.t.Helper()
	return v.table().Sale(saleID)
}
