package handler

import (
	"context"
	"errors"
	"net/http"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// entryPage is an entry as its owner gets it: with the nonce its owner can show that the leaf on the
// roll is theirs.
type entryPage struct {
	Nonce     string `json:"nonce"`
	Leaf      string `json:"leaf"`
	EnteredAt string `json:"enteredAt"`
	Now       string `json:"now"`
	// The rest only who asks for the entry gets. OnRoll is absent before the roll is closed, Rank before the dice.
	OnRoll bool   `json:"onRoll,omitempty"`
	Rank   string `json:"rank,omitempty"`
	// Turn is the newest call in which its owner may buy or might have bought; absent before they are called.
	Turn *turnPage `json:"turn,omitempty"`
	// Next is when the next call may begin; absent while it is the owner's turn, and if there can be none.
	Next string `json:"next,omitempty"`
}

type turnPage struct {
	Call  int64  `json:"call"`
	From  string `json:"from"`
	Until string `json:"until"` // exclusive
}

// enter enters the caller into a sale's draw.
func (h *Handler) enter(ctx context.Context, r ledger.Request) (httpapi.Response, error) {
	entry, err := h.ledger.Enter(ctx, r.SaleID, r.User, h.Times.Settle, r.CheckUser)
	if err != nil {
		return httpapi.Response{}, h.spread(err)
	}
	return httpapi.JSON(http.StatusOK, pageOf(entry, h.now())), nil
}

// entry shows the caller's entry, and whether it is their turn.
func (h *Handler) entry(ctx context.Context, r ledger.Request) (httpapi.Response, error) {
	entry, err := h.ledger.Entry(ctx, r.SaleID, r.User, h.Times.Settle)
	if err != nil {
		return httpapi.Response{}, h.spread(err)
	}
	turn, err := h.ledger.Turn(ctx, r.SaleID, entry, h.Times)
	if err != nil {
		return httpapi.Response{}, err
	}
	now := h.now()
	page := pageOf(entry, now)
	page.OnRoll = turn.OnRoll
	if turn.HasRank {
		page.Rank = turn.Rank.String()
	}
	if c := turn.Call; c.Number != 0 {
		page.Turn = &turnPage{c.Number, httpapi.Time(c.From), httpapi.Time(c.Until)}
	}
	if !turn.Next.IsZero() {
		page.Next = httpapi.Time(turn.Next)
	}
	response := httpapi.JSON(http.StatusOK, page)
	if !turn.Again.IsZero() {
		response.Headers.RetryAfter = httpapi.Seconds(max(0, turn.Again.Sub(now)) + h.jitter())
	}
	return response, nil
}

// jitter is how long after an instant somebody asks what the draw function has done at it, which looks once in a gap:
// all entrants ask for the same news.
func (h *Handler) jitter() time.Duration { return httpapi.Jitter(h.Times.Gap/3, 2*h.Times.Gap) }

// spread adds it to the wait of those who cannot be told yet whether they are on the roll.
func (h *Handler) spread(err error) error {
	said, ours := errors.AsType[*sale.Error](err)
	if !ours || said.Code != sale.Busy || said.RetryAfter == 0 {
		return err
	}
	later := *said
	later.RetryAfter += h.jitter()
	return &later
}

func pageOf(e ledger.Entry, now time.Time) entryPage {
	return entryPage{Nonce: e.Nonce.String(), Leaf: e.Leaf.String(), EnteredAt: httpapi.Time(e.At), Now: httpapi.Time(now)}
}
