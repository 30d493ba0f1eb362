package handler

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/httpapi"
	"flashsale/shared/ownclaim"
	"flashsale/shared/sale"
)

func TestABuyerSeesTheOwnClaimAndOrderAndUntilWhenAndWhereToPay(t *testing.T) {
	const until, where = "2026-01-01T01:00:06.000Z", "https://shop.example/pay?order=" + testledger.AlicesNumber
	confirmed := func(f *function) { f.Confirms() }
	paid := func(f *function) { f.Confirms(); f.Pay("alice", "pi_1", 149900) }
	for _, tt := range []struct {
		name      string
		payWithin time.Duration
		change    func(*function)
		state     string
		shown     map[string]any // by both, in a sale that asks for payment
		bare      bool           // the order shows no state: the claim of an order is not read
	}{
		{"pending", time.Hour, func(*function) {}, "PENDING", nil, false},
		{"confirmed", time.Hour, confirmed, "CONFIRMED", map[string]any{"payBy": until, "paymentUrl": where}, false},
		{"paid", time.Hour, paid, "PAID", map[string]any{"payBy": until}, false},
		{"expired", time.Hour, func(f *function) { f.Confirms(); time.Sleep(time.Hour); f.Release() }, "EXPIRED", map[string]any{"payBy": until}, false},
		{"cancelled", time.Hour, func(f *function) { f.Confirms(); f.Cancel("alice") }, "CANCELLED", map[string]any{"payBy": until}, false},
		{"pending, in a sale without payment", 0, func(*function) {}, "PENDING", nil, true},
		{"confirmed, in a sale without payment", 0, confirmed, "CONFIRMED", nil, true},
		{"paid, in a sale without payment", 0, paid, "PAID", nil, true},
	} {
		in(t, func(t *testing.T, f *function) {
			f.paysAt(t, "https://shop.example/pay?order={orderId}", "")
			f.Sells(paidWithin(tt.payWithin))
			tt.change(f)
			claim := map[string]any{
				"claimId": testledger.AlicesClaim, "saleId": "moutai", "state": tt.state, "acceptedAt": "2026-01-01T00:00:05.000Z", "now": httpapi.Time(time.Now()),
			}
			if tt.payWithin > 0 {
				claim["amount"], claim["currency"] = 149900.0, "CNY"
			}
			again := tt.state == "PENDING" || tt.state == "CONFIRMED" && tt.payWithin > 0
			if tt.state != "PENDING" {
				claim["orderId"] = testledger.AlicesNumber
			}
			maps.Copy(claim, tt.shown)
			r := f.Ask(t, t.Context(), event(t, "query-claim.json"))
			if diff := cmp.Diff(claim, answered(t, r, "no-store")); diff != "" || (r.Headers.RetryAfter != "") != again {
				t.Errorf("%s: claim (-want +got):\n%s%v", tt.name, diff, r.Headers)
			}
			if tt.state == "PENDING" {
				refused(t, f.Ask(t, t.Context(), event(t, "query-order.json")), 404, sale.OrderNotFound)
				return
			}
			order := map[string]any{
				"orderId": testledger.AlicesNumber, "saleId": "moutai", "claimId": testledger.AlicesClaim,
				"confirmedAt": "2026-01-01T00:00:06.000Z", "state": tt.state,
			}
			if tt.bare {
				delete(order, "state")
			}
			maps.Copy(order, tt.shown)
			r = f.Ask(t, t.Context(), event(t, "query-order.json"))
			if diff := cmp.Diff(order, answered(t, r, "no-store")); diff != "" || (r.Headers.RetryAfter != "") != again {
				t.Errorf("%s: order (-want +got):\n%s%v", tt.name, diff, r.Headers)
			}
		})
	}
}

func TestNobodyIsSentToPayAfterARecall(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.paysAt(t, "https://shop.example/pay?order={orderId}", "")
		links := func() (n int) {
			for _, name := range []string{"query-claim.json", "query-order.json"} {
				if answered(t, f.Ask(t, t.Context(), event(t, name)), "no-store")["paymentUrl"] != nil {
					n++
				}
			}
			return n
		}
		if n := links(); n != 2 {
			t.Errorf("%d links before the recall, want 2", n)
		}
		f.Recall()
		time.Sleep(2 * time.Second)
		if n := links(); n != 0 {
			t.Errorf("%d links two seconds after the recall", n)
		}
		f.Newer("SALE#moutai", "SALE")
		time.Sleep(2 * time.Second)
		refused(t, f.Ask(t, t.Context(), event(t, "query-claim.json")), 503, sale.Busy)
	}, paidWithin(time.Hour))
}

