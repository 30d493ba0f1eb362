package handler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

func TestAPressGivesBackWhatWasDueAtMostItsCountAndSums(t *testing.T) {
	in(t, func(w *world) {
		if calls := w.Calls(func() { _, _ = w.run() }); calls != 1 || w.reads.Load() != 0 {
			t.Errorf("without a sending: %d calls of the table and %d of the keys, want 1 and none", calls, w.reads.Load())
		}
		w.due("stripe", 0, 60)
		w.due("alipay", 0, 4)
		w.banks["stripe"].took = 200 * time.Millisecond
		id := w.press("p1", 63)
		w.due("adyen", 0, 2) // after the list was read
		w.Log.Reset()
		a, err := w.run()
		s := w.sending(id)
		got := fmt.Sprint(a, err, s.Taken, s.Amounts, s.Left, s.EndedAt.IsZero(), w.agree(), w.reads.Load())
		if want := fmt.Sprint(Answer{1, map[string]int{"accepted": 63}}, nil, 63, map[string]int64{"CNY": 63 * amount}, 0, false, 63, 1); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		b := w.banks["stripe"]
		if took := b.at[len(b.at)-1].Sub(b.at[0]); b.most != atOnce || took < 5*time.Second || took > 20*time.Second {
			t.Errorf("%d calls at once in %v, want %d, and 10 a second at most", b.most, took, atOnce)
		}
		line := w.Lines("message", "payment")["refund"]
		if line.Fields["sendings"] != 1.0 {
			t.Errorf("got the line %+v", line)
		}
	})
}

func TestAStopHoldsWithinSeconds(t *testing.T) {
	in(t, func(w *world) {
		w.due("stripe", 0, 60)
		b := w.banks["stripe"]
		b.took = 2 * time.Second
		id := w.press("p1", 60)
		time.AfterFunc(1500*time.Millisecond, func() { w.stop(id) })
		began := time.Now()
		_, err := w.run()
		if last := b.at[b.n-1].Sub(began); err != nil || w.agree() != b.n || last > 1500*time.Millisecond+fresh {
			t.Errorf("got %v, and the last of %d calls began %v after a stop at 1.5 s", err, b.n, last)
		}
	})
}

// A refund is sent until it is known: each line is the fate of its calls.
func TestWhatBecameOfARequestIsKnownInTheEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		provider string
		fates    []how
		pause    time.Duration // after the first run
		want     sale.SentState
		ids      int
		asked    int
	}{
		"the answer is lost":                         {"stripe", []how{lost}, 0, sale.SentAccepted, 1, 0},
		"the call is cut":                            {"stripe", []how{cut, cut}, 0, sale.SentAccepted, 1, 0},
		"it hangs":                                   {"wechat-pay", []how{hangs}, 0, sale.SentAccepted, 1, 0},
		"a panic":                                    {"stripe", []how{panics}, 0, sale.SentAccepted, 1, 0},
		"lost, and the id's life is over":            {"stripe", []how{lost}, 24 * time.Hour, sale.SentAccepted, 1, 1},
		"cut, and the id's life is over":             {"stripe", []how{cut}, 24 * time.Hour, sale.SentAccepted, 2, 1},
		"busy at first":                              {"alipay", []how{busy}, 0, sale.SentAccepted, 1, 0},
		"busy when it may have gone":                 {"alipay", []how{lost, busy, busy}, 0, sale.SentAccepted, 1, 0},
		"refused":                                    {"stripe", []how{refuses}, 0, sale.SentRefused, 1, 0},
		"busy, and then refused":                     {"stripe", []how{busy, refuses}, 0, sale.SentRefused, 1, 0},
		"the key is wrong when it may have gone":     {"stripe", []how{lost, halts}, 0, sale.SentUnknown, 1, 0},
		"the key is wrong for a repeat":              {"stripe", []how{lostHalts}, 0, sale.SentUnknown, 1, 0},
		"the key is wrong at first":                  {"stripe", []how{halts}, 0, "", 1, 0},
		"cut, and a provider that tells nothing old": {"adyen", []how{cut}, 31 * 24 * time.Hour, sale.SentUnknown, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				b := w.banks[tt.provider]
				b.script = func(n int, _ string) how { return append(tt.fates, well)[min(n-1, len(tt.fates))] }
				w.due(tt.provider, 0, 1)
				id := w.press("p1", 1)
				_, _ = w.run()
				if s := w.sending(id); s.IsOpen() && s.Left != 1 {
					t.Errorf("%d are told to be left until %v, want 1", s.Left, s.NextAt)
				}
				time.Sleep(tt.pause)
				for range 20 {
					time.Sleep(time.Until(w.sending(id).NextAt))
					_, _ = w.run()
				}
				sent, s := w.sent()[tt.provider+"#p000"], w.sending(id)
				if sent.State != tt.want || len(b.ids) != tt.ids || b.asked != tt.asked || s.Taken != 1 {
					t.Errorf("got %+v after %d ids and %d questions, want %q after %d and %d; %+v",
						sent, len(b.ids), b.asked, tt.want, tt.ids, tt.asked, s)
				}
				isLeft := tt.want == sale.SentUnknown && tt.provider != "adyen"
				if s.IsOpen() != isLeft || tt.want != sale.SentUnknown && w.agree() != len(b.back) {
					t.Errorf("it goes on: %t; want %t", s.IsOpen(), isLeft)
				}
			})
		})
	}
}

