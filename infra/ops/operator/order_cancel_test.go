package operator

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// typing is a terminal at which somebody types an answer while something happens.
type typing struct {
	happens func()
	*strings.Reader
}

func (typing) OnTerminal() bool { return true }

func (s typing) Read(b []byte) (int, error) {
	s.happens()
	return s.Reader.Read(b)
}

// shopping runs a test of a sale of four units at 899 CNY, of which alice has ordered one.
func shopping(t *testing.T, test func(t *testing.T, at *place, book *ledger.Ledger, alices string)) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Name: "Moutai", Stock: 4, Price: 89900})
		test(t, desk(t, db, book), book, orderid.String(ordered(t, book, "alice")))
	})
}

// says checks what a command says and its exit code.
func (p *place) says(t *testing.T, command string, code int, want ...string) {
	t.Helper()
	said, got := p.does(t, command)
	if got != code {
		t.Errorf("%s: exit %d, want %d", command, got, code)
	}
	contains(t, said, want...)
}

func TestAnOrderIsCancelledOnceAndWhoComesSecondIsToldByWhom(t *testing.T) {
	shopping(t, func(t *testing.T, at *place, book *ledger.Ledger, alices string) {
		unpaid := "order " + alices + " of alice in sale moutai is CONFIRMED: 899.00 CNY, to be paid by 2026-11-11T13:00:00Z"
		at.says(t, "order cancel "+alices+" --dry-run", cli.ExitFine, unpaid+"; it would be released, its unit in stock again. alice could never order again in this sale; nothing was changed\n")
		at.says(t, "order cancel "+alices, cli.ExitUsage, unpaid, "asks before it goes on, and there is no terminal: give --yes")
		at.says(t, "order cancel "+alices+" --sale maotai --yes", cli.ExitBad, "there is no order "+alices+" in sale maotai")
		at.says(t, "order cancel "+alices+" --unit lost", cli.ExitUsage, `--unit is "lost"; it must be back or kept`)
		done := "order " + alices + " was cancelled at 2026-11-11T12:00:00Z"
		at.says(t, "order cancel "+alices+" --yes --id c1 --note moved", cli.ExitFine, unpaid, done+": it is released, its unit in stock again\n", "this is change c1: with --id c1 the same command changes nothing more")
		at.says(t, "order cancel "+alices+" --yes --id c1 --note moved", cli.ExitFine, done+", and nothing changed now: it is released")
		at.says(t, "order cancel "+alices+" --yes --id c1 --unit kept", cli.ExitBad, "NOT CANCELLED: the change id was used for another change")
		at.says(t, "order cancel "+alices+" --dry-run --id c1 --unit kept", cli.ExitBad, "NOT CANCELLED: the change id was used for another change")
		by := "the order was cancelled by " + at.asker.Actor + " on 2026-11-11T12:00:00Z (moved)"
		at.says(t, "order cancel "+alices+" --yes", cli.ExitBad, "alice in sale moutai is CANCELLED: 899.00 CNY\n", "NOT CANCELLED: "+by)
		at.says(t, "order cancel "+alices+" --dry-run", cli.ExitBad, "NOT CANCELLED: "+by)

		bobs, carols := ordered(t, book, "bob"), ordered(t, book, "carol")
		pay(t, book, "pi_'1", bobs, 89900)
		at.says(t, "order cancel "+orderid.String(bobs)+" --yes --unit kept", cli.ExitFine, "of bob in sale moutai is PAID: 899.00 CNY (stripe#pi_'1)",
			"it is over, its unit kept from everybody, its payment of 899.00 CNY (stripe#pi_'1) a refund due; give it back at the provider, then `flashsale refund mark 'stripe#pi_'\\''1' --sale moutai --env dev`\n")
		if _, err := book.Recall(t.Context(), sale.Recall{SaleID: "moutai"}); err != nil {
			t.Fatal(err)
		}
		at.says(t, "order cancel "+orderid.String(carols), cli.ExitBad, "of carol in sale moutai is RECALLED: 899.00 CNY\n", "NOT CANCELLED: the sale was recalled")
		at.says(t, "order list moutai --state cancelled", cli.ExitFine, "alice", "bob", "2 orders")
	})
}

func TestAnOrderIsCancelledOnlyInTheStateInWhichItWasShown(t *testing.T) {
	for name, tt := range map[string]struct {
		happens func(t *testing.T, book *ledger.Ledger, order uint64)
		want    string
	}{
		"paid": {func(t *testing.T, book *ledger.Ledger, order uint64) { pay(t, book, "pi_1", order, 89900) }, "the order is PAID now; look at it again"},
		"cancelled by its buyer": {func(t *testing.T, book *ledger.Ledger, _ uint64) {
			if _, err := book.Cancel(t.Context(), "moutai", "alice"); err != nil {
				t.Fatal(err)
			}
		}, "the order is CANCELLED now; look at it again"},
		"cancelled by somebody else": {func(t *testing.T, book *ledger.Ledger, order uint64) {
			if _, err := book.CancelOrder(t.Context(), sale.Cancellation{SaleID: "moutai", OrderID: order, Author: sale.Author{Actor: "kim"}, Saw: sale.Confirmed, Unit: sale.UnitBack}); err != nil {
				t.Fatal(err)
			}
		}, "the order was cancelled by kim on 2026-11-11T12:00:00Z"},
		"recalled": {func(t *testing.T, book *ledger.Ledger, _ uint64) {
			if _, err := book.Recall(t.Context(), sale.Recall{SaleID: "moutai"}); err != nil {
				t.Fatal(err)
			}
		}, "the sale was recalled"},
	} {
		shopping(t, func(t *testing.T, at *place, book *ledger.Ledger, alices string) {
			order, err := orderid.Parse(alices)
			if err != nil {
				t.Fatal(err)
			}
			meanwhile := typing{func() { tt.happens(t, book, order) }, strings.NewReader("y\n")}
			said, code := at.at(t, meanwhile, nil, "order", "cancel", alices)
			if code != cli.ExitBad || !strings.Contains(said, "NOT CANCELLED: ") || !strings.Contains(said, tt.want) {
				t.Errorf("%s meanwhile: exit %d, %q, want %q", name, code, said, tt.want)
			}
			again := typing{func() { t.Error("it asks") }, strings.NewReader("y\n")}
			if name == "paid" {
				again.happens = func() {}
			}
			if _, code := at.at(t, again, nil, "order", "cancel", alices); (code == cli.ExitFine) != (name == "paid") {
				t.Errorf("%s: once more: exit %d", name, code)
			}
		})
	}
}

