package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// presses is a press of kim's for that many refunds of the sale, as they are due now.
func (w *World) presses(id string, count int64, scope sale.SendingScope) sale.Sending {
	w.T.Helper()
	s := sale.Sending{
		ID: sale.SendingID(w.Now(), id), Scope: scope, AsOf: w.Now(), Count: count, Sums: map[string]int64{"CNY": count * 199900},
		Author: sale.Author{Actor: "kim", Note: "recalled"},
	}
	w.Succeeds(nil, s.Check(w.Now()))
	begun, isNew, err := w.Environment().BeginSending(w.Ctx, s)
	w.Succeeds(nil, err)
	check(w.T, isNew, "%s had begun before", id)
	return begun
}

// dueOf makes a refund due of a payment of an unknown order, and returns it.
func (w *World) dueOf(provider string, n int) sale.Refund {
	w.T.Helper()
	p := PaymentOf(0, fmt.Sprintf("%06dx", n))
	p.Provider = provider
	w.Settles(p)
	return w.refundOf(p.ID())
}

func (w *World) refundOf(payment string) sale.Refund {
	w.T.Helper()
	page, _, _, err := w.Ledger.RefundPage(w.Ctx, "", strings.TrimSuffix(payment, "x"), 1)
	if err != nil || len(page) != 1 || page[0].Payment != payment {
		w.T.Fatalf("got %+v (%v), want the refund of %s", page, err, payment)
	}
	return page[0]
}

// onARefund are what may happen to a refund due, which was taken by the first sending where an answer is noted.
func (w *World) onARefund(l *ledger.Ledger, what string, taken sale.Refund, sendings [2]sale.Sending) (told string) {
	w.T.Helper()
	w.Pass(time.Second)
	r := w.refundOf(taken.Payment)
	kind, of, _ := strings.Cut(what, " ")
	_, reference, _ := strings.Cut(r.Payment, "#")
	var err error
	isDone := false
	report := func(r sale.MoneyReport) {
		r.Provider = "adyen"
		_, err = l.ReportMoney(w.Ctx, r)
	}
	switch kind {
	case "take":
		s := sendings[0]
		if of == "2" {
			s = sendings[1]
		}
		if step := r.Step(&s, w.Now()); step != sale.SendNew && step != sale.SendAgain && step != sale.SendAsk {
			return ""
		}
		_, isDone, err = l.TakeRefund(w.Ctx, r, &s, "acct")
	case "accept":
		_, err = l.NoteSent(w.Ctx, taken, taken.Sent.Accepted("b"), nil)
	case "done":
		done := halves(reference, "done b 2")
		done.Provider = "adyen"
		_, err = l.NoteSent(w.Ctx, taken, taken.Sent.Accepted("b"), []sale.MoneyReport{done})
	case "refuse":
		_, err = l.NoteSent(w.Ctx, taken, taken.Sent.Refused(sale.SendingRule{AfterRefusal: true}, "no-balance", "Top up."), nil)
	case "mark":
		m := l.MarkRefunds(w.Ctx, "", []string{r.Payment}, "kim")[0]
		isDone, err = m.Marked, m.Err
	case "unmark":
		_, isDone, err = l.UnmarkRefund(w.Ctx, "", r.Payment, "kim", "no")
	case "lost", "won":
		report(disputed(reference, sale.DisputeState(kind), map[string]int64{"won": 1}[kind]))
	default:
		report(halves(reference, of))
	}
	if err != nil && sale.CodeOf(err) != sale.Conflicting {
		w.T.Errorf("%s: %v", what, err)
	}
	if isDone && kind != "unmark" { // who finds it taken back with the same note is told that it was
		return what
	}
	return string(sale.CodeOf(err))
}

// saysOf is all that a refund due says, but for instants and the id.
func saysOf(r sale.Refund) string {
	isLeased := !r.Sent.Lease.IsZero()
	r.Sent.At, r.Sent.Lease, r.Sent.ID = time.Time{}, time.Time{}, ""
	return fmt.Sprintf("%+v, leased: %t, back %d, failed %d, stuck %t, disputed %q, marked %t by %q",
		r.Sent, isLeased, r.Back, r.Failures, r.Stuck, r.Disputed, !r.RefundedAt.IsZero(), r.RefundedBy)
}

