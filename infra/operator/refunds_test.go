package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/dynamotest"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func TestRefundsAreListedAndMarkedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(noon))
		db := dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})
		book := ledger.New(db, "T", ledger.Options{})
		c := sale.Creation{SaleID: "moutai", OpensAt: noon, ClosesAt: noon.Add(time.Hour), Stock: 2, Shards: 1, PayWithin: time.Hour, Price: 129900, Currency: "CNY"}
		if _, err := book.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		p, err := book.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		order := book.Confirm(t.Context(), []ledger.ClaimRef{{SaleID: "moutai", User: "alice", ClaimID: p.Claim.ID}})[0].Order.ID
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

func TestRefundsAreMarkedOnlyWhenTheyAreNamedAndAskedFor(t *testing.T) {
	for want, args := range map[string][]string{
		"name the payment": {"-sale", "moutai", "-go"},
		"add GO=1":         {"-sale", "moutai", "-payment", "stripe#pi_1"},
		"is not a sale id": {"-sale", "a b", "-go", "-payment", "stripe#pi_1"},
		"no option -all":   {"-all"},
	} {
		var out bytes.Buffer
		if err := refunds(t.Context(), place{}, args, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
	}
}
