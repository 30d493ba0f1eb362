package ledgertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// halves is a report of a refund in short: its state, its id and its amount in halves of what was paid.
func halves(reference, text string) sale.MoneyReport {
	var r sale.RefundReport
	fmt.Sscan(text, &r.State, &r.ID, &r.Amount)
	r.Amount *= 199900 / 2
	return MoneyOf(reference, r)
}

// disputed is a report of a dispute, whose later states come later.
func disputed(reference string, state sale.DisputeState, rank int64) sale.MoneyReport {
	r := sale.MoneyReport{Provider: "stripe", Reference: reference, MayBeOurs: true}
	r.Dispute = &sale.DisputeReport{ID: "dp_1", State: state, Rank: rank}
	return r
}

// said is what the refund of a payment says of its money, or else its claim.
func (w *World) said(user, payment string) string {
	w.T.Helper()
	at, known := "claim", w.claimOf(user).Returned
	for _, r := range w.refunds("moutai") {
		if r.Payment == payment {
			at, known = "refund", r.Returned
		}
	}
	if v := w.Number("MONEY#"+payment, "MONEY", "v"); v != known.MoneyVersion {
		at += fmt.Sprintf(" of version %d of %d", known.MoneyVersion, v)
	}
	return fmt.Sprintf("%s: %d/2 back, %d failed, whole: %t", at, known.Back/(199900/2), known.Failures, !known.RefundedAt.IsZero())
}

// hasRefund expects what the only refund of a sale says, and whether the listing notes it since then.
func (w *World) hasRefund(isDue, isNoted bool, why string) {
	w.T.Helper()
	r, listing := w.refunds("moutai"), w.Listing()
	check(w.T, len(r) == 1 && r[0].IsDue() == isDue && listing.RefundAt.Equal(w.Now()) == isNoted,
		"%s: got %+v, and the listing notes %v, want it due: %t, noted: %t", why, r, listing.RefundAt, isDue, isNoted)
}

func (w *World) unmarks(payment string) error {
	_, _, err := w.Environment().UnmarkRefund(w.Ctx, "moutai", payment, "kim", "no")
	return err
}

// overtakenOn is an environment that something overtakes before its n-th UpdateItem, counted from 1.
func (w *World) overtakenOn(n int, meanwhile func()) *ledger.Ledger {
	at := 0
	return w.before("UpdateItem", func() {
		if at++; at == n {
			meanwhile()
		}
	})
}

// eachOrder calls with each order of the texts in which all that need the payment come after it.
func eachOrder(texts []string, with func([]string)) {
	if len(texts) == 0 {
		with(nil)
		return
	}
	for i := range texts {
		rest := slices.Delete(slices.Clone(texts), i, i+1)
		if texts[i] == "cancel" && slices.Contains(rest, "payment") {
			continue
		}
		eachOrder(rest, func(behind []string) { with(append([]string{texts[i]}, behind...)) })
	}
}

