package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// many is an operation that does something to each of several elements.
type many struct {
	// prepare makes what the operation works on, and returns a text in the key of the last element.
	prepare func(w *ledgertest.World, db *dynamotest.DB) (key string)
	// operate does it in a new environment, and fails if it is not done.
	operate func(w *ledgertest.World, l *ledger.Ledger) error
	// isDone says whether all of it was done.
	isDone func(w *ledgertest.World, db *dynamotest.DB) bool
}

var errIncomplete = errors.New("not complete")

func completeOr(done bool, err error) error {
	if err == nil && !done {
		return errIncomplete
	}
	return err
}

const lastShard = "STOCK#moutai#2|"

// onThreeShards is an operation whose last element is the third shard.
func onThreeShards(operate func(*ledgertest.World, *ledger.Ledger) error, isDone func(*ledgertest.World) bool) many {
	return many{
		prepare: func(w *ledgertest.World, _ *dynamotest.DB) string { w.Open(12, 3); return lastShard },
		operate: operate, isDone: func(w *ledgertest.World, _ *dynamotest.DB) bool { return isDone(w) },
	}
}

func arePaused(w *ledgertest.World) bool {
	for k := range 3 {
		if !w.Item(fmt.Sprint("STOCK#moutai#", k), "STOCK")["paused"].(*types.AttributeValueMemberBOOL).Value {
			return false
		}
	}
	return true
}

// numbered are users in the order of their ids, whose first choice of three shards is that one.
func numbered(shard, n int) (users []string) {
	for i := 0; len(users) < n; i++ {
		if user := fmt.Sprintf("u-%04d", i); sale.ShardFor(user, 0, &sale.Set{}, 3) == shard {
			users = append(users, user)
		}
	}
	return users
}

// ordered are two orders on the first shard and 27 on the last one, of which so many are paid.
func ordered(w *ledgertest.World, paid int) (users []string) {
	users = append(numbered(0, 2), numbered(2, 27)...)
	for i, id := range w.Ordered(users...) {
		if i >= len(users)-paid {
			w.Settles(ledgertest.PaymentOf(id, fmt.Sprintf("pi_%04d", i)))
		}
	}
	return users
}

// releasing is a pass that releases or refunds orders of three shards, the last of which is that one.
func releasing(paid int, recalled bool, last string) many {
	return many{
		prepare: func(w *ledgertest.World, _ *dynamotest.DB) string {
			w.OpenUnpaid(90, 3)
			users := ordered(w, paid)
			w.Pass(time.Hour / 2)
			w.Pass(ledger.DefaultGrace + time.Second)
			if recalled {
				if _, err := w.Ledger.Recall(w.Ctx, sale.Recall{SaleID: "moutai"}); err != nil {
					w.T.Fatal(err)
				}
				w.Pass(2 * time.Minute)
			}
			return strings.ReplaceAll(last, "{user}", users[len(users)-1])
		},
		operate: func(w *ledgertest.World, l *ledger.Ledger) error {
			listing := w.Listing()
			done, err := l.ReleaseDue(w.Ctx, listing, ledger.DefaultGrace)
			return completeOr(done.Complete, err)
		},
		isDone: func(w *ledgertest.World, _ *dynamotest.DB) bool {
			refunds, err := w.Ledger.Refunds(w.Ctx, "moutai")
			if recalled && len(refunds) != paid || err != nil {
				return false
			}
			w.Settled(3)
			for _, it := range w.Partition("CLAIM#moutai#0") {
				if it["releasedAt"] == nil && it["paidAt"] == nil {
					return false
				}
			}
			sum := int64(0)
			for _, n := range w.Stock(3) {
				sum += n
			}
			return sum == int64(90-paid)
		},
	}
}

// saying expects that what an operation says is right, if it says anything.
func saying(w *ledgertest.World, right bool, err error) error {
	w.T.Helper()
	if err == nil && !right {
		w.T.Error("what it says is wrong")
	}
	return err
}

// audited is a complete pass, which finds nothing.
func audited(w *ledgertest.World, l *ledger.Ledger) error {
	r, err := l.Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
	return saying(w, r != nil && r.Balanced && r.Missing == 0, err)
}

