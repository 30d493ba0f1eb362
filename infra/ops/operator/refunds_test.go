package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// opened waits until noon and opens a sale of c, on one shard and to be paid within an hour in CNY.
func opened(t *testing.T, c sale.Creation) (*dynamotest.DB, *ledger.Ledger) {
	t.Helper()
	time.Sleep(time.Until(noon))
	db := dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})
	book := ledger.New(db, "T", ledger.Options{})
	c.SaleID, c.OpensAt, c.ClosesAt, c.Shards, c.PayWithin, c.Currency = "moutai", noon, noon.Add(time.Hour), 1, time.Hour, "CNY"
	if _, err := book.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return db, book
}

// ordered returns the order id of a user who buys and is confirmed.
func ordered(t *testing.T, book *ledger.Ledger, user string) uint64 {
	t.Helper()
	p, err := book.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: user})
	if err != nil {
		t.Fatal(err)
	}
	return book.Confirm(t.Context(), []ledger.ClaimRef{{SaleID: "moutai", User: user, ClaimID: p.Claim.ID}})[0].Order.ID
}

// pay reports a payment by stripe.
func pay(t *testing.T, book *ledger.Ledger, reference string, order uint64, amount int64) ledger.Settlement {
	t.Helper()
	done, err := book.Pay(t.Context(), sale.Payment{Provider: "stripe", Reference: reference, SaleID: "moutai", OrderID: order, Amount: amount, Currency: "CNY"})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// drained waits until the sale is over, audits it and marks it as drained.
func drained(t *testing.T, book *ledger.Ledger) {
	t.Helper()
	time.Sleep(2 * time.Hour)
	r, err := book.Step(t.Context(), &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := book.Drain(t.Context(), r); !done || err != nil {
		t.Fatalf("not drained: %v", err)
	}
}

func TestRefundsAreListedAndMarkedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, book := opened(t, sale.Creation{Stock: 2, Price: 129900})
		order := ordered(t, book, "alice")
		for _, payment := range []sale.Payment{
			{Provider: "stripe", Reference: "pi_cheap", SaleID: "moutai", OrderID: order, Amount: 5, Currency: "CNY"},
			{Provider: "standard", Reference: "none", Amount: 700, Currency: "EUR"},
		} {
			if done, err := book.Pay(t.Context(), payment); err != nil || done.Refund == nil {
				t.Fatalf("got %+v (%v)", done, err)
			}
		}
		list := func(want ...string) {
			t.Helper()
			var out bytes.Buffer
			err := listRefunds(t.Context(), book, []string{"moutai", "other", ""}, &out)
			for _, text := range want {
				if got := strings.Join(strings.Fields(out.String()), " "); err != nil || !strings.Contains(got, text) {
					t.Errorf("%v, no %q in\n%s", err, text, &out)
				}
			}
		}
		mark := func(saleID, payment, want string) {
			t.Helper()
			var out bytes.Buffer
			if err := markRefunded(t.Context(), book, saleID, payment, &out); err != nil {
				out.WriteString(err.Error())
			}
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: got %q, want %q", payment, &out, want)
			}
		}
		list("moutai stripe#pi_cheap 5 CNY "+orderid.String(order)+" amount 2026-11-11T12:00:00Z DUE",
			"(no such order) standard#none 700 EUR - unknown-order 2026-11-11T12:00:00Z DUE", "2 refunds due, 0 done")
		mark("moutai", "stripe#pi_other", "no refund of stripe#pi_other is due")
		mark("", "stripe#pi_cheap", "no refund of stripe#pi_cheap is due")
		time.Sleep(time.Minute)
		mark("moutai", "stripe#pi_cheap", "stripe#pi_cheap, 5 CNY, is marked as refunded at 2026-11-11T12:01:00Z")
		time.Sleep(time.Minute)
		mark("moutai", "stripe#pi_cheap", "was marked as refunded at 2026-11-11T12:01:00Z, and nothing changed now")
		mark("", "standard#none", "is marked as refunded")
		list("amount 2026-11-11T12:00:00Z 2026-11-11T12:01:00Z", "0 refunds due, 2 done")
	})
}

// slowBook has one refund in each sale and answers after 50 ms; it fails for the sales in fails.
type slowBook struct {
	fails map[string]sale.Code
	asked atomic.Int64
}

func (b *slowBook) Refunds(_ context.Context, saleID string) ([]sale.Refund, error) {
	b.asked.Add(1)
	time.Sleep(50 * time.Millisecond)
	if code := b.fails[saleID]; code != "" {
		return nil, sale.Fail(code, errors.New("no answer"))
	}
	return []sale.Refund{{SaleID: saleID, Payment: "stripe#pi_" + saleID, Amount: 5, Currency: "CNY", Reason: sale.RefundReleased, At: noon}}, nil
}

func (*slowBook) MarkRefunded(context.Context, string, string) (sale.Refund, bool, error) {
	panic("nothing is marked")
}

func TestRefundsOfManySalesAreListedAlsoIfSomeCannotBeRead(t *testing.T) {
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprintf("sale-%03d", i)
	}
	ids = append(ids, "")
	gone := map[string]sale.Code{"": sale.Busy}
	for _, id := range ids[500:] {
		gone[id] = sale.Busy
	}
	for name, tt := range map[string]struct {
		fails map[string]sale.Code
		// listed is how many refunds are at least listed, asked how many sales are at most asked for.
		listed, asked int
		want          string
	}{
		"all":                 {nil, 1001, 1001, "1001 refunds due, 0 done"},
		"one is malformed":    {map[string]sale.Code{"sale-007": sale.Internal}, 1000, 1001, "the list is not complete: refunds of sale-007: internal: no answer"},
		"one is busy":         {map[string]sale.Code{"sale-007": sale.Busy}, 1000, 1002, "the list is not complete: refunds of sale-007: busy: no answer"},
		"the table goes away": {gone, 480, 548, "the list is not complete: refunds of sale-5"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				book, began := &slowBook{fails: tt.fails}, time.Now()
				if err := listRefunds(t.Context(), book, ids, &out); err != nil {
					fmt.Fprintln(&out, err)
				} else if tt.fails != nil {
					t.Error("no error")
				}
				lines := strings.Split(strings.TrimSpace(out.String()), "\n")
				if listed := len(lines) - 2; listed < tt.listed || int(book.asked.Load()) > tt.asked || !strings.HasPrefix(lines[len(lines)-1], tt.want) {
					t.Errorf("%d listed of %d asked, at the end %q", listed, book.asked.Load(), lines[len(lines)-1])
				}
				if !slices.IsSorted(lines[1 : len(lines)-2]) {
					t.Error("the sales are not in the order of the list")
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}