func TestACancellationWhoseAnswerIsLostIsRepeatedUnderItsID(t *testing.T) {
	shopping(t, func(t *testing.T, at *place, book *ledger.Ledger, alices string) {
		lost := invoking(func(string, []byte) ([]byte, error) { return nil, errors.New("the environment was lost") })
		lost.db = at.db
		said, code := lost.does(t, "order cancel "+alices+" --yes --id c1")
		if code != cli.ExitUnknown || !strings.Contains(said, "the change may still happen: repeat the command with --id c1 until it succeeds") {
			t.Errorf("exit %d, %q", code, said)
		}
		order, _ := orderid.Parse(alices)
		pay(t, book, "pi_1", order, 89900)
		c := sale.Cancellation{SaleID: "moutai", OrderID: order, ChangeID: "c1", Saw: sale.Paid, Unit: sale.UnitBack}
		if _, err := book.CancelOrder(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		at.says(t, "order cancel "+alices+" --id c1", cli.ExitFine, "and nothing changed now: it is over, its unit in stock again, its payment of 899.00 CNY (stripe#pi_1) a refund due")
	})
}

func TestAllUnpaidOrdersGetMoreTime(t *testing.T) {
	shopping(t, func(t *testing.T, at *place, book *ledger.Ledger, _ string) {
		at.says(t, "sale extend moutai", cli.ExitUsage, `--until is "", which is not an instant`)
		at.says(t, "sale extend moutai --until 2026-11-12T13:00:00+01:00 --dry-run", cli.ExitFine, `it would give every unpaid order more time, until "2026-11-12T12:00:00Z"; nothing was changed`)
		at.says(t, "sale extend moutai --until 2026-11-12T13:00:00+01:00", cli.ExitFine, "every unpaid order of moutai may be paid until 2026-11-12T12:00:00Z")
		for _, flag := range []string{"", " --dry-run"} {
			at.says(t, "sale extend moutai --until 2026-11-19T12:00:00Z"+flag, cli.ExitBad, "until must be at most 7 days ahead")
			at.says(t, "sale extend moutai --until 2026-11-11T14:00:00Z"+flag, cli.ExitBad, "more time was given before, until 2026-11-12T12:00:00Z, and none of it is taken back")
		}
		if s, _, err := book.Standing(t.Context(), "moutai"); err != nil || instant(s.Sale.PayUntil) != "2026-11-12T12:00:00Z" {
			t.Errorf("until %v (%v)", s.Sale.PayUntil, err)
		}
	})
}

func TestAGroupGetsMoreTimeAndItsRefundsAreMarkedByOneCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 4, Price: 89900, LimitGroup: "boots"})
		if _, err := book.Create(t.Context(), sale.Creation{
			SaleID: "size-42", Name: "x", LimitGroup: "boots", OpensAt: noon, ClosesAt: noon.Add(time.Hour), Stock: 1, Shards: 1, PayWithin: time.Hour, Price: 5, Currency: "CNY",
		}); err != nil {
			t.Fatal(err)
		}
		at := desk(t, db, book)
		const gives = "sale extend --group boots --until "
		at.says(t, "sale extend size-42 --until 2026-11-12T12:00:00Z", cli.ExitFine)
		at.says(t, gives+"2026-11-12T00:00:00Z", cli.ExitBad, "every unpaid order of moutai may be paid until 2026-11-12T00:00:00Z",
			"size-42: NOT EXTENDED: more time was given before, until 2026-11-12T12:00:00Z", "it failed for 1 of the 2 sales of the group boots\n")
		at.says(t, gives+"2026-11-13T12:00:00Z --id more", cli.ExitFine, "every unpaid order of moutai may", "every unpaid order of size-42 may")
		for _, id := range []string{"moutai", "size-42"} {
			if s, _, err := book.Standing(t.Context(), id); err != nil || instant(s.Sale.PayUntil) != "2026-11-13T12:00:00Z" {
				t.Errorf("%s: until %v (%v)", id, s.Sale.PayUntil, err)
			}
		}
		order := ordered(t, book, "alice")
		for _, p := range []sale.Payment{
			{Provider: "stripe", Reference: "pi_1", SaleID: "moutai", OrderID: order, Amount: 5, Currency: "CNY"}, {Provider: "stripe", Reference: "pi_2", Amount: 7, Currency: "CNY"},
		} {
			if done, err := book.Pay(t.Context(), p); err != nil || done.Refund == nil {
				t.Fatalf("got %+v (%v)", done, err)
			}
		}
		at.says(t, "refund mark stripe#pi_1 --group boots", cli.ExitFine, "stripe#pi_1, 0.05 CNY, is marked as refunded")
		at.says(t, "refund mark stripe#pi_2 --group boots", cli.ExitBad, "no refund of stripe#pi_2 is due")
		at.says(t, "refund mark stripe#pi_1 --group shoes", cli.ExitBad, "no such group")
	})
}