func always(*ledgertest.World, *dynamotest.DB) bool { return true }

// inThreeSales is an operation on three sales, of which each is prepared by then, unless that is nil.
func inThreeSales(key string, then func(w *ledgertest.World, c sale.Creation), operate func(*ledgertest.World, *ledger.Ledger) error, isDone func(*ledgertest.World, *dynamotest.DB) bool) many {
	return many{
		prepare: func(w *ledgertest.World, db *dynamotest.DB) string {
			db.PageBytes = 100 // a listing is a page
			for _, id := range []string{"a", "b", "c"} {
				c := w.Sale(3, 1)
				c.SaleID = id
				w.Create(c)
				if then != nil {
					then(w, c)
				}
			}
			return key
		},
		operate: operate, isDone: isDone,
	}
}

func orderIn(w *ledgertest.World, c sale.Creation) {
	p, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: c.SaleID, User: "alice"})
	if err != nil {
		w.T.Fatal(err)
	}
	if got := w.Environment().Confirm(w.Ctx, []ledger.ClaimRef{{SaleID: c.SaleID, User: "alice", ClaimID: p.Claim.ID}}); got[0].Err != nil {
		w.T.Fatal(got[0].Err)
	}
	if c.SaleID != "c" {
		return
	}
	w.Pass(c.ClosesAt.Add(ledger.DrainAfter).Sub(w.Now()))
	for _, id := range []string{"a", "b", "c"} {
		drain(w, id)
	}
}

var erasedOfThree = func(w *ledgertest.World, l *ledger.Ledger) error {
	return maintenance.Of(l).Erase(w.Ctx, "alice", func(maintenance.Held) {})
}

func namesNoAlice(_ *ledgertest.World, db *dynamotest.DB) bool {
	return !strings.Contains(db.Dump(), `"alice"`)
}

