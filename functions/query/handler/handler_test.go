package handler

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/orderid"
	"flashsale/shared/ratelimit"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry/telemetrytest"
)

const (
	salePath, groupPath  = "GET /sales/{saleId}", "GET /groups/{groupId}"
	claimPath, orderPath = "GET /sales/{saleId}/orders/me", "GET /orders/{orderId}"
)

// A buyer is told before they order that the order has to be paid, and how soon.
func TestTheSalePageIsTheSameForEverybodyForASecond(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*sale.Creation)
		shows  map[string]any // besides what every page does
	}{
		"nothing but a name": {func(*sale.Creation) {}, nil},
		"all that a sale may have": {func(c *sale.Creation) {
			c.PayWithin, c.Price, c.Currency, c.Labels, c.LimitGroup = 30*time.Minute, 89900, "CNY", "sku=A-38,erp=4711", "spirits"
			c.Presentation = sale.Presentation{Image: "https://images.example/a.jpg", About: "53 % vol.\n<b>Numbered</b>", Link: "https://shop.example/?a=1&b=2"}
		}, map[string]any{
			"payWithin": 1800.0, "price": 89900.0, "currency": "CNY", "labels": []any{"sku=A-38", "erp=4711"}, "limitGroup": "spirits",
			"image": "https://images.example/a.jpg", "about": "53 % vol.\n<b>Numbered</b>", "link": "https://shop.example/?a=1&b=2",
		}},
	} {
		selling(t, func(t *testing.T, f *function) {
			body := answered(t, f.Ask(t, t.Context(), event(t, "query-sale.json")), "max-age=1")
			want := map[string]any{
				"saleId": "moutai", "name": "Feitian Moutai", "state": "OPEN", "remaining": 99.0, "seeded": 100.0, "now": "2026-01-01T00:00:06.000Z",
				"opensAt": "2026-01-01T00:00:00.000Z", "closesAt": "2036-01-01T00:00:00.000Z",
			}
			maps.Copy(want, tt.shows)
			if diff := cmp.Diff(want, body); diff != "" {
				t.Errorf("%s: body (-want +got):\n%s", name, diff)
			}
		}, tt.change)
	}
}

func TestAGroupsPageHasThePagesOfItsSales(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.Open(inGroup, func(c *sale.Creation) { c.SaleID, c.Name = "baijiu", "Another" })
		f.Open(func(c *sale.Creation) { c.SaleID = "alone" })
		body := answered(t, f.Ask(t, t.Context(), event(t, "query-group.json")), "max-age=1")
		page := func(saleID string) map[string]any {
			return answered(t, f.Ask(t, t.Context(), event(t, "query-sale.json", path("saleId", saleID))), "max-age=1")
		}
		want := map[string]any{"groupId": "spirits", "now": "2026-01-01T00:00:06.000Z", "sales": []any{page("baijiu"), page("moutai")}}
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	}, inGroup)
}

// A page of any sale of a group, on any device, must find the order that bars the others.
func TestWhoHasOrderedInAnotherSaleOfTheGroupIsToldInWhich(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.Open(inGroup, func(c *sale.Creation) { c.SaleID, c.Name = "baijiu", "Another" })
		for who, want := range map[string]any{testledger.Alice: testledger.SaleID, "bob": nil} {
			body := refused(t, f.Ask(t, t.Context(), event(t, "query-claim.json", path("saleId", "baijiu"), user(who))), 404, sale.OrderNotFound)
			if body["saleId"] != want || (want != nil) != (body["order"] == "/sales/moutai/orders/me") {
				t.Errorf("%s is told %v, want the sale %v", who, body, want)
			}
		}
		f.over(hidden{f.Ledger()}) // the claim of a purchase may be seen later than its guard
		if body := refused(t, f.Ask(t, t.Context(), event(t, "query-claim.json")), 404, sale.OrderNotFound); body["saleId"] != nil {
			t.Errorf("whose order is in this sale is sent to %v", body)
		}
	}, inGroup)
}

// hidden is a ledger in which no claim can be seen yet.
type hidden struct{ Ledger }

func (hidden) Claim(context.Context, string, string) (sale.Claim, error) {
	return sale.Claim{}, sale.Refuse(sale.OrderNotFound, "the user has no order in this sale")
}

