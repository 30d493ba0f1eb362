package system

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/wait"
	"flashsale/shared/ledger"
)

// drawn is what the table has of a sale's draw.
func (d *drill) drawn(t *testing.T, saleID string) ledger.Draw {
	t.Helper()
	book := d.ledgerAgo(0)
	s, err := book.Sale(t.Context(), saleID)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := book.Draw(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// untilDrawn calls DrawFunction by hand until the draw is so far.
func (d *drill) untilDrawn(t *testing.T, saleID, what string, isSo func(ledger.Draw) bool) ledger.Draw {
	t.Helper()
	go func() { // a run waits for the steps that come due while it lasts
		_ = d.client.Ask(t.Context(), client.DrawFunction, map[string]string{"saleId": saleID}, nil)
	}()
	var shown ledger.Draw
	wait.Until(t, patience, what, func() bool {
		shown = d.drawn(t, saleID)
		return isSo(shown)
	})
	return shown
}

// drawIsInTrouble takes a draw of one unit through a failure of the dice and a pause in a call, to
// the complaint of the one who was not drawn.
func drawIsInTrouble(t *testing.T, d *drill) {
	const saleID, alarm = "drawn-sale", "DiceLateAlarm"
	until := time.Now().Add(3 * time.Second).Truncate(time.Second)
	opens := until.Add(drawTimes.Lead())
	closes := opens.Add(2 * time.Hour)
	d.create(t, client.Sale{
		ID: saleID, OpensAt: opens, ClosesAt: closes, Stock: 1, Shards: 1, EnterFrom: until.Add(-time.Hour), EnterUntil: until, KeepFor: time.Hour,
	})
	nonces := map[string]string{}
	for _, user := range []string{"ada", "ben"} {
		token, err := d.client.Token(t.Context(), user)
		if err != nil {
			t.Fatal(err)
		}
		var receipt struct{ Nonce string }
		if a, err := d.client.Enter(t.Context(), saleID, token); err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Body, &receipt) != nil {
			t.Fatalf("%s enters: %v, %v", user, a, err)
		}
		nonces[user] = receipt.Nonce
	}
	time.Sleep(time.Until(until.Add(drawTimes.Settle)))
	closed := d.untilDrawn(t, saleID, "the roll is closed", func(s ledger.Draw) bool { return s.IsClosed() })

	// The relays that the parameter names are asked for quicknet's round of this number, which was
	// signed years ago, so the alarm need not be waited for.
	d.kill(t) // a run is waiting for the round
	d.start(t, "-parameter", "DrawRelays=http://127.0.0.1:9")
	late := d.meet(t, "the dice are late, because no relay answers", saleID)
	_ = d.client.Ask(t.Context(), client.DrawFunction, map[string]string{"saleId": saleID}, nil) // refused while the schedule's run goes on
	late.see()
	d.mustRing(t, alarm, late.mark, true)
	d.stop(t)
	since := len(d.log(t))
	late.do(0)
	called := d.untilDrawn(t, saleID, "somebody is called", func(s ledger.Draw) bool { return len(s.Calls) == 1 && s.Calls[0].Complete })
	late.then()
	d.mustRing(t, alarm, since, false)
	if called.Roll != closed.Roll || called.Round != closed.Round {
		t.Errorf("the roll %s was to be decided by round %d, and %s was by %d", closed.Roll, closed.Round, called.Roll, called.Round)
	}

	paused := d.meet(t, "a sale with a draw was paused during a call", saleID)
	if err := d.client.Ask(t.Context(), client.SeedFunction, map[string]any{"action": "pause", "saleId": saleID}, nil); err != nil {
		t.Fatal(err)
	}
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	paused.own("2026-11-11T12:00:00Z", stamp(opens), "2026-11-12T12:00:00Z", stamp(closes), "2026-11-11T20:00:00Z", stamp(opens.Add(90*time.Minute)))
	paused.see()
	paused.do(0)
	if a := d.buy(t, saleID, "ada"); a.Code != "sale-paused" && a.Code != "not-your-turn" && a.Code != "busy" {
		t.Errorf("in the pause a buyer is told %v", a)
	}
	paused.do(1)
	paused.then()

	time.Sleep(time.Until(called.Calls[0].From))
	winner, loser := "ada", "ben"
	wait.Until(t, patience, "one of them buys", func() bool {
		if d.buy(t, saleID, winner).Status == http.StatusAccepted {
			return true
		}
		winner, loser = loser, winner
		return false
	})
	if a := d.buy(t, saleID, loser); a.Code != "not-your-turn" {
		t.Errorf("who was not drawn is told %v", a)
	}
	undrawn := d.meet(t, "I entered and was never called", saleID)
	undrawn.own("alice", loser, strings.Repeat("5f", 32), nonces[loser])
	undrawn.see()
	undrawn.end()
}

func complaintOfASecondSize(t *testing.T, d *drill) {
	const saleID = "size-39-sale"
	for _, id := range []string{saleID, "size-40-sale"} {
		if err := d.client.Ask(t.Context(), client.SeedFunction, map[string]any{
			"action": "create", "saleId": id, "stock": 5, "shards": 1, "limitGroup": "shoe",
			"opensAt": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), "closesAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	d.sell(t, "size-40-sale", "alice")
	i := d.meet(t, "I cannot order my size", saleID)
	if a := d.buy(t, saleID, "alice"); a.Code != "already-ordered" {
		t.Errorf("the buyer is told %v", a)
	}
	i.see()
	i.end()
}