func TestTheNextPressAsksAgainForWhatWasRefused(t *testing.T) {
	for name, ids := range map[string]int{"stripe": 2, "wechat-pay": 1, "alipay": 1, "adyen": 2} {
		in(t, func(w *world) {
			b := w.banks[name]
			b.script = first(1, refuses)
			w.due(name, 0, 1)
			w.finish(w.press("p1", 1))
			if _, _ = w.run(); b.n != 1 {
				t.Errorf("%s: without another press it is called %d times", name, b.n)
			}
			w.finish(w.press("p2", 1))
			if n := w.agree(); n != 1 || len(b.ids) != ids {
				t.Errorf("%s: %d accepted under %d ids, want 1 under %d", name, n, len(b.ids), ids)
			}
		})
	}
}

func TestThePressAfterAStopAnswersForWhatWasUnderWay(t *testing.T) {
	in(t, func(w *world) {
		b := w.banks["wechat-pay"]
		b.script = first(2, lost)
		w.due("wechat-pay", 0, 3)
		id := w.press("p1", 2)
		_, _ = w.run()
		w.stop(id)
		if s := w.finish(w.press("p2", 3)); s.Taken != 3 || w.agree() != 3 {
			t.Errorf("got %+v, want that it took all 3", s)
		}
	})
}

func TestAProviderThatCannotBeUsedIsHaltedAndOthersGoOn(t *testing.T) {
	for name, tt := range map[string]struct {
		wrong func(w *world, b *bank)
		code  string
		calls int // at most
	}{
		"the key is wrong":        {func(_ *world, b *bank) { b.script = first(1000, halts) }, "halts", atOnce},
		"one refusal of all":      {func(_ *world, b *bank) { b.script = first(1000, refuses) }, "refuses", maxRefusals + atOnce - 1},
		"no key":                  {func(w *world, _ *bank) { delete(w.keys, "stripe") }, "no-key", 0},
		"settings without a host": {func(w *world, _ *bank) { w.wrong = map[string]error{"stripe": errors.New("no prefix")} }, "wrong-key-settings", 0},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				b := w.banks["stripe"]
				b.took = time.Second / 10
				tt.wrong(w, b)
				w.due("stripe", 0, 30)
				w.due("wechat-pay", 0, 3)
				w.Log.Reset()
				s := w.finish(w.press("p1", 33))
				if got := s.Halted["stripe"]; len(s.Halted) != 1 || got.Code != tt.code || got.Words == "" || b.n > tt.calls || w.agree() != 3 {
					t.Errorf("got %+v after %d calls, want the halt %s", s.Halted, b.n, tt.code)
				}
				line := w.Lines("message", "payment")["refunds halted"]
				if line.Fields["provider"] != "stripe" || line.Fields["code"] != tt.code || line.Fields["refundsHalted"] != 1.0 {
					t.Errorf("got the line %+v", line.Fields)
				}
			})
		})
	}
}

func TestRefusalsForSeveralReasonsHaltNobody(t *testing.T) {
	in(t, func(w *world) {
		b := w.banks["stripe"]
		b.script = func(n int, _ string) how { return map[bool]how{true: refuses + how(fmt.Sprint(n%5))}[n%6 != 0] }
		w.due("stripe", 0, 30)
		if s := w.finish(w.press("p1", 30)); len(s.Halted) != 0 || w.agree() != 5 {
			t.Errorf("got %+v and %d back, want 5", s, w.agree())
		}
	})
}

