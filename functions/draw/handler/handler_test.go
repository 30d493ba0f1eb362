package handler

import (
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/beacon"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

func TestADrawGoesFromTheRollToACallForAnybody(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.draws(5)
		w.runUntil(enterEnd.Add(times.Settle + time.Minute))
		head := w.public(testledger.SaleID).Head
		if head.Entrants != 5 || !head.ClosedAt.Equal(enterEnd.Add(times.Settle)) || head.HasSeed() {
			t.Fatalf("a minute after the time to settle: %+v, want the roll of 5 closed at its end", head)
		}
		if at := beacon.Quicknet.TimeOf(head.Round).Sub(head.ClosedAt); at < times.Dice || at >= times.Dice+3*time.Second {
			t.Errorf("the round is signed %s after the roll, want an hour (P27)", at)
		}
		w.runUntil(opens.Add(-time.Minute))
		head = w.public(testledger.SaleID).Head
		if want := draw.SeedOf(testledger.SaleID, head.Roll, beacon.Randomness(head.Signature)); head.Seed != want || !slices.Contains(w.dice.asked, head.Round) || w.dice.asked[0] != head.Round {
			t.Errorf("the seed is %s, want %s; rounds %v were asked for", head.Seed, want, w.dice.asked)
		}
		if _, refused := w.buy(5); refused[sale.NotOpen] != 5 {
			t.Errorf("before the first call: %v", refused)
		}

		w.runUntil(opens.Add(30 * time.Second))
		calls := w.calls()
		if len(calls) != 1 || !calls[0].From.Equal(opens.Add(15*time.Second)) || !calls[0].Until.Equal(calls[0].From.Add(2*time.Hour)) || !calls[0].Complete || calls[0].Stock != 2 {
			t.Fatalf("half a minute after the opening: %+v", calls)
		}
		first, refused := w.buy(5)
		if len(first) != 2 || refused[sale.NotYourTurn] != 3 {
			t.Errorf("the first call: %v buy, the others get %v", first, refused)
		}
	})
}

func TestARunWaitsForAStepThatIsDueWhileItWatches(t *testing.T) {
	for before, taken := range map[time.Duration]bool{0: true, time.Second: true, 55 * time.Second: true, 55*time.Second + time.Millisecond: false} {
		in(t, func(t *testing.T, w *world) {
			w.draws(0)
			due := enterEnd.Add(times.Settle)
			time.Sleep(time.Until(due) - before)
			draws := w.run()
			if got := slices.Equal(draws[0].Steps, []string{"roll"}); got != taken {
				t.Errorf("%s before the roll is due: %+v", before, draws)
			}
			if now := time.Now(); taken && !now.Equal(due) || !taken && !now.Equal(due.Add(-before)) {
				t.Errorf("%s before the roll is due, the run ends at %s", before, now)
			}
			if !taken && draws[0].NextStep != "2026-01-01T01:15:00.000Z" {
				t.Errorf("the next step is at %q", draws[0].NextStep)
			}
		})
	}
}

func TestARunWithoutTheTimeForAStepDoesNotWaitForIt(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.draws(0)
		w.Until(enterEnd.Add(times.Settle - 10*time.Second))
		began := time.Now()
		if draws, err := w.draw(`{}`, 12*time.Second); err != nil || len(draws[0].Steps) != 0 || !time.Now().Equal(began) {
			t.Errorf("got %+v after %s (%v)", draws, time.Since(began), err)
		}
	})
}

func TestWithoutTheRoundTheRunAsksAgainAndSaysHowLateItIs(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.draws(0)
		w.runUntil(enterEnd.Add(times.Settle + time.Minute))
		round := w.public(testledger.SaleID).Round
		w.dice.halted = true
		w.Until(beacon.Quicknet.TimeOf(round))
		draws := w.run()
		asked := len(w.dice.asked)
		if lines := strings.Count(w.Log.String(), `"outcome":"busy"`); lines != asked {
			t.Errorf("%d lines say that the dice are late, want one for each of %d requests", lines, asked)
		}
		if d := draws[0]; d.DiceLateSeconds < 30 || d.DiceLateSeconds > 55 || d.CallLateSeconds != 0 || asked < 5 || asked > 20 || len(d.Steps) != 0 {
			t.Errorf("after %d requests: %+v", asked, d)
		}
		time.Sleep(time.Minute) // the beacon is back
		w.dice.halted = false
		if d := w.run()[0]; d.DiceLateSeconds != 0 || !slices.Equal(d.Steps, []string{"seed"}) {
			t.Errorf("got %+v", d)
		}
		for _, r := range w.dice.asked {
			if r != round {
				t.Errorf("round %d was asked for, want %d (P28)", r, round)
			}
		}
	})
}

