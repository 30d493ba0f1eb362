package table

import (
	"fmt"
	"strings"
	"time"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func ReadEntered(it Item) (time.Time, error) {
	r := Read(it)
	at := r.Time("at")
	return at, sale.AsInternal(r.Err)
}

func ReadSale(it Item) (sale.Sale, error) {
	r := Read(it)
	s := sale.Sale{
		ID:        strings.TrimPrefix(r.Text(PK), "SALE#"),
		Name:      r.Text("name"),
		OpensAt:   r.Time("opensAt"),
		ClosesAt:  r.Time("closesAt"),
		Paused:    r.Flag("paused"),
		ChangedAt: r.Time("changedAt"),
		Seeded:    r.Number("seeded"),
		Limited:   Has(it, "room"),
		Shards:    int(r.Number("shards")),
		Buckets:   int(r.Number("buckets")),
		Empty:     r.shards("empty"),
		Version:   r.Number("version"),
		State:     sale.State(r.Text("state")),
		MinReader: int(r.OptionalNumber(MinReader)),
		PayWithin: time.Duration(r.OptionalNumber("payWithin")) * time.Second,
		LateFor:   r.Days("lateDays"),
		PayUntil:  r.OptionalTime("payUntil"),
		Price:     r.OptionalNumber("price"),
		Currency:  r.OptionalText("currency"),
		Extras:    r.Extras(),

		MaxPerOrder: int(r.SeveralUnits("maxPerOrder")),
		Labels:      r.Labels(),

		Presentation: r.Presentation(),
		LimitGroup:   r.OptionalText("limitGroup"),
		RecallNote:   r.OptionalText("recallNote"),
		Edits:        r.OptionalNumber("edits"),
		Seedings:     r.OptionalNumber("seedings"),
		Cancelled:    r.OptionalNumber("cancelled"),
		RecalledAt:   r.OptionalTime("recalledAt"),
		SealedAt:     r.OptionalTime("sealedAt"),
		Erased:       r.OptionalNumber("erased"),
		Archive:      r.OptionalText("archive"),
		ArchivedKeys: r.OptionalText("archivedKeys"),
		ArchivedAt:   r.OptionalTime("archivedAt"),

		ArchivedUnits: r.OptionalNumber("archivedUnits"),
	}
	if Has(it, "enterFrom") {
		s.Draw = r.draw()
	}
	if r.Err == nil && (s.Shards < 1 || s.Shards > sale.MaxShards || s.Buckets < 1) {
		r.Err = fmt.Errorf("read sale %s: %d shards, %d buckets", s.ID, s.Shards, s.Buckets)
	}
	return s, r.Err
}

func SaleItem(s sale.Sale) Item {
	it := ForReader(s.MinReader, WithTerms(s, With(SaleKey(s.ID), Item{
		"name":      S(s.Name),
		"opensAt":   Millis(s.OpensAt),
		"closesAt":  Millis(s.ClosesAt),
		"paused":    Bool(s.Paused),
		"changedAt": Millis(s.ChangedAt),
		"seeded":    N(s.Seeded),
		"shards":    N(int64(s.Shards)),
		"buckets":   N(int64(s.Buckets)),
		"version":   N(s.Version),
		"state":     S(string(s.State)),
	})))
	if s.HasDraw() {
		it["beginsAt"], it["endsAt"] = Millis(s.BeginsAt), Millis(s.EndsAt)
	}
	return it
}

// WithLabels adds the labels of a sale, if it has any.
func WithLabels(l sale.Labels, it Item) Item {
	if l != "" {
		it["labels"] = S(string(l))
	}
	return it
}

func (r *Reader) Labels() sale.Labels { return sale.Labels(r.OptionalText("labels")) }

// WithTerms adds what the request of a sale's creation repeats, as far as it is given: what
// it asks of payments, its draw, its group, its labels and what buyers see.
func WithTerms(s sale.Sale, it Item) Item {
	if s.PayWithin != 0 {
		it["payWithin"] = N(int64(s.PayWithin / time.Second))
	}
	if s.LateFor != 0 {
		it["lateDays"] = N(int64(s.LateFor / (24 * time.Hour)))
	}
	if s.HasDraw() {
		it["enterFrom"], it["enterUntil"] = Millis(s.EnterFrom), Millis(s.EnterUntil)
		it["keepHours"] = N(int64(s.KeepFor / time.Hour))
	}
	if s.Price != 0 {
		it["price"], it["currency"] = N(s.Price), S(s.Currency)
	}
	if s.Extras {
		it["extras"] = S(sale.ExtrasAllowed)
	}
	if s.MaxPerOrder != 0 {
		it["maxPerOrder"] = N(int64(s.MaxPerOrder))
	}
	for name, value := range map[string]string{
		"limitGroup": s.LimitGroup, "image": s.Image, "about": s.About, "link": s.Link,
	} {
		if value != "" {
			it[name] = S(value)
		}
	}
	return WithLabels(s.Labels, it)
}

// Days reads a number of days, 0 if there is none.
func (r *Reader) Days(name string) time.Duration {
	return time.Duration(r.OptionalNumber(name)) * 24 * time.Hour
}

// Extras reads whether payments may have extras.
func (r *Reader) Extras() bool {
	text := r.OptionalText("extras")
	if text != "" && text != sale.ExtrasAllowed {
		r.Fail("extras", sale.ExtrasAllowed)
	}
	return text != ""
}

// SeveralUnits reads a number of units of one order, 0 if there is none: one unit is never stored.
func (r *Reader) SeveralUnits(name string) int64 {
	n := r.OptionalNumber(name)
	if Has(r.Item, name) && (n < 2 || n > sale.MaxPerOrder) {
		r.Fail(name, "2 to 8")
	}
	return n
}

// Presentation reads what buyers see of the sale.
func (r *Reader) Presentation() sale.Presentation {
	return sale.Presentation{Image: r.OptionalText("image"), About: r.OptionalText("about"), Link: r.OptionalText("link")}
}

// Shard is one stock shard. It repeats the sale's window and pause flag so that
// the transaction that takes a unit can check them (P14).
type Shard struct {
	Stock, Seeded int64
	// Released counts the units of its claims that have ended, but for those that are kept, PutBack
	// how many of those units are in stock again or sold again.
	Released, PutBack int64
	// Moved is how many units other shards gave to it for an order that no shard could fill, less those that it gave.
	// The claim is only of the shard that sells, so no reader needs to know where its units came from.
	Moved             int64
	OpensAt, ClosesAt time.Time
	Paused            bool
	ChangedAt         time.Time
}

func ReadShard(it Item) (Shard, error) {
	r := Read(it)
	return Shard{
		Stock:     r.Number("stock"),
		Seeded:    r.Number("seeded"),
		Released:  r.OptionalNumber("released"),
		PutBack:   r.OptionalNumber("putBack"),
		Moved:     r.OptionalNumber("moved"),
		OpensAt:   r.Time("opensAt"),
		ClosesAt:  r.Time("closesAt"),
		Paused:    r.Flag("paused"),
		ChangedAt: r.Time("changedAt"),
	}, r.Err
}

// Sold is how many units the shard's claims have, released ones included.
func (s *Shard) Sold() int64 { return s.Seeded - s.Stock + s.PutBack + s.Moved }

func ShardItem(s sale.Sale, k int, units int64) Item {
	it := With(StockKey(s.ID, k), Item{
		"stock":     N(units),
		"seeded":    N(units),
		"opensAt":   Millis(s.OpensAt),
		"closesAt":  Millis(s.ClosesAt),
		"paused":    Bool(s.Paused),
		"changedAt": Millis(s.ChangedAt),
	})
	if s.PayWithin != 0 {
		it["released"], it["putBack"] = Zero, Zero
	}
	return it
}

func ReadClaim(saleID string, buckets int, it Item) (sale.Claim, error) {
	r := Read(it)
	c := sale.Claim{
		SaleID:     saleID,
		Buckets:    buckets,
		User:       r.Text(SK),
		ID:         r.Text("claimId"),
		Shard:      int(r.Number("shard")),
		AcceptedAt: r.Time("acceptedAt"),
		Units:      r.SeveralUnits("units"),
		RequestKey: r.OptionalText("requestKey"),
		OrderID:    uint64(r.OptionalNumber("orderId")),
		ResentAt:   r.OptionalTime("resentAt"),
		Refunds:    r.OptionalTexts("refunds"),
		Labels:     r.Labels(),
		MinReader:  int(r.OptionalNumber(MinReader)),
	}
	if Has(it, "payWithin") {
		c.PaymentTerms = sale.PaymentTerms{
			Known: true, PayWithin: time.Duration(r.Number("payWithin")) * time.Second,
			Price: r.Number("price"), Currency: r.OptionalText("priceCurrency"),
		}
	}
	if Has(it, "paidAt") {
		c.PaidAt, c.Payment = r.Time("paidAt"), r.Text("payment")
		c.Amount, c.Currency = r.OptionalNumber("amount"), r.OptionalText("currency")
	}
	if Has(it, "releasedAt") {
		c.ReleasedAt, c.ReleasedBy = r.Time("releasedAt"), sale.ReleasedBy(r.Text("releasedBy"))
		switch c.ReleasedBy {
		case sale.ByExpiry, sale.ByBuyer, sale.ByOperator:
		default:
			r.Fail("releasedBy", "expiry, buyer or operator")
		}
		if Has(it, "paidAt") {
			r.Fail("releasedAt", "absent from a paid claim")
		}
	}
	c.Returned = r.returned()
	if Has(it, "cancelledAt") {
		c.CancelledAt = r.Time("cancelledAt")
		if !Has(it, "paidAt") {
			r.Fail("cancelledAt", "absent from a claim that is not paid")
		}
	}
	if c.Unit = sale.Unit(r.OptionalText("unit")); c.Unit != "" && c.Unit != sale.UnitBack && c.Unit != sale.UnitKept {
		r.Fail("unit", "back or kept")
	}
	return c, r.Err
}

func ClaimItem(c sale.Claim, bucket int) Item {
	it := ClaimKey(c.SaleID, bucket, c.User)
	it["claimId"] = S(c.ID)
	it["shard"] = N(int64(c.Shard))
	it["acceptedAt"] = Millis(c.AcceptedAt)
	if c.Units > 1 {
		it["units"] = N(c.Units)
	}
	if c.RequestKey != "" {
		it["requestKey"] = S(c.RequestKey)
	}
	if terms := c.PaymentTerms; terms.Known {
		it["payWithin"], it["price"] = N(int64(terms.PayWithin/time.Second)), N(terms.Price)
		if terms.Currency != "" {
			it["priceCurrency"] = S(terms.Currency) // `currency` is that of the payment
		}
	}
	return ForReader(c.MinReader, WithLabels(c.Labels, it))
}

// GroupGuard says in which sale of a group a user has ordered. It is written with the claim and
// never changes.
type GroupGuard struct{ SaleID, ClaimID string }

func ReadGroupGuard(it Item) (GroupGuard, error) {
	r := Read(it)
	return GroupGuard{SaleID: r.Text("saleId"), ClaimID: r.Text("claimId")}, r.Err
}

func GroupGuardItem(group string, c sale.Claim) Item {
	return ForReader(c.MinReader, With(GroupGuardKey(group, c.User), Item{"saleId": S(c.SaleID), "claimId": S(c.ID)}))
}

func ReadOrder(it Item) (sale.Order, error) {
	r := Read(it)
	o := sale.Order{SaleID: r.Text("saleId"), User: r.Text("user"), ClaimID: r.Text("claimId")}
	id, err := orderid.Parse(strings.TrimPrefix(r.Text(PK), OrderPKHead))
	if err != nil && r.Err == nil {
		r.Err = fmt.Errorf("read order: %w", err)
	}
	o.ID = id
	return o, r.Err
}

func ReadRefund(it Item) (sale.Refund, error) {
	r := Read(it)
	return sale.Refund{
		SaleID:   strings.TrimPrefix(r.Text(PK), "REFUND#"),
		Payment:  r.Text(SK),
		User:     r.OptionalText("user"),
		OrderID:  uint64(r.OptionalNumber("orderId")),
		Reason:   sale.RefundReason(r.Text("reason")),
		Amount:   r.Number("amount"),
		Currency: r.Text("currency"),
		Labels:   r.Labels(),
		At:       r.Time("at"),

		Returned: r.returned(), RefundedBy: r.OptionalText("refundedBy"),
		UnmarkedBy: r.OptionalText("unmarkedBy"), UnmarkNote: r.OptionalText("unmarkNote"),
		Again: r.OptionalTime("again"), Sent: r.sent(),
	}, r.Err
}

func RefundItem(r sale.Refund) Item {
	it := With(RefundKey(r.SaleID, r.Payment), Item{
		"reason":   S(string(r.Reason)),
		"amount":   N(r.Amount),
		"currency": S(r.Currency),
		"at":       Millis(r.At),
	})
	if r.OrderID != 0 {
		it["orderId"] = N(int64(r.OrderID))
	}
	if r.User != "" {
		it["user"] = S(r.User)
	}
	return WithLabels(r.Labels, With(it, returnedAttributes(r.Returned)))
}

// IfNotFinal: neither paid nor released. Either is written only under this condition, so
// a claim never has both (P20).
const IfNotFinal = "attribute_not_exists(#paidAt) AND attribute_not_exists(#releasedAt)"

func OrderItem(o sale.Order) Item {
	return With(OrderKey(o.ID), Item{"saleId": S(o.SaleID), "user": S(o.User), "claimId": S(o.ClaimID)})
}