func TestAnOrderOfARecalledSaleSaysWhatBecameOfIt(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open()
		f.Confirm(f.Buy("alice", "HELD", "k1"))
		order := func(want any) {
			t.Helper()
			id := orderid.String(f.Claim("alice").OrderID)
			r := f.Ask(t, t.Context(), event(t, "query-order.json", httpapitest.Path("orderId", id)))
			if body := answered(t, r, "no-store"); body["state"] != want || body["paymentUrl"] != nil {
				t.Errorf("got %v, want state %s", body, want)
			}
		}
		order(nil) // the environment remembers a sale that asks for no payment
		f.Recall()
		time.Sleep(2 * time.Second)
		order("CONFIRMED")
		f.Release()
		order("CANCELLED")
	})
}

func TestACountFromASampleSaysSo(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open(func(c *sale.Creation) { c.Stock, c.Shards = 4321, 101 })
		body := answered(t, f.Ask(t, t.Context(), event(t, "query-sale.json")), "max-age=1")
		if left, _ := body["remaining"].(float64); left < 4200 || left > 4400 || body["approximate"] != true {
			t.Errorf("body %v", body)
		}
	})
}

type waits struct{ age, from, to int }

func TestABuyerIsAskedToWaitLongerTheLongerTheClaimIsPendingOrUnpaid(t *testing.T) {
	// The age of the claim and the allowed Retry-After, in seconds.
	in(t, func(t *testing.T, f *function) {
		f.Sells()
		f.waits(t, waits{-60, 1, 2}, waits{0, 1, 2}, waits{4, 1, 2}, waits{6, 1, 3}, waits{20, 5, 10}, waits{60, 15, 30}, waits{86_400, 15, 30})
	})
	selling(t, func(t *testing.T, f *function) {
		f.waits(t, waits{-1, 1, 5}, waits{5, 1, 5}, waits{59, 13, 30}, waits{86_399, 28, 60})
	}, paidWithin(time.Hour))
}

// waits checks the Retry-After of a claim that gets older.
func (f *function) waits(t *testing.T, rows ...waits) {
	t.Helper()
	for _, c := range rows {
		f.handler.now = func() time.Time { return time.Now().Add(time.Duration(c.age) * time.Second) }
		met := map[int]bool{}
		for range 400 {
			f.handler.limit = ratelimit.New() // these are questions of many buyers
			r := f.Ask(t, t.Context(), event(t, "query-claim.json"))
			wait, err := strconv.Atoi(r.Headers.RetryAfter)
			if err != nil || wait < c.from || wait > c.to {
				t.Fatalf("Retry-After %q after %d s, want %d to %d", r.Headers.RetryAfter, c.age, c.from, c.to)
			}
			met[wait] = true
		}
		if !met[c.from] || !met[c.to] {
			t.Errorf("after %d s the waits are %v, want all from %d to %d", c.age, met, c.from, c.to)
		}
	}
}

// The answer for somebody else's order must be exactly that for a missing one, or ids
// could be probed.
func TestSomebodyElsesOrderIsLikeNoOrder(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		theirs := f.Ask(t, t.Context(), event(t, "query-order-not-mine.json"))
		refused(t, theirs, 404, sale.OrderNotFound)
		none := f.Ask(t, t.Context(), event(t, "query-order.json", user("bob"), path("orderId", "406709376884146178")))
		if diff := cmp.Diff(none, theirs); diff != "" {
			t.Errorf("the answers differ (-none +theirs):\n%s", diff)
		}
		for _, name := range []string{
			"Alice", "ALICE", "alic", "alice#", "\u0430lice", "alice\u0301", "%61lice", "0#alice", "CLAIM#moutai#0#alice", "*", "alice,bob", "STOCK",
		} {
			refused(t, f.Ask(t, t.Context(), event(t, "query-order.json", user(name))), 404, sale.OrderNotFound)
		}
	})
}

// fields are members of a line.
type fields map[string]any

