package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// The table's stream is the outbox of the order events: a change and its record are one
// write, so no crash can separate them. What an event says is derived from an item
// alone. So an item that is read later yields the same events as its records did (P26).

// Image is an item in a record of the table's stream.
type Image table.Item

// UnmarshalJSON implements json.Unmarshaler for DynamoDB's JSON. A type that the ledger
// does not use becomes NULL, which no reader of an attribute takes for its value.
func (i *Image) UnmarshalJSON(text []byte) error {
	var attributes map[string]struct {
		S, N *string
		BOOL *bool
		NS   []string
		SS   []string
	}
	if err := json.Unmarshal(text, &attributes); err != nil {
		return err
	}
	if attributes == nil {
		return nil
	}
	*i = Image{}
	for name, v := range attributes {
		switch {
		case v.S != nil:
			(*i)[name] = &types.AttributeValueMemberS{Value: *v.S}
		case v.N != nil:
			(*i)[name] = &types.AttributeValueMemberN{Value: *v.N}
		case v.BOOL != nil:
			(*i)[name] = &types.AttributeValueMemberBOOL{Value: *v.BOOL}
		case v.NS != nil:
			(*i)[name] = &types.AttributeValueMemberNS{Value: v.NS}
		case v.SS != nil:
			(*i)[name] = &types.AttributeValueMemberSS{Value: v.SS}
		default:
			(*i)[name] = &types.AttributeValueMemberNULL{Value: true}
		}
	}
	return nil
}

// Changes returns the events of one record: what holds after the change and did not hold
// before it. An image is nil if there was no item. A claim that is put with its order id has been
// moved, by an erasure, or put back, after a restore: nothing has happened to its order. at is when the
// item changed. Changes fails with sale.NewerVersion or sale.Internal if an image cannot be read (P19).
func Changes(before, after Image, at time.Time) ([]sale.Event, error) {
	events, err := eventsOf(table.Item(after))
	if err != nil {
		return nil, sale.AsInternal(err)
	}
	kind, _, _ := strings.Cut(table.IdentityOf(table.Item(after)).PK, "#")
	if kind == "CLAIM" && before == nil && table.Has(table.Item(after), "orderId") {
		return nil, nil
	}
	earlier, err := eventsOf(table.Item(before))
	if err != nil {
		return nil, sale.AsInternal(err)
	}
	events = slices.DeleteFunc(events, func(e sale.Event) bool {
		return slices.ContainsFunc(earlier, func(h sale.Event) bool {
			return h.ID == e.ID || h.Type == e.Type && e.Type == sale.EventSoldOut // whose id has the sale's version
		})
	})
	for i := range events {
		if events[i].Type == sale.EventSoldOut {
			events[i].OccurredAt = at.UTC()
		}
	}
	return events, nil
}

// Events passes to report the events of a sale's orders, of its refunds due, of its trail, of
// its roll and of its end, and of the money of all these payments, as they are in the table, a page at a time. With the
// sale id "" these are the refunds due of unknown orders. What a sale had sold out is not in the table. An event
// may be passed twice if a call is repeated. Events fails with sale.SaleNotFound,
// sale.Busy or report's error; and in the end with sale.NewerVersion or sale.Internal if
// there are items that cannot be read.
func (l *Ledger) Events(ctx context.Context, saleID string, report func([]sale.Event) error) error {
	var unreadable []error
	reportItems := func(items []table.Item) error {
		accounts, err := l.accountsOf(ctx, items)
		if err != nil {
			return err
		}
		var events []sale.Event
		for _, it := range slices.Concat(items, accounts) {
			its, err := eventsOf(it)
			if err != nil {
				unreadable = append(unreadable, fmt.Errorf("%v: %w", table.IdentityOf(it), err))
				continue
			}
			events = append(events, its...)
		}
		if len(events) == 0 {
			return nil
		}
		return report(events)
	}
	if saleID != "" {
		s, err := l.existing(ctx, table.PatientTries, saleID)
		if err != nil {
			return err
		}
		if s.Archive != "" {
			return s.RefuseArchived()
		}
		if err := l.table.ClaimItems(ctx, s, reportItems); err != nil {
			return err
		}
		listing, err := l.table.Get(ctx, table.ListingKey(saleID))
		if err != nil {
			return err
		}
		edits, err := l.table.Edits(ctx, table.MaxTries, saleID)
		if err != nil {
			return err
		}
		seedings, err := l.table.Seedings(ctx, saleID)
		if err != nil {
			return err
		}
		head, err := l.table.Get(ctx, table.DrawHeadKey(saleID)) // none in a sale without a draw
		if err != nil {
			return err
		}
		if err := reportItems(slices.Concat([]table.Item{listing, head}, edits, seedings)); err != nil {
			return err
		}
	}
	refunds, err := l.table.RefundItems(ctx, saleID)
	if err != nil {
		return err
	}
	return cmp.Or(reportItems(refunds), sale.AsInternal(errors.Join(unreadable...)))
}

