package handler

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

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

func TestEachAnswerAboutAnEntryIsALineThatCountsItAndNoPurchase(t *testing.T) {
	unreachable := errors.New("check user: ask service: connection refused")
	for file, tt := range map[string]struct {
		check  Users
		early  time.Duration
		status int
		code   sale.Code
		wait   string
		line   fields
	}{
		"purchase-enter.json": {&verdict{eligible: true}, 0, 200, "", "", fields{"route": enterRoute, "checkMs": 0.0, "result": "entered"}},
		"purchase-entry.json": {nil, 0, 404, sale.EntryNotFound, "", fields{"route": "GET /sales/{saleId}/entries/me", "error": "entry-not-found: "}},
		"half a minute early": {nil, 30 * time.Second, 403, sale.EnteringNotOpen, "30", fields{"route": enterRoute, "error": "entering-not-open: "}},
		"nobody knows whether they are eligible": {&verdict{err: unreachable}, 0, 503, sale.Busy, "1 to 3",
			fields{"route": enterRoute, "checkMs": 0.0, "unchecked": 1.0, "level": "WARN", "error": "busy: " + unreachable.Error()}},
	} {
		early := func(w *testledger.World) {
			w.Open(testledger.WithDraw)
			w.Until(testledger.EnterFrom.Add(-tt.early))
		}
		drawing(t, early, func(t *testing.T, f *function) {
			f.handler.Users, f.Counts = tt.check, "entries"
			event := event(t, cmp.Or(map[bool]string{true: file}[strings.HasSuffix(file, ".json")], "purchase-enter.json"), telemetrytest.Confide)
			r := f.invoke(t, t.Context(), event)
			if tt.code == "" && r.StatusCode != 200 {
				t.Errorf("%s: %d %s", file, r.StatusCode, r.Body)
			}
			if tt.code != "" {
				if body := refused(t, r, tt.status, tt.code); body["order"] != nil {
					t.Errorf("%s: it leads to an order: %v", file, body)
				}
			}
			if wait := r.Headers.RetryAfter; wait != tt.wait && (tt.wait != "1 to 3" || wait < "1" || wait > "3") {
				t.Errorf("%s: Retry-After %q, want %q", file, wait, tt.wait)
			}
			tt.line["message"], tt.line["saleId"], tt.line["user"] = "entry", "moutai", "alice"
			metrics := map[string]string{}
			if tt.line["unchecked"] != nil {
				metrics["unchecked"] = "Count by service"
			}
			f.IsLine(t, tt.code, tt.line, metrics)
		})
	}
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

// Between the end of entering and the roll nobody can be told whether they are on it: all of them ask again when it is
// known, and not every other second until then.
func TestEntrantsAskAgainWhenTheAnswerMayBeAnotherOne(t *testing.T) {
	drawing(t, func(w *testledger.World) {
		w.Open(testledger.WithDraw)
		w.Until(testledger.EnterFrom)
		w.Enter("alice")
	}, func(t *testing.T, f *function) {
		asks := func(when string, status int, at time.Time) {
			t.Helper()
			r := f.invoke(t, t.Context(), event(t, "purchase-entry.json"))
			wait, _ := strconv.Atoi(r.Headers.RetryAfter)
			least := int(max(0, time.Until(at)).Seconds())
			if r.StatusCode != status || wait < least+20 || wait > least+121 {
				t.Errorf("%s: %d, Retry-After %d, want %d and up to two minutes after %d", when, r.StatusCode, wait, status, least)
			}
		}
		closes := testledger.EnterUntil.Add(testledger.DrawTimes.Settle)
		asks("while others may enter", 200, closes)
		f.Until(closes.Add(-testledger.DrawTimes.Settle / 3))
		asks("before the roll", 503, closes)
		f.CloseRoll()
		closed := time.Now()
		asks("before the dice", 200, closed.Add(testledger.DrawTimes.Dice))
		f.Throw()
		asks("before the first call", 200, f.Draw().Sale.BeginsAt)
		call := f.Call()
		time.Sleep(2 * time.Second)
		asks("while it is her turn", 200, call.Until)
	})
}
