package operator

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/restore"
	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// restoring returns the files of a lost minute: bob and carol have bought, carol is confirmed, and the operator has
// paused the sale.
func (w *world) restoring() (log, events string) {
	w.Helper()
	order := w.ordered("carol")
	c, err := w.book.Claim(w.Context(), "moutai", "carol")
	w.ok(c, err)
	p, err := w.book.Purchase(w.Context(), ledger.Request{SaleID: "moutai", User: "bob", Key: "k"})
	w.ok(p, err)
	log = fmt.Sprintf(`START RequestId: 1
2026-11-11T12:00:01 {"level":"INFO","message":"purchase","service":"purchase","saleId":"moutai","user":"bob","claimId":%q,"shard":%d,"acceptedAt":%d,"requestKey":"k","outcome":"ok"}
{"message":"purchase","service":"purchase","saleId":"moutai","user":"dora","outcome":"sold-out"}
{"message":"finalize","service":"finalize","orders":[{"saleId":"moutai","user":"carol","claimId":%q,"orderId":%q,"shard":%d,"acceptedAt":%d}]}
`, p.Claim.ID, p.Claim.Shard, p.Claim.AcceptedAt.UnixMilli(), c.ID, order, c.Shard, c.AcceptedAt.UnixMilli())
	events = fmt.Sprintf(`{"detail-type":"OrderConfirmed","source":"flashsale","detail":{"saleId":"moutai","user":"carol","claimId":%q,"orderId":%q,"occurredAt":"2026-11-11T12:00:01.000Z"}}
{"detail-type":"SaleChanged","detail":{"saleId":"moutai","changeId":"c1","action":"pause","occurredAt":"2026-11-11T12:00:30.000Z"}}
{"detail-type":"SaleChanged","detail":{"saleId":"moutai","changeId":"x1","action":"extend","payUntil":"2026-11-11T18:00:00.000Z","occurredAt":"2026-11-11T12:00:31.000Z"}}
`, c.ID, order)
	return log, events
}