// OrderEvents returns the events of an order, in the order of its states, as Events passes them. It fails with
// sale.OrderNotFound, sale.Busy or sale.Internal.
func (l *Ledger) OrderEvents(ctx context.Context, id uint64) ([]sale.Event, error) {
	o, err := l.Order(ctx, id)
	if err != nil {
		return nil, err
	}
	c, err := l.Claim(ctx, o.SaleID, o.User)
	return eventsOfClaim(c), err
}

// accountsOf returns the accounts of the payments of claims and refunds, as far as one was applied to them.
func (l *Ledger) accountsOf(ctx context.Context, items []table.Item) ([]table.Item, error) {
	var keys []table.Item
	for _, it := range items {
		if !table.Has(it, "money") {
			continue
		}
		id, r := table.IdentityOf(it), table.Reader{Item: it}
		payment := r.OptionalText("payment")
		if strings.HasPrefix(id.PK, "REFUND#") {
			payment = id.SK
		}
		if !slices.Contains(r.OptionalTexts("refunds"), payment) { // or else it is read with its refund
			keys = append(keys, table.AccountKey(payment))
		}
	}
	return l.table.BatchGet(ctx, table.PatientTries, keys, true)
}

// eventsOf returns every event that must have happened to the item, none of a nil item.
func eventsOf(it table.Item) ([]sale.Event, error) {
	id := table.IdentityOf(it)
	kind, rest, _ := strings.Cut(id.PK, "#")
	switch {
	case kind == "CLAIM":
		saleID, _, _ := strings.Cut(rest, "#")
		c, err := table.ReadClaim(saleID, 0, it)
		return eventsOfClaim(c), err
	case kind == "REFUND":
		r, err := table.ReadRefund(it)
		return []sale.Event{eventOfRefund(r)}, err
	case kind+"#" == table.AccountPKHead:
		a, err := table.ReadAccount(strings.TrimPrefix(id.PK, table.AccountPKHead), it)
		if err != nil || !a.IsKnown {
			return nil, err
		}
		return eventsOfAccount(a), nil
	case kind == "SALE" && id.SK == "SALE":
		s, err := table.ReadSale(it)
		if err != nil || !s.SoldOut() {
			return nil, err
		}
		return []sale.Event{{
			Type: sale.EventSoldOut, ID: string(sale.EventSoldOut) + ":" + s.ID + ":" + strconv.FormatInt(s.Version, 10),
			SaleID: s.ID, Labels: s.Labels,
		}}, nil
	case kind == "DRAW" && !strings.HasPrefix(id.SK, table.CallHead):
		h, err := table.ReadDrawHead(it)
		return []sale.Event{{
			Type: sale.EventRollClosed, ID: string(sale.EventRollClosed) + ":" + rest, OccurredAt: h.ClosedAt, SaleID: rest,
			Roll: sale.Roll{Entrants: h.Entrants, Digest: h.Roll.String(), Round: int64(h.Round)},
		}}, err
	case kind == "CHANGES":
		c, err := table.ReadChange(it)
		return []sale.Event{eventOfChange(rest, strconv.FormatInt(c.Number, 10), c, it)}, err
	case kind == "SALE" && table.IsSeeding(id):
		c, err := table.ReadSeeding(it)
		return []sale.Event{eventOfChange(rest, "seed:"+c.ID, c, it)}, err
	case kind == "SALES":
		r := table.Read(it)
		saleID, closesAt, labels := r.Text(table.SK), r.Time("closesAt"), r.Labels()
		if r.Err != nil || !table.Has(it, "drained") {
			return nil, r.Err
		}
		return []sale.Event{{
			Type:       sale.EventDrained,
			ID:         string(sale.EventDrained) + ":" + saleID + ":" + strconv.FormatInt(closesAt.UnixMilli(), 10),
			OccurredAt: closesAt, SaleID: saleID, Labels: labels,
		}}, nil
	}
	return nil, nil
}