func TestEachAnswerLeavesItsLine(t *testing.T) {
	routes := map[string]string{"query-sale.json": salePath, "query-group.json": groupPath, "query-claim.json": claimPath, "query-order.json": orderPath}
	statuses := map[sale.Code]int{
		sale.InvalidRequest: 400, sale.SaleNotFound: 404, sale.GroupNotFound: 404, sale.OrderNotFound: 404, sale.Internal: 500, sale.Busy: 503,
	}
	newer := func(f *function) { f.Newer("SALE#moutai", "SALE") }
	of := func(saleID, user any) fields { return fields{"saleId": saleID, "user": user} }
	const isNewer = "newer-version: "
	for _, tt := range []struct {
		name, fixture string
		fault         func(*function)
		change        httpapitest.Change
		told, outcome sale.Code
		err           string // its start in the line, if it is not the answer's
		line          fields
	}{
		{"a sale", "query-sale.json", nil, nil, "", "", "", fields{"saleId": "moutai"}},
		{"a group", "query-group.json", nil, nil, "", "", "", fields{"groupId": "spirits"}},
		{"a claim", "query-claim.json", nil, nil, "", "", "", of("moutai", "alice")},
		{"an order", "query-order.json", nil, nil, "", "", "", of("moutai", "alice")},
		{"a sale that does not exist", "query-sale.json", nil, path("saleId", "other"), sale.SaleNotFound, sale.SaleNotFound, "", fields{"saleId": "other"}},
		{"a sale id with a separator", "query-sale.json", nil, path("saleId", "moutai#STOCK"), sale.InvalidRequest, sale.InvalidRequest, "", nil},
		{"a group that does not exist", "query-group.json", nil, path("groupId", "other"), sale.GroupNotFound, sale.GroupNotFound, "", fields{"groupId": "other"}},
		{"a claim in a sale that does not exist", "query-claim.json", nil, path("saleId", "other"), sale.SaleNotFound, sale.SaleNotFound, "", of("other", "alice")},
		{"a claim that does not exist", "query-claim.json", nil, user("bob"), sale.OrderNotFound, sale.OrderNotFound, "", of("moutai", "bob")},
		{"somebody else's order", "query-order.json", nil, user("bob"), sale.OrderNotFound, sale.OrderNotFound, "", fields{"user": "bob"}},
		{"a route that the template does not have", "query-claim.json", nil, func(r *events.APIGatewayV2HTTPRequest) { r.RouteKey = "GET /\n" },
			sale.Internal, sale.Internal, `no such route: "GET /\n"`, fields{"route": "GET /\n"}},
		{"a throttled table", "query-claim.json", (*function).Throttles, nil, sale.Busy, sale.Busy, "busy: ", fields{"saleId": "moutai", "user": "alice", "level": "WARN"}},
		{"a foreign error", "query-order.json", func(f *function) { f.over(f.Nowhere()) }, nil, sale.Internal, sale.Internal, "internal: ", fields{"user": "alice"}},
		{"a sale for a newer version", "query-sale.json", newer, nil, sale.Busy, sale.NewerVersion, isNewer, fields{"saleId": "moutai"}},
		{"one in a group", "query-group.json", newer, nil, sale.Busy, sale.NewerVersion, "sale 0: " + isNewer, fields{"groupId": "spirits"}},
		{"one with a claim", "query-claim.json", newer, nil, sale.Busy, sale.NewerVersion, isNewer, of("moutai", "alice")},
		{"one with an order", "query-order.json", newer, nil, sale.Busy, sale.NewerVersion, isNewer, of("moutai", "alice")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			selling(t, func(t *testing.T, f *function) {
				if tt.fault != nil {
					tt.fault(f)
				}
				r := f.Ask(t, t.Context(), event(t, tt.fixture, telemetrytest.Confide, tt.change))
				want := fields{"route": routes[tt.fixture]}
				switch status := statuses[tt.told]; {
				case tt.told == "" && r.StatusCode != 200:
					t.Errorf("%d %s", r.StatusCode, r.Body)
				case status/100 == 4 && (tt.fixture == "query-sale.json" || tt.fixture == "query-group.json"):
					want["error"] = fmt.Sprintf("%s: %s", tt.told, refusedForAll(t, r, status, tt.told)["detail"])
				case tt.told != "":
					want["error"] = fmt.Sprintf("%s: %s", tt.told, refused(t, r, status, tt.told)["detail"])
				}
				if told := r.Headers.RetryAfter != ""; told != (tt.told == sale.Busy) {
					t.Errorf("Retry-After %q with %s", r.Headers.RetryAfter, tt.told)
				}
				if tt.err != "" {
					want["error"], want["level"] = tt.err, "ERROR"
				}
				if tt.outcome == sale.NewerVersion {
					want["result"] = "internal"
				}
				maps.Copy(want, tt.line)
				f.IsLine(t, tt.outcome, want, nil)
			}, inGroup)
		})
	}
}