var ofMany = map[string]many{
	"creating a sale": {
		prepare: func(*ledgertest.World, *dynamotest.DB) string { return lastShard },
		operate: func(w *ledgertest.World, l *ledger.Ledger) error {
			c := w.Sale(12, 3)
			c.OpensAt, c.ClosesAt = ledgertest.Start, ledgertest.Start.Add(time.Hour)
			_, err := l.Create(w.Ctx, c)
			return err
		},
		isDone: func(w *ledgertest.World, _ *dynamotest.DB) bool {
			_, err := w.Environment().Sale(w.Ctx, "moutai")
			return err == nil && slices.Equal(w.Stock(3), []int64{4, 4, 4})
		},
	},
	"pausing it": onThreeShards(func(w *ledgertest.World, l *ledger.Ledger) error {
		paused := true
		_, err := l.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "p", Paused: &paused})
		return err
	}, arePaused),
	"recalling it": onThreeShards(func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := l.Recall(w.Ctx, sale.Recall{SaleID: "moutai", ChangeID: "r"})
		return err
	}, arePaused),
	"adding units": onThreeShards(func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := l.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 9})
		return err
	}, func(w *ledgertest.World) bool { return slices.Equal(w.Stock(3), []int64{7, 7, 7}) }),
	"withdrawing units": onThreeShards(func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := l.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "s", Stock: 9})
		return err
	}, func(w *ledgertest.World) bool { return slices.Equal(w.Stock(3), []int64{1, 1, 1}) }),

	"releasing a shard's 27th order":                releasing(0, false, "CLAIM#moutai#0|{user}"),
	"refunding the 27th payment of a recalled sale": releasing(27, true, "CLAIM#moutai#0|{user}"),

	"auditing more than 100 orders": {
		prepare: func(w *ledgertest.World, _ *dynamotest.DB) string {
			w.Open(202, 1)
			ids := w.Ordered(numbered(0, 101)...)
			return fmt.Sprint(ids[100], "|")
		},
		operate: audited, isDone: always,
	},
	"confirming more claims than a batch has": {
		prepare: func(w *ledgertest.World, _ *dynamotest.DB) string {
			w.Open(90, 1)
			for _, user := range numbered(0, 27) {
				w.Accepted(w.Buy(user))
			}
			return "CLAIM#moutai#0|" + numbered(0, 27)[26]
		},
		operate: func(w *ledgertest.World, l *ledger.Ledger) (err error) {
			var refs []ledger.ClaimRef
			for _, it := range w.Partition("CLAIM#moutai#0") {
				refs = append(refs, ledger.ClaimRef{
					SaleID: "moutai", User: it["sk"].(*types.AttributeValueMemberS).Value, ClaimID: it["claimId"].(*types.AttributeValueMemberS).Value,
				})
			}
			ctx, cancel := context.WithTimeout(w.Ctx, finalizing)
			defer cancel()
			for _, c := range l.Confirm(ctx, refs) {
				err = errors.Join(err, c.Err)
			}
			return err
		},
		isDone: func(w *ledgertest.World, _ *dynamotest.DB) bool {
			return !slices.ContainsFunc(w.Partition("CLAIM#moutai#0"), func(it map[string]types.AttributeValue) bool { return it["orderId"] == nil })
		},
	},
	"closing a roll": {
		prepare: func(w *ledgertest.World, _ *dynamotest.DB) string {
			c := w.OpenDraw(4, 1)
			w.Pass(2 * time.Minute)
			last := ""
			for i := 0; last == ""; i++ {
				if user := fmt.Sprint("user-", i); pageOf(w, user) == 0xff {
					last = user
				}
			}
			for _, user := range []string{"alice", "bob", last} {
				if _, err := w.Ledger.Enter(w.Ctx, "moutai", user, 0, nil); err != nil {
					w.T.Fatal(err)
				}
			}
			w.Pass(c.EnterUntil.Sub(w.Now()) + time.Hour)
			return fmt.Sprintf("ROLL#moutai|ff#%d", leafOf(w, last)[1]>>6)
		},
		operate: func(w *ledgertest.World, l *ledger.Ledger) error {
			head, err := l.CloseRoll(w.Ctx, w.Current(), func(at time.Time) uint64 { return uint64(at.Unix()) }, time.Hour)
			return completeOr(head.Entrants == 3, err)
		},
		isDone: func(w *ledgertest.World, _ *dynamotest.DB) bool {
			d := drawState(w.T, w)
			ranks, err := w.Ledger.Ranks(w.Ctx, d.Sale, d.Head)
			return err == nil && len(ranks) == 3
		},
	},
	"completing a call":                    completingCall(),
	"erasing from the last of three sales": inThreeSales("SALE#c|", orderIn, erasedOfThree, namesNoAlice),
	"listing the sales, page by page": inThreeSales("SALES", nil, func(w *ledgertest.World, l *ledger.Ledger) error {
		all, err := l.Listings(w.Ctx)
		return saying(w, len(all) == 3, err)
	}, always),
	"deleting more than a transaction's items of an archived sale": deletingArchived(),
}

func completingCall() many {
	return many{
		prepare: func(w *ledgertest.World, _ *dynamotest.DB) string {
			_, ranks := w.Rolled(func(*sale.Creation) {}, 12, 3, 20)
			if begun, err := w.Ledger.BeginCall(w.Ctx, drawState(w.T, w), ranks, drawGap); err != nil || !begun {
				w.T.Fatal(begun, err)
			}
			return lastShard
		},
		operate: func(w *ledgertest.World, l *ledger.Ledger) error {
			call, err := l.FinishCall(w.Ctx, "moutai", []draw.Rank{{1}}, drawGap)
			return completeOr(call.Complete && call.Stock == 12, err)
		},
		isDone: func(w *ledgertest.World, _ *dynamotest.DB) bool {
			return w.Number("STOCK#moutai#2", "STOCK", "changedAt") == w.Number("SALE#moutai", "SALE", "changedAt")
		},
	}
}

