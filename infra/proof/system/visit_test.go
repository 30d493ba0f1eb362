package system

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/wait"
)

// A visit is a test's use of the stack.
type visit struct {
	*system
	t *testing.T
}

func (v visit) eventually(what string, is func() bool) {
	v.t.Helper()
	wait.Until(v.t, patience, what, is)
}

// call makes a request, whose answer must be in the contract; header is a list of names and values. If the
// user has sent too many requests, in whichever test, it waits for Retry-After and repeats the request, as
// every client should.
func (v visit) call(method, path string, header ...string) client.Answer {
	v.t.Helper()
	for try := 0; ; try++ {
		a, err := v.client.Send(v.t.Context(), method, path, "", header...)
		if err != nil {
			v.t.Fatalf("%s %s: %v", method, path, err)
		}
		if a.Code != "too-many-requests" || try == 5 {
			return a
		}
		time.Sleep(min(3*time.Second, a.RetryAfter))
	}
}

// send makes a request that no client of ours would make: the path is sent as it is, and the answer
// is not held against the contract.
func (v visit) send(method, api, path, body string, header ...string) client.Answer {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, api+"/", strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	r.URL.Opaque = path
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Add(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	a, err := v.plain.Do(r)
	if err != nil {
		v.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (v visit) bearer(user string) []string { return bearer(v.token(user)) }

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

// buy makes a purchase and remembers what it promised.
func (v visit) buy(saleID, user string) client.Answer {
	v.t.Helper()
	a, err := v.purchase(v.t.Context(), saleID, user)
	if err != nil {
		v.t.Fatal(err)
	}
	return a
}

func (v visit) purchase(ctx context.Context, saleID, user string) (client.Answer, error) {
	a, err := v.client.Buy(ctx, saleID, v.token(user), "once")
	if err == nil && a.Status == http.StatusAccepted {
		v.promise(saleID, user, a.Claim.ClaimID)
	}
	return a, err
}

// promise remembers a claim that the user was told of.
func (v visit) promise(saleID, user, claimID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.promised[saleID] == nil {
		v.promised[saleID] = map[string]string{}
	}
	if other := v.promised[saleID][user]; other != "" && other != claimID {
		v.t.Errorf("%s was promised the claims %s and %s", user, other, claimID)
	}
	v.promised[saleID][user] = claimID
}

// sell makes purchases that must be accepted, in the end.
func (v visit) sell(saleID string, users ...string) {
	v.t.Helper()
	for _, user := range users {
		var a client.Answer
		for range tries {
			if a = v.buy(saleID, user); a.Status == http.StatusAccepted {
				break
			}
			time.Sleep(max(a.RetryAfter, 200*time.Millisecond))
		}
		if a.Status != http.StatusAccepted {
			v.t.Fatalf("%s is told %v", user, a)
		}
	}
}

// order sells a unit to the user, and waits for the order and its id.
func (v visit) order(saleID, user string) (orderID string) {
	v.t.Helper()
	v.sell(saleID, user)
	v.eventually(user+"'s order is there", func() bool {
		s := v.books(saleID)
		orderID = s.Claim(user).OrderID
		return orderID != "" && len(s.Unfinished()) == 0
	})
	return orderID
}

// change has SeedFunction change a sale.
func (v visit) change(request map[string]any) {
	v.t.Helper()
	if err := v.client.Ask(v.t.Context(), client.SeedFunction, request, nil); err != nil {
		v.t.Fatal(err)
	}
}

// open creates a sale that is open for an hour.
func (v visit) open(saleID string, stock, shards int) {
	v.t.Helper()
	v.create(client.Sale{ID: saleID, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour), Stock: stock, Shards: shards})
}

func (v visit) create(s client.Sale) {
	v.t.Helper()
	if err := v.client.Seed(v.t.Context(), s); err != nil {
		v.t.Fatal(err)
	}
}

// table reads the whole table.
func (v visit) table() *books.Books {
	v.t.Helper()
	all, err := books.Read(v.t.Context(), v.db(), table)
	if err != nil {
		v.t.Fatal(err)
	}
	return all
}

// books are what the table holds of a sale.
func (v visit) books(saleID string) *books.Sale {
	v.t.Helper()
	return v.table().Sale(saleID)
}

// items reads the whole table, once every claim has its order.
func (v visit) items() (all *books.Books) {
	v.t.Helper()
	v.eventually("every claim has its order", func() bool {
		all = v.table()
		return finished(all)
	})
	return all
}

// balances checks that a sale's recount has no findings and everything is confirmed.
func (v visit) balances(all *books.Books, saleID string) {
	v.t.Helper()
	receipt, err := all.Recount(v.t.Context(), saleID, books.Options{Now: time.Now, Overdue: books.AtOnce})
	if err != nil {
		v.t.Fatal(err)
	}
	if !receipt.Balanced {
		v.t.Errorf("%s: %v", saleID, receipt.Findings)
	}
}

// finished reports whether every claim of every sale has its order.
func finished(all *books.Books) bool {
	return !slices.ContainsFunc(all.Sales(), func(saleID string) bool { return len(all.Sale(saleID).Unfinished()) > 0 })
}