func TestWhetherARunBeginsACall(t *testing.T) {
	stopped := func(stop func(*world)) func(*world) {
		return func(w *world) {
			w.runUntil(opens.Add(-time.Minute))
			stop(w)
			w.runUntil(opens.Add(3 * time.Minute))
		}
	}
	for name, tt := range map[string]struct {
		comes func(*world)
		steps []string
		call  int64
	}{
		"paused":   {stopped(func(w *world) { w.Pause() }), nil, 0},
		"recalled": {stopped(func(w *world) { w.Recall() }), nil, 0},
		"sold out": {stopped(func(w *world) {
			if _, err := w.Ledger().Withdraw(w.T.Context(), sale.Withdrawal{SaleID: testledger.SaleID, SeedID: "w", Stock: 2}); err != nil {
				w.T.Fatal(err)
			}
		}), nil, 0},
		"a paused sale goes on":   {func(w *world) { w.pausedUntil(opens.Add(time.Hour)) }, []string{"begin"}, 1},
		"the sale is nearly over": {func(w *world) { w.pausedUntil(ends.Add(-times.Gap / 4)) }, nil, 0},
		"an operator pauses it once the run has read the sale": {func(w *world) {
			w.runUntil(opens.Add(time.Minute))
			w.Until(w.calls()[0].Until.Add(times.Gap))
			var pause sync.Once
			w.DB.Fault = dynamotest.On("Query", "ROLL#", func(dynamotest.Call) dynamotest.Fault {
				pause.Do(w.Pause)
				return dynamotest.Fault{}
			})
		}, nil, 1},
	} {
		in(t, func(t *testing.T, w *world) {
			w.draws(3)
			tt.comes(w)
			if d := w.run()[0]; !slices.Equal(d.Steps, tt.steps) || d.Call != tt.call || d.CallLateSeconds != 0 || len(w.calls()) != int(tt.call) {
				t.Errorf("%s: got %+v, calls %+v", name, d, w.calls())
			}
		})
	}
}

// Its shards would otherwise never get the window that the sale has (P14).
func TestACallThatWasCutOffIsFinishedAfterTheSaleAndCallsNobody(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.draws(3)
		w.pausedUntil(ends.Add(-30 * time.Second))
		w.failing("UpdateItem", "STOCK#")
		_, _ = w.draw(`{}`, 20*time.Second)
		w.DB.Fault = nil
		if calls := w.calls(); len(calls) != 1 || calls[0].Complete {
			t.Fatalf("got %+v, want one that is not complete", calls)
		}
		w.Until(ends)
		if d := w.run()[0]; !slices.Equal(d.Steps, []string{"finish"}) {
			t.Errorf("got %+v", d)
		}
		if calls := w.calls(); len(calls) != 1 || !calls[0].Complete || calls[0].Stock != 0 {
			t.Errorf("got %+v", calls)
		}
	})
}

func TestHowLateACallIsIsReportedUntilItIsComplete(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.draws(3)
		w.runUntil(opens.Add(-time.Minute))
		w.failing("TransactWriteItems", "CALL#") // it cannot begin
		w.Until(opens.Add(3 * time.Minute))
		if _, err := w.draw(`{}`, 2*time.Minute); err == nil {
			t.Error("no error")
		}
		late := w.Lines("message", "saleId")["course moutai"].Fields["callLateSeconds"]
		if late != 180.0 {
			t.Errorf("the call is %v seconds late, want 180", late)
		}
		w.failing("UpdateItem", "STOCK#") // it begins, and cannot be finished
		_, _ = w.draw(`{}`, 2*time.Minute)
		w.Lines("message", "saleId")
		from := w.calls()[0].From
		w.Until(from.Add(40 * time.Second))
		_, _ = w.draw(`{}`, 2*time.Minute)
		if late := w.Lines("message", "saleId")["course moutai"].Fields["callLateSeconds"]; late != 40.0 {
			t.Errorf("the call is %v seconds late, want 40", late)
		}
	})
}

func TestASaleThatFailsLeavesTheOthersTheirStepsOnTheSecond(t *testing.T) {
	for name, fault := range testledger.OneFails {
		in(t, func(t *testing.T, w *world) {
			w.create("a")
			w.create("bad")
			w.Open(testledger.WithDraw, func(c *sale.Creation) { c.SaleID, c.EnterUntil = "c", enterEnd.Add(20*time.Second) })
			due := enterEnd.Add(times.Settle)
			w.Until(due.Add(-20 * time.Second))
			w.DB.Fault = dynamotest.On("GetItem", "DRAWKEY#bad", fault)
			if _, err := w.draw(`{}`, 2*time.Minute); err == nil {
				t.Errorf("%s: the run does not fail", name)
			}
			w.DB.Fault = nil
			for saleID, want := range map[string]time.Time{"a": due, "bad": {}, "c": due.Add(20 * time.Second)} {
				if at := w.public(saleID).ClosedAt; !at.Equal(want) {
					t.Errorf("%s: %s: its roll is closed at %s, want %s", name, saleID, at, want)
				}
			}
			if turns := strings.Count(w.Log.String(), `"message":"course"`); turns != 6 {
				t.Errorf("%s: %d turns, want two of each sale: the first, and one when its roll is due", name, turns)
			}
		})
	}
}

