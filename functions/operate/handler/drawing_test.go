package handler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/sale"
)

func TestOperatorsSeeHowFarADrawHasCome(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open(testledger.WithDraw)
		shown := func() map[string]any {
			t.Helper()
			s := f.answered(t, event(t, "operate-sale.json"))
			if s["opensAt"] != "2026-01-01T03:00:00.000Z" || s["closesAt"] != "2026-01-03T00:00:00.000Z" {
				t.Errorf("the window is that of a call: %v to %v", s["opensAt"], s["closesAt"])
			}
			return map[string]any{"state": s["state"], "draw": s["draw"]}
		}
		want := map[string]any{"enterFrom": "2026-01-01T00:01:00.000Z", "enterUntil": "2026-01-01T01:00:00.000Z", "keepHours": 2.0, "call": 0.0}
		if diff := cmp.Diff(map[string]any{"state": "NOT_OPEN", "draw": want}, shown()); diff != "" {
			t.Errorf("before the first call (-want +got):\n%s", diff)
		}
		f.Until(testledger.EnterFrom)
		f.Enter("alice", "bob")
		f.CloseRoll()
		f.Throw()
		call := f.Call()
		want["call"], want["from"], want["until"] = 1.0, "2026-01-01T03:00:15.000Z", "2026-01-01T05:00:15.000Z"
		f.over(f.Ledger())
		if diff := cmp.Diff(map[string]any{"state": "OPEN", "draw": want}, shown()); diff != "" {
			t.Errorf("in the first call (-want +got):\n%s", diff)
		}
		f.Until(call.Until)
		if state := shown()["state"]; state != "WAITING" {
			t.Errorf("between calls the state is %v", state)
		}
		f.Call()
		want["call"], want["from"], want["until"], want["open"] = 2.0, "2026-01-01T05:01:30.000Z", "2026-01-03T00:00:00.000Z", true
		f.over(f.Ledger())
		if diff := cmp.Diff(map[string]any{"state": "OPEN", "draw": want}, shown()); diff != "" {
			t.Errorf("in the call for anybody (-want +got):\n%s", diff)
		}
	})
}

func TestTheTrailHasTheCallsAndTheWindowThatPeopleAreShown(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Drawn(2, "alice", "bob")
		time.Sleep(time.Minute)
		f.Edit(sale.Edit{OpensAt: testledger.DrawBegins, ClosesAt: testledger.DrawEnds.Add(time.Hour), Until: testledger.DrawBegins.Add(4 * time.Hour)})
		changes := f.answered(t, event(t, "operate-trail.json"))["changes"].([]any)
		if len(changes) != 2 {
			t.Fatalf("changes %v", changes)
		}
		edit, begun := changes[0].(map[string]any), changes[1].(map[string]any)
		if edit["opensAt"] != "2026-01-01T03:00:00.000Z" || edit["closesAt"] != "2026-01-03T01:00:00.000Z" {
			t.Errorf("the rescheduling: %v", edit)
		}
		if begun["action"] != "call" || begun["actor"] != "draw" || begun["note"] != "call 1" || begun["opensAt"] != "2026-01-01T03:00:15.000Z" || begun["closesAt"] != "2026-01-01T05:00:15.000Z" {
			t.Errorf("the call: %v", begun)
		}
	})
}