func sourceOf(t *testing.T, log, events string) *restore.Source {
	t.Helper()
	s := restore.NewSource()
	if err := s.Log(strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	if err := s.Events(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheEventsOfAnErasedUserThatWerePublishedAgainAreTheUsers(t *testing.T) {
	const event = `{"detail-type":"OrderConfirmed","detail":{"occurredAt":"2026-01-01T00:00:06Z","saleId":"moutai","orderId":"406709376884146177","claimId":"C1","user":"USER"}}
{"detail-type":"RefundDue","detail":{"occurredAt":"2026-01-01T00:00:08Z","saleId":"moutai","orderId":"406709376884146177","user":"USER","payment":"stripe#pi_2","reason":"other-payment","amount":5,"currency":"CNY"}}
`
	of := func(user string) string { return strings.ReplaceAll(event, "USER", user) }
	refunds := of("erased-x")[strings.Index(of("erased-x"), "\n")+1:]
	for name, events := range map[string]string{
		"before and after":             of("alice") + of("erased-x"),
		"after and before":             of("erased-x") + of("alice"),
		"erased twice":                 of("erased-x") + of("alice") + of("erased-y"),
		"the refund under one id only": of("alice")[:strings.Index(of("alice"), "\n")+1] + refunds,
	} {
		lost := sourceOf(t, "", events).Lost(time.Now())
		if len(lost.Claims) != 1 || lost.Claims[0].User != "alice" || len(lost.Refunds) != 1 || lost.Refunds[0].User != "alice" {
			t.Errorf("%s: %+v", name, lost)
		}
	}
	s := restore.NewSource()
	if err := s.Events(strings.NewReader(of("alice") + of("bob"))); err == nil || !strings.Contains(err.Error(), "two users") {
		t.Errorf("two users of one claim: %v", err)
	}
}

func TestWhatMustBeRepeatedIsEveryEditAndWithdrawalSinceAndNothingElse(t *testing.T) {
	const events = `{"detail-type":"SaleChanged","detail":{"saleId":"moutai","changeId":"c3","action":"resume","occurredAt":"2026-11-11T12:00:40.000Z"}}
{"detail-type":"SaleChanged","detail":{"saleId":"moutai","changeId":"c1","action":"pause","occurredAt":"2026-11-11T12:00:30.000Z"}}
{"detail-type":"SaleChanged","detail":{"saleId":"moutai","changeId":"c1","action":"pause","occurredAt":"2026-11-11T12:00:30.000Z"}}
{"detail-type":"SaleChanged","detail":{"saleId":"boots","changeId":"c1","action":"withdraw","units":2,"occurredAt":"2026-11-11T12:00:35.000Z"}}
{"detail-type":"SaleChanged","detail":{"saleId":"moutai","changeId":"a1","action":"add","units":2,"occurredAt":"2026-11-11T12:00:36.000Z"}}
{"detail-type":"SaleChanged","detail":{"saleId":"moutai","changeId":"d1","action":"call","occurredAt":"2026-11-11T12:00:37.000Z"}}
{"detail-type":"SaleChanged","detail":{"saleId":"moutai","changeId":"c0","action":"pause","occurredAt":"2026-11-11T12:00:00.000Z"}}
`
	restoredTo := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	s := sourceOf(t, "", events)
	want := []string{
		"2026-11-11T12:00:30Z  pause of moutai (c1)", "2026-11-11T12:00:35Z  withdraw of boots (c1)", "2026-11-11T12:00:40Z  resume of moutai (c3)",
	}
	if got := s.Repeat(restoredTo); !reflect.DeepEqual(got, want) {
		t.Errorf("to repeat: %q, want %q", got, want)
	}
	lost := s.Lost(restoredTo)
	if len(lost.Additions) != 1 || lost.Additions[0].ID != "a1" || len(lost.Refunds) != 0 {
		t.Errorf("got %+v", lost)
	}
}

func replay(t *testing.T, log, events string) string {
	return "table replay --table T --at 2026-11-11T12:00:00Z --log " + file(t, log) + " --events " + file(t, events)
}

func TestARestoredTableIsCheckedAndThenReplayedOnceUnlessTheFilesContradictIt(t *testing.T) {
	selling(t, sale.Creation{Stock: 4}, func(t *testing.T, w *world) {
		w.target = &target{db: w.db}
		w.ordered("alice")
		w.ok(w.book.Withdraw(t.Context(), sale.Withdrawal{SaleID: "moutai", SeedID: "typo", Stock: 1}))
		before := w.db.Snapshot()
		time.Sleep(time.Second)
		log, events := w.restoring()
		bob := strings.Split(log, "\n")[1]
		another := func(user string) string {
			return strings.Replace(bob, `"user":"bob","claimId":"`, `"user":"`+user+`","claimId":"`+user, 1) + "\n"
		}
		for wants, log := range map[string]string{
			"no line of a log says when it was accepted": log[:strings.Index(log, `{"message":"finalize"`)], "OVERSOLD: ": log + another("eve") + another("fred"),
		} {
			w.db.Restore(before)
			items := w.db.Items("T")
			if w.says(replay(t, log, events)+" --yes", cli.ExitBad, wants); !reflect.DeepEqual(w.db.Items("T"), items) {
				t.Errorf("%s: something was written", wants)
			}
		}
		check := replay(t, log, events)
		w.remove("SALE#moutai", "SEED#typo")
		items := w.db.Items("T")
		w.says(strings.Replace(check, "replay", "check", 1), cli.ExitBad, "claims                    2", "nothing was written")
		w.says(check+" --dry-run", cli.ExitFine, "2 orders are known", "claims                    2", "order ids                 1", "shard counts              1", "pause of moutai (c1)", "withdrawal typo of moutai",
			"halves                    1", "more time                 1", "nothing was written: `flashsale table replay --at 2026-11-11T12:00:00Z --log ")
		if !reflect.DeepEqual(w.db.Items("T"), items) {
			t.Error("a check has written")
		}
		w.says(check+" --yes", cli.ExitFine, "claims                    2", "replayed: nothing is lacking")
		w.says(check+" --dry-run", cli.ExitFine, "claims                    0", "shard counts              0")
		w.says(check+" --yes", cli.ExitFine, "replayed: nothing is lacking")
		again, err := ledger.New(w.db, "T", ledger.Options{}).Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: "bob", Key: "k"})
		if err != nil || again.New {
			t.Errorf("bob's repeat gets %+v (%v), want the claim that he was told", again, err)
		}
	})
}
