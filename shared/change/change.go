// Package change applies the requests of operators and schedules to a sale: it reads a
// request strictly, calls the ledger, and says what then holds.
//
// Who may ask, and how a request arrives, is its callers' business.
package change

import (
	"cmp"
	"context"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Ledger is the part of the ledger that changes use.
type Ledger interface {
	Created(ctx context.Context, saleID string) (bool, error)
	Create(context.Context, sale.Creation) (ledger.Seeding, error)
	Add(context.Context, sale.Addition) (ledger.Seeding, error)
	Withdraw(context.Context, sale.Withdrawal) (ledger.Withdrawn, error)
	Edit(context.Context, sale.Edit) (ledger.Edited, error)
	Describe(context.Context, sale.Description) (ledger.Edited, error)
	Recall(context.Context, sale.Recall) (ledger.Edited, error)
	CancelOrder(context.Context, sale.Cancellation) (ledger.OrderCancelled, error)
}

// Desk applies requests. It is safe for concurrent use.
type Desk struct {
	Ledger Ledger
	// Now returns the current instant.
	Now func() time.Time
	// ImageOrigin is the only origin of pictures; "" allows none.
	ImageOrigin string
	// DrawLead is how long after the end of entering a sale with a draw may open at the
	// earliest.
	DrawLead time.Duration
	// Stripe: payments are reported by Stripe, so a new price must be an amount that it charges.
	Stripe bool
}

// Answer is what every action returns about the resulting sale.
type Answer struct {
	SaleID  string `json:"saleId"`
	Seeded  int64  `json:"seeded"`
	Shards  int    `json:"shards"`
	Applied bool   `json:"applied"`
	*Taken
	*Edited
	*Described
	*Cancelled
	// ChangeID names the change in the sale's trail, or the order's cancellation; "" if its caller does
	// not ask.
	ChangeID string `json:"changeId,omitempty"`
	// Version is that of the sale with the change, for the next one; "" if the request did not say which one
	// it was decided on, and was no creation.
	Version string `json:"version,omitempty"`
}

// Taken is what a withdrawal returns in addition: how many units it took in total,
// including all repeats.
type Taken struct {
	Withdrawn int64 `json:"withdrawn"`
}

// Edited is what an edit returns in addition: the state now in effect, in the sale and
// in every shard.
type Edited struct {
	Paused    bool   `json:"paused"`
	OpensAt   string `json:"opensAt"`
	ClosesAt  string `json:"closesAt"`
	ChangedAt string `json:"changedAt"` // the newest edit's instant
	// Until is the end of the newest call of a draw.
	Until string `json:"until,omitempty"`
	// PayUntil is until when all unpaid orders may be paid, if an operator has given more time.
	PayUntil string `json:"payUntil,omitempty"`
	// RecalledAt is of a sale that was recalled.
	RecalledAt string `json:"recalledAt,omitempty"`
}

// Described is what a description returns in addition: what buyers now read.
type Described struct {
	Name  string `json:"name"`
	Image string `json:"image,omitempty"`
	About string `json:"about,omitempty"`
	Link  string `json:"link,omitempty"`
}

// Cancelled is what the cancellation of an order returns in addition.
type Cancelled struct {
	OrderID     string    `json:"orderId"`
	CancelledAt string    `json:"cancelledAt"`
	Unit        sale.Unit `json:"unit"`
	// Payment goes back; "" if the order was not paid.
	Payment string `json:"payment,omitempty"`
}

// Apply applies a request. It fails with the error of the ledger, or with
// sale.InvalidRequest.
func (d *Desk) Apply(ctx context.Context, r Request) (Answer, error) {
	out, seen, err := d.apply(ctx, r)
	if err == nil && (r.Version != nil || r.Action == "create") {
		out.Version = seen.Text(r.SaleID)
	}
	return out, err
}

// apply also returns what the author has then seen.
func (d *Desk) apply(ctx context.Context, r Request) (Answer, sale.ReadVersion, error) {
	switch r.Action {
	case "create":
		c, err := r.Creation()
		if err != nil {
			return Answer{}, sale.ReadVersion{}, err
		}
		// A stack with another ImageOrigin, DrawLead, provider or list of currencies may have
		// stored the same request.
		if err := cmp.Or(
			c.CheckNew(), c.CheckImage(d.ImageOrigin), c.CheckDraw(d.DrawLead), c.CheckStripe(d.Stripe),
		); err != nil {
			if stored, failed := d.Ledger.Created(ctx, c.SaleID); failed != nil || !stored {
				return Answer{}, sale.ReadVersion{}, cmp.Or(failed, err)
			}
		}
		return seeded(d.Ledger.Create(ctx, c))
	case "add":
		a, err := r.Addition()
		if err != nil {
			return Answer{}, sale.ReadVersion{}, err
		}
		return seeded(d.Ledger.Add(ctx, a))
	case "withdraw":
		a, err := r.Addition()
		if err != nil {
			return Answer{}, sale.ReadVersion{}, err
		}
		done, err := d.Ledger.Withdraw(ctx, sale.Withdrawal(a))
		out, seen, err := seeded(done.Seeding, err)
		out.Taken = &Taken{done.Units}
		return out, seen, err
	case "describe":
		return d.describe(ctx, r)
	case "cancel":
		out, err := d.cancel(ctx, r)
		return out, sale.ReadVersion{}, err
	case "recall":
		one := sale.Recall{SaleID: r.SaleID, ChangeID: r.ChangeID, Author: r.author()}
		if err := one.Check(); err != nil {
			return Answer{}, sale.ReadVersion{}, err
		}
		return editedTo(d.Ledger.Recall(ctx, one))
	}
	e, err := r.Edit(d.Now())
	if err != nil {
		return Answer{}, sale.ReadVersion{}, err
	}
	e.DrawLead = d.DrawLead
	return editedTo(d.Ledger.Edit(ctx, e))
}

func editedTo(after ledger.Edited, err error) (Answer, sale.ReadVersion, error) {
	s := after.Sale
	out := Answer{
		SaleID: s.ID, Seeded: s.Seeded, Shards: s.Shards, Applied: after.Applied,
		Edited: &Edited{
			Paused: s.Paused, OpensAt: httpapi.Time(s.Begins()), ClosesAt: httpapi.Time(s.Ends()),
			ChangedAt: httpapi.Time(s.ChangedAt),
		},
	}
	if s.Call > 0 {
		out.Until = httpapi.Time(s.ClosesAt)
	}
	if !s.PayUntil.IsZero() {
		out.PayUntil = httpapi.Time(s.PayUntil)
	}
	if s.IsRecalled() {
		out.RecalledAt = httpapi.Time(s.RecalledAt)
	}
	return out, after.ReadVersion, err
}

func (d *Desk) describe(ctx context.Context, r Request) (Answer, sale.ReadVersion, error) {
	text, err := r.Description()
	if err != nil {
		return Answer{}, sale.ReadVersion{}, err
	}
	picture := sale.Presentation{Image: given(r.Image)}
	if err := picture.CheckImage(d.ImageOrigin); err != nil {
		return Answer{}, sale.ReadVersion{}, err
	}
	after, err := d.Ledger.Describe(ctx, text)
	s := after.Sale
	return Answer{
		SaleID: s.ID, Seeded: s.Seeded, Shards: s.Shards, Applied: after.Applied,
		Described: &Described{Name: s.Name, Image: s.Image, About: s.About, Link: s.Link},
	}, after.ReadVersion, err
}

func (d *Desk) cancel(ctx context.Context, r Request) (Answer, error) {
	c, err := r.cancellation()
	if err != nil {
		return Answer{}, err
	}
	done, err := d.Ledger.CancelOrder(ctx, c)
	s := done.Sale
	return Answer{
		SaleID: s.ID, Seeded: s.Seeded, Shards: s.Shards, Applied: done.Applied, Cancelled: &Cancelled{
			OrderID: orderid.String(done.OrderID), CancelledAt: httpapi.Time(done.At), Unit: done.Unit,
			Payment: done.Claim.Payment,
		},
	}, err
}

func seeded(s ledger.Seeding, err error) (Answer, sale.ReadVersion, error) {
	return Answer{SaleID: s.SaleID, Seeded: s.Seeded, Shards: s.Shards, Applied: s.Applied}, s.ReadVersion, err
}
