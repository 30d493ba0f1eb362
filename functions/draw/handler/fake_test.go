package handler

import (
	"context"
	"crypto/sha512"
	"errors"
	"fmt"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/beacon"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// The first call is due two hours after the end of entering.
var (
	enterEnd = testledger.EnterUntil
	opens    = testledger.DrawBegins
	ends     = testledger.DrawEnds
	times    = testledger.DrawTimes
)

// dice are a beacon whose rounds appear a second after they are signed, unless it is halted.
type dice struct {
	halted bool
	asked  []uint64
}

func (d *dice) Signature(_ context.Context, round uint64) ([]byte, error) {
	d.asked = append(d.asked, round)
	if d.halted || time.Now().Before(beacon.Quicknet.TimeOf(round).Add(time.Second)) {
		return nil, errors.New("no relay has the round")
	}
	sum := sha512.Sum512(fmt.Append(nil, round))
	return sum[:beacon.SignatureSize], nil
}

// slow is a ledger whose answers about a draw come when the first call is due.
type slow struct{ Ledger }

func (s slow) DrawState(ctx context.Context, saleID string, gap time.Duration) (ledger.DrawState, error) {
	d, err := s.Ledger.DrawState(ctx, saleID, gap)
	time.Sleep(time.Until(opens))
	return d, err
}

// world is a real ledger over the in-process table, in virtual time.
type world struct {
	testledger.Scheduled
	dice dice
}

// in runs a test from the instant on at which people may enter.
func in(t *testing.T, test func(*testing.T, *world)) {
	testledger.Run(t, func(w *testledger.World) {
		w.Until(testledger.EnterFrom)
		test(w.T, &world{Scheduled: testledger.Scheduled{World: w}})
	})
}

// create makes a sale with a draw of 2 units in two shards.
func (w *world) create(saleID string) {
	w.T.Helper()
	w.Open(testledger.WithDraw, func(c *sale.Creation) { c.SaleID, c.Shards = saleID, 2 })
}

// draws creates the sale of the events and enters the users called user-0 and on.
func (w *world) draws(users int) {
	w.T.Helper()
	w.create(testledger.SaleID)
	for i := range users {
		w.Enter(fmt.Sprint("user-", i))
	}
}

// buy has those users try to buy, and returns which did and how the others were refused.
func (w *world) buy(users int) (bought []string, refused map[sale.Code]int) {
	w.T.Helper()
	refused = map[sale.Code]int{}
	l := w.Ledger()
	for i := range users {
		user := fmt.Sprint("user-", i)
		if _, err := l.Purchase(w.T.Context(), ledger.Request{SaleID: testledger.SaleID, User: user, CallGap: times.Gap}); err != nil {
			refused[sale.CodeOf(err)]++
		} else {
			bought = append(bought, user)
		}
	}
	return bought, refused
}

// draw invokes the function as Lambda does, with the given time.
func (w *world) draw(payload string, timeout time.Duration) ([]Course, error) {
	w.T.Helper()
	h := New(w.Ledger(), beacon.Quicknet, &w.dice, times, telemetry.New(&w.Log, "draw", clock.Wall), clock.Wall)
	a, err := testledger.Invoke(&w.Scheduled, h.Handle, payload, timeout)
	return a.Draws, err
}

// run is a run of the schedule.
func (w *world) run() []Course {
	w.T.Helper()
	draws, err := w.draw(`{}`, 2*time.Minute)
	if err != nil {
		w.T.Fatal(err)
	}
	return draws
}

// runUntil runs the schedule each minute until that instant.
func (w *world) runUntil(end time.Time) {
	w.T.Helper()
	for next := time.Now(); next.Before(end); next = next.Add(time.Minute) {
		w.Until(next)
		w.run()
		w.Log.Reset()
	}
	w.Until(end)
}

// public is what everybody may know of a draw.
func (w *world) public(saleID string) ledger.Draw {
	w.T.Helper()
	l := w.Ledger()
	s, err := l.Sale(w.T.Context(), saleID)
	if err != nil {
		w.T.Fatal(err)
	}
	d, err := l.Draw(w.T.Context(), s)
	if err != nil {
		w.T.Fatal(err)
	}
	return d
}

// calls are those of the sale of the events.
func (w *world) calls() []draw.Call {
	w.T.Helper()
	return w.public(testledger.SaleID).Calls
}

// pausedUntil pauses the sale before the first call is due, and resumes it at that instant.
func (w *world) pausedUntil(end time.Time) {
	w.T.Helper()
	w.runUntil(opens.Add(-time.Minute))
	w.Pause()
	w.Until(end)
	w.Edit(sale.Edit{Paused: new(false)})
}

// failing makes the calls of that operation on keys with that text fail.
func (w *world) failing(op, key string) {
	w.DB.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On(op, key)
}

// cutsOff comes to the first call after so many have entered, and leaves it begun and not complete.
func (w *world) cutsOff(entrants int) {
	w.T.Helper()
	w.draws(entrants)
	w.runUntil(opens.Add(-time.Minute))
	w.Until(opens)
	w.failing("UpdateItem", "STOCK#")
	if draws, err := w.draw(`{}`, 2*time.Minute); err == nil {
		w.T.Errorf("no error, but %+v", draws)
	}
	w.DB.Fault = nil
	if calls := w.calls(); len(calls) != 1 || calls[0].Complete {
		w.T.Fatalf("got %+v, want one that is not complete", calls)
	}
}