func TestMoreTimeToPayIsShownWithTheLinkWhileTheOrderIsNotPaid(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.paysAt(t, "https://shop.example/pay?order={orderId}&payBy={payBy}", "")
		shows := func(when, until string, link bool) {
			t.Helper()
			for _, name := range []string{"query-claim.json", "query-order.json"} {
				shown := answered(t, f.Ask(t, t.Context(), event(t, name)), "no-store")
				address, _ := shown["paymentUrl"].(string)
				if shown["payBy"] != until || link != strings.HasSuffix(address, "&payBy="+strings.ReplaceAll(until, ":", "%3A")) {
					t.Errorf("%s: %s: to be paid by %v at %v, want by %s", when, name, shown["payBy"], shown["paymentUrl"], until)
				}
			}
		}
		shows("before", "2026-01-01T01:00:06.000Z", true)
		until := time.Date(2026, 1, 1, 5, 0, 0, 0, time.UTC)
		f.Edit(sale.Edit{PayUntil: until})
		time.Sleep(2 * time.Second)
		shows("afterwards", "2026-01-01T05:00:00.000Z", true)
		f.Pay("alice", "pi_1", 149900)
		shows("once it is paid", "2026-01-01T01:00:06.000Z", false)
	}, paidWithin(time.Hour))
}

// More time that was given, or a recall, may be what cannot be read.
func TestNobodyIsToldUntilWhenToPayWhileTheSaleCannotBeRead(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.paysAt(t, "https://shop.example/pay?order={orderId}", "")
		for _, name := range []string{"query-claim.json", "query-order.json"} {
			answered(t, f.Ask(t, t.Context(), event(t, name)), "no-store")
			f.DB.Fault = dynamotest.Fault{Kind: dynamotest.Throttle}.On("GetItem", "SALE#")
			time.Sleep(time.Minute)
			refused(t, f.Ask(t, t.Context(), event(t, name)), 503, sale.Busy)
			f.DB.Fault = nil
		}
	}, paidWithin(time.Hour))
}

// A buyer whose payment is not the order's learns that it goes back, and when it did.
func TestABuyerSeesWhatBecomesOfPaymentsThatGoBack(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		for _, name := range []string{"query-claim.json", "query-order.json"} {
			if body := answered(t, f.Ask(t, t.Context(), event(t, name)), "no-store"); body["refunds"] != nil {
				t.Errorf("%s: a claim without refunds shows %v", name, body["refunds"])
			}
		}
		f.Pay("alice", "<pi_2>", 899)
		if err := f.Ledger().MarkRefunds(t.Context(), "moutai", []string{"stripe#<pi_2>"}, "")[0].Err; err != nil {
			t.Fatal(err)
		}
		refundedAt := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		time.Sleep(time.Hour)
		f.Release()
		f.Pay("alice", "pi_1", 149900)
		f.over(f.Ledger()) // another environment
		want := []any{
			map[string]any{"payment": "stripe#<pi_2>", "reason": "amount", "amount": 899.0, "currency": "CNY", "refundedAt": refundedAt, "state": "whole", "back": 899.0},
			map[string]any{"payment": "stripe#pi_1", "reason": "released", "amount": 149900.0, "currency": "CNY"},
		}
		for _, name := range []string{"query-claim.json", "query-order.json"} {
			if diff := cmp.Diff(want, answered(t, f.Ask(t, t.Context(), event(t, name)), "no-store")["refunds"]); diff != "" {
				t.Errorf("%s: refunds (-want +got):\n%s", name, diff)
			}
		}
	}, paidWithin(time.Hour))
}

func (f *function) paysAt(t *testing.T, address, key string) {
	t.Helper()
	link, err := ownclaim.NewPaymentLink(address, key, "51af3dc0")
	if err != nil {
		t.Fatal(err)
	}
	f.handler.PayLink = link
}

// TestALinkIsSignedOverAllOfItsValues: the expected signatures were made by
// printf 'flashsale payment 1\n406709376884146177\nmoutai\n149900\nCNY\n2026-01-01T01:00:06.000Z' | openssl dgst -sha256 -hmac KEY
func TestALinkIsSignedOverAllOfItsValues(t *testing.T) {
	const key = "0123456789abcdef0123456789abcdef"
	for given, want := range map[[2]string]any{
		{"https://s/pay?o={orderId}&s={saleId}&a={amount}&c={currency}&b={payBy}&g={signature}", key}: "https://s/pay?o=406709376884146177&s=moutai&a=149900&c=CNY&b=2026-01-01T01%3A00%3A06.000Z&g=63bff14c88c35d4d688ec79e55ca4d48f0e57efb6b81694df46dd1f6ec6aeb03",
		{"/{saleId}/{signature}?o=", key + "\n"}:                                                      "/moutai/63bff14c88c35d4d688ec79e55ca4d48f0e57efb6b81694df46dd1f6ec6aeb03?o=406709376884146177",
		{"/{stack}?order=", ""}:                                                                       "/51af3dc0?order=406709376884146177",
		{"/pay?order=", ""}:                                                                           "/pay?order=406709376884146177",
		{"", ""}:                                                                                      nil,
		{"/{amount}/{user}/{orderId}", ""}:                                                            "/149900/{user}/406709376884146177",
	} {
		selling(t, func(t *testing.T, f *function) {
			f.paysAt(t, given[0], given[1])
			if got := answered(t, f.Ask(t, t.Context(), event(t, "query-claim.json")), "no-store")["paymentUrl"]; got != want {
				t.Errorf("%q: %v, want %v", given[0], got, want)
			}
		}, paidWithin(time.Hour))
	}
}

