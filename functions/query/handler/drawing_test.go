package handler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/draw"
	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// shown is the draw on the sale's page.
func (f *function) shown(t *testing.T) map[string]any {
	t.Helper()
	time.Sleep(2 * time.Second) // until nothing of before is remembered
	f.over(f.Ledger())
	body := answered(t, f.Ask(t, t.Context(), event(t, "query-sale.json")), "max-age=1")
	d, _ := body["draw"].(map[string]any)
	if d == nil {
		t.Fatalf("no draw in %v", body)
	}
	if body["opensAt"] != "2026-01-01T03:00:00.000Z" || body["closesAt"] != "2026-01-03T00:00:00.000Z" {
		t.Errorf("the window is that of a call: %v to %v", body["opensAt"], body["closesAt"])
	}
	d["state"] = body["state"]
	return d
}

func TestTheSalePageShowsHowFarTheDrawHasCome(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open(testledger.WithDraw, inGroup)
		want := map[string]any{
			"enterFrom": "2026-01-01T00:01:00.000Z", "enterUntil": "2026-01-01T01:00:00.000Z", "keepHours": 2.0, "calls": []any{}, "state": "WAITING",
		}
		is := func(when string) {
			t.Helper()
			if diff := cmp.Diff(want, f.shown(t)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		is("at first")
		f.Until(testledger.EnterFrom)
		f.Enter("alice", "bob", "carol")
		f.CloseRoll()
		head := f.Draw().Head
		want["closedAt"] = "2026-01-01T01:15:00.000Z"
		want["entrants"], want["roll"], want["round"] = 3.0, head.Roll.String(), float64(head.Round)
		is("with the roll")
		f.Throw()
		head = f.Draw().Head
		want["seed"], want["signature"] = head.Seed.String(), strings.Repeat("ab", 48)
		is("with the dice")
		call := f.Call()
		first := map[string]any{
			"call": 1.0, "from": "2026-01-01T03:00:15.000Z", "until": "2026-01-01T05:00:15.000Z", "lo": strings.Repeat("0", 32), "hi": call.Hi.String(), "stock": 2.0,
		}
		want["calls"], want["state"] = []any{first}, "OPEN"
		is("in the first call")
		f.Until(call.Until)
		want["state"] = "WAITING"
		is("after it")
		f.Call() // the third of three
		open := f.Call()
		if calls := f.shown(t)["calls"].([]any); len(calls) != 3 || calls[2].(map[string]any)["open"] != true || calls[2].(map[string]any)["until"] != "2026-01-03T00:00:00.000Z" || !open.Open {
			t.Errorf("the call for anybody: %v", calls)
		}
		group := answered(t, f.Ask(t, t.Context(), event(t, "query-group.json")), "max-age=1")["sales"].([]any)[0].(map[string]any)
		if d, _ := group["draw"].(map[string]any); d == nil || len(d["calls"].([]any)) != 3 || d["roll"] != head.Roll.String() {
			t.Errorf("on the group's page: %v", group)
		}
	})
}

func TestARollOfNobodyIsARoll(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open(testledger.WithDraw)
		f.CloseRoll()
		if d := f.shown(t); d["entrants"] != 0.0 || d["roll"] == "" {
			t.Errorf("got %v", d)
		}
	})
}

// refusedForAll checks a refusal that is the same for everybody for two seconds.
func refusedForAll(t *testing.T, r httpapi.Response, status int, code sale.Code) map[string]any {
	t.Helper()
	if r.Headers.CacheControl != "max-age=2" || r.Headers.Vary != "Origin" {
		t.Errorf("Cache-Control %q, Vary %q; want max-age=2, Origin", r.Headers.CacheControl, r.Headers.Vary)
	}
	r.Headers.CacheControl = "no-store"
	return refused(t, r, status, code)
}

func TestThePagesOfARollAreTheRollAndNeverChange(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open(testledger.WithDraw)
		f.Until(testledger.EnterFrom)
		f.Enter("alice", "bob", "carol")
		refusedForAll(t, f.Ask(t, t.Context(), event(t, "query-roll.json")), 404, sale.RollNotFound)
		f.CloseRoll()
		f.over(f.Ledger())
		n := 0
		for page := range draw.Pages {
			number := fmt.Sprintf("%02x", page)
			body := answered(t, f.Ask(t, t.Context(), event(t, "query-roll.json", path("page", number))), "public, max-age=31536000, immutable")
			for _, leaf := range body["leaves"].([]any) {
				if n++; !strings.HasPrefix(leaf.(string), number) || len(leaf.(string)) != 64 {
					t.Errorf("page %s has the leaf %s", number, leaf)
				}
			}
		}
		if n != 3 {
			t.Errorf("%d leaves, want 3", n)
		}
	})
}
