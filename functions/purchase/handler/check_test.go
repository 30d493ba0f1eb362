package handler

import (
	"fmt"
	"testing"
	"time"

	"flashsale/shared/sale"
)

func TestWhoWaitsForTheCheckHoldsNothing(t *testing.T) {
	at(t, 1, func(h *hall) {
		e := h.environment(false)
		h.office.slow(250 * time.Millisecond)
		alice := make(chan answer, 1)
		slow, quick := event(h.T, "purchase.json", user("alice")), event(h.T, "purchase.json", user("bob"))
		go func() { alice <- h.buy(e, slow) }()
		time.Sleep(100 * time.Millisecond)
		if r := h.Receipt(); r.Stock != 1 || r.Claims != 0 {
			h.T.Errorf("while the check is running: %+v, want the unit in stock", r)
		}
		h.office.slow(time.Millisecond)
		if a := h.buy(e, quick); a.status != 202 {
			h.T.Errorf("bob: %+v, want accepted while alice waits", a)
		}
		if a := <-alice; a.code != sale.SoldOut {
			h.T.Errorf("alice: %+v, want sold out: the transaction decides, not what was true before the check", a)
		}
	})
}

func TestASaleThatIsPausedDuringTheCheckSellsNothing(t *testing.T) {
	at(t, 10, func(h *hall) {
		e := h.environment(false)
		h.office.slow(250 * time.Millisecond)
		alice := make(chan answer, 1)
		purchase := event(h.T, "purchase.json")
		go func() { alice <- h.buy(e, purchase) }()
		time.Sleep(100 * time.Millisecond)
		paused := true
		if _, err := h.Ledger().Edit(h.T.Context(), sale.Edit{SaleID: "moutai", At: time.Now(), Paused: &paused}); err != nil {
			h.T.Fatal(err)
		}
		if a := <-alice; a.code != sale.Paused || h.Receipt().Claims != 0 {
			h.T.Errorf("%+v, want paused and no claim", a)
		}
	})
}

func TestOnlyThoseAreAskedAboutWhomOnlyTheAnswerKeepsFromBuying(t *testing.T) {
	at(t, 1, func(h *hall) {
		e := h.environment(false)
		keyed := event(h.T, "purchase-idempotent.json")
		bob := event(h.T, "purchase.json", user("bob"))
		other := event(h.T, "purchase.json", user("other"))
		if a := h.buy(e, keyed); a.status != 202 || h.office.count() != 1 {
			h.T.Errorf("the first: %+v after %d calls", a, h.office.count())
		}
		h.office.slow(time.Hour)
		if a := h.buy(e, keyed); a.status != 202 {
			h.T.Errorf("the same again: %+v", a)
		}
		if a := h.buy(e, bob); a.code != sale.AlreadyOrdered {
			h.T.Errorf("the same user without the key: %+v", a)
		}
		if a := h.buy(h.environment(false), keyed); a.status != 202 {
			h.T.Errorf("the same again, elsewhere: %+v", a)
		}
		if h.office.count() != 1 {
			h.T.Errorf("%d calls, want none about the holder of a claim", h.office.count())
		}
		h.office.slow(0)
		h.buy(e, other) // finds the shard empty, and the sale sold out
		asked := h.office.count()
		for i := range 20 {
			if a := h.buy(e, event(h.T, "purchase.json", user(fmt.Sprint("user-", i)))); a.code != sale.SoldOut {
				h.T.Errorf("user %d: %+v", i, a)
			}
		}
		if h.office.count() != asked {
			h.T.Errorf("%d calls for a sale that is sold out", h.office.count()-asked)
		}
	})
}

func TestARefusedUserIsToldSoOnceAndForAll(t *testing.T) {
	at(t, 10, func(h *hall) {
		e := h.environment(true)
		h.office.says = `{"eligible":false}`
		purchase := event(h.T, "purchase.json")
		for range 3 {
			if a := h.buy(e, purchase); a.status != 403 || a.code != sale.NotEligible || a.wait != 0 {
				h.T.Errorf("%+v, want 403 not-eligible", a)
			}
		}
		if r := h.Receipt(); h.office.count() != 1 || r.Claims != 0 || r.Stock != 10 {
			h.T.Errorf("%d calls, %d claims, stock %d; want 1, none and all", h.office.count(), r.Claims, r.Stock)
		}
	})
}