// What was read before a call was due does not say whether units are left.
func TestACallThatIsDueOnceTheDrawIsReadIsBegunByTheSameRun(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.draws(3)
		w.runUntil(opens.Add(-time.Second))
		h := New(slow{w.Ledger()}, beacon.Quicknet, &w.dice, times, telemetry.New(io.Discard, "draw", clock.Wall), clock.Wall)
		a, err := testledger.Invoke(&w.Scheduled, h.Handle, `{}`, time.Minute)
		if err != nil || !slices.Equal(a.Draws[0].Steps, []string{"begin"}) || len(w.calls()) != 1 {
			t.Errorf("got %+v (%v), want the call begun", a, err)
		}
	})
}

func TestOnlyTheNamedSaleIsLedAndOnlySalesWithADrawAre(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.create("a")
		w.create("moutai")
		w.Open(func(c *sale.Creation) { c.SaleID = "plain" })
		w.Until(enterEnd.Add(times.Settle))
		draws, err := w.draw(string(httpapitest.Event(t, "draw-one.json")), 2*time.Minute)
		if err != nil || len(draws) != 1 || draws[0].SaleID != "moutai" || !w.public("a").ClosedAt.IsZero() || w.public("moutai").ClosedAt.IsZero() {
			t.Errorf("got %+v (%v)", draws, err)
		}
		if draws, err = w.draw(string(httpapitest.Event(t, "draw-all.json")), 2*time.Minute); err != nil || len(draws) != 2 || draws[0].SaleID != "a" {
			t.Errorf("got %+v (%v)", draws, err)
		}
		if _, err := w.draw(`{"saleId":"plain"}`, 2*time.Minute); err == nil || !strings.Contains(err.Error(), "draw-not-found") {
			t.Errorf("a sale without a draw: %v", err)
		}
	})
}

// Of a drained sale a refund may be due, and then it is still listed.
func TestADrainedDrawIsNotLedOn(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.draws(1)
		w.runUntil(opens.Add(30 * time.Second))
		w.Confirm(w.Buy("user-0", "C1", "k"))
		w.Pay("user-0", "pi_1", 5)
		w.Pay("user-0", "pi_2", 5)
		w.Until(testledger.DrawEnds.Add(ledger.DrainAfter))
		if draws := w.run(); len(draws) != 1 {
			t.Fatalf("before it is drained: %+v", draws)
		}
		if done, err := w.Ledger().Drain(t.Context(), w.Receipt()); err != nil || !done {
			t.Fatalf("not drained (%v)", err)
		}
		if draws := w.run(); len(draws) != 0 {
			t.Errorf("got %+v, want nothing", draws)
		}
	})
}

// The roll is much to read, and a run has other sales to lead.
func TestARunReadsTheRollAtMostOnceAndOnlyForACallByRank(t *testing.T) {
	for name, tt := range map[string]struct {
		entrants int
		after    time.Duration // after the call was cut off
		sold     bool          // all units, until one comes back during the run
		steps    []string
		pages    int64
	}{
		"a call that was cut off":                       {3, 0, false, []string{"finish"}, draw.Pages},
		"one without units, and the one after it":       {3, 65 * time.Second, true, []string{"finish", "begin"}, draw.Pages},
		"one that is too late, and the one after it":    {3, 2 * time.Minute, false, []string{"finish", "begin"}, draw.Pages},
		"one for anybody that was cut off":              {0, 0, false, []string{"finish"}, 0},
		"one for anybody, later than the others may be": {0, 2 * time.Minute, false, []string{"finish"}, 0},
	} {
		in(t, func(t *testing.T, w *world) {
			w.cutsOff(tt.entrants)
			w.Until(opens.Add(tt.after))
			var pages atomic.Int64
			w.DB.Fault = dynamotest.On("Query", "ROLL#", func(dynamotest.Call) dynamotest.Fault {
				pages.Add(1)
				return dynamotest.Fault{}
			})
			if tt.sold {
				w.Tamper("STOCK#moutai#0", "STOCK", "stock", -1)
				w.Tamper("STOCK#moutai#1", "STOCK", "stock", -1)
				time.AfterFunc(5*time.Second, func() { w.Tamper("STOCK#moutai#0", "STOCK", "stock", 1) })
			}
			if d := w.run()[0]; !slices.Equal(d.Steps, tt.steps) || pages.Load() != tt.pages {
				t.Errorf("%s: %+v with %d pages read, want %v with %d", name, d, pages.Load(), tt.steps, tt.pages)
			}
		})
	}
}

func TestATurnIsALineWithTheFiguresThatAlarmsWatch(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.draws(0)
		w.Until(enterEnd.Add(times.Settle))
		w.run()
		lines := w.Lines("message", "saleId")
		w.IsLine(lines["course moutai"], "draw", "course", map[string]any{
			"saleId": "moutai", "steps": "roll", "call": 0.0, "nextStep": "2026-01-01T02:15:01.000Z", "diceLateSeconds": 0.0, "callLateSeconds": 0.0,
		}, map[string]string{"diceLateSeconds": "Seconds by service", "callLateSeconds": "Seconds by service"})
		w.IsLine(lines["draw"], "draw", "draw", map[string]any{"result": "ok", "draws": 1.0, "sales": 1.0}, map[string]string{"draws": "Count by service, result"})
	})
}
