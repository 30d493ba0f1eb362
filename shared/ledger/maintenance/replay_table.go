package maintenance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// refund completes a refund due with its payment's guard, the note on its claim and, if it says so,
// its order's release, and counts what is lacking: as halves if the table has a part of it. One of a
// recall or a cancellation belongs to a payment that has paid its order, whose guard says so. While the recall itself
// is lost, there is none, nor one for an order that it had released.
func (p *replay) refund(ctx context.Context, r sale.Refund, isHalf bool) error {
	keys := []table.Item{table.RefundKey(r.SaleID, r.Payment), table.PaymentKey(r.Payment)}
	one, hasPaid := p.sales[r.SaleID], r.Reason == sale.RefundRecalled || r.Reason == sale.RefundCancelled
	if r.Reason == sale.RefundRecalled && !one.sale.IsRecalled() ||
		r.Reason == sale.RefundReleased && p.unreleased[r.OrderID] {
		return nil
	}
	if one != nil && r.User != "" {
		keys = append(keys, table.ClaimKey(r.SaleID, sale.BucketOf(r.User, one.sale.Buckets), r.User))
		if r.Reason == sale.RefundCancelled {
			keys = append(keys, table.CancelledKey(r.SaleID, r.OrderID))
		}
	}
	there, err := p.table.GetAll(ctx, slices.Clone(keys))
	if err != nil {
		return err
	}
	var held sale.Claim // none, or unreadable
	if len(keys) > 2 && there[table.IdentityOf(keys[2])] != nil {
		held, _ = table.ReadClaim(r.SaleID, one.sale.Buckets, there[table.IdentityOf(keys[2])])
	}
	if hasPaid && held.Payment != r.Payment {
		return nil
	}
	if hasPaid { // no event tells what the claim says of its money
		r.Returned = held.Returned
	}
	guard := there[table.IdentityOf(keys[1])]
	if guard != nil {
		if g := (&table.Reader{Item: guard}); g.Text("fate") != table.FateRefund && !hasPaid {
			p.problem("payment %s has paid an order, and was published as a refund due", r.Payment)
			return nil
		}
	}
	refunds, guards, releases := &p.done.Refunds, &p.done.Guards, &p.done.Releases
	if isHalf {
		refunds, guards, releases = &p.done.Halves, &p.done.Halves, &p.done.Halves
	}
	lacks := func(n *int, write func() error) {
		if *n++; p.write && err == nil {
			err = write()
		}
	}
	notes := &p.done.Halves
	if there[table.IdentityOf(keys[0])] == nil {
		notes = new(int) // counted with the refund
		lacks(refunds, func() error { return p.table.PutAbsent(ctx, table.RefundItem(r)) })
	}
	if guard == nil && !hasPaid {
		lacks(guards, func() error {
			return p.table.PutAbsent(ctx, table.GuardItem(r.Payment, table.Guard{
				Fate: table.FateRefund, SaleID: r.SaleID, OrderID: r.OrderID, Amount: r.Amount, Currency: r.Currency,
			}, r.At))
		})
	}
	if one == nil {
		return err
	}
	one.noteRefund(r.At)
	if held.ID == "" || held.OrderID != r.OrderID {
		return err
	}
	if !slices.Contains(held.Refunds, r.Payment) && (hasPaid || len(held.Refunds) < ledger.MaxClaimRefunds) {
		lacks(notes, func() error {
			return p.table.Update(ctx, table.Update{
				Key: keys[2], Expr: "ADD #refunds :refund", If: "attribute_exists(pk)",
				Values: table.Item{":refund": table.SS(r.Payment)},
			})
		})
	}
	switch {
	case r.Reason == sale.RefundCancelled:
		if held.CancelledAt.IsZero() && there[table.IdentityOf(table.CancelledKey(r.SaleID, r.OrderID))] == nil {
			// Nothing says what became of the unit, so nobody gets it.
			held.CancelledAt, held.Unit = r.At, sale.UnitKept
			lacks(releases, func() error { return p.cancel(ctx, held) })
			if !p.write {
				one.end(held, held.Shard)
			}
		}
	case !held.MayBeReleased() || p.ends[r.OrderID]:
	case r.Reason == sale.RefundReleased:
		held.ReleasedAt, held.ReleasedBy = r.At, releasedUntil(one.sale, r.OrderID, r.At)
		p.ends[r.OrderID] = true
		lacks(releases, func() error { return p.finish(ctx, held) })
		if !p.write {
			one.end(held, held.Shard)
		}
	case r.Reason == sale.RefundOtherPayment:
		p.ends[r.OrderID] = true
		p.unexplained[r.OrderID] = fmt.Sprintf(
			"payment %s of order %s is to be refunded because another one has paid the order, "+
				"and no event tells that one: find it in the provider's list, and add its event OrderPaid to EVENTS",
			r.Payment, orderid.String(r.OrderID))
	}
	return err
}

