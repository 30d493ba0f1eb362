package main

import (
	"bytes"
	"strings"
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
			if err := listRefunds(t.Context(), book, []string{"moutai", "other", ""}, &out); err != nil {
				t.Error(err)
			}
			contains(t, strings.Join(strings.Fields(out.String()), " "), want...)
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

func TestRefundsAreListedAlsoIfThoseOfASaleCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 2, Price: 129900})
		pay(t, book, "cheap", ordered(t, book, "alice"), 5)
		for name, fault := range map[string]dynamotest.Fault{"it fails": {Kind: dynamotest.ServerError}, "it is busy": {Kind: dynamotest.Throttle}} {
			db.Fault = fault.On("", "REFUND#unread")
			var out bytes.Buffer
			err := listRefunds(t.Context(), book, []string{"unread", "moutai", ""}, &out)
			if err == nil || !strings.Contains(err.Error(), "the list is not complete: refunds of unread: ") {
				t.Errorf("%s: got %v", name, err)
			}
			contains(t, out.String(), "moutai  stripe#cheap  5 CNY")
		}
	})
}
