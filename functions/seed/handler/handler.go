// Package handler handles the requests of schedules and operators: create a sale with
// its stock, add or withdraw units, pause, resume, reschedule, describe or recall it.
//
// It maps the event to calls of the ledger and their outcome to the answer. Keys,
// expressions and retries are the ledger's.
package handler

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/scheduled"
	"flashsale/shared/telemetry"
)

// Book is the part of the ledger that the handler uses.
type Book interface {
	Created(ctx context.Context, saleID string) (bool, error)
	Create(context.Context, sale.Creation) (ledger.Seeding, error)
	Add(context.Context, sale.Addition) (ledger.Seeding, error)
	Withdraw(context.Context, sale.Withdrawal) (ledger.Withdrawn, error)
	Edit(context.Context, sale.Edit) (ledger.Edited, error)
	Describe(context.Context, sale.Description) (ledger.Described, error)
	Recall(context.Context, sale.Recall) (ledger.Edited, error)
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	book Book
	log  *telemetry.Log
	now  func() time.Time
	// imageOrigin is the only origin of pictures; "" allows none.
	imageOrigin string
}

// answer is what every action returns about the resulting sale.
type answer struct {
	SaleID  string `json:"saleId"`
	Seeded  int64  `json:"seeded"`
	Shards  int    `json:"shards"`
	Applied bool   `json:"applied"`
	*withdrawn
	*edited
	*described
}

// withdrawn is what a withdrawal returns in addition: how many units it took in total,
// including all repeats.
type withdrawn struct {
	Withdrawn int64 `json:"withdrawn"`
}

// edited is what an edit returns in addition: the state now in effect, in the sale and
// in every shard.
type edited struct {
	Paused    bool   `json:"paused"`
	OpensAt   string `json:"opensAt"`
	ClosesAt  string `json:"closesAt"`
	ChangedAt string `json:"changedAt"` // the newest edit's instant
	// RecalledAt is of a sale that was recalled.
	RecalledAt string `json:"recalledAt,omitempty"`
}

// described is what a description returns in addition: what buyers now read.
type described struct {
	Name  string `json:"name"`
	Image string `json:"image,omitempty"`
	About string `json:"about,omitempty"`
	Link  string `json:"link,omitempty"`
}

// New returns a handler over a ledger; now returns the current instant.
func New(b Book, log *telemetry.Log, now func() time.Time) *Handler {
	return &Handler{book: b, log: log, now: now}
}

// ImagesFrom allows pictures of that origin, and of no other; "" allows none.
func (h *Handler) ImagesFrom(origin string) *Handler {
	h.imageOrigin = origin
	return h
}

// Handle applies one request. A failure is a function error named after its code.
func (h *Handler) Handle(ctx context.Context, raw json.RawMessage) (answer, error) {
	var out answer
	err := scheduled.Run(ctx, h.log, "seed", func(ctx context.Context, event *telemetry.Event) error {
		r, err := decode(raw)
		if err != nil {
			return err
		}
		event.Text("action", r.Action)
		event.Text("saleId", r.SaleID)
		if out, err = h.apply(ctx, r); err != nil {
			return err
		}
		event.Metric("seeded", telemetry.Count, int(out.Seeded))
		return nil
	}, func(event *telemetry.Event, code sale.Code) {
		event.CountBy("seedings", "result", telemetry.Result(code))
	})
	return out, err
}

func (h *Handler) apply(ctx context.Context, r request) (answer, error) {
	switch r.Action {
	case "create":
		c, err := r.creation()
		if err != nil {
			return answer{}, err
		}
		// A release that knew no such rule, or a stack with another ImageOrigin, may have
		// stored the same request.
		if err := cmp.Or(c.CheckNew(), c.CheckImage(h.imageOrigin)); err != nil {
			if stored, failed := h.book.Created(ctx, c.SaleID); failed != nil || !stored {
				return answer{}, cmp.Or(failed, err)
			}
		}
		return seeded(h.book.Create(ctx, c))
	case "add":
		a, err := r.addition()
		if err != nil {
			return answer{}, err
		}
		return seeded(h.book.Add(ctx, a))
	case "withdraw":
		a, err := r.addition()
		if err != nil {
			return answer{}, err
		}
		done, err := h.book.Withdraw(ctx, sale.Withdrawal(a))
		out, err := seeded(done.Seeding, err)
		out.withdrawn = &withdrawn{done.Units}
		return out, err
	case "describe":
		return h.describe(ctx, r)
	case "recall":
		one := sale.Recall{SaleID: r.SaleID, Author: sale.Author{Note: r.Note}}
		if err := one.Check(); err != nil {
			return answer{}, err
		}
		return editedTo(h.book.Recall(ctx, one))
	}
	e, err := r.edit(h.now())
	if err != nil {
		return answer{}, err
	}
	return editedTo(h.book.Edit(ctx, e))
}

func editedTo(after ledger.Edited, err error) (answer, error) {
	s := after.Sale
	out := answer{
		SaleID: s.ID, Seeded: s.Seeded, Shards: s.Shards, Applied: after.Applied,
		edited: &edited{
			Paused: s.Paused, OpensAt: httpapi.Time(s.OpensAt), ClosesAt: httpapi.Time(s.ClosesAt), ChangedAt: httpapi.Time(s.ChangedAt),
		},
	}
	if s.IsRecalled() {
		out.RecalledAt = httpapi.Time(s.RecalledAt)
	}
	return out, err
}

func (h *Handler) describe(ctx context.Context, r request) (answer, error) {
	d, err := r.description()
	if err != nil {
		return answer{}, err
	}
	picture := sale.Presentation{Image: given(r.Image)}
	if err := picture.CheckImage(h.imageOrigin); err != nil {
		return answer{}, err
	}
	after, err := h.book.Describe(ctx, d)
	s := after.Sale
	return answer{
		SaleID: s.ID, Seeded: s.Seeded, Shards: s.Shards, Applied: after.Applied,
		described: &described{Name: s.Name, Image: s.Image, About: s.About, Link: s.Link},
	}, err
}

func seeded(s ledger.Seeding, err error) (answer, error) {
	return answer{SaleID: s.SaleID, Seeded: s.Seeded, Shards: s.Shards, Applied: s.Applied}, err
}
