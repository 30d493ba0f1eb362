package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Held is what the table holds of one user in one sale; what it does not hold is nil or "".
type Held struct {
	Sale  sale.Sale
	Claim *sale.Claim
	Order *sale.Order
	// Cancelled says which operator has cancelled the order, and why.
	Cancelled *sale.CancelledOrder
	// Guarded: the user's guard in the sale's group names this sale.
	Guarded bool
	Entry   *ledger.Entry
	Refunds []sale.Refund

	claim, guard, entry, order table.Item // as they are stored
	sealing                    []sealing  // the sales to seal before it is erased, see mayBeSealed
}

func (h *Held) isEmpty() bool {
	return h.Claim == nil && h.Order == nil && !h.Guarded && h.Entry == nil && len(h.Refunds) == 0
}

// Person passes to report what each sale holds of a user, and returns how many sales it has
// looked at: all that were ever created, a page at a time. It fails with sale.Busy or report's
// error; and in the end with sale.NewerVersion or sale.Internal if there are sales that cannot be
// read.
func (m *Maintenance) Person(ctx context.Context, user string, report func(Held) error) (sales int, err error) {
	var unreadable []error
	all := table.Partition(table.ListingKey("")[table.PK])
	err = m.table.QueryPages(ctx, table.PatientTries, all, true, func(listings []table.Item) error {
		held, errs := make([]Held, len(listings)), make([]error, len(listings))
		table.Each(len(listings), func(i int) { held[i], errs[i] = m.heldIn(ctx, table.IdentityOf(listings[i]).SK, user) })
		for i, err := range errs {
			sales++
			switch {
			case sale.CodeOf(err) == sale.Busy:
				return err
			case err != nil:
				unreadable = append(unreadable, fmt.Errorf("sale %s: %w", table.IdentityOf(listings[i]).SK, err))
			case !held[i].isEmpty():
				if err := report(held[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return sales, cmp.Or(err, sale.AsInternal(errors.Join(unreadable...)))
}

// heldIn reads what a sale holds of a user.
func (m *Maintenance) heldIn(ctx context.Context, saleID, user string) (Held, error) {
	it, err := m.table.GetWithin(ctx, table.PatientTries, table.SaleKey(saleID))
	if err != nil {
		return Held{}, err
	}
	s, err := table.ReadSale(it)
	if err != nil {
		return Held{}, sale.AsInternal(err)
	}
	h := Held{Sale: s}
	claim, guard, entry := table.ClaimKey(s.ID, sale.BucketOf(user, s.Buckets), user), table.Item{}, table.Item{}
	keys := []table.Item{claim}
	if s.LimitGroup != "" {
		guard = table.GroupGuardKey(s.LimitGroup, user)
		keys = append(keys, guard)
	}
	if s.HasDraw() {
		own, err := m.ledger.EntryOf(ctx, s, user)
		if err != nil {
			return Held{}, err
		}
		h.Entry, entry = &own, table.EntryKey(s.ID, own.Leaf.Page(), user)
		keys = append(keys, entry)
	}
	found, err := m.table.GetAll(ctx, keys)
	if err != nil {
		return Held{}, err
	}
	h.claim, h.guard = found[table.IdentityOf(claim)], found[table.IdentityOf(guard)]
	h.entry = found[table.IdentityOf(entry)]
	if h.entry == nil {
		h.Entry = nil
	} else if h.Entry.At, err = table.ReadEntered(h.entry); err != nil {
		return Held{}, err
	}
	if h.guard != nil {
		g, err := table.ReadGroupGuard(h.guard)
		if err != nil {
			return Held{}, sale.AsInternal(err)
		}
		h.Guarded = g.SaleID == s.ID
	}
	if h.claim != nil {
		err = m.readHeld(ctx, &h)
	}
	return h, sale.AsInternal(err)
}

// readHeld reads the claim, its order, who has cancelled that, and its refunds. The claim notes the first refunds of
// its order, so one without any has none. Plain reads may see what it notes before the refund.
func (m *Maintenance) readHeld(ctx context.Context, h *Held) error {
	c, err := table.ReadClaim(h.Sale.ID, h.Sale.Buckets, h.claim)
	if err != nil {
		return err
	}
	h.Claim = &c
	if c.OrderID != 0 {
		if h.order, err = m.table.GetWithin(ctx, table.PatientTries, table.OrderKey(c.OrderID)); err != nil {
			return err
		}
		if h.order == nil {
			return fmt.Errorf("order %s of the claim is not there", orderid.String(c.OrderID))
		}
		o, err := table.ReadOrder(h.order)
		if err != nil {
			return err
		}
		h.Order = &o
	}
	if h.Cancelled, err = m.ledger.Cancelled(ctx, c); err != nil {
		return err
	}
	if len(c.Refunds) == 0 {
		return nil
	}
	for left := m.table.UpTo(table.PatientTries); ; {
		items, err := m.table.QueryAll(ctx, table.PatientTries,
			table.Filtered(table.RefundKey(c.SaleID, "")[table.PK], "#user = :user", table.Item{":user": table.S(c.User)}))
		if err != nil {
			return err
		}
		h.Refunds = nil
		unseen := slices.Clone(c.Refunds)
		for _, it := range items {
			refund, err := table.ReadRefund(it)
			if err != nil {
				return err
			}
			h.Refunds = append(h.Refunds, refund)
			unseen = slices.DeleteFunc(unseen, func(payment string) bool { return payment == refund.Payment })
		}
		if len(unseen) == 0 {
			return nil
		}
		if !left.Again(ctx) {
			return sale.Fail(sale.Busy, errors.New("a refund that the claim notes is not visible yet"))
		}
	}
}