var reportingMoney = map[string]func(*testing.T, *World){
	"what a provider says of a payment is said of its order, in whatever order its reports come, and whoever dies": func(t *testing.T, w *World) {
		w.Open(2000, 1)
		users := people(2000)
		for _, tt := range []struct{ reports, isDue, want string }{
			{"payment,done a 2", "", "claim: 2/2 back, 0 failed, whole: true"},
			{"payment,done a 1,done b 1", "", "claim: 2/2 back, 0 failed, whole: true"},
			{"payment,done a 2,failed a 2", "", "claim: 0/2 back, 1 failed, whole: false"},
			{"payment,done a 2,failed a 2", "due", "refund: 0/2 back, 1 failed, whole: false"},
			{"payment,failed a 2,done b 2", "due", "refund: 2/2 back, 1 failed, whole: true"},
			{"payment,done a 2,cancel", "", "refund: 2/2 back, 0 failed, whole: true"},
			{"payment,done a 2,failed a 2,cancel", "", "refund: 0/2 back, 1 failed, whole: false"},
		} {
			eachOrder(strings.Split(tt.reports, ","), func(order []string) {
				for dies := range 1 + 2*len(order) { // each one after its first or second write, or nobody
					if w.leavesOut() {
						continue
					}
					user := users[0]
					id, reference := w.Ordered(user)[0], "pi_"+user
					if users = users[1:]; tt.isDue != "" {
						w.Settles(PaymentOf(id, "other_"+user))
					}
					for i, what := range append(slices.Clone(order), order[0]) {
						deliver := func(ctx context.Context, l *ledger.Ledger) error {
							switch what {
							case "payment":
								return errOf(l.Pay(ctx, PaymentOf(id, reference)))
							case "cancel":
								return errOf(l.CancelOrder(ctx, cancellation(user, id, sale.Paid, sale.UnitKept)))
							}
							return errOf(l.ReportMoney(ctx, halves(reference, what)))
						}
						w.Pass(time.Second)
						if dies/2 == i && dies < 2*len(order) {
							ctx, dying := w.cutAfter(1 + dies%2)
							deliver(ctx, dying)
						}
						w.Succeeds(nil, deliver(w.Ctx, w.Environment()))
						if i < len(order)-1 {
							continue
						}
						got := w.said(user, "stripe#"+reference)
						check(t, got == tt.want, "%q, dies in %d after %d writes: got %s, want %s", order, dies/2, 1+dies%2, got, tt.want)
					}
				}
			})
		}
		w.Settled(1)
	},
	"of any two that write what is said of a payment's money, each one counts": func(t *testing.T, w *World) {
		w.OpenUnpaid(2000, 1)
		users := people(2000)
		for _, before := range []string{"", "failed a 1", "mark", "failed a 1,mark"} {
			for _, first := range []string{"failed b 1", "half c 1", "mark", "unmark", "payment"} {
				for _, second := range []string{"failed d 1", "stuck e 1", "mark", "unmark"} {
					for n := range 2 * 4 { // before which write, and of a refund due or of a claim
						isDue, n := n%2 == 0, 1+n/2
						if w.leavesOut() || !isDue && strings.Contains(before+first+second, "mark") {
							continue // a claim has no mark by hand
						}
						user := users[0]
						id, payment := w.Ordered(user)[0], "stripe#pi_"+user
						if users = users[1:]; isDue {
							w.Settles(PaymentOf(id, "other_"+user))
						}
						w.Settles(PaymentOf(id, "pi_"+user))
						makes := func(l *ledger.Ledger, what string) {
							w.Pass(time.Second)
							switch what {
							case "":
							case "payment":
								w.Succeeds(l.Pay(w.Ctx, PaymentOf(id, "pi_"+user)))
							case "mark":
								w.Succeeds(nil, l.MarkRefunds(w.Ctx, "moutai", []string{payment}, "kim")[0].Err)
							case "unmark":
								_, _, err := l.UnmarkRefund(w.Ctx, "moutai", payment, "kim", "no")
								w.Succeeds(nil, err)
							default:
								w.Succeeds(l.ReportMoney(w.Ctx, halves("pi_"+user, strings.Replace(what, "half", "done", 1))))
							}
						}
						all := append(strings.Split(before, ","), first, second)
						for _, what := range all[:len(all)-2] {
							makes(w.Environment(), what)
						}
						writes := 0
						overtakes := once(func() { makes(w.Environment(), second) })
						makes(w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
							if op == "UpdateItem" || op == "TransactWriteItems" {
								if writes++; writes == n {
									overtakes()
								}
							}
							return call()
						}), first)
						overtakes() // if it has written less
						text := strings.Join(all, ",")
						where, known := "CLAIM#moutai#"+fmt.Sprint(sale.BucketOf(user, 1)), user
						if isDue {
							where, known = "REFUND#moutai", payment
						}
						it, about := w.Item(where, known), fmt.Sprintf("%q before write %d, due: %t", all, n, isDue)
						has := func(want int, attribute string) {
							got := 0
							if it[attribute] != nil {
								got = int(w.Number(where, known, attribute))
							}
							check(t, got == want, "%s: %s is %d, want %d", about, attribute, got, want)
						}
						has(strings.Count(text, "failed"), "failures")
						has(199900/2*strings.Count(text, "half"), "back")
						check(t, (it["stuck"] != nil) == strings.Contains(text, "stuck"), "%s: stuck is %v", about, it["stuck"])
						if strings.ContainsAny(text, "0123456789") {
							has(int(w.Number("MONEY#"+payment, "MONEY", "v")), "money")
						}
						if !strings.Contains(first+second, "mark") {
							isMarked := strings.Contains(before, "mark") && !strings.Contains(first+second, "failed")
							check(t, (it["refundedAt"] != nil) == isMarked, "%s: marked at %v", about, it["refundedAt"])
						}
						if second == "unmark" && first != "mark" || first == "unmark" && second != "mark" {
							check(t, it["refundedAt"] == nil && it["refundedBy"] == nil, "%s: marked at %v", about, it["refundedAt"])
						}
					}
				}
			}
		}
	},
	"a mark is taken away by a refund that fails after it, once, and not by a part or a repeat": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice")[0]
		w.Settles(PaymentOf(id, "pi_0"))
		w.Settles(PaymentOf(id, "pi_1"))
		w.Reports(halves("pi_1", "failed a 1"))
		w.Pass(time.Minute)
		// The report of a failure overtakes the mark, which has counted none.
		slow := w.overtaken("UpdateItem", func() { w.Reports(halves("pi_1", "failed b 1")) })
		m := slow.MarkRefunds(w.Ctx, "moutai", []string{"stripe#pi_1"}, "kim")[0]
		check(t, m.Err == nil && m.Marked && m.Refund.Failures == 2, "got %+v, want it marked although two have failed", m)
		for _, text := range []string{"failed a 1", "failed b 1", "done c 1"} {
			w.Pass(time.Minute)
			w.Reports(halves("pi_1", text))
			w.hasRefund(false, false, text)
		}
		w.Pass(2 * time.Hour)
		w.Reports(halves("pi_1", "failed d 2"))
		w.hasRefund(true, true, "another one has failed")
		w.hasNumber(w.Now().UnixMilli(), "REFUND#moutai", "stripe#pi_1", "again")
		check(t, w.refunds("moutai")[0].RefundedBy == "", "it still says who has marked it")
		w.hasNumber(w.Number("MONEY#stripe#pi_1", "MONEY", "v"), "REFUND#moutai", "stripe#pi_1", "money")
		at := w.Now()
		w.Pass(time.Minute)
		w.marksRefunded("moutai", "stripe#pi_1")
		w.Reports(halves("pi_1", "failed d 2"))
		w.hasRefund(false, false, "it is marked again, and has failed before")
		w.hasNumber(at.UnixMilli(), "REFUND#moutai", "stripe#pi_1", "again")
		// Less overtakes more, and a mark that is taken back overtakes what does not touch it.
		w.Succeeds(w.overtakenOn(2, func() { w.Reports(halves("pi_1", "stuck f 1")) }).ReportMoney(w.Ctx, halves("pi_1", "stuck e 1")))
		check(t, w.refunds("moutai")[0].Stuck, "what is stuck is not said")
		w.hasNumber(w.Number("MONEY#stripe#pi_1", "MONEY", "v"), "REFUND#moutai", "stripe#pi_1", "money")
		w.hasRefund(false, false, "it is stuck")
		overtakes := func(l *ledger.Ledger, text string) { w.Succeeds(l.ReportMoney(w.Ctx, halves("pi_1", text))) }
		overtakes(w.overtaken("TransactWriteItems", func() { w.Reports(halves("pi_1", "failed h 1")) }), "failed i 1")
		w.hasNumber(5, "REFUND#moutai", "stripe#pi_1", "failures")
		w.marksRefunded("moutai", "stripe#pi_1")
		w.Succeeds(w.overtakenOn(3, func() {
			_, is, err := w.Environment().UnmarkRefund(w.Ctx, "moutai", "stripe#pi_1", "kim", "no")
			check(t, is && err == nil, "it is not taken back: %v", err)
		}).ReportMoney(w.Ctx, halves("pi_1", "stuck g 1")))
		w.hasRefund(true, true, "the mark is taken back")
	},
	"a mark whose author has not heard of a failure does not outlive it": func(_ *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice")[0]
		w.Settles(PaymentOf(id, "pi_0"))
		for n, before := range []string{"", "failed a 1", "disputed"} { // the report then finds a refund that says something
			w.Settles(PaymentOf(id, "pi_1"))
			switch before {
			case "":
			case "disputed":
				w.Reports(disputed("pi_1", sale.DisputeOpen, 1))
			default:
				w.Reports(halves("pi_1", before))
			}
			read, write, written := make(chan struct{}), make(chan struct{}), make(chan struct{})
			marks := w.before("UpdateItem", func() { close(read); <-write })
			go func() {
				marks.MarkRefunds(w.Ctx, "moutai", []string{"stripe#pi_1"}, "kim")
				close(written)
			}()
			<-read
			marked := func() { close(write); <-written }
			if l := w.overtakenOn(2+n, marked); before != "disputed" {
				w.Succeeds(l.ReportMoney(w.Ctx, halves("pi_1", "failed b 1")))
			} else { // it is due when the dispute is won, and whoever reported the failure died
				ctx, dying := w.cutAfter(1)
				dying.ReportMoney(ctx, halves("pi_1", "failed b 1"))
				w.Succeeds(w.beforeTransaction(1, marked).ReportMoney(w.Ctx, disputed("pi_1", sale.DisputeWon, 2)))
			}
			w.hasRefund(true, true, "it has failed")
			w.remove(w.Item("REFUND#moutai", "stripe#pi_1"))
			w.remove(w.Item("PAYMENT#stripe#pi_1", "PAYMENT"))
			w.remove(w.Item("MONEY#stripe#pi_1", "MONEY"))
		}
	},
	"a mark that is taken back by somebody who has not heard of a report stays away": func(_ *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice")[0]
		w.Settles(PaymentOf(id, "pi_0"))
		w.Settles(PaymentOf(id, "pi_1"))
		w.Reports(halves("pi_1", "failed a 1"))
		w.marksRefunded("moutai", "stripe#pi_1")
		read, write, written := make(chan struct{}), make(chan struct{}), make(chan struct{})
		unmarks := w.before("TransactWriteItems", func() { close(read); <-write })
		go func() {
			unmarks.UnmarkRefund(w.Ctx, "moutai", "stripe#pi_1", "kim", "no")
			close(written)
		}()
		<-read
		w.Succeeds(w.overtakenOn(3, func() { close(write); <-written }).ReportMoney(w.Ctx, halves("pi_1", "stuck b 1")))
		w.hasRefund(true, true, "it is taken back")
		check(w.T, w.refunds("moutai")[0].Stuck, "what is stuck is not said")
	},
	"a mark of an earlier release is kept by what goes back in part": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice")[0]
		w.Settles(PaymentOf(id, "pi_0"))
		w.Settles(PaymentOf(id, "pi_1"))
		w.tamper("REFUND#moutai", "stripe#pi_1", "SET refundedAt = :at", attributes(map[string]any{":at": w.Now()}))
		w.Pass(time.Minute)
		w.Reports(halves("pi_1", "done a 1"))
		w.hasRefund(false, false, "a part")
		w.Reports(halves("pi_1", "failed a 1"))
		w.hasRefund(true, true, "it has failed")
		w.Reports(halves("pi_0", "done a 1"))
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
		for what, applies := range map[string]func(reference string){
			"a report": func(reference string) {
				stuck := func() { w.Reports(halves(reference, "stuck b 1")) }
				l := w.overtakenOn(4, stuck) // behind the account, a refund that is not there and a claim without a mark
				if reference == "pi_1" {
					l = w.beforeTransaction(1, stuck)
				}
				w.Succeeds(l.ReportMoney(w.Ctx, halves(reference, "failed a 1")))
			},
			"a payment": func(reference string) { w.Settles(PaymentOf(id, reference)) },
			"a replay":  func(string) { p.replays(w.Environment(), true) },
		} {
			for _, of := range []struct{ reference, pk, sk string }{{"pi_0", "CLAIM#moutai#0", "alice"}, {"pi_1", "REFUND#moutai", "stripe#pi_1"}} {
				w.tamper(of.pk, of.sk, "SET refundedAt = :at REMOVE money, failures, stuck", attributes(map[string]any{":at": w.Now()}))
				w.remove(w.Item("MONEY#stripe#"+of.reference, "MONEY"))
				if what != "a report" { // one that died
					ctx, dying := w.cutAfter(1)
					dying.ReportMoney(ctx, halves(of.reference, "failed a 1"))
				}
				applies(of.reference)
				got, where := w.said("alice", "stripe#"+of.reference), strings.ToLower(of.pk[:strings.Index(of.pk, "#")])
				check(t, got == where+": 0/2 back, 1 failed, whole: false", "%s: got %s", what, got)
				check(t, what != "a report" || w.Item(of.pk, of.sk)["stuck"] != nil, "%s: what is stuck is not said", of.pk)
			}
		}
	},
	"a wrong mark is taken back by name, unless the provider says that the money is back": func(t *testing.T, w *World) {
		c := w.OpenUnpaid(1, 1)
		id := w.Ordered("alice")[0]
		w.Settles(PaymentOf(id, "pi_0"))
		w.Settles(PaymentOf(id, "pi_1"))
		w.Succeeds(nil, w.Ledger.MarkRefunds(w.Ctx, "moutai", []string{"stripe#pi_1"}, "lee")[0].Err)
		w.Pass(2 * time.Hour)
		for _, isFirst := range []bool{true, false} {
			got, is, err := w.Environment().UnmarkRefund(w.Ctx, "", "stripe#pi_1", "kim", "another payment")
			check(t, err == nil && is == isFirst && got.UnmarkedBy == "kim" && got.UnmarkNote == "another payment" && got.RefundedBy == "", "got %+v, %t (%v)", got, is, err)
		}
		w.hasRefund(true, true, "it is taken back")
		w.hasNumber(w.Now().UnixMilli(), "REFUND#moutai", "stripe#pi_1", "again")
		// What is known and was not applied yet is counted by either.
		stuck := func(text string) {
			ctx, dying := w.cutAfter(1)
			dying.ReportMoney(ctx, halves("pi_1", text))
		}
		applied := func() {
			r, want := w.refunds("moutai")[0], w.Number("MONEY#stripe#pi_1", "MONEY", "v")
			check(t, r.MoneyVersion == want && r.Stuck && r.Failures == 1, "got %+v, want version %d, and stuck", r, want)
		}
		w.Reports(halves("pi_1", "failed a 1"))
		stuck("stuck b 1")
		w.Succeeds(nil, w.Ledger.MarkRefunds(w.Ctx, "moutai", []string{"stripe#pi_1"}, "lee")[0].Err)
		applied()
		w.Reports(halves("pi_1", "done b 0"))
		check(t, !w.refunds("moutai")[0].Stuck, "it is stuck, although that refund is done")
		stuck("stuck c 1")
		w.Succeeds(nil, w.unmarks("stripe#pi_1"))
		applied()
		w.marksRefunded("moutai", "stripe#pi_1")
		_, is, err := w.forgetful().UnmarkRefund(w.Ctx, "moutai", "stripe#pi_1", "kim", "whose answer is lost")
		check(t, is && err == nil, "its answer is lost: got %t (%v), want it to be theirs", is, err)
		w.marksRefunded("moutai", "stripe#pi_1")
		// The report of the whole overtakes it.
		slow := w.overtaken("TransactWriteItems", func() { w.Reports(BackOf("pi_1")) })
		_, is, err = slow.UnmarkRefund(w.Ctx, "moutai", "stripe#pi_1", "kim", "")
		w.refusedBecause("is back", sale.Conflicting, err)
		check(t, !is, "it is taken back")
		_, _, err = w.Ledger.UnmarkRefund(w.Ctx, "moutai", "stripe#pi_9", "kim", "")
		w.Refused(sale.OrderNotFound, err)
		w.Settles(PaymentOf(id, "pi_2")) // whose mark nobody has reported anything of yet
		w.marksRefunded("moutai", "stripe#pi_2")
		slow = w.overtaken("TransactWriteItems", func() { w.Reports(BackOf("pi_2")) })
		_, _, err = slow.UnmarkRefund(w.Ctx, "moutai", "stripe#pi_2", "kim", "")
		w.refusedBecause("is back", sale.Conflicting, err)
		w.ends(c)
		w.erases(w.Environment(), "alice")
		check(t, w.refunds("moutai")[0].UnmarkNote == "", "the note of an erased user's refund stays")
	},
	"a dispute holds a refund back until it is won, and then the refund is due, also if it was forgotten": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice")[0]
		w.Settles(PaymentOf(id, "pi_0"))
		w.Settles(PaymentOf(id, "pi_1"))
		at := w.Now()
		w.Pass(3 * time.Hour)
		for i, tt := range []struct {
			state                sale.DisputeState
			isDue, isHeld, again bool
		}{
			{sale.DisputeAsked, true, false, false},
			{sale.DisputeOpen, false, true, false},
			{sale.DisputeWon, true, false, true},
			{sale.DisputeLost, false, false, false},
			{sale.DisputeWon, true, false, true}, // reversed
		} {
			w.Pass(3 * time.Hour)
			w.Reports(disputed("pi_1", tt.state, int64(i+1)))
			w.Reports(disputed("pi_1", sale.DisputeOpen, 0)) // late
			w.hasRefund(tt.isDue, tt.again, fmt.Sprint(i, " ", tt.state))
			count := ledger.RefundCount{SaleID: "moutai", NotedAt: at}
			w.Succeeds(nil, w.Ledger.CountRefunds(w.Ctx, &count))
			check(t, (count.Due == 1) == tt.isDue && (count.HeldBack == 1) == tt.isHeld, "%s: got %+v", tt.state, count)
			if tt.again {
				at = w.Now()
			}
		}
		for i, meanwhile := range []func(){
			func() { w.Reports(halves("pi_1", "stuck a 1")) },
			func() { w.marksRefunded("moutai", "stripe#pi_1") },
		} {
			w.Reports(disputed("pi_1", sale.DisputeOpen, int64(10+2*i)))
			w.Succeeds(w.overtaken("TransactWriteItems", meanwhile).ReportMoney(w.Ctx, disputed("pi_1", sale.DisputeWon, int64(11+2*i))))
			r := w.refunds("moutai")[0]
			w.hasNumber(w.Number("MONEY#stripe#pi_1", "MONEY", "v"), "REFUND#moutai", "stripe#pi_1", "money")
			check(t, r.Stuck && r.Disputed == sale.DisputeWon && r.RefundedAt.IsZero() == (i == 0), "%d: got %+v", i, r)
		}
	},
	"an account of a payment that is not known expires, unless that comes": func(t *testing.T, w *World) {
		w.OpenPriced(5, 1)
		id := w.Ordered("alice")[0]
		foreign := BackOf("pi_9")
		foreign.MayBeOurs = false
		gives(t, ledger.MoneyTaken{}, "foreign")(w.Environment().ReportMoney(w.Ctx, foreign))
		w.hasNoItem("MONEY#stripe#pi_9", "MONEY")
		expires := w.Now().Add(35 * 24 * time.Hour).Unix()
		for _, isNew := range []bool{true, false} {
			gives(t, ledger.MoneyTaken{New: isNew, Kept: true}, "perhaps ours")(w.Environment().ReportMoney(w.Ctx, BackOf("pi_1")))
			w.Pass(time.Hour)
		}
		w.Reports(halves("pi_1", "done b 1"))
		w.hasNumber(expires, "MONEY#stripe#pi_1", "MONEY", "expiresAt")
		w.Settles(PaymentOf(id, "pi_1"))
		other := PaymentOf(id, "pi_2")
		w.Reports(BackOf("pi_2"))
		ctx, dying := w.cutAfter(1)
		dying.Pay(ctx, other) // its guard, and what is known of it is not noted
		w.Reports(halves("pi_2", "failed b 1"))
		for _, reference := range []string{"pi_1", "pi_2"} {
			it := w.Item("MONEY#stripe#"+reference, "MONEY")
			check(t, it["expiresAt"] == nil && it["saleId"] != nil && it["orderId"] != nil, "got %v, want it to stay, and its sale and order", it)
		}
		foreign.Reference, foreign.Refund.ID = "pi_1", "re_2"
		gives(t, ledger.MoneyTaken{Recorded: true, SaleID: "moutai", New: true}, "of a known payment")(w.Environment().ReportMoney(w.Ctx, foreign))
	},
	"reports of one payment that are taken at once are all taken": func(t *testing.T, w *World) {
		w.OpenPriced(5, 1)
		w.Settles(PaymentOf(w.Ordered("alice")[0], "pi_1"))
		slow := w.overtaken("UpdateItem", func() { w.Reports(halves("pi_1", "done a 1")) })
		w.Succeeds(slow.ReportMoney(w.Ctx, halves("pi_1", "done b 1")))
		slow = w.overtaken("UpdateItem", func() { w.Reports(halves("pi_1", "failed c 1")) })
		w.Succeeds(slow.ReportMoney(w.Ctx, halves("pi_1", "failed d 1")))
		// What follows from more overtakes what follows from less.
		slow = w.overtakenOn(3, func() { w.Reports(halves("pi_1", "failed a 1")) }) // the account, a refund that is not there, the claim
		w.Succeeds(slow.ReportMoney(w.Ctx, halves("pi_1", "stuck e 1")))
		got := w.said("alice", "stripe#pi_1")
		check(t, got == "claim: 1/2 back, 3 failed, whole: false" && w.claimOf("alice").Stuck, "got %s", got)
		w.Reports(halves("pi_1", "done e 2"))
		check(t, !w.claimOf("alice").Stuck, "it is stuck, although that refund is done")
		slow = w.overtakenOn(4, func() { w.Reports(halves("pi_1", "stuck f 1")) })
		w.Succeeds(slow.ReportMoney(w.Ctx, halves("pi_1", "failed e 2")))
		got = w.said("alice", "stripe#pi_1")
		check(t, got == "claim: 1/2 back, 4 failed, whole: false" && w.claimOf("alice").Stuck, "got %s", got)
		bob := PaymentOf(w.Ordered("bob")[0], "pi_2")
		w.Succeeds(w.overtaken("UpdateItem", func() { w.Settles(bob) }).ReportMoney(w.Ctx, halves("pi_2", "done a 1")))
		got = w.said("bob", "stripe#pi_2")
		check(t, got == "claim: 1/2 back, 0 failed, whole: false", "the payment comes in between: got %s", got)
		for _, isNew := range []bool{true, false} { // the ticket rings for one that is new
			if isNew {
				ctx, dying := w.cutAfter(1)
				dying.ReportMoney(ctx, halves("pi_1", "failed f 1"))
			}
			gives(t, ledger.MoneyTaken{Recorded: true, SaleID: "moutai", New: isNew}, "whose first try has died")(w.Environment().ReportMoney(w.Ctx, halves("pi_1", "failed f 1")))
		}
	},
	"a refund says what its claim says when a pass or an operator records it": func(t *testing.T, w *World) {
		w.Open(9, 1)
		users := []string{"alice", "bob", "carol", "dora", "eve"}
		ids := w.Ordered(users...)
		for i, user := range users {
			if w.Settles(PaymentOf(ids[i], "pi_"+user)); user != "dora" {
				w.Reports(halves("pi_"+user, "done a 2"))
			}
		}
		fails := func(user string) func() { return func() { w.Reports(halves("pi_"+user, "failed a 2")) } }
		w.Succeeds(w.overtaken("TransactWriteItems", fails("alice")).CancelOrder(w.Ctx, cancellation("alice", ids[0], sale.Paid, sale.UnitKept)))
		w.Succeeds(w.overtaken("TransactWriteItems", fails("dora")).CancelOrder(w.Ctx, cancellation("dora", ids[3], sale.Paid, sale.UnitKept)))
		w.recalls("", true)
		w.Pass(pauseSettles)
		w.Succeeds(w.beforeTransaction(2, fails("eve")).Pay(w.Ctx, PaymentOf(ids[4], "pi_eve"))) // the first finds that something is known
		w.finishes(w.overtaken("TransactWriteItems", fails("bob")), 0, 0, 2, true)
		for user, want := range map[string]string{
			"alice": "refund: 0/2 back, 1 failed, whole: false", "bob": "refund: 0/2 back, 1 failed, whole: false",
			"carol": "refund: 2/2 back, 0 failed, whole: true", "dora": "refund: 0/2 back, 1 failed, whole: false",
			"eve": "refund: 0/2 back, 1 failed, whole: false",
		} {
			got := w.said(user, "stripe#pi_"+user)
			check(t, got == want, "%s: got %s, want %s", user, got, want)
		}
		w.Settled(1)
	},
	"after a restore the first report is said, and once all came again what was said before, of any half": func(t *testing.T, w *World) {
		w.Open(8, 1)
		users := people(8)
		ids := w.Ordered(users...)
		for i, user := range users {
			isDue, isKept, isReplayed := i&1 != 0, i&2 != 0, i&4 != 0 // isKept: an earlier account is left, beside all of the claim or refund
			reference, payment := "pi_"+user, "stripe#pi_"+user
			first, want := "claim: 0/2 back, 0 failed, whole: false", "claim: 0/2 back, 2 failed, whole: false"
			if isDue {
				w.Settles(PaymentOf(ids[i], "other_"+user))
				first, want = strings.Replace(first, "claim", "refund", 1), strings.Replace(want, "claim", "refund", 1)
			}
			w.Settles(PaymentOf(ids[i], reference))
			w.Reports(halves(reference, "failed a 1"))
			account := w.Item("MONEY#"+payment, "MONEY")
			for _, text := range []string{"done b 2", "failed b 2"} {
				w.Pass(time.Minute)
				w.Reports(halves(reference, text))
			}
			if w.remove(w.Item("MONEY#"+payment, "MONEY")); isKept {
				w.place(account)
				first = strings.Replace(first, "0 failed", "1 failed", 1)
			}
			w.Pass(time.Minute)
			about := fmt.Sprintf("of a refund: %t, an account is left: %t, replayed: %t", isDue, isKept, isReplayed)
			switch {
			case isReplayed:
				(&past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}).replays(w.Environment(), true)
				got := w.said(user, payment)
				check(t, got == first, "%s: got %s, want %s", about, got, first)
			case isDue: // whoever marks it, or takes that back, goes by what the refund says
				w.marksRefunded("moutai", payment)
				w.hasNumber(2, "REFUND#moutai", payment, "failures")
				w.Succeeds(nil, w.unmarks(payment))
				w.Settles(PaymentOf(ids[i], "whole_"+user))
				w.Reports(BackOf("whole_" + user))
				w.remove(w.Item("MONEY#stripe#whole_"+user, "MONEY"))
				w.refusedBecause("is back", sale.Conflicting, w.unmarks("stripe#whole_"+user))
			}
			for n, text := range []string{"stuck d 1", "failed b 2", "done b 2", "failed a 1"} {
				w.Pass(time.Minute)
				w.Reports(halves(reference, text))
				got := w.said(user, payment)
				check(t, got == []string{first, got, got, want}[n] && !strings.Contains(got, "version"), "%s, after %s: got %s, want %s in the end", about, text, got, want)
			}
		}
		got := w.said(users[1], "stripe#whole_"+users[1])
		check(t, got == "refund: 0/2 back, 0 failed, whole: true", "what was marked stays so: got %s", got)
	},
	"a report of a refund meets what a restore or an erasure has left, and waits": func(t *testing.T, w *World) {
		w.OpenPriced(9, 1)
		ids := w.Ordered("alice", "bob")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.Settles(PaymentOf(ids[0], "pi_2"))
		w.remove(w.Item("REFUND#moutai", "stripe#pi_2"))
		w.Refused(sale.Busy, errOf(w.Environment().ReportMoney(w.Ctx, BackOf("pi_2"))))
		l := w.overtakenOn(3, func() { w.remove(w.Item("CLAIM#moutai#0", "alice")) })
		w.Refused(sale.Busy, errOf(l.ReportMoney(w.Ctx, BackOf("pi_1"))))
		w.hasNoItem("CLAIM#moutai#0", "alice")
		w.remove(w.Item(fmt.Sprint("ORDER#", ids[0]), "ORDER")) // archived
		gives(t, ledger.MoneyTaken{Recorded: true, SaleID: "moutai"}, "archived")(w.Environment().ReportMoney(w.Ctx, BackOf("pi_1")))
	},
}
