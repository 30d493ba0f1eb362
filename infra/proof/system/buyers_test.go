package system

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/wait"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// open creates a sale that is open.
func (d *drill) open(t *testing.T, saleID string, stock, shards int) {
	t.Helper()
	d.create(t, client.Sale{ID: saleID, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour), Stock: stock, Shards: shards})
}

func (d *drill) create(t *testing.T, s client.Sale) {
	t.Helper()
	if err := d.client.Seed(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// buy makes a purchase and remembers what it promised.
func (d *drill) buy(t *testing.T, saleID, user string) client.Answer {
	t.Helper()
	token, err := d.client.Token(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.purchase(t, saleID, user, token)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (d *drill) purchase(t *testing.T, saleID, user, token string) (client.Answer, error) {
	a, err := d.client.Buy(t.Context(), saleID, token, "key-of-"+user)
	if err != nil || a.Status != http.StatusAccepted {
		return a, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.promised[saleID] == nil {
		d.promised[saleID] = map[string]string{}
	}
	if other := d.promised[saleID][user]; other != "" && other != a.Claim.ClaimID {
		t.Errorf("%s was promised the claims %s and %s", user, other, a.Claim.ClaimID)
	}
	d.promised[saleID][user] = a.Claim.ClaimID
	return a, nil
}

// sell makes a purchase that must be accepted, in the end.
func (d *drill) sell(t *testing.T, saleID string, users ...string) {
	t.Helper()
	for _, user := range users {
		var a client.Answer
		for range tries {
			if a = d.buy(t, saleID, user); a.Status == http.StatusAccepted {
				break
			}
			time.Sleep(max(a.RetryAfter, 200*time.Millisecond))
		}
		if a.Status != http.StatusAccepted {
			t.Fatalf("%s is told %v", user, a)
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
func (d *drill) strand(t *testing.T, saleID, user string, ago time.Duration) {
	t.Helper()
	p, err := d.ledgerAgo(ago).Purchase(t.Context(), ledger.Request{SaleID: saleID, User: user})
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.promised[saleID] = map[string]string{user: p.Claim.ID}
}

// books are what the table holds of a sale.
func (s *system) books(t *testing.T, saleID string) *books.Sale {
	t.Helper()
	all, err := books.Read(t.Context(), s.db(), table)
	if err != nil {
		t.Fatal(err)
	}
	return all.Sale(saleID)
}

// settled waits until every claim of every sale has its order, and returns the books.
func (d *drill) settled(t *testing.T) (all *books.Books) {
	t.Helper()
	wait.Until(t, patience, "every claim has its order", func() bool {
		var err error
		if all, err = books.Read(t.Context(), d.db(), table); err != nil {
			t.Fatal(err)
		}
		return finished(all)
	})
	return all
}

// audit recounts every sale: it balances, and every claim that somebody was promised is
// there and has its order.
func (d *drill) audit(t *testing.T) {
	t.Helper()
	all := d.settled(t)
	for saleID, promised := range d.promised {
		r, err := all.Recount(t.Context(), saleID, books.Options{Now: time.Now, Overdue: books.AtOnce})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Balanced {
			t.Errorf("%s: %v", saleID, r.Findings)
		}
		for user, claimID := range promised {
			if got := all.Sale(saleID).Claim(user).ClaimID; got != claimID {
				t.Errorf("%s was promised claim %s of %s, the table has %q", user, claimID, saleID, got)
			}
		}
	}
}
