package handler

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry/telemetrytest"
)

// drawing runs a test in a world that is empty or has the sale of the events with a draw, as
// prepare leaves it.
func drawing(t *testing.T, prepare func(*testledger.World), test func(t *testing.T, f *function)) {
	t.Helper()
	testledger.Run(t, func(w *testledger.World) {
		f := &function{World: w}
		prepare(w)
		f.over(w.Ledger())
		f.handler.Times = testledger.DrawTimes
		test(w.T, f)
	})
}

// entering is a sale with a draw from the instant on at which people may enter.
func entering(w *testledger.World) {
	w.Open(testledger.WithDraw)
	w.Until(testledger.EnterFrom)
}

func receipt(t *testing.T, r httpapi.Response) (e entryPage) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Body), &e); err != nil || r.StatusCode != 200 || len(e.Nonce) != 64 || len(e.Leaf) != 64 {
		t.Fatalf("%d %s, want a receipt", r.StatusCode, r.Body)
	}
	return e
}

func TestWhoEntersGetsTheSameReceiptEachTime(t *testing.T) {
	drawing(t, entering, func(t *testing.T, f *function) {
		put, get := event(t, "purchase-enter.json"), event(t, "purchase-entry.json")
		refused(t, f.invoke(t, t.Context(), get), 404, sale.EntryNotFound)
		first := receipt(t, f.invoke(t, t.Context(), put))
		if first.EnteredAt != "2026-01-01T00:01:00.000Z" {
			t.Errorf("entered at %s", first.EnteredAt)
		}
		time.Sleep(time.Minute)
		if again := receipt(t, f.invoke(t, t.Context(), put)); again != first {
			t.Errorf("again: %+v, want %+v", again, first)
		}
		if shown := receipt(t, f.invoke(t, t.Context(), get)); shown != first {
			t.Errorf("shown: %+v, want %+v", shown, first)
		}
		if bobs := receipt(t, f.invoke(t, t.Context(), event(t, "purchase-enter.json", user("bob")))); bobs.Leaf == first.Leaf || bobs.Nonce == first.Nonce {
			t.Errorf("bob's receipt is alice's")
		}
		f.CloseRoll()
		if shown := receipt(t, f.invoke(t, t.Context(), get)); shown != first {
			t.Errorf("on the roll: %+v, want %+v", shown, first)
		}
		refused(t, f.invoke(t, t.Context(), event(t, "purchase-entry.json", user("carol"))), 404, sale.EntryNotFound)
	})
}

func TestEachRefusalToEnterHasItsStatusItsWaitAndItsLine(t *testing.T) {
	unreachable := errors.New("check user: ask service: connection refused")
	at := func(instant time.Time) func(f *function) { return func(f *function) { f.Until(instant) } }
	for _, tt := range []struct {
		name   string
		before func(*function)
		change func(*events.APIGatewayV2HTTPRequest)
		status int
		code   sale.Code
		wait   string
	}{
		{"a body", nil, func(r *events.APIGatewayV2HTTPRequest) { r.Body = `{"user":"bob"}` }, 400, sale.InvalidRequest, ""},
		{"half a minute early", at(testledger.EnterFrom.Add(-30 * time.Second)), nil, 403, sale.EnteringNotOpen, "30"},
		{"not eligible", func(f *function) { f.handler.Users = &verdict{} }, nil, 403, sale.NotEligible, ""},
		{"nobody knows whether they are eligible", func(f *function) { f.handler.Users = &verdict{err: unreachable} }, nil, 503, sale.Busy, "1 to 3"},
		{"the table is busy", func(f *function) { f.Throttles() }, nil, 503, sale.Busy, "1 to 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			prepare := entering
			if tt.code == sale.EnteringNotOpen {
				prepare = func(w *testledger.World) { w.Open(testledger.WithDraw) }
			}
			drawing(t, prepare, func(t *testing.T, f *function) {
				if tt.before != nil {
					tt.before(f)
				}
				changes := []func(*events.APIGatewayV2HTTPRequest){telemetrytest.Confide}
				if tt.change != nil {
					changes = append(changes, tt.change)
				}
				r := f.invoke(t, t.Context(), event(t, "purchase-enter.json", changes...))
				body := refused(t, r, tt.status, tt.code)
				if body["order"] != nil {
					t.Errorf("it leads to an order: %v", body)
				}
				switch wait := r.Headers.RetryAfter; {
				case tt.wait == "1 to 3" && (wait == "1" || wait == "2" || wait == "3"):
				case wait != tt.wait:
					t.Errorf("Retry-After %q, want %q", wait, tt.wait)
				}
				if f.Logged(t, "message") != "entry" || f.Logged(t, "result") != string(tt.code) || f.Logged(t, "entries") != 1.0 || f.Logged(t, "purchases") != nil {
					t.Errorf("line %s", f.Log.String())
				}
			})
		})
	}
}

func TestAnEntryIsALineThatCountsItAndNoPurchase(t *testing.T) {
	drawing(t, entering, func(t *testing.T, f *function) {
		f.handler.Users = &verdict{eligible: true}
		f.invoke(t, t.Context(), event(t, "purchase-enter.json", telemetrytest.Confide))
		f.Counts = "entries"
		f.IsLine(t, "", fields{
			"message": "entry", "route": "PUT /sales/{saleId}/entries/me", "saleId": "moutai", "user": "alice", "checkMs": 0.0, "result": "entered",
		}, nil)
	})
}

func TestWhoIsNotCalledIsToldWhenTheNextCallMayBe(t *testing.T) {
	var call time.Time
	users := []string{"alice", "bob"}
	drawing(t, func(w *testledger.World) { call = w.Drawn(1, users...).Until }, func(t *testing.T, f *function) {
		bought := 0
		for _, name := range users {
			r := f.invoke(t, t.Context(), event(t, "purchase.json", user(name)))
			if r.StatusCode == 202 {
				bought++
				continue
			}
			refused(t, r, 403, sale.NotYourTurn)
			if want := httpapi.Seconds(time.Until(call.Add(testledger.DrawTimes.Gap))); r.Headers.RetryAfter != want {
				t.Errorf("Retry-After %s, want %s", r.Headers.RetryAfter, want)
			}
			if f.Logged(t, "result") != "not-your-turn" {
				t.Errorf("line %s", f.Log.String())
			}
		}
		if bought != 1 {
			t.Errorf("%d buy, want one", bought)
		}
	})
}
