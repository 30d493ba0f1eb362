package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Seeding is the result of a creation, an addition or a withdrawal.
type Seeding struct {
	SaleID string
	Seeded int64 // units put into the sale, less those withdrawn
	Shards int
	// Applied is false if the same request had been applied before, or by a try of this
	// call whose answer was lost.
	Applied     bool
	ReadVersion sale.ReadVersion // see Edited; a creation's is zero, which is what a new sale says
}

// Created reports whether a creation of the sale is stored, if only as a draft. It fails
// with sale.Busy or sale.Internal.
func (l *Ledger) Created(ctx context.Context, saleID string) (bool, error) {
	it, err := l.table.Get(ctx, table.CreateKey(saleID))
	return it != nil, err
}

// Create creates a sale with its stock. The request is stored first, with the sale as a
// draft that no buyer sees; then every shard is put if absent; only then is the sale
// opened. So a repeat resumes an interrupted creation, and stock is never reset (P15).
// c must have passed Check.
//
// It fails with sale.Conflicting when the sale was created with other contents or its group
// is full, with sale.Busy or sale.Internal.
func (l *Ledger) Create(ctx context.Context, c sale.Creation) (Seeding, error) {
	draft := sale.Sale{
		ID: c.SaleID, Name: c.Name, OpensAt: c.OpensAt, ClosesAt: c.ClosesAt,
		ChangedAt: time.UnixMilli(0), Seeded: c.Stock, Shards: c.Shards, Buckets: sale.BucketsFor(c.Shards),
		Version: 1, State: sale.Draft, PayWithin: c.PayWithin, LateFor: c.LateFor, Price: c.Price, Currency: c.Currency,
		Extras: c.Extras, MaxPerOrder: c.MaxPerOrder, Labels: c.Labels,
		Presentation: c.Presentation, LimitGroup: c.LimitGroup,
	}
	if c.HasDraw() {
		draft.Draw = sale.Draw{DrawTerms: c.DrawTerms, BeginsAt: c.OpensAt, EndsAt: c.ClosesAt}
	}
	if draft.MinReader = draft.OrdersReader(); c.Extras {
		draft.MinReader = max(draft.MinReader, sale.ReadsExtras)
	}
	if err := l.announce(ctx, c, draft); err != nil {
		return Seeding{}, err
	}
	it, err := l.table.Get(ctx, table.SaleKey(c.SaleID))
	if err != nil {
		return Seeding{}, err
	}
	current, err := table.ReadSale(it)
	if err != nil {
		return Seeding{}, sale.AsInternal(err)
	}
	done := Seeding{SaleID: c.SaleID, Seeded: current.Seeded, Shards: current.Shards}
	if current.State == sale.Open {
		return done, nil
	}
	// An existing shard may already have sold units.
	if err := table.EachOf("shard", c.Shards, func(k int) error {
		return l.table.PutAbsent(ctx, table.ShardItem(draft, k, sale.Share(c.Stock, k, c.Shards)))
	}); err != nil {
		return Seeding{}, err
	}
	done.Applied, err = l.open(ctx, c.SaleID)
	return done, err
}