func deletingArchived() many {
	var file bytes.Buffer
	return many{
		prepare: func(w *ledgertest.World, _ *dynamotest.DB) string {
			c := w.Open(202, 1)
			w.Ordered(numbered(0, 101)...)
			w.Pass(c.ClosesAt.Add(ledger.DrainAfter).Sub(w.Now()))
			drain(w, c.SaleID)
			w.Pass(maintenance.ArchiveAfter)
			file.Reset()
			if _, err := maintenance.Of(w.Ledger).WriteArchive(w.Ctx, c.SaleID, &file); err != nil {
				w.T.Fatal(err)
			}
			return "CLAIM#moutai#0|" + numbered(0, 101)[100]
		},
		operate: func(w *ledgertest.World, l *ledger.Ledger) error {
			_, err := maintenance.Of(l).DeleteArchived(w.Ctx, "moutai", func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file.Bytes())), nil })
			return err
		},
		isDone: func(w *ledgertest.World, _ *dynamotest.DB) bool { return len(w.Partition("CLAIM#moutai#0")) == 0 },
	}
}

func drain(w *ledgertest.World, saleID string) {
	w.T.Helper()
	r, err := w.Ledger.Step(w.Ctx, &ledger.Audit{SaleID: saleID}, func(sale.Claim) {})
	if err != nil || r == nil {
		w.T.Fatal(r, err)
	}
	if done, err := w.Ledger.Drain(w.Ctx, r); err != nil || !done {
		w.T.Fatalf("not drained: %+v (%v)", r, err)
	}
}

// A query's page may be empty because its filter has let nothing through: the sales behind it are
// audited, released and shown like any other, and a buyer's refunds are found.
func TestAPageThatAFilterHasEmptiedIsNotTheLastOne(t *testing.T) {
	w, db, _ := faulty(t)
	db.PageBytes = 100 // a page is an item
	for _, id := range []string{"a", "b", "c"} {
		c := w.Sale(3, 1)
		c.SaleID = id
		w.Create(c)
		orderIn(w, c)
	}
	c := w.Sale(9, 1)
	c.SaleID = "moutai"
	w.Create(c)
	for i, id := range w.Ordered("alice", "bob") {
		for _, payment := range []string{"first", "second"} {
			w.Settles(ledgertest.PaymentOf(id, fmt.Sprint(payment, i)))
		}
	}
	if all, err := w.Ledger.Listings(w.Ctx); err != nil || len(all) != 1 || all[0].SaleID != "moutai" {
		t.Errorf("listed: %+v (%v), want the sale behind three that are drained", all, err)
	}
	if all, err := w.Ledger.Standings(w.Ctx, false); err != nil || len(all) != 1 || all[0].Sale.ID != "moutai" {
		t.Errorf("shown: %+v (%v), want the sale behind three that are drained", all, err)
	}
	if _, err := maintenance.Of(w.Ledger).Person(w.Ctx, "bob", func(h maintenance.Held) error {
		if len(h.Refunds) != 1 || h.Refunds[0].Payment != "stripe#second1" {
			t.Errorf("bob holds %+v, want the refund behind that of another buyer", h.Refunds)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestWhatIsDoneToManyIsNotDoneWhileTheLastOfThemFails(t *testing.T) {
	for name, m := range ofMany {
		t.Run(name, func(t *testing.T) {
			isLast, met := false, 0
			for first := 0; !isLast && first < 60; first++ {
				synctest.Test(t, func(t *testing.T) {
					w, db, _ := faulty(t)
					key := m.prepare(w, db)
					fault, calls := dynamotest.Throughout("", key, first)
					db.Fault = fault
					err := m.operate(w, w.Environment())
					db.Fault = nil
					switch isLast = calls() <= first; {
					case isLast && err != nil:
						t.Fatalf("without a fault: %v", err)
					case !isLast && err == nil:
						t.Errorf("it is done, although %s answers its first %d calls only", key, first)
					}
					met = first
					for try := 0; err != nil && try < 3; try++ {
						w.Pass(time.Minute)
						err = m.operate(w, w.Environment())
					}
					if err != nil || !m.isDone(w, db) {
						t.Errorf("%s answered its first %d calls only; repeated, it is done: %t (%v)", key, first, m.isDone(w, db), err)
					}
				})
				if t.Failed() {
					return
				}
			}
			if !isLast || met == 0 {
				t.Errorf("the last element was asked %d times, all of them: %t", met, isLast)
			}
		})
	}
}
