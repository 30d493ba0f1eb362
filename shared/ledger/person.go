package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Held is what the table holds of one user in one sale; what it does not hold is nil or "".
type Held struct {
	Sale  sale.Sale
	Claim *sale.Claim
	Order *sale.Order
	// Guarded: the user's guard in the sale's group names this sale.
	Guarded bool
	Entry   *Entry
	Refunds []sale.Refund

	claim, guard, entry, order item      // as they are stored
	sealing                    []Listing // the sales to seal before it is erased, see mayBeSealed
}

func (h *Held) isEmpty() bool {
	return h.Claim == nil && h.Order == nil && !h.Guarded && h.Entry == nil && len(h.Refunds) == 0
}

// Person passes to report what each sale holds of a user, and returns how many sales it has
// looked at: all that were ever created, a page at a time. It fails with sale.Busy or report's
// error; and in the end with sale.NewerVersion or sale.Internal if there are sales that cannot be
// read.
func (l *Ledger) Person(ctx context.Context, user string, report func(Held) error) (sales int, err error) {
	var unreadable []error
	err = l.queryPages(ctx, patientTries, dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK},
		ExpressionAttributeValues: item{":pk": listingKey("")[attrPK]},
	}, true, func(listings []item) error {
		held, errs := make([]Held, len(listings)), make([]error, len(listings))
		each(len(listings), func(i int) { held[i], errs[i] = l.heldIn(ctx, identityOf(listings[i]).sk, user) })
		for i, err := range errs {
			sales++
			switch {
			case sale.CodeOf(err) == sale.Busy:
				return err
			case err != nil:
				unreadable = append(unreadable, fmt.Errorf("sale %s: %w", identityOf(listings[i]).sk, err))
			case !held[i].isEmpty():
				if err := report(held[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return sales, cmp.Or(err, asInternal(errors.Join(unreadable...)))
}

// heldIn reads what a sale holds of a user.
func (l *Ledger) heldIn(ctx context.Context, saleID, user string) (Held, error) {
	it, err := l.getWithin(ctx, patientTries, saleKey(saleID))
	if err != nil {
		return Held{}, err
	}
	s, err := readSale(it)
	if err != nil {
		return Held{}, asInternal(err)
	}
	h := Held{Sale: s}
	claim, guard, entry := claimKey(s.ID, sale.BucketOf(user, s.Buckets), user), item{}, item{}
	keys := []item{claim}
	if s.LimitGroup != "" {
		guard = groupGuardKey(s.LimitGroup, user)
		keys = append(keys, guard)
	}
	if s.HasDraw() {
		receipt, err := l.receipt(ctx, s, user)
		if err != nil {
			return Held{}, err
		}
		h.Entry, entry = &receipt, entryKey(s.ID, receipt.Leaf.Page(), user)
		keys = append(keys, entry)
	}
	found, err := l.getAll(ctx, keys)
	if err != nil {
		return Held{}, err
	}
	h.claim, h.guard, h.entry = found[identityOf(claim)], found[identityOf(guard)], found[identityOf(entry)]
	if h.entry == nil {
		h.Entry = nil
	} else if h.Entry.At, err = readEntered(h.entry); err != nil {
		return Held{}, err
	}
	if h.guard != nil {
		g, err := readGroupGuard(h.guard)
		if err != nil {
			return Held{}, asInternal(err)
		}
		h.Guarded = g.saleID == s.ID
	}
	if h.claim != nil {
		err = l.readHeld(ctx, &h)
	}
	return h, asInternal(err)
}

// readHeld reads the claim, its order and its refunds. The claim notes the first refunds of its
// order, so one without any has none. Plain reads may see what it notes before the refund.
func (l *Ledger) readHeld(ctx context.Context, h *Held) error {
	c, err := readClaim(h.Sale.ID, h.Sale.Buckets, h.claim)
	if err != nil {
		return err
	}
	h.Claim = &c
	if c.OrderID != 0 {
		if h.order, err = l.getWithin(ctx, patientTries, orderKey(c.OrderID)); err != nil {
			return err
		}
		if h.order == nil {
			return fmt.Errorf("order %s of the claim is not there", orderid.String(c.OrderID))
		}
		o, err := readOrder(h.order)
		if err != nil {
			return err
		}
		h.Order = &o
	}
	if len(c.Refunds) == 0 {
		return nil
	}
	for left := l.upTo(patientTries); ; {
		items, err := l.queryAll(ctx, patientTries, dynamodb.QueryInput{
			KeyConditionExpression:    aws.String("#pk = :pk"),
			FilterExpression:          aws.String("#user = :user"),
			ExpressionAttributeNames:  map[string]string{"#pk": attrPK, "#user": "user"},
			ExpressionAttributeValues: item{":pk": refundKey(c.SaleID, "")[attrPK], ":user": str(c.User)},
		})
		if err != nil {
			return err
		}
		h.Refunds = nil
		unseen := slices.Clone(c.Refunds)
		for _, it := range items {
			refund, err := readRefund(it)
			if err != nil {
				return err
			}
			h.Refunds = append(h.Refunds, refund)
			unseen = slices.DeleteFunc(unseen, func(payment string) bool { return payment == refund.Payment })
		}
		if len(unseen) == 0 {
			return nil
		}
		if !left.again(ctx) {
			return sale.Fail(sale.Busy, errors.New("a refund that the claim notes is not visible yet"))
		}
	}
}