func TestWhatIsRefusedInEachPressHoldsUpNoOthersForEver(t *testing.T) {
	in(t, func(w *world) {
		b := w.banks["stripe"]
		b.script = func(_ int, reference string) how { return map[bool]how{true: refuses}[reference < "p010"] }
		w.due("stripe", 0, 30)
		for press := range 5 {
			w.finish(w.press(fmt.Sprint("p", press), 30))
		}
		if n := w.agree(); n != 20 {
			t.Errorf("after five presses %d are back, want all 20 that are not refused", n)
		}
	})
}

func TestAnIDMeansNothingAtAnotherAccount(t *testing.T) {
	in(t, func(w *world) {
		b := w.banks["stripe"]
		b.script = first(1, lost)
		w.due("stripe", 0, 1)
		id := w.press("p1", 1)
		_, _ = w.run()
		b.account = "test"
		w.due("stripe", 1, 30) // of that account
		time.Sleep(sale.LeaseFor)
		w.press("p2", 31)
		_, _ = w.run()
		if len(b.back) != 31 {
			t.Errorf("one of another account holds up others: %d are back", len(b.back))
		}
		s := w.sending(id)
		if b.ids[w.sent()["stripe#p000"].ID] != 1 || s.Halted["stripe"].Code != "other-account" || !s.IsOpen() || w.sent()["stripe#p000"].State != sale.SentUnknown {
			t.Errorf("got %d calls and %+v, want it unknown, and told", b.n, s)
		}
		b.account = ""
		w.press("p3", 1)
		w.finish(id)
		w.agree()
	})
}

// A provider that does not answer costs each run half a minute, and nobody else's turn; payments that get no answer
// hold up no others.
func TestAProviderThatHangsHoldsUpNoOtherSending(t *testing.T) {
	for _, payments := range [][]sale.SalePayment{nil, named("alipay", 30)} {
		in(t, func(w *world) {
			b, until := w.banks["alipay"], "p999"
			b.script = func(_ int, reference string) how { return map[bool]how{true: hangs}[reference < until] }
			w.due("alipay", 0, 30)
			w.due("stripe", 0, 30)
			first := w.press("p1", 30, payments...)
			second := w.press("p2", 20, named("stripe", 20)...)
			for _, step := range []struct {
				until string
				runs  int
				want  [2]int // given back by alipay and stripe
			}{{until, 1, [2]int{0, 20}}, {"p005", 7, [2]int{25, 20}}, {"", 40, [2]int{30, 20}}} {
				until = step.until
				for range step.runs {
					if _, err := w.run(); err != nil {
						t.Error(err)
					}
				}
				if got := [2]int{len(b.back), len(w.banks["stripe"].back)}; got != step.want || b.most > atOnce {
					t.Errorf("while those before %q hang: got %v, want %v, and %d calls at once", until, got, step.want, b.most)
				}
			}
			if one, other := w.sending(first), w.sending(second); one.Taken != 30 || one.IsOpen() || other.Taken != 20 || w.agree() != 50 {
				t.Errorf("got %+v and %+v", one, other)
			}
		})
	}
}

func TestAPageOfASlowProviderThatTakesAWholeRunHoldsUpNoOtherSending(t *testing.T) {
	in(t, func(w *world) {
		w.banks["alipay"].took = 20 * time.Second
		w.due("alipay", 0, 100)
		w.due("stripe", 0, 20)
		w.press("p1", 100, named("alipay", 100)...)
		w.press("p2", 20, named("stripe", 20)...)
		for range 2 {
			_, _ = w.run()
		}
		if n, other := len(w.banks["stripe"].back), len(w.banks["alipay"].back); n != 20 || other == 0 {
			t.Errorf("after two runs %d are back of the other sending, and %d of the slow one; want 20 and some", n, other)
		}
	})
}

func TestABusyProviderIsLeftAloneAsLongAsItSays(t *testing.T) {
	in(t, func(w *world) {
		b := w.banks["stripe"]
		b.script = first(1, busy)
		w.due("stripe", 0, 10)
		w.finish(w.press("p1", 10))
		if pause := b.at[atOnce].Sub(b.at[0]); pause < 3*time.Second || w.agree() != 10 || b.n != 11 {
			t.Errorf("the next of %d calls began %v after it was busy for 3 s, and %d are back", b.n, pause, len(b.back))
		}
	})
}