// eventsOfClaim returns what happened to a claim, in the order of its states.
func eventsOfClaim(c sale.Claim) []sale.Event {
	if c.OrderID == 0 {
		return nil
	}
	of := func(t sale.EventType, state sale.ClaimState, at time.Time) sale.Event {
		return sale.Event{
			Type: t, ID: string(t) + ":" + orderid.String(c.OrderID), OccurredAt: at,
			SaleID: c.SaleID, OrderID: c.OrderID, ClaimID: c.ID, User: c.User, State: state, Units: c.Units,
			Labels: c.Labels,
		}
	}
	confirmed := of(sale.EventConfirmed, sale.Confirmed, orderid.Time(c.OrderID))
	if terms := c.PaymentTerms; terms.Known {
		asks := terms.PayWithin > 0
		if confirmed.AsksForPayment = &asks; asks {
			confirmed.PayBy = confirmed.OccurredAt.Add(terms.PayWithin)
			confirmed.Amount, confirmed.Currency = terms.Price*c.UnitCount(), terms.Currency
		}
	}
	events := []sale.Event{confirmed}
	if !c.PaidAt.IsZero() {
		paid := of(sale.EventPaid, sale.Paid, c.PaidAt)
		paid.Payment, paid.Amount, paid.Currency = c.Payment, c.Amount, c.Currency
		events = append(events, paid)
	}
	if c.Released() {
		released := of(sale.EventReleased, c.State(), c.ReleasedAt)
		released.ReleasedBy, released.Unit = c.ReleasedBy, c.Unit
		events = append(events, released)
	}
	if !c.CancelledAt.IsZero() {
		cancelled := of(sale.EventCancelled, c.State(), c.CancelledAt)
		cancelled.Payment, cancelled.Amount, cancelled.Currency, cancelled.Unit = c.Payment, c.Amount, c.Currency, c.Unit
		events = append(events, cancelled)
	}
	return events
}

// eventOfChange is that of an entry of a sale's trail.
func eventOfChange(saleID, number string, c sale.Change, it table.Item) sale.Event {
	r := table.Reader{Item: it}
	c.Name, c.Image, c.About, c.Link = nil, nil, nil, nil
	return sale.Event{
		Type: sale.EventChanged, ID: string(sale.EventChanged) + ":" + saleID + ":" + number, OccurredAt: c.At,
		SaleID: saleID, Change: c, Labels: r.Labels(),
	}
}

func eventOfRefund(r sale.Refund) sale.Event {
	return sale.Event{
		Type: sale.EventRefundDue, ID: string(sale.EventRefundDue) + ":" + r.SaleID + ":" + r.Payment, OccurredAt: r.At,
		SaleID: r.SaleID, OrderID: r.OrderID, User: r.User, Payment: r.Payment, Reason: r.Reason, Amount: r.Amount,
		Currency: r.Currency, Labels: r.Labels,
	}
}

// eventsOfAccount returns what was heard of a payment's money, in the order of its ids. Of totals only the last one is
// kept.
func eventsOfAccount(a sale.Account) (events []sale.Event) {
	add := func(t sale.EventType, about string, at time.Time, e sale.Event) {
		e.Type, e.ID, e.OccurredAt = t, string(t)+":"+a.Payment+":"+about, at
		e.SaleID, e.OrderID, e.Payment = a.SaleID, a.OrderID, a.Payment
		events = append(events, e)
	}
	for _, id := range slices.Sorted(maps.Keys(a.Refunds)) {
		f := a.Refunds[id]
		e := sale.Event{RefundID: id}
		if !f.Whole {
			e.Amount, e.Currency = f.Amount, f.Currency
		}
		if at := f.Heard[sale.RefundDone]; !at.IsZero() {
			add(sale.EventRefundDone, id, at, e)
		}
		if at := f.Heard[sale.RefundFailed]; !at.IsZero() {
			add(sale.EventRefundFailed, id, at, e)
		}
	}
	if t := a.Total; t.Amount > 0 {
		add(sale.EventRefundDone, "total-"+strconv.FormatInt(t.Amount, 10), t.Heard,
			sale.Event{Amount: t.Amount, Currency: t.Currency})
	}
	for _, id := range slices.Sorted(maps.Keys(a.Disputes)) {
		heard := a.Disputes[id].Heard
		for _, state := range slices.Sorted(maps.Keys(heard)) {
			add(sale.EventDisputed, id+":"+string(state), heard[state], sale.Event{DisputeID: id, Dispute: state})
		}
	}
	return events
}
