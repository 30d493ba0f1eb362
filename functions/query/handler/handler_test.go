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

func TestABuyerIsAskedToWaitLongerTheLongerTheClaimIsPending(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Sells()
		// The age of the claim and the allowed Retry-After, in seconds.
		for _, c := range []struct{ age, from, to int }{
			{-60, 1, 2}, {0, 1, 2}, {4, 1, 2}, {6, 1, 3}, {20, 5, 10}, {60, 15, 30}, {86_400, 15, 30},
		} {
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
	})
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
	none := func(*events.APIGatewayV2HTTPRequest) {}
	for _, tt := range []struct {
		name, fixture string
		change        func(*events.APIGatewayV2HTTPRequest)
		status        int
		code          sale.Code
		line          fields
	}{
		{"a sale", "query-sale.json", none, 200, "", fields{"saleId": "moutai"}},
		{"a group", "query-group.json", none, 200, "", fields{"groupId": "spirits"}},
		{"a claim", "query-claim.json", none, 200, "", fields{"saleId": "moutai", "user": "alice"}},
		{"an order", "query-order.json", none, 200, "", fields{"saleId": "moutai", "user": "alice"}},
		{"a sale that does not exist", "query-sale.json", path("saleId", "other"), 404, sale.SaleNotFound, fields{"saleId": "other"}},
		{"a sale id with a separator", "query-sale.json", path("saleId", "moutai#STOCK"), 400, sale.InvalidRequest, nil},
		{"a group that does not exist", "query-group.json", path("groupId", "other"), 404, sale.GroupNotFound, fields{"groupId": "other"}},
		{"a claim in a sale that does not exist", "query-claim.json", path("saleId", "other"), 404, sale.SaleNotFound, fields{"saleId": "other", "user": "alice"}},
		{"a claim that does not exist", "query-claim.json", user("bob"), 404, sale.OrderNotFound, fields{"saleId": "moutai", "user": "bob"}},
		{"somebody else's order", "query-order.json", user("bob"), 404, sale.OrderNotFound, fields{"user": "bob"}},
		{"a route that the template does not have", "query-claim.json", func(r *events.APIGatewayV2HTTPRequest) { r.RouteKey = "GET /\n" },
			500, sale.Internal, fields{"route": "GET /\n", "level": "ERROR", "error": `no such route: "GET /\n"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			selling(t, func(t *testing.T, f *function) {
				r := f.Ask(t, t.Context(), event(t, tt.fixture, telemetrytest.Confide, tt.change))
				want := fields{"route": routes[tt.fixture]}
				if tt.status != 200 {
					refuses := refused
					if tt.fixture == "query-sale.json" || tt.fixture == "query-group.json" {
						refuses = refusedForAll
					}
					want["error"] = fmt.Sprintf("%s: %s", tt.code, refuses(t, r, tt.status, tt.code)["detail"])
				} else if r.StatusCode != 200 {
					t.Errorf("%d %s", r.StatusCode, r.Body)
				}
				maps.Copy(want, tt.line)
				f.IsLine(t, tt.code, want, nil)
			}, inGroup)
		})
	}
}

func TestAFaultIsBusyOrInternalAndTellsNothing(t *testing.T) {
	newer := func(f *function) { f.Newer("SALE#moutai", "SALE") }
	const isNewer = "newer-version: "
	for _, tt := range []struct {
		name, fixture string
		change        func(*function)
		told, outcome sale.Code
		line          fields // besides its level
	}{
		{"a throttled table", "query-claim.json", func(f *function) { f.Throttles() }, sale.Busy, sale.Busy,
			fields{"route": claimPath, "saleId": "moutai", "user": "alice", "level": "WARN", "error": "busy: "}},
		{"a foreign error", "query-order.json", func(f *function) { f.over(f.Nowhere()) }, sale.Internal, sale.Internal,
			fields{"route": orderPath, "user": "alice", "error": "internal: "}},
		{"a panic", "query-sale.json", func(f *function) { f.Burns() }, sale.Internal, sale.Internal,
			fields{"route": salePath, "saleId": "moutai", "error": "panic: " + testledger.ErrFire}},
		{"a sale for a newer version", "query-sale.json", newer, sale.Busy, sale.NewerVersion, fields{"route": salePath, "saleId": "moutai", "error": isNewer}},
		{"one in a group", "query-group.json", newer, sale.Busy, sale.NewerVersion, fields{"route": groupPath, "groupId": "spirits", "error": "sale 0: " + isNewer}},
		{"one with a claim", "query-claim.json", newer, sale.Busy, sale.NewerVersion, fields{"route": claimPath, "saleId": "moutai", "user": "alice", "error": isNewer}},
		{"one with an order", "query-order.json", newer, sale.Busy, sale.NewerVersion, fields{"route": orderPath, "saleId": "moutai", "user": "alice", "error": isNewer}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			selling(t, func(t *testing.T, f *function) {
				tt.change(f)
				r := f.Ask(t, t.Context(), event(t, tt.fixture, telemetrytest.Confide))
				status := map[sale.Code]int{sale.Busy: 503, sale.Internal: 500}[tt.told]
				refused(t, r, status, tt.told)
				if told := r.Headers.RetryAfter != ""; told != (status == 503) {
					t.Errorf("Retry-After %q with status %d", r.Headers.RetryAfter, status)
				}
				want := fields{"level": "ERROR"}
				if tt.outcome == sale.NewerVersion {
					want["result"] = "internal"
				}
				maps.Copy(want, tt.line)
				f.IsLine(t, tt.outcome, want, nil)
			}, inGroup)
		})
	}
}