// releasedUntil guesses by whom an order was released that is known to have been by then: the stack may
// have another grace, and buyers also cancel when it is over.
func releasedUntil(s sale.Sale, orderID uint64, then time.Time) sale.ReleasedBy {
	expires := s.PayBy(orderID).Add(ledger.DefaultGrace)
	switch {
	case s.IsRecalled() && !s.RecalledAt.After(then) && (s.PayWithin == 0 || expires.After(s.RecalledAt)):
		return sale.ByOperator
	case s.PayWithin > 0 && !expires.After(then):
		return sale.ByExpiry
	}
	return sale.ByBuyer
}

// noteRefund notes whether the listing notes one of the sale's refunds.
func (one *replayed) noteRefund(at time.Time) {
	one.refundAt = at
	r := table.Reader{Item: one.listing}
	one.isNoted = one.isNoted || r.OptionalNumber("refundAt") == at.UnixMilli()
}

// kinds are those of the table's partition keys.
var kinds = []string{
	"SALE", "CHANGES", "CANCELLED", "SALES", "STOCK", "CLAIM", "ORDER", "SEQ", "REFUND", "GROUP", "GUARD", "ENTRY",
	"DRAWKEY", "ROLL", "DRAW", "PAYMENT", "MONEY", "SENDS",
}