// The expected signature was made as above, of format 2 and with a last line: 2.
func TestAnOrderOfSeveralUnitsCostsThePriceOfAllAndItsLinkMaySignThem(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.Tamper(fmt.Sprint("CLAIM#moutai#", sale.BucketOf("alice", f.Claim("alice").Buckets)), "alice", "units", 2)
		f.paysAt(t, "/{amount}/{units}/{signature}/{orderId}", "0123456789abcdef0123456789abcdef")
		got := answered(t, f.Ask(t, t.Context(), event(t, "query-claim.json")), "no-store")
		want := "/299800/2/a079eeac9f921d7887b2e083e188f70b0d24048c91d17e274b48a00ba3cd68e4/" + testledger.AlicesNumber
		if got["paymentUrl"] != want || got["amount"] != 299800.0 || got["units"] != 2.0 {
			t.Errorf("got %v, want 2 units, 299800 and %s", got, want)
		}
	}, paidWithin(time.Hour))
}

func TestAnOrderSaysHowManyUnitsItHasAlsoIfNobodyPays(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.Tamper(fmt.Sprint("CLAIM#moutai#", sale.BucketOf("alice", f.Claim("alice").Buckets)), "alice", "units", 2)
		if got := answered(t, f.Ask(t, t.Context(), event(t, "query-order.json")), "no-store"); got["units"] != 2.0 {
			t.Errorf("got %v, want 2 units", got)
		}
	}, func(c *sale.Creation) { c.MaxPerOrder = 2 })
}

func TestALinkThatCannotBeSignedIsRefused(t *testing.T) {
	for _, given := range [][2]string{{"https://s/{signature}", ""}, {"https://s/{signature}", "  \n"}, {"https://s/{signature}", "0123456789abcdef0123456789abcde"}, {"", "short"}} {
		if _, err := ownclaim.NewPaymentLink(given[0], given[1], ""); err == nil || strings.Contains(err.Error(), "0123") {
			t.Errorf("%q: %v", given, err)
		}
	}
}

// Units of a sale that asks for payment may be on sale again until it closes. The count may know first that all are sold.
func TestTheSalePageNamesThePhaseAndWhetherUnitsMayReturn(t *testing.T) {
	empties := func(f *function) { f.Tamper("STOCK#moutai#0", "STOCK", "stock", -2) }
	for _, tt := range []struct {
		name      string
		payWithin time.Duration
		change    func(*function)
		state     string
		remaining float64
		mayReturn bool
	}{
		{"sold out", time.Hour, (*function).SellOut, "SOLD_OUT", 0, true},
		{"without payment", 0, (*function).SellOut, "SOLD_OUT", 0, false},
		{"when the count says so first", 0, empties, "SOLD_OUT", 0, false},
		{"units left", time.Hour, func(*function) {}, "OPEN", 2, false},
		{"closed", time.Hour, func(f *function) { f.SellOut(); f.Edit(sale.Edit{ClosesAt: time.Now()}) }, "CLOSED", 0, false},
		{"paused", time.Hour, func(f *function) { f.Pause() }, "PAUSED", 2, false},
		{"paused with no units left", time.Hour, func(f *function) { f.SellOut(); f.Pause() }, "PAUSED", 0, false},
	} {
		in(t, func(t *testing.T, f *function) {
			f.Open(paidWithin(tt.payWithin), inGroup)
			time.Sleep(time.Second)
			tt.change(f)
			r := f.Ask(t, t.Context(), event(t, "query-sale.json"))
			body := answered(t, r, "max-age=1")
			wait, _ := strconv.Atoi(r.Headers.RetryAfter)
			if body["state"] != tt.state || body["remaining"] != tt.remaining || (body["mayReturn"] == true) != tt.mayReturn || tt.mayReturn != (wait >= 60 && wait <= 90) {
				t.Errorf("%s: %s, Retry-After %q", tt.name, r.Body, r.Headers.RetryAfter)
			}
			if all := f.Ask(t, t.Context(), event(t, "query-group.json")); (all.Headers.RetryAfter != "") != tt.mayReturn {
				t.Errorf("%s: its group has the Retry-After %q", tt.name, all.Headers.RetryAfter)
			}
		})
	}
}