func named(provider string, n int) (all []sale.SalePayment) {
	for i := range n {
		all = append(all, sale.SalePayment{Payment: fmt.Sprintf("%s#p%03d", provider, i)})
	}
	return all
}

func TestRunsThatOverlapGiveBackOnce(t *testing.T) {
	in(t, func(w *world) {
		random, mu := rand.New(rand.NewPCG(1, 2)), sync.Mutex{}
		for _, b := range w.banks {
			b.took = 300 * time.Millisecond
			b.script = func(int, string) how {
				mu.Lock()
				defer mu.Unlock()
				return []how{well, well, well, lost, cut, busy}[random.IntN(6)]
			}
		}
		w.due("stripe", 0, 40)
		w.due("wechat-pay", 0, 20)
		id := w.press("p1", 60)
		var all sync.WaitGroup
		for range 3 {
			h := w.handler()
			h.log = telemetry.New(io.Discard, "refund", time.Now)
			all.Go(func() {
				w.Within(time.Minute, func(ctx context.Context) { _, _ = h.Handle(ctx, nil) })
			})
			time.Sleep(100 * time.Millisecond)
		}
		all.Wait()
		s := w.finish(id)
		if n := w.agree(); n != 60 || s.Taken > 60 {
			t.Errorf("%d accepted, and %d taken, want 60", n, s.Taken)
		}
	})
}

// unsaved is the table while another release, or another run, writes how far a sending has come.
type unsaved struct {
	Ledger
	reads int
}

func (u *unsaved) Sending(ctx context.Context, id string) (sale.Sending, error) {
	if u.reads++; u.reads > 99 {
		return sale.Sending{}, context.DeadlineExceeded
	}
	return u.Ledger.Sending(ctx, id)
}

func (u *unsaved) SaveSending(context.Context, sale.Sending, sale.Sending) (bool, error) {
	return false, nil
}

func TestASendingWhoseProgressIsAnothersIsLeftToTheNextRun(t *testing.T) {
	in(t, func(w *world) {
		w.due("stripe", 0, 1)
		w.press("p1", 1)
		h, u := w.handler(), &unsaved{Ledger: w.Ledger()}
		h.ledger = u
		w.Within(time.Minute, func(ctx context.Context) { _, _ = h.Handle(ctx, nil) })
		if u.reads > 1 {
			t.Errorf("the run has begun %d turns of the sending, want 1", u.reads)
		}
	})
}

// A run dies at each of its calls of the table, before or after the write; the next one dies, too, and then others follow.
func TestARunThatDiesAnywhereLosesAndRepeatsNothing(t *testing.T) {
	for seed := range uint64(6) {
		for at, isOver := int64(1), false; !isOver; at++ {
			for _, kind := range []dynamotest.Kind{dynamotest.LostReply, dynamotest.ServerError} {
				in(t, func(w *world) {
					random := rand.New(rand.NewPCG(seed, uint64(at)))
					fates := make([]how, 50)
					for i := range fates[:seed*5] {
						fates[i] = []how{well, well, lost, cut, busy, refuses}[random.IntN(6)]
					}
					for _, b := range w.banks {
						b.script = func(n int, _ string) how { return fates[min(n, 49)] }
					}
					w.due("stripe", 0, 3)
					w.due("alipay", 0, 2)
					id := w.press("p1", 4)
					for i, last := range []int64{at, 2 + random.Int64N(12)} {
						var n atomic.Int64
						w.DB.Fault = func(dynamotest.Call) (f dynamotest.Fault) {
							if n := n.Add(1); n == last {
								f.Kind = kind
							} else if n > last {
								f.Kind = dynamotest.ServerError
							}
							return f
						}
						_, _ = w.run()
						isOver = i == 0 && n.Load() < at || i > 0 && isOver
						w.DB.Fault = nil
						time.Sleep(time.Duration(random.IntN(2)) * sale.LeaseFor)
					}
					s := w.finish(id)
					if n := w.agree(); s.Taken != 4 || seed == 0 && n != 4 {
						t.Errorf("dead at call %d (seed %d): %d accepted of %+v", at, seed, n, s)
					}
				})
			}
		}
	}
}
