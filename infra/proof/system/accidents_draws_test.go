package system

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/shared/ledger"
)

// drawn is what the table has of a sale's draw.
func (d drill) drawn(saleID string) ledger.Draw {
	d.t.Helper()
	book := d.ledgerAgo(0)
	s, err := book.Sale(d.t.Context(), saleID)
	var shown ledger.Draw
	if err == nil {
		shown, err = book.Draw(d.t.Context(), s)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return shown
}

// untilDrawn calls DrawFunction by hand until the draw is so far.
func (d drill) untilDrawn(saleID, what string, isSo func(ledger.Draw) bool) ledger.Draw {
	d.t.Helper()
	go func() { // a run waits for the steps that come due while it lasts
		_ = d.client.Ask(d.t.Context(), client.DrawFunction, map[string]string{"saleId": saleID}, nil)
	}()
	var shown ledger.Draw
	d.eventually(what, func() bool {
		shown = d.drawn(saleID)
		return isSo(shown)
	})
	return shown
}

// drawIsInTrouble takes a draw of one unit through a failure of the dice and a pause in a call, to
// the complaint of the one who was not drawn.
func drawIsInTrouble(d drill) {
	const saleID, alarm = "drawn-sale", "DiceLateAlarm"
	until := time.Now().Add(3 * time.Second).Truncate(time.Second)
	opens := until.Add(drawTimes.Lead())
	closes := opens.Add(2 * time.Hour)
	d.create(client.Sale{
		ID: saleID, OpensAt: opens, ClosesAt: closes, Stock: 1, Shards: 1, EnterFrom: until.Add(-time.Hour), EnterUntil: until, KeepFor: time.Hour,
	})
	nonces := map[string]string{}
	for _, user := range []string{"ada", "ben"} {
		var receipt struct{ Nonce string }
		if a, err := d.client.Enter(d.t.Context(), saleID, d.token(user)); err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Body, &receipt) != nil {
			d.t.Fatalf("%s enters: %v, %v", user, a, err)
		}
		nonces[user] = receipt.Nonce
	}
	time.Sleep(time.Until(until.Add(drawTimes.Settle)))
	closed := d.untilDrawn(saleID, "the roll is closed", func(s ledger.Draw) bool { return s.IsClosed() })

	// The relays that the parameter names are asked for quicknet's round of this number, which was
	// signed years ago, so the alarm need not be waited for.
	d.killStack() // a run is waiting for the round
	d.start("-parameter", "DrawRelays=http://127.0.0.1:9")
	late := d.meet("the dice are late, because no relay answers", saleID)
	_ = d.client.Ask(d.t.Context(), client.DrawFunction, map[string]string{"saleId": saleID}, nil) // refused while the schedule's run goes on
	late.see()
	d.mustRing(alarm, late.mark, true)
	d.stop()
	since := len(d.log())
	late.do(0)
	called := d.untilDrawn(saleID, "somebody is called", func(s ledger.Draw) bool { return len(s.Calls) == 1 && s.Calls[0].Complete })
	late.then()
	d.mustRing(alarm, since, false)
	if called.Roll != closed.Roll || called.Round != closed.Round {
		d.t.Errorf("the roll %s was to be decided by round %d, and %s was by %d", closed.Roll, closed.Round, called.Roll, called.Round)
	}

	paused := d.meet("a sale with a draw was paused during a call", saleID)
	d.change(map[string]any{"action": "pause", "saleId": saleID})
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	paused.own("2026-11-11T12:00:00Z", stamp(opens), "2026-11-12T12:00:00Z", stamp(closes), "2026-11-11T20:00:00Z", stamp(opens.Add(90*time.Minute)))
	paused.see()
	paused.do(0)
	paused.do(1)
	paused.then()

	time.Sleep(time.Until(called.Calls[0].From))
	winner, loser := "ada", "ben"
	d.eventually("one of them buys", func() bool {
		if d.buy(saleID, winner).Status == http.StatusAccepted {
			return true
		}
		winner, loser = loser, winner
		return false
	})
	undrawn := d.meet("I entered and was never called", saleID)
	undrawn.own("alice", loser, strings.Repeat("5f", 32), nonces[loser])
	undrawn.see()
	undrawn.end()
}

func complaintOfASecondSize(d drill) {
	const saleID = "size-39-sale"
	for _, id := range []string{saleID, "size-40-sale"} {
		d.change(map[string]any{
			"action": "create", "saleId": id, "stock": 5, "shards": 1, "limitGroup": "shoe",
			"opensAt": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), "closesAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		})
	}
	d.sell("size-40-sale", "alice")
	i := d.meet("I cannot order my size", saleID)
	i.see()
	i.end()
}
