package testledger

import (
	"bytes"
	"time"

	"flashsale/shared/beacon"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// DrawTimes are those of the draws.
var DrawTimes = draw.Times{Settle: 15 * time.Minute, Dice: time.Hour, Gap: time.Minute}

// Instants of a sale WithDraw.
var (
	EnterFrom  = Began.Add(time.Minute)
	EnterUntil = Began.Add(time.Hour)
	DrawBegins = Began.Add(3 * time.Hour)
	DrawEnds   = Began.Add(48 * time.Hour)
)

// WithDraw makes a sale one with a draw, in which a unit is kept for two hours.
func WithDraw(c *sale.Creation) {
	c.OpensAt, c.ClosesAt = DrawBegins, DrawEnds
	c.DrawTerms = sale.DrawTerms{EnterFrom: EnterFrom, EnterUntil: EnterUntil, KeepFor: 2 * time.Hour}
}

// Until sleeps until that instant.
func (w *World) Until(t time.Time) { time.Sleep(time.Until(t)) }

// Enter enters users into the draw.
func (w *World) Enter(users ...string) {
	w.T.Helper()
	for _, user := range users {
		w.must(w.Ledger().Enter(w.T.Context(), SaleID, user, DrawTimes.Settle, nil))
	}
}

// Draw returns the draw as it is stored.
func (w *World) Draw() ledger.DrawState {
	w.T.Helper()
	d, err := w.Ledger().DrawState(w.T.Context(), SaleID, DrawTimes.Gap)
	w.must(d, err)
	return d
}

// CloseRoll closes the roll when the time to settle is over.
func (w *World) CloseRoll() {
	w.T.Helper()
	w.Until(EnterUntil.Add(DrawTimes.Settle))
	w.must(w.Ledger().CloseRoll(w.T.Context(), w.Draw().Sale, beacon.Quicknet.RoundAt, DrawTimes.Dice))
}

// Throw stores a signature as that of the round, and the seed that follows from it.
func (w *World) Throw() {
	w.T.Helper()
	d := w.Draw()
	w.Until(beacon.Quicknet.TimeOf(d.Head.Round))
	signature := bytes.Repeat([]byte{0xab}, beacon.SignatureSize)
	w.must(nil, w.Ledger().SetSeed(w.T.Context(), d.Sale, draw.SeedOf(SaleID, d.Head.Roll, beacon.Randomness(signature)), signature))
}

// Call begins the next call as soon as it is due, completes it and waits until it runs.
func (w *World) Call() draw.Call {
	w.T.Helper()
	d := w.Draw()
	w.Until(d.NextCallAt(DrawTimes.Gap))
	l := w.Ledger()
	ranks, err := l.Ranks(w.T.Context(), d.Sale, d.Head)
	w.must(ranks, err)
	if begun, err := l.BeginCall(w.T.Context(), d, ranks, DrawTimes.Gap); err != nil || !begun {
		w.T.Fatalf("call %d has begun: %t (%v)", d.Last.Number+1, begun, err)
	}
	call, err := l.FinishCall(w.T.Context(), SaleID, ranks, DrawTimes.Gap)
	if err != nil || !call.Complete {
		w.T.Fatalf("call %+v (%v)", call, err)
	}
	w.Until(call.From)
	return call
}

// Drawn goes from a new sale of that stock, whose draw those users enter, into its first call.
func (w *World) Drawn(stock int64, users ...string) draw.Call {
	w.T.Helper()
	w.Open(WithDraw, func(c *sale.Creation) { c.Stock = stock })
	w.Until(EnterFrom)
	w.Enter(users...)
	w.CloseRoll()
	w.Throw()
	return w.Call()
}
