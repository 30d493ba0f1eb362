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
		h.office.takes(always(250 * time.Millisecond))
		alice := make(chan answer, 1)
		slow, quick := event(h.t, "purchase.json", user("alice")), event(h.t, "purchase.json", user("bob"))
		go func() { alice <- h.buy(e, slow) }()
		time.Sleep(100 * time.Millisecond)
		if r := h.receipt(); r.Stock != 1 || r.Claims != 0 {
			h.t.Errorf("while the check is running: %+v, want the unit in stock", r)
		}
		h.office.takes(always(time.Millisecond))
		if a := h.buy(e, quick); a.status != 202 {
			h.t.Errorf("bob: %+v, want accepted while alice waits", a)
		}
		if a := <-alice; a.code != sale.SoldOut {
			h.t.Errorf("alice: %+v, want sold out: the transaction decides, not what was true before the check", a)
		}
	})
}

func TestASaleThatIsPausedDuringTheCheckSellsNothing(t *testing.T) {
	at(t, 10, func(h *hall) {
		e := h.environment(false)
		h.office.takes(always(250 * time.Millisecond))
		alice := make(chan answer, 1)
		purchase := event(h.t, "purchase.json")
		go func() { alice <- h.buy(e, purchase) }()
		time.Sleep(100 * time.Millisecond)
		paused := true
		if _, err := h.book().Edit(h.t.Context(), sale.Edit{SaleID: "moutai", At: time.Now(), Paused: &paused}); err != nil {
			h.t.Fatal(err)
		}
		if a := <-alice; a.code != sale.Paused || h.receipt().Claims != 0 {
			h.t.Errorf("%+v, want paused and no claim", a)
		}
	})
}

func TestOnlyThoseAreAskedAboutWhomOnlyTheAnswerKeepsFromBuying(t *testing.T) {
	at(t, 1, func(h *hall) {
		e := h.environment(false)
		keyed := event(h.t, "purchase-idempotent.json")
		bob := event(h.t, "purchase.json", user("bob"))
		other := event(h.t, "purchase.json", user("other"))
		if a := h.buy(e, keyed); a.status != 202 || h.office.count() != 1 {
			h.t.Errorf("the first: %+v after %d calls", a, h.office.count())
		}
		h.office.takes(always(time.Hour))
		if a := h.buy(e, keyed); a.status != 202 {
			h.t.Errorf("the same again: %+v", a)
		}
		if a := h.buy(e, bob); a.code != sale.AlreadyOrdered {
			h.t.Errorf("the same user without the key: %+v", a)
		}
		if a := h.buy(h.environment(false), keyed); a.status != 202 {
			h.t.Errorf("the same again, elsewhere: %+v", a)
		}
		if h.office.count() != 1 {
			h.t.Errorf("%d calls, want none about the holder of a claim", h.office.count())
		}
		h.office.takes(always(0))
		h.buy(e, other) // finds the shard empty, and the sale sold out
		asked := h.office.count()
		for i := range 20 {
			if a := h.buy(e, event(h.t, "purchase.json", user(fmt.Sprint("user-", i)))); a.code != sale.SoldOut {
				h.t.Errorf("user %d: %+v", i, a)
			}
		}
		if h.office.count() != asked {
			h.t.Errorf("%d calls for a sale that is sold out", h.office.count()-asked)
		}
	})
}

func TestARefusedUserIsToldSoOnceAndForAll(t *testing.T) {
	at(t, 10, func(h *hall) {
		e := h.environment(true)
		h.office.says = `{"eligible":false}`
		purchase := event(h.t, "purchase.json")
		for range 3 {
			if a := h.buy(e, purchase); a.status != 403 || a.code != sale.NotEligible || a.wait != 0 {
				h.t.Errorf("%+v, want 403 not-eligible", a)
			}
		}
		if r := h.receipt(); h.office.count() != 1 || r.Claims != 0 || r.Stock != 10 {
			h.t.Errorf("%d calls, %d claims, stock %d; want 1, none and all", h.office.count(), r.Claims, r.Stock)
		}
	})
}