// announce stores the request, the draft and the listing, with a draw also the key of its
// steps, and adds the sale to its group; or
// it checks that the same request is already stored.
func (l *Ledger) announce(ctx context.Context, c sale.Creation, draft sale.Sale) error {
	request := table.WithTerms(draft, table.With(table.CreateKey(c.SaleID), table.Item{
		"name":     table.S(c.Name),
		"opensAt":  table.Millis(c.OpensAt),
		"closesAt": table.Millis(c.ClosesAt),
		"stock":    table.N(c.Stock),
		"shards":   table.N(int64(c.Shards)),
	}))
	request = table.WithCreation(sale.Change{ID: c.ChangeID, At: l.now(), Author: c.Author}, request)
	drafted := table.SaleItem(draft)
	if c.MaxStock != 0 {
		request["maxStock"], drafted["room"] = table.N(c.MaxStock), table.N(c.MaxStock-c.Stock)
	}
	listing := table.With(table.ListingKey(c.SaleID), table.Item{"closesAt": table.Millis(c.ClosesAt)})
	listing = table.ForReader(draft.OrdersReader(), table.WithLabels(c.Labels, listing))
	if c.PayWithin != 0 {
		listing["payWithin"] = request["payWithin"]
	}
	if c.HasDraw() {
		listing["draw"] = table.Yes
	}
	actions := []types.TransactWriteItem{l.table.Put(request), l.table.Put(drafted), l.table.Put(listing)}
	if c.LimitGroup != "" {
		actions = append(actions, l.joinGroup(c.LimitGroup, c.SaleID))
	}
	if c.HasDraw() {
		secret, err := l.newLeafKey(c.SaleID)
		if err != nil {
			return err
		}
		actions = append(actions, l.table.Put(secret))
	}
	reasons, err := l.table.RetryTransaction(ctx, actions...)
	if reasons == nil {
		return sale.AsInternal(err)
	}
	if c.LimitGroup != "" && !table.Failed(reasons[0]) && table.Failed(reasons[3]) {
		if isSealed(reasons[3]) {
			return sale.RefuseSealed()
		}
		return sale.Refusef(sale.Conflicting, "the group has %d sales, and cannot have more", sale.MaxGroup)
	}
	// One transaction writes all three, and nothing deletes them.
	there := [...]bool{table.Failed(reasons[0]), table.Failed(reasons[1]), table.Failed(reasons[2])}
	if there != [...]bool{true, true, true} {
		return sale.AsInternal(fmt.Errorf("the sale is stored in part (its request, its item, its listing: %t): %w",
			there, err))
	}
	return compareCreation(reasons[0].Item, c)
}

// CompareCreation is why Create would refuse a sale that exists: it was created with other contents. It is nil if there
// is none, and fails with sale.Busy or sale.Internal.
func (l *Ledger) CompareCreation(ctx context.Context, c sale.Creation) error {
	stored, err := l.table.Get(ctx, table.CreateKey(c.SaleID))
	if err != nil || stored == nil {
		return err
	}
	return compareCreation(stored, c)
}

func compareCreation(stored table.Item, c sale.Creation) error {
	r := table.Reader{Item: stored}
	same := r.Text("name") == c.Name && r.Number("opensAt") == c.OpensAt.UnixMilli() &&
		r.Number("closesAt") == c.ClosesAt.UnixMilli() && r.Number("stock") == c.Stock &&
		r.Number("shards") == int64(c.Shards) && r.OptionalNumber("maxStock") == c.MaxStock &&
		r.OptionalNumber("payWithin") == int64(c.PayWithin/time.Second) && r.Days("lateDays") == c.LateFor &&
		r.OptionalNumber("price") == c.Price && r.OptionalText("currency") == c.Currency &&
		r.Extras() == c.Extras && r.SeveralUnits("maxPerOrder") == int64(c.MaxPerOrder) &&
		r.OptionalText("limitGroup") == c.LimitGroup && r.Labels() == c.Labels &&
		r.Presentation() == c.Presentation && r.DrawTerms() == utc(c.DrawTerms)
	switch {
	case r.Err != nil:
		return sale.AsInternal(r.Err)
	case !same:
		return refuseCreated(stored)
	}
	return nil
}

// refuseCreated refuses a creation because of the one that is stored.
func refuseCreated(stored table.Item) error {
	made, named, err := table.ReadCreation(stored)
	switch {
	case err != nil:
		return sale.AsInternal(err)
	case named && made.Actor != "":
		return sale.Refusef(sale.Conflicting,
			"the sale was created before with other contents, by %s on %s", made.Actor, made.At.UTC().Format(time.RFC3339))
	}
	return sale.Refuse(sale.Conflicting, "the sale was created before with other contents")
}

// open turns a draft into an open sale, and reports whether this call did.
func (l *Ledger) open(ctx context.Context, saleID string) (bool, error) {
	err := l.table.TryUpdate(ctx, table.Update{
		Key: table.SaleKey(saleID), Expr: "SET #state = :open", If: "#state = :draft",
		Values: table.Item{":draft": table.S(string(sale.Draft)), ":open": table.S(string(sale.Open))},
	})
	if table.Judge(err) == table.Conditioned {
		return false, nil
	}
	return err == nil, sale.AsInternal(err)
}