// scan reads the whole table: it counts the claims of each shard, and completes what was
// restored in part.
func (p *replay) scan(ctx context.Context, scanner Scanner) error {
	in := dynamodb.ScanInput{TableName: p.table.Name}
	in.ConsistentRead = aws.Bool(true)
	for {
		page := in // a try that was given up may still read its input
		var out *dynamodb.ScanOutput
		err := p.table.Retry(ctx, table.PatientTries, func(ctx context.Context) (err error) {
			out, err = scanner.Scan(ctx, &page)
			return err
		})
		if err != nil {
			return sale.AsInternal(err)
		}
		for items := range slices.Chunk(out.Items, table.BatchKeys/4) {
			if err := p.complete(ctx, items); err != nil {
				return err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// half is an item of the table with the claim that it should have, as far as it says.
type half struct {
	kind  string
	item  table.Item
	claim sale.Claim
}

// complete looks for what belongs to some items of the table.
func (p *replay) complete(ctx context.Context, items []table.Item) error {
	var halves []half
	for _, it := range items {
		kind, rest, _ := strings.Cut(table.IdentityOf(it).PK, "#")
		saleID, _, _ := strings.Cut(rest, "#")
		r := table.Read(it)
		h := half{kind: kind, item: it}
		var err error
		switch kind {
		case "CLAIM":
			one := p.sales[saleID]
			if one == nil {
				continue
			}
			if h.claim, err = table.ReadClaim(saleID, one.sale.Buckets, it); err == nil {
				one.count(h.claim)
				err = p.restoreAccount(ctx, h.claim.Payment, h.claim.MoneyVersion)
			}
		case "ORDER":
			var o sale.Order
			o, err = table.ReadOrder(it)
			h.claim = sale.Claim{SaleID: o.SaleID, User: o.User, ID: o.ClaimID, OrderID: o.ID}
		case "GUARD":
			h.claim = sale.Claim{SaleID: r.Text("saleId"), User: r.Text(table.SK), ID: r.Text("claimId")}
			err = r.Err
		case "REFUND":
			refund, err := table.ReadRefund(it)
			// An archived sale's refund names nobody.
			if err == nil && (refund.SaleID == "" || p.sales[refund.SaleID] != nil && refund.User != "") {
				err = p.refund(ctx, refund, true)
			}
			if err == nil {
				err = p.restoreAccount(ctx, refund.Payment, refund.MoneyVersion)
			}
			if err != nil {
				return sale.AsInternal(err)
			}
			continue
		case "CANCELLED":
			var made sale.CancelledOrder
			made, err = table.ReadCancelled(it)
			h.claim = sale.Claim{SaleID: rest, OrderID: made.OrderID, Unit: made.Unit}
			if made.Expected == sale.Paid {
				h.claim.CancelledAt = made.At
			} else {
				h.claim.ReleasedAt, h.claim.ReleasedBy = made.At, sale.ByOperator
			}
		case "PAYMENT":
			h.claim = sale.Claim{
				SaleID: r.OptionalText("saleId"), OrderID: uint64(r.OptionalNumber("orderId")),
				Payment: strings.TrimPrefix(r.Text(table.PK), "PAYMENT#"), Amount: r.Number("amount"), Currency: r.Text("currency"),
				PaidAt: r.Time("at"),
			}
			err = r.Err
		case "SENDS":
			if table.Has(it, "stoppedAt") || table.Has(it, "endedAt") {
				continue
			}
			if p.done.Sendings++; p.write {
				stop := table.StopSending(table.IdentityOf(it).SK, restoreActor, p.table.Now())
				err = p.table.Update(ctx, stop)
			}
		case "MONEY":
			err = p.restoreAccount(ctx, rest, r.Number("v"))
		default:
			if !slices.Contains(kinds, kind) {
				p.problem("the item %s is no ledger's", table.IdentityOf(it).PK)
			}
			continue
		}
		if sale.CodeOf(err) == sale.Busy {
			return err
		}
		if err != nil {
			p.problem("%s, %s: %v", table.IdentityOf(it).PK, table.IdentityOf(it).SK, err)
			continue
		}
		if kind == "PAYMENT" && h.claim.SaleID == "" && r.Text("fate") == table.FateRefund {
			if err := p.refund(ctx, refundOf(h.claim, sale.RefundUnknownOrder), true); err != nil {
				return err
			}
		}
		if p.sales[h.claim.SaleID] != nil {
			halves = append(halves, h)
		}
	}
	return p.completeHalves(ctx, halves)
}

// restoreAccount makes an account agree with the claim or refund that it was applied to; version is one of them, or 0.
func (p *replay) restoreAccount(ctx context.Context, payment string, version int64) error {
	if !p.write || version == 0 {
		return nil
	}
	return p.ledger.RestoreAccount(ctx, payment, version)
}

func (p *replay) completeHalves(ctx context.Context, halves []half) error {
	var orders, keys []table.Item
	for _, h := range halves {
		if h.claim.OrderID != 0 {
			orders = append(orders, table.OrderKey(h.claim.OrderID))
		}
	}
	there, err := p.table.GetAll(ctx, orders)
	if err != nil {
		return err
	}
	for i := range halves {
		c := &halves[i].claim
		it := there[table.IdentityOf(table.OrderKey(c.OrderID))]
		if (halves[i].kind == "PAYMENT" || halves[i].kind == "CANCELLED") && it != nil {
			o, err := table.ReadOrder(it)
			if err != nil {
				return sale.AsInternal(err)
			}
			c.User, c.ID = o.User, o.ClaimID
		}
		one := p.sales[c.SaleID]
		c.Labels, c.MinReader, c.Buckets = one.sale.Labels, one.sale.OrdersReader(), one.sale.Buckets
		c.PaymentTerms = one.sale.PaymentTerms()
		keys = append(keys, table.ClaimKey(c.SaleID, sale.BucketOf(c.User, c.Buckets), c.User),
			table.RefundKey(c.SaleID, c.Payment), table.PaymentKey(c.Payment))
		if c.Unit != "" {
			keys = append(keys, table.CancelledKey(c.SaleID, c.OrderID))
		}
		for _, payment := range c.Refunds {
			keys = append(keys, table.RefundKey(c.SaleID, payment), table.PaymentKey(payment))
		}
		if g := one.sale.LimitGroup; g != "" {
			keys = append(keys, table.GroupGuardKey(g, c.User))
		}
	}
	keys = slices.DeleteFunc(keys, func(k table.Item) bool {
		id := table.IdentityOf(k)
		return id.SK == "" || id.PK == "PAYMENT#"
	})
	others, err := p.table.GetAll(ctx, keys)
	if err != nil {
		return err
	}
	for _, h := range halves {
		if err := p.completeHalf(ctx, h, there, others); err != nil {
			return err
		}
	}
	return nil
}

// completeHalf writes what an item says of another one that is not there.
func (p *replay) completeHalf(ctx context.Context, h half, orders, others map[table.Identity]table.Item) error {
	c, one := h.claim, p.sales[h.claim.SaleID]
	claim := others[table.IdentityOf(table.ClaimKey(c.SaleID, sale.BucketOf(c.User, c.Buckets), c.User))]
	var held sale.Claim
	if claim != nil {
		var err error
		if held, err = table.ReadClaim(c.SaleID, c.Buckets, claim); err != nil {
			return nil // the claim's own turn says so
		}
	}
	heal := func(write func() error) error {
		if p.done.Halves++; !p.write {
			return nil
		}
		return write()
	}
	put := func(it table.Item) error { return heal(func() error { return p.table.PutAbsent(ctx, it) }) }
	switch h.kind {
	case "CLAIM":
		if g := one.sale.LimitGroup; g != "" && others[table.IdentityOf(table.GroupGuardKey(g, c.User))] == nil {
			if err := put(table.GroupGuardItem(g, c)); err != nil {
				return err
			}
		}
		if c.Unit != "" && others[table.IdentityOf(table.CancelledKey(c.SaleID, c.OrderID))] == nil {
			if err := put(p.cancellationOf(c)); err != nil {
				return err
			}
		}
		if !c.CancelledAt.IsZero() &&
			others[table.IdentityOf(table.RefundKey(c.SaleID, c.Payment))] == nil && !p.due[c.Payment] {
			refund := refundOf(c, sale.RefundCancelled)
			refund.At = c.CancelledAt
			if err := p.refund(ctx, refund, true); err != nil {
				return err
			}
		}
		for _, payment := range c.Refunds {
			if payment == c.Payment && !c.CancelledAt.IsZero() {
				continue
			}
			guard := table.Reader{Item: others[table.IdentityOf(table.PaymentKey(payment))]}
			// Nothing says how much is to be paid back.
			if others[table.IdentityOf(table.RefundKey(c.SaleID, payment))] == nil &&
				guard.OptionalText("fate") != table.FateRefund && !p.due[payment] {
				if err := heal(func() error { return p.dropNote(ctx, c, payment) }); err != nil {
					return err
				}
			}
		}
		if c.Currency != "" && others[table.IdentityOf(table.PaymentKey(c.Payment))] == nil {
			if err := put(paidGuard(c)); err != nil {
				return err
			}
		}
		if c.OrderID != 0 && orders[table.IdentityOf(table.OrderKey(c.OrderID))] == nil {
			return put(table.OrderItem(sale.Order{ID: c.OrderID, SaleID: c.SaleID, User: c.User, ClaimID: c.ID}))
		}
	case "ORDER":
		switch {
		case held.ID != c.ID:
			if !p.known[c.ID] {
				p.problem("order %s has no claim, and no line of a log says when it was accepted", orderid.String(c.OrderID))
			}
		case held.OrderID == 0:
			return heal(func() error { return p.giveOrderID(ctx, c) })
		}
	case "GUARD":
		if held.ID != c.ID && !p.known[c.ID] {
			// Nobody was told of the claim: no line of a log has it.
			return heal(func() error { return p.dropGuard(ctx, one.sale.LimitGroup, c) })
		}
	case "CANCELLED":
		switch {
		case held.OrderID != c.OrderID || held.Unit != "":
		case !c.CancelledAt.IsZero() && held.PaidAt.IsZero() || c.Released() && held.Payment != "":
			// Its payment's own half may say more.
		case c.Released():
			return heal(func() error { return p.finish(ctx, c) })
		default:
			return heal(func() error { return p.cancel(ctx, c) })
		}
	case "PAYMENT":
		r := table.Reader{Item: h.item}
		switch fate := r.Text("fate"); {
		case fate == table.FatePaid && held.OrderID == c.OrderID && held.PaidAt.IsZero() && !held.Released():
			delete(p.unexplained, c.OrderID)
			return heal(func() error { return p.finish(ctx, c) })
		case fate == table.FateRefund && others[table.IdentityOf(table.RefundKey(c.SaleID, c.Payment))] == nil:
			reason := sale.RefundOtherPayment
			isPrice := one.sale.IsPrice(sale.Payment{Amount: c.Amount, Currency: c.Currency}, held.UnitCount())
			switch {
			// With extras another amount may be of the price, too, if that is not why no payment has paid the order.
			case !isPrice && (!one.sale.Extras || held.PaidAt.IsZero() && !held.Released()):
				reason = sale.RefundAmount
			case held.Released() || held.MayBeReleased() && releasedUntil(one.sale, c.OrderID, c.PaidAt) != sale.ByBuyer:
				reason = sale.RefundReleased
			}
			return p.refund(ctx, refundOf(c, reason), true)
		}
	}
	return nil
}

// refundOf is the refund due of a guard's payment.
func refundOf(c sale.Claim, reason sale.RefundReason) sale.Refund {
	return sale.Refund{
		SaleID: c.SaleID, Payment: c.Payment, User: c.User, OrderID: c.OrderID, Amount: c.Amount, Currency: c.Currency,
		At: c.PaidAt, Labels: c.Labels, Reason: reason,
	}
}

// dropGuard removes the guard of a claim that nobody was told of.
func (p *replay) dropGuard(ctx context.Context, group string, c sale.Claim) error {
	_, err := p.table.RetryTransaction(ctx,
		p.table.Delete(table.GroupGuardKey(group, c.User), "#claimId = :claimId", table.Item{":claimId": table.S(c.ID)}))
	if table.Judge(err) == table.Cancelled {
		return nil
	}
	return err
}

// dropNote removes a refund from a claim: whoever records that payment again writes it again.
func (p *replay) dropNote(ctx context.Context, c sale.Claim, payment string) error {
	return p.table.Update(ctx, table.Update{
		Key: claimKey(c), Expr: "DELETE #refunds :refund", If: "attribute_exists(pk)",
		Values: table.Item{":refund": table.SS(payment)},
	})
}

// derive makes the counts of a sale and its shards those that follow from its creation, the
// steps of its additions and withdrawals, and its claims. Every unit of a released claim is
// back in stock then. Which shard gave units to another is forgotten, because a transaction may have been restored in
// part: shards that have sold more than they were given get the rest from those that have most.
func (p *replay) derive(ctx context.Context, one *replayed) error {
	seeded, room, err := p.seeded(ctx, one.sale)
	if err != nil {
		return err
	}
	keys := table.StockKeys(one.sale)
	there, err := p.table.GetAll(ctx, slices.Clone(keys))
	if err != nil {
		return err
	}
	want, short := make([]table.Shard, len(keys)), map[int]bool{}
	var all int64
	for k := range want {
		it := there[table.IdentityOf(keys[k])]
		if it == nil {
			p.problem("shard %d of sale %q is gone", k, one.sale.ID)
			return nil
		}
		want[k], err = table.ReadShard(it)
		if err != nil {
			return sale.AsInternal(err)
		}
		w := &want[k]
		w.Seeded, w.Released, w.PutBack, w.Moved = seeded[k], one.released[k], one.released[k], 0
		w.Stock = w.Seeded - one.claims[k] + w.PutBack
		short[k] = w.Stock < 0
		all += w.Seeded
	}
	if one.sale.MaxPerOrder != 0 {
		moveUnits(want)
	}
	if slices.ContainsFunc(want, func(w table.Shard) bool { return w.Stock < 0 }) {
		return p.oversold(ctx, one, short)
	}
	for k, w := range want {
		if have, _ := table.ReadShard(there[table.IdentityOf(keys[k])]); have == w {
			continue
		}
		if p.done.Shards++; !p.write {
			continue
		}
		r := table.Reader{Item: there[table.IdentityOf(keys[k])]}
		update := "SET #stock = :stock, #seeded = :seeded"
		values := table.Item{":stock": table.N(w.Stock), ":seeded": table.N(w.Seeded), ":read": table.N(r.Number("stock"))}
		if one.sale.AsksForPayment() || w.Released > 0 {
			update += ", #released = :released, #putBack = :released"
			values[":released"] = table.N(w.Released)
		}
		if one.sale.MaxPerOrder != 0 {
			update += ", #moved = :moved"
			values[":moved"] = table.N(w.Moved)
		}
		derived := table.Update{Key: keys[k], Expr: update, If: "#stock = :read", Values: values}
		if err := p.table.Update(ctx, derived); err != nil {
			return err
		}
	}
	return p.deriveSale(ctx, one, all, room)
}

// moveUnits moves units to the shards that have less than none, if all together have enough.
func moveUnits(shards []table.Shard) {
	var sum int64
	for _, one := range shards {
		sum += one.Stock
	}
	for sum >= 0 {
		least, most := slices.IndexFunc(shards, func(one table.Shard) bool { return one.Stock < 0 }), 0
		if least < 0 {
			return
		}
		for k := range shards {
			if shards[k].Stock > shards[most].Stock {
				most = k
			}
		}
		n := min(-shards[least].Stock, shards[most].Stock)
		shards[least].Stock, shards[least].Moved = shards[least].Stock+n, shards[least].Moved+n
		shards[most].Stock, shards[most].Moved = shards[most].Stock-n, shards[most].Moved-n
	}
}

// deriveSale sets what is left of a sale's own counts.
func (p *replay) deriveSale(ctx context.Context, one *replayed, seeded, room int64) error {
	s, err := p.table.OpenSale(ctx, one.sale.ID)
	if err != nil || !p.write {
		return err
	}
	update := table.Update{
		Key: table.SaleKey(s.ID), Expr: "SET #seeded = :seeded", If: "#version = :v",
		Values: table.Item{":seeded": table.N(seeded), ":v": table.N(s.Version)},
	}
	if s.Limited {
		update.Expr += ", #room = :room"
		update.Values[":room"] = table.N(room)
	}
	switch {
	case one.cancelled > 0:
		update.Expr += ", #cancelled = :cancelled"
		update.Values[":cancelled"] = table.N(one.cancelled)
	case s.Cancelled > 0: // that is all that is left of it
		update.Expr += " REMOVE #cancelled"
	}
	if err := p.table.Update(ctx, update); err != nil || one.isNoted || one.refundAt.IsZero() {
		return err
	}
	return p.table.Update(ctx, table.Update{
		Key: table.ListingKey(s.ID), Expr: "SET #refundAt = :at", If: "attribute_exists(pk)",
		Values: table.Item{":at": table.Millis(one.refundAt)},
	})
}

// seeded returns what each shard was given, less what was withdrawn from it, and the room that
// is left for additions.
func (p *replay) seeded(ctx context.Context, s sale.Sale) (units []int64, room int64, err error) {
	create, err := p.table.Get(ctx, table.CreateKey(s.ID))
	if err != nil {
		return nil, 0, err
	}
	r := table.Read(create)
	stock := r.Number("stock")
	room = r.OptionalNumber("maxStock") - stock
	added, err := p.table.Under(ctx, s.ID, table.SeedHeads)
	if err != nil {
		return nil, 0, err
	}
	taken, err := p.table.Under(ctx, s.ID, table.WithdrawalHeads)
	if err == nil {
		err = p.takeBack(ctx, s.ID, added, taken)
	}
	if err != nil {
		return nil, 0, err
	}
	units = make([]int64, s.Shards)
	for k := range units {
		if units[k] = sale.Share(stock, k, s.Shards); !p.write {
			units[k] += p.sales[s.ID].added[k]
		}
	}
	for id, it := range added {
		r.Item = it
		n := r.Number("units")
		if table.IsSeeding(id) {
			room -= max(0, n)
		} else if k := shardOf(id.SK); k < s.Shards {
			units[k] += n
		}
	}
	for _, it := range taken {
		if r.Item = it; !table.Has(it, "ended") {
			n, k := r.Number("units"), int(r.Number("shard"))
			room += n
			if k < s.Shards {
				units[k] -= n
			}
		}
	}
	return units, room, sale.AsInternal(r.Err)
}

// takeBack removes the steps of withdrawals whose head or an earlier step was lost: a repeat would make
// that step again, before these.
func (p *replay) takeBack(ctx context.Context, saleID string, added, taken map[table.Identity]table.Item) error {
	var broken []table.Item
	for id, it := range taken {
		seed, number, _ := strings.Cut(strings.TrimPrefix(id.SK, table.WithdrawalHeads), "#")
		step, err := strconv.Atoi(number)
		whole := err == nil && added[table.IdentityOf(table.SeedKey(saleID, seed))] != nil
		for before := 0; whole && before < step; before++ {
			whole = taken[table.IdentityOf(table.WithdrawalKey(saleID, seed, before))] != nil
		}
		if whole {
			continue
		}
		broken = append(broken, it)
		if about := fmt.Sprintf("withdrawal %s of %s", seed, saleID); !slices.Contains(p.done.TakenBack, about) {
			p.done.TakenBack = append(p.done.TakenBack, about)
		}
	}
	slices.Sort(p.done.TakenBack)
	for _, it := range broken {
		p.done.Halves++
		delete(taken, table.IdentityOf(it))
		if !p.write {
			continue
		}
		if _, err := p.table.RetryTransaction(ctx, p.table.Delete(table.KeyOf(it), "", nil)); err != nil {
			return err
		}
	}
	return nil
}

// shardOf reads the shard at the end of an addition's step; a malformed one is beyond all.
func shardOf(sk string) int {
	k := 0
	for _, c := range sk[strings.LastIndexByte(sk, '#')+1:] {
		if c < '0' || c > '9' || k > sale.MaxShards {
			return sale.MaxShards
		}
		k = 10*k + int(c-'0')
	}
	return k
}

// maxOversold is how many claims of a sale are listed for people to decide on.
const maxOversold = 1000

// oversold lists the claims of the shards that have fewer units.
func (p *replay) oversold(ctx context.Context, one *replayed, short map[int]bool) error {
	listed := 0
	note := func(c sale.Claim) {
		if short[c.Shard] && !c.Released() && listed < maxOversold {
			p.done.Oversold = append(p.done.Oversold, c)
			listed++
		}
	}
	for _, c := range p.lost.Claims {
		if !p.write && c.SaleID == one.sale.ID && !c.AcceptedAt.IsZero() {
			note(c)
		}
	}
	return p.ledger.Claims(ctx, one.sale.ID, func(_ sale.Sale, claims []sale.Claim) error {
		for _, c := range claims {
			if p.write || !p.known[c.ID] {
				note(c)
			}
		}
		return nil
	})
}