var sending = map[string]func(*testing.T, *World){
	// An Adyen payment, because of it a person may say what became of it.
	"two that write what became of a refund that is sent do so one after the other": func(t *testing.T, w *World) {
		if w.Engine.Contended {
			return
		}
		due := 0
		w.Ctx = t.Context() // the waits of all of them together take minutes of virtual time
		sendings := [2]sale.Sending{w.presses("one", 3000, sale.SendingScope{}), w.presses("two", 3000, sale.SendingScope{})}
		for i := range sendings {
			sendings[i].AsOf = w.Now().Add(10_000 * time.Hour)
		}
		firsts := []string{"take 1", "accept", "done", "refuse", "mark", "unmark", "report failed b 2", "report done b 2", "report failed c 1", "lost", "won"}
		for _, before := range []string{
			"", "report failed c 1", "report failed c 1,mark", "report stuck c 1,mark,lost", "take 1", "take 1,report done c 2", "take 1,lost", "take 1,late", "take 1,late,mark", "take 1,late,report stuck b 2,mark",
			"take 1,late,report failed c 1", "take 1,refuse", "take 1,refuse,report failed c 1,mark", "take 1,accept", "take 1,accept,report done b 2", "take 1,report stuck b 2",
		} {
			for _, first := range firsts {
				for _, second := range append([]string{"take 2", "report stuck b 2"}, firsts...) {
					isTaken := strings.HasPrefix(before, "take")
					isNote := func(what string) bool { return slices.Contains([]string{"accept", "done", "refuse"}, what) }
					if (isNote(first) || isNote(second)) && (!isTaken || strings.Contains(before, "refuse") || strings.Contains(before, "accept")) {
						continue // there is no answer to note
					}
					run := func(n int) (says string, writes int) {
						told := map[string]string{}
						due++
						taken := w.dueOf("adyen", due)
						for what := range strings.SplitSeq(before, ",") {
							switch what {
							case "":
							case "late":
								w.Pass(sale.LeaseFor)
							default:
								w.onARefund(w.Environment(), what, taken, sendings)
							}
							if what == "take 1" {
								taken = w.refundOf(taken.Payment)
							}
						}
						overtakes := once(func() { told["second"] = w.onARefund(w.Environment(), second, taken, sendings) })
						if n < 0 {
							overtakes()
						}
						l := w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
							if op == "UpdateItem" || op == "TransactWriteItems" {
								if writes++; writes == n {
									overtakes()
								}
							}
							return call()
						})
						if n != -2 { // or else whoever takes is told that it is too late, and does not try again
							told["first"] = w.onARefund(l, first, taken, sendings)
						}
						overtakes()
						r := w.refundOf(taken.Payment)
						isUpToDate := w.Item("MONEY#"+r.Payment, "MONEY") == nil || w.Number("MONEY#"+r.Payment, "MONEY", "v") == r.MoneyVersion
						return fmt.Sprint(saysOf(r), " ", told["first"], ", ", told["second"], ", up to date: ", isUpToDate), writes
					}
					if w.leavesOut() {
						continue
					}
					inOrder, writes := run(0)
					turned, _ := run(-1)
					alone := turned
					if strings.HasPrefix(first, "take") {
						alone, _ = run(-2)
					}
					for n := range writes {
						got, _ := run(n + 1)
						check(t, got == inOrder || got == turned || got == alone, "after %q, %q before write %d of %q:\ngot  %s\nwant %s\nor   %s",
							before, second, n+1, first, got, inOrder, turned)
					}
				}
			}
		}
	},
	"who takes a refund has it as it was read": func(t *testing.T, w *World) {
		s := w.presses("one", 9, sale.SendingScope{})
		s.AsOf = w.Now().Add(10_000 * time.Hour)
		n := 0
		for _, before := range []string{"", "report failed c 1", "report failed c 1,take 1,refuse"} {
			for _, meanwhile := range []string{"take 1", "mark", "lost", "report stuck b 2", "report done b 1"} {
				n++
				r := w.dueOf("adyen", n)
				for what := range strings.SplitSeq(before, ",") {
					if what != "" {
						w.onARefund(w.Environment(), what, r, [2]sale.Sending{s})
						r = w.refundOf(r.Payment)
					}
				}
				s2 := s
				s2.ID = sale.SendingID(w.Now(), "two")
				slow := w.overtaken("UpdateItem", func() { w.onARefund(w.Environment(), meanwhile, r, [2]sale.Sending{s2}) })
				_, isTaken, err := slow.TakeRefund(w.Ctx, r, &s, "live")
				check(t, !isTaken && err == nil, "after %q, before %q: got %t (%v), want it not taken", before, meanwhile, isTaken, err)
			}
		}
		_, isTaken, err := w.Environment().TakeRefund(w.Ctx, sale.Refund{Payment: "adyen#none", Amount: 1, Currency: "CNY"}, &s, "live")
		check(t, !isTaken && err == nil, "what is not there: got %t (%v)", isTaken, err)
		w.hasNoItem("REFUND#", "adyen#none")
	},
	"a refund is sent under one id until it is known what became of it, and under the next one after a refusal or a failure": func(t *testing.T, w *World) {
		s := w.presses("one", 9, sale.SendingScope{})
		takes := func(r sale.Refund) sale.Refund {
			t.Helper()
			taken, isTaken, err := w.Environment().TakeRefund(w.Ctx, r, &s, "live")
			want := sale.Sent{State: sale.SentUnknown, ID: taken.Sent.ID, Tries: r.Sent.Tries, At: w.Now(), Lease: w.Now().Add(sale.LeaseFor), By: s.ID, Account: "live"}
			if r.Sent.State == sale.SentUnknown {
				want.At, want.Code, want.Words = r.Sent.At, r.Sent.Code, r.Sent.Words
			}
			check(t, isTaken && err == nil && taken.Sent == want && len(want.ID) == 32, "got %+v, %t (%v), want %+v", taken.Sent, isTaken, err, want)
			return taken
		}
		notes := func(r sale.Refund, after sale.Sent, money ...sale.MoneyReport) sale.Refund {
			t.Helper()
			w.Pass(time.Minute)
			noted, err := w.Environment().NoteSent(w.Ctx, r, after, money)
			w.Succeeds(nil, err)
			check(t, noted == w.refundOf(r.Payment), "got %+v, want it as it is stored", noted)
			return noted
		}
		ids := map[string]string{}
		for i, tt := range []struct{ provider, want string }{ // which tries have the id of the first, a refusal and a failure between them
			{"stripe", "abc"}, {"wechat-pay", "aab"}, {"alipay", "aaa"}, {"adyen", "abc"},
		} {
			r := w.dueOf(tt.provider, i)
			rule, _ := sale.SendingRuleOf(r.Payment)
			report := halves(fmt.Sprintf("%06dx", i), "failed b 2")
			report.Provider = tt.provider
			got, letters := "", map[string]string{}
			tells := func(taken sale.Refund) sale.Refund {
				if letters[taken.Sent.ID] == "" {
					check(t, ids[taken.Sent.ID] == "", "the id is that of a request for %s, too", ids[taken.Sent.ID])
					ids[taken.Sent.ID], letters[taken.Sent.ID] = r.Payment, string(rune('a'+len(letters)))
				}
				got += letters[taken.Sent.ID]
				return taken
			}
			taken := tells(takes(r))
			again := takes(notes(taken, taken.Sent.StillUnknown("500", "Oops.")))
			check(t, again.Sent.ID == taken.Sent.ID, "it is repeated under another id")
			r = notes(again, again.Sent.Refused(rule, "no-balance", "Top up."))
			check(t, r.Sent.State == sale.SentRefused && r.Sent.Code == "no-balance" && r.Sent.Words == "Top up." && r.IsDue(), "got %+v", r)
			taken = tells(takes(r))
			r = notes(taken, taken.Sent.Accepted("b"), report) // which it has failed meanwhile
			check(t, r.Sent.State == sale.SentRefused && r.Sent.Code == sale.RefundHasFailed && r.Failures == 1, "got %+v", r)
			taken = tells(takes(r))
			r = notes(taken, taken.Sent.Accepted("c"))
			check(t, r.Sent == sale.Sent{State: sale.SentAccepted, ID: taken.Sent.ID, Tries: taken.Sent.Tries, At: taken.Sent.At, By: s.ID, Account: "live", Refund: "c"},
				"got %+v", r.Sent)
			check(t, got == tt.want, "%s: got ids %s, want %s", tt.provider, got, tt.want)
			report.Refund.ID = "c"
			w.Reports(report)
			r = w.refundOf(r.Payment)
			check(t, r.Sent.Code == sale.RefundHasFailed && r.Sent.State == sale.SentRefused && r.Failures == 2, "it has failed: got %+v", r)
		}
	},
	"a failure that an answer tells takes away the mark of a report, and the sale's listing notes it": func(t *testing.T, w *World) {
		w.Open(9, 1)
		id := w.Ordered("ann")[0]
		w.Settles(PaymentOf(id, "pi_1"))
		w.Settles(PaymentOf(id, "pi_2"))
		s := w.presses("one", 1, sale.SendingScope{SaleID: "moutai"})
		taken, _, err := w.Environment().TakeRefund(w.Ctx, w.refunds("moutai")[0], &s, "live")
		w.Succeeds(nil, err)
		w.Pass(time.Second)
		w.Reports(halves("pi_2", "done b 2"))
		w.hasRefund(false, false, "a report says that it is back")
		w.Pass(time.Second)
		w.Succeeds(w.Environment().NoteSent(w.Ctx, taken, taken.Sent.Accepted("b"), []sale.MoneyReport{halves("pi_2", "failed b 2")}))
		w.hasRefund(true, true, "its answer says that it has failed")
	},
	"what was sent is not marked by hand, but for what nobody can ask a provider about": func(t *testing.T, w *World) {
		s := w.presses("one", 9, sale.SendingScope{})
		for i, provider := range []string{"stripe", "adyen"} {
			r := w.dueOf(provider, i)
			tells := func(wantMark, wantUnmark string) {
				t.Helper()
				before := w.refundOf(r.Payment)
				m := w.Environment().MarkRefunds(w.Ctx, "", []string{r.Payment}, "kim")[0]
				got := string(sale.CodeOf(m.Err))
				if got == "" && m.Marked {
					got = "marked"
				}
				check(t, got == wantMark, "%s is %q, marked: got %q, want %q", r.Payment, before.Sent.State, got, wantMark)
				after, done, err := w.Environment().UnmarkRefund(w.Ctx, "", r.Payment, "kim", "wrong")
				if got = string(sale.CodeOf(err)); done && after.UnmarkedBy == "kim" && after.UnmarkNote == "wrong" && after.RefundedBy == "" {
					got = "unmarked"
				}
				check(t, got == wantUnmark && (err != nil || after == w.refundOf(r.Payment)), "%s is %q, unmarked: got %q, want %q", r.Payment, before.Sent.State, got, wantUnmark)
			}
			taken, _, err := w.Environment().TakeRefund(w.Ctx, r, &s, "live")
			w.Succeeds(nil, err)
			tells(string(sale.Conflicting), string(sale.Conflicting))
			w.Succeeds(w.Environment().NoteSent(w.Ctx, taken, taken.Sent.StillUnknown("", ""), nil))
			tells(string(sale.Conflicting), string(sale.Conflicting)) // the call may still be under way
			w.Pass(sale.LeaseFor)
			if provider == "stripe" {
				tells(string(sale.Conflicting), string(sale.Conflicting))
				continue
			}
			tells("marked", "unmarked")
			for tries := range int64(2) { // and one that was not marked
				r = w.refundOf(r.Payment)
				check(t, r.Sent == sale.Sent{Tries: 1 + tries} && r.UnmarkNote == "wrong"[tries:] && r.UnmarkedBy == "kimi"[:3+tries] && r.IsDue(),
					"got %+v, want it due, and sent under another id", r)
				if tries == 0 {
					w.Succeeds(errOf2(w.Environment().TakeRefund(w.Ctx, r, &s, "live")), nil)
					w.Pass(sale.LeaseFor)
					_, done, err := w.Environment().UnmarkRefund(w.Ctx, "", r.Payment, "kimi", "rong")
					check(t, done && err == nil, "it is not taken back: %v", err)
				}
			}
			again, _, err := w.Environment().TakeRefund(w.Ctx, r, &s, "live")
			w.Succeeds(nil, err)
			w.Succeeds(w.Environment().NoteSent(w.Ctx, again, again.Sent.Accepted("b"), nil))
			w.Pass(sale.LeaseFor)
			tells(string(sale.Conflicting), "")
			check(t, again.Sent.ID != taken.Sent.ID, "the id is the same")
		}
	},
	"a failure that is reported while its acceptance is noted makes the refund due": func(t *testing.T, w *World) {
		s := w.presses("one", 9, sale.SendingScope{})
		for i, first := range []string{"", "report done b 2"} {
			taken, _, err := w.Environment().TakeRefund(w.Ctx, w.dueOf("adyen", i), &s, "live")
			w.Succeeds(nil, err)
			if first != "" { // the failure is then a transaction
				w.onARefund(w.Environment(), first, taken, [2]sale.Sending{})
			}
			writes, n := func() {}, 0
			// The report comes when the account was read, and the acceptance is written before the report is applied.
			reports := w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
				if op == "UpdateItem" || op == "TransactWriteItems" {
					if n++; n == 3 { // after the account, and the refund as if nothing were known of it
						writes()
					}
				}
				return call()
			})
			accepts := w.Hooked(func(_ string, in any, call func() (out any, err error)) (out any, err error) {
				if _, isWrite := in.(*dynamodb.UpdateItemInput); !isWrite {
					return call()
				}
				writes = once(func() { out, err = call() })
				w.onARefund(reports, "report failed b 2", taken, [2]sale.Sending{})
				writes()
				return out, err
			})
			w.Succeeds(accepts.NoteSent(w.Ctx, taken, taken.Sent.Accepted("b"), nil))
			r := w.refundOf(taken.Payment)
			check(t, r.Sent.State == sale.SentRefused && r.Sent.Code == sale.RefundHasFailed && r.IsDue() && r.Failures == 1, "after %q got %+v", first, r)
		}
	},
	"a failure whose report died is known to whoever marks the refund or takes its mark back": func(t *testing.T, w *World) {
		s := w.presses("one", 9, sale.SendingScope{})
		for i, what := range []string{"unmark", "mark"} {
			taken, _, err := w.Environment().TakeRefund(w.Ctx, w.dueOf("adyen", i), &s, "live")
			w.Succeeds(nil, err)
			w.Succeeds(w.Environment().NoteSent(w.Ctx, taken, taken.Sent.Accepted("b"), nil))
			w.onARefund(w.Environment(), "report done b 2", taken, [2]sale.Sending{})
			report := halves(fmt.Sprintf("%06dx", i), "failed b 2")
			report.Provider = "adyen"
			ctx, dies := w.cutAfter(1)
			dies.ReportMoney(ctx, report)
			w.onARefund(w.Environment(), what, taken, [2]sale.Sending{})
			if v := w.refundOf(taken.Payment).MoneyVersion; what == "unmark" {
				w.hasNumber(v, "MONEY#"+taken.Payment, "MONEY", "v")
			}
			w.Reports(report)
			r := w.refundOf(taken.Payment)
			check(t, r.Sent.State == sale.SentRefused && r.IsDue(), "after %s got %+v", what, r)
		}
	},
	"whoever takes back a disputed refund's mark, or has a failure take it, leaves nothing of it": func(t *testing.T, w *World) {
		for i, what := range []string{"unmark", "report failed b 1", "unmark"} {
			r := w.dueOf("adyen", i)
			w.onARefund(w.Environment(), "mark", r, [2]sale.Sending{})
			ctx, dies := w.cutAfter(2 - i/2) // the last one before the refund says so
			report := disputed(fmt.Sprintf("%06dx", i), sale.DisputeLost, 1)
			report.Provider = "adyen"
			dies.ReportMoney(ctx, report)
			w.onARefund(w.Environment(), what, r, [2]sale.Sending{})
			r = w.refundOf(r.Payment)
			check(t, r.RefundedAt.IsZero() && r.RefundedBy == "" && !r.IsDue() && (r.UnmarkedBy == "kim") == (what == "unmark"), "after %q got %+v", what, r)
			w.hasNumber(r.MoneyVersion, "MONEY#"+r.Payment, "MONEY", "v")
		}
	},
	"a dispute that was reported before its payment, whose report died, is known to who would send the refund": func(t *testing.T, w *World) {
		w.Reports(disputed("pi_1", sale.DisputeOpen, 1))
		ctx, dies := w.cutAfter(1)
		dies.Pay(ctx, PaymentOf(0, "pi_1"))
		s := w.presses("one", 9, sale.SendingScope{})
		for range 2 {
			page, err := w.Environment().SendingPage(w.Ctx, &s, 9)
			check(t, err == nil && len(page.Refunds) == 1 && page.Refunds[0].IsHeldBack() && page.Refunds[0] == w.refunds("")[0], "got %+v (%v)", page, err)
			check(t, w.Item("MONEY#stripe#pi_1", "MONEY")["expiresAt"] == nil, "its account expires")
		}
	},
	"a sending begins once, goes on while it is neither stopped nor over, and forgets nothing that it has done": func(t *testing.T, w *World) {
		w.Pass(time.Hour)
		first := w.presses("one", 2, sale.SendingScope{SaleID: "moutai"})
		w.Pass(time.Minute)
		second := w.presses("two", 3, sale.SendingScope{Payments: []sale.SalePayment{{SaleID: "moutai", Payment: "stripe#pi_1"}}})
		again, isNew, err := w.Environment().BeginSending(w.Ctx, first)
		check(t, !isNew && err == nil && fmt.Sprint(again) == fmt.Sprint(first), "pressed again got %+v, new: %t (%v)", again, isNew, err)
		other := first
		other.Count++
		w.Refused(sale.Conflicting, errOf2(w.Environment().BeginSending(w.Ctx, other)))
		has := func(want ...sale.Sending) {
			t.Helper()
			all, err := w.Environment().Sendings(w.Ctx)
			check(t, err == nil && fmt.Sprint(all) == fmt.Sprint(want), "got %+v (%v), want %+v", all, err, want)
		}
		has(second, first)
		now := first
		now.Taken, now.SaleID, now.After, now.Amounts = 1, "moutai", "stripe#pi_1", map[string]int64{"CNY": 199900}
		now.Halted, now.NextAt = map[string]sale.Halt{"stripe": {Code: "no-key", Words: "No.", At: w.Now()}}, w.Now()
		saves := func(l *ledger.Ledger, was, now sale.Sending, want bool, why string) {
			t.Helper()
			done, err := l.SaveSending(w.Ctx, was, now)
			check(t, done == want && err == nil, "%s: got %t (%v), want %t", why, done, err, want)
		}
		saves(w.forgetting("UpdateItem"), first, now, true, "its first answer is lost")
		saves(w.Environment(), first, now, false, "another run has gone on")
		over := now
		over.EndedAt = w.Now()
		stops := func(l *ledger.Ledger, id string, want bool, why string) sale.Sending {
			t.Helper()
			s, done, err := l.StopSending(w.Ctx, id, "lee")
			check(t, done == want && err == nil, "%s: got %t (%v), want %t", why, done, err, want)
			return s
		}
		saves(w.overtaken("UpdateItem", func() { stops(w.Environment(), first.ID, true, "it goes on") }), now, over, false, "it was stopped")
		stopped := stops(w.Environment(), first.ID, false, "it was stopped before")
		check(t, stopped.StoppedBy == "lee" && stopped.StoppedAt.Equal(w.Now()) && stopped.EndedAt.IsZero() && stopped.Taken == 1, "got %+v", stopped)
		now.StoppedBy, now.StoppedAt = "lee", stopped.StoppedAt
		fourth := w.presses("four", 1, sale.SendingScope{})
		further, other := fourth, fourth
		further.After, other.After = "b", "c"
		saves(w.Environment(), fourth, further, true, "it has begun")
		saves(w.Environment(), further, other, true, "it goes on")
		saves(w.Environment(), further, other, false, "another run has gone on")
		further.EndedAt = w.Now()
		saves(w.Environment(), other, further, true, "it is over")
		w.Pass(time.Minute)
		third := w.presses("three", 1, sale.SendingScope{})
		over = third
		over.EndedAt = w.Now()
		saves(w.Environment(), third, over, true, "it has nothing to do")
		stops(w.Environment(), third.ID, false, "it is over")
		stops(w.forgetting("UpdateItem"), second.ID, true, "its first answer is lost")
		second.StoppedBy, second.StoppedAt = "lee", w.Now()
		has(over, second, further, now)
		one, err := w.Environment().Sending(w.Ctx, first.ID)
		check(t, err == nil && fmt.Sprint(one) == fmt.Sprint(now), "got %+v (%v), want %+v", one, err, now)
		for _, id := range []string{"none", sale.SendingID(w.Now(), "four")} {
			w.Refused(sale.OrderNotFound, errOf(w.Environment().Sending(w.Ctx, id)))
			_, _, err = w.Environment().StopSending(w.Ctx, id, "lee")
			w.Refused(sale.OrderNotFound, err)
			saves(w.Environment(), sale.Sending{ID: id}, sale.Sending{ID: id, EndedAt: w.Now()}, false, "there is none")
			w.hasNoItem("SENDS", id)
		}
		w.Pass(sale.SendingsFor + time.Minute)
		has()
	},
	"a sending reads each refund of its scope once, page by page": func(t *testing.T, w *World) {
		for i, saleID := range []string{"a", "b", "c"} {
			w.openIn("sizes", saleID, 1)
			for n := range 3 {
				p := PaymentOf(w.orderedIn(saleID, fmt.Sprintf("u%d%d", i, n)), fmt.Sprintf("first_%d%d", i, n))
				p.SaleID = saleID
				w.Settles(p)
				if p.Reference = fmt.Sprintf("pi_%d%d", i, n); saleID != "c" {
					w.Settles(p)
				}
			}
		}
		w.Settles(PaymentOf(0, "pi_x"))
		for _, tt := range []struct {
			scope sale.SendingScope
			want  string
		}{
			{sale.SendingScope{}, "pi_x pi_00 pi_01 pi_02 pi_10 pi_11 pi_12"},
			{sale.SendingScope{SaleID: "b"}, "pi_10 pi_11 pi_12"},
			{sale.SendingScope{SaleID: "c"}, ""},
			{sale.SendingScope{Group: "sizes"}, "pi_00 pi_01 pi_02 pi_10 pi_11 pi_12"},
			{sale.SendingScope{Payments: []sale.SalePayment{{SaleID: "b", Payment: "stripe#pi_11"}, {Payment: "stripe#pi_x"}, {SaleID: "a", Payment: "stripe#no"}, {SaleID: "b", Payment: "stripe#pi_11"}}}, "pi_11 pi_x"},
		} {
			w.Pass(time.Second)
			s := w.presses("all", 9, tt.scope)
			var got []string
			for pages := 1; ; pages++ {
				page, err := w.Environment().SendingPage(w.Ctx, &s, 2)
				w.Succeeds(nil, err)
				for _, r := range page.Refunds {
					got = append(got, strings.TrimPrefix(r.Payment, "stripe#"))
				}
				if s.SaleID, s.After = page.SaleID, page.After; page.IsLast || pages > 9 {
					break
				}
			}
			check(t, strings.Join(got, " ") == tt.want, "%+v: got %q, want %q", tt.scope, got, tt.want)
		}
		w.Refused(sale.GroupNotFound, errOf2(w.Environment().BeginSending(w.Ctx, sale.Sending{ID: sale.SendingID(w.Now(), "x"), Scope: sale.SendingScope{Group: "none"}})))
	},
}

// forgetting is an environment in which the first answer of an operation is lost.
func (w *World) forgetting(operation string) *ledger.Ledger {
	isLost := false
	return w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
		out, err := call()
		if op == operation && err == nil && !isLost {
			isLost = true
			return nil, errDead
		}
		return out, err
	})
}

func errOf2[A, B any](_ A, _ B, err error) error { return err }
