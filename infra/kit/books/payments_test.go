package books

import (
	"strings"
	"testing"
	"time"
)

func TestASaleThatAsksForPaymentIsRecounted(t *testing.T) {
	w := settled(t)
	r := w.balanced()
	if r.Claims != 11 || r.Pending != 1 || r.Confirmed != 10 || r.Paid != 2 || r.Unpaid != 1 || r.Released != 7 || r.RefundsDue != 2 ||
		r.Stock != 14-11+6 || strings.Join(r.Unfinished, "; ") != "1 released units are not back in stock yet" {
		t.Errorf("got %+v", r)
	}
	w.agrees(r)
}

func TestEachKindOfBrokenPaymentIsNamed(t *testing.T) {
	for _, tt := range []struct {
		name          string
		breaks        func(items)
		promise, part string
	}{
		{"paid and released", func(all items) {
			k, _ := all.claim("user-3")
			all.set(k.pk, k.sk, "paidAt", all[k]["releasedAt"])
			all.set(k.pk, k.sk, "payment", text("stripe#pi_8"))
		}, "P20", `the claim of "user-3" is paid and released`},
		{"pending and paid", func(all items) {
			k, _ := all.claim("user-10")
			all.set(k.pk, k.sk, "paidAt", all[k]["acceptedAt"])
			all.set(k.pk, k.sk, "payment", text("stripe#pi_8"))
		}, "P20", `the claim of "user-10" is paid or released, and has no order`},
		{"released early", func(all items) {
			k, _ := all.claim("user-3")
			all.add(k.pk, k.sk, "releasedAt", -3*60_000)
		}, "P21", `the claim of "user-3" expired at 2026-11-11T20:29:00.000Z, before it was to be paid: 2026-11-11T20:30:00.000Z`},
		{"released twice", func(all items) { all.add(shard0, "STOCK", "released", 1) }, "P2", "released claims, but"},
		{"put back twice", func(all items) {
			all.add(shard0, "STOCK", "putBack", 5)
			all.add(shard0, "STOCK", "stock", 5)
		}, "P2", "units put back, but"},
		{"put back and not in stock", func(all items) { all.add(shard0, "STOCK", "putBack", 1) }, "P2", "stock is"},
		{"one payment of two orders", func(all items) {
			k, _ := all.claim("user-2")
			all.set(k.pk, k.sk, "payment", text("stripe#pi_1"))
		}, "P24", `2 claims and refunds have the same payment: the claim of "user-`},
		{"its order's payment and a refund", func(all items) {
			all.move(key{"REFUND#moutai", "stripe#pi_3"}, key{"REFUND#moutai", "stripe#pi_1"})
		}, "P24", `the same payment: the claim of "user-0", the refund REFUND#moutai, stripe#pi_1`},
		{"one order's payment and another's refund", func(all items) {
			all.move(key{"REFUND#moutai", "stripe#pi_4"}, key{"REFUND#moutai", "stripe#pi_1"})
		}, "P24", `the same payment: the claim of "user-0", the refund REFUND#moutai, stripe#pi_1`},
		{"unknown, and its order's payment", func(all items) {
			all.move(key{"REFUND#", "stripe#pi_6"}, key{"REFUND#", "stripe#pi_1"})
		}, "P24", `the same payment: the claim of "user-0", the refund REFUND#, stripe#pi_1`},
		{"a refund of an order, and one of no order", func(all items) {
			all.move(key{"REFUND#", "stripe#pi_6"}, key{"REFUND#", "stripe#pi_4"})
		}, "P24", `the same payment: the refund REFUND#moutai, stripe#pi_4, the refund REFUND#, stripe#pi_4`},
		{"a refund of a released order that did not pay the price", func(all items) { all.add("REFUND#moutai", "stripe#pi_4", "amount", 1) },
			"P24", `199901 CNY of stripe#pi_4 is to be refunded because of "released", but the price is 199900 CNY`},
		{"a second payment in another currency", func(all items) { all.set("REFUND#moutai", "stripe#pi_3", "currency", text("USD")) },
			"P24", `199900 USD of stripe#pi_3 is to be refunded because of "other-payment", but the price is 199900 CNY`},
		{"a refund of another amount, which is the price", func(all items) { all.add("REFUND#moutai", "stripe#pi_5", "amount", 1) },
			"P24", `199900 CNY of stripe#pi_5 is to be refunded because of "amount", but the price is`},
		{"a refund without a reason", func(all items) {
			all.set("REFUND#moutai", "stripe#pi_3", "reason", text("released"))
		}, "P24", `stripe#pi_3 is to be refunded because of "released", but that is not so of order`},
		{"a refund that the listing does not note", func(all items) {
			delete(all[key{"SALES", "moutai"}], "refundAt")
		}, "P24", "reconcile may not see one that is due"},
		{"a note of another refund", func(all items) { all.add("SALES", "moutai", "refundAt", 1) }, "P24", "reconcile may not see one that is due"},
		{"a refund of no order", func(all items) { all.add("REFUND#moutai", "stripe#pi_3", "orderId", 1<<40) }, "P24", "which is no order of this sale"},
		{"other terms", func(all items) { all.add(salePK, "SALE", "payWithin", 60) }, "P15", "the sale asks for payment as in"},
		{"an unknown sale's refund", func(all items) {
			all.move(key{"REFUND#moutai", "stripe#pi_3"}, key{"REFUND#maotai", "stripe#pi_3"})
		}, "P13", `the item REFUND#maotai, stripe#pi_3 belongs to sale "maotai", which does not exist`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := settled(t)
			all := w.items()
			tt.breaks(all)
			has(t, all.recount(t, w.Now()), tt.promise, tt.part)
		})
	}
}

func TestAClaimThatNobodyReleasesIsFound(t *testing.T) {
	w := settled(t)
	w.Pass(35*time.Minute + 24*time.Hour)
	has(t, w.items().recount(t, w.Now()), "P22", "1 claims are unpaid, the oldest was to be paid 24h7m0s ago")
	all := w.items()
	all.set("SALES", "moutai", "drained", yes)
	has(t, all.recount(t, w.Now()), "P22", "drained with 1 claims unpaid and 1 released units not in stock")
}
