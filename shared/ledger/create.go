package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Seeding is the result of a creation, an addition or a withdrawal.
type Seeding struct {
	SaleID string
	Seeded int64 // units put into the sale, less those withdrawn
	Shards int
	// Applied is false if the same request had been applied before, or by a try of this
	// call whose answer was lost.
	Applied bool
	Seen    sale.Seen // see Edited; a creation's is zero, which is what a new sale says
}

// Created reports whether a creation of the sale is stored, if only as a draft. It fails
// with sale.Busy or sale.Internal.
func (l *Ledger) Created(ctx context.Context, saleID string) (bool, error) {
	it, err := l.get(ctx, createKey(saleID))
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
		Version: 1, State: sale.Draft, PayWithin: c.PayWithin, Price: c.Price, Currency: c.Currency, Labels: c.Labels, Presentation: c.Presentation,
		LimitGroup: c.LimitGroup,
	}
	switch {
	case c.HasDraw():
		draft.MinReader = sale.ReadsDraws
		draft.Draw = sale.Draw{DrawTerms: c.DrawTerms, BeginsAt: c.OpensAt, EndsAt: c.ClosesAt}
	case c.LimitGroup != "":
		draft.MinReader = sale.ReadsGroups
	case c.PayWithin != 0:
		draft.MinReader = sale.ReadsPayment
	}
	if err := l.announce(ctx, c, draft); err != nil {
		return Seeding{}, err
	}
	it, err := l.get(ctx, saleKey(c.SaleID))
	if err != nil {
		return Seeding{}, err
	}
	current, err := readSale(it)
	if err != nil {
		return Seeding{}, asInternal(err)
	}
	done := Seeding{SaleID: c.SaleID, Seeded: current.Seeded, Shards: current.Shards}
	if current.State == sale.Open {
		return done, nil
	}
	errs := make([]error, c.Shards)
	each(c.Shards, func(k int) { errs[k] = l.putShard(ctx, draft, k, sale.Share(c.Stock, k, c.Shards)) })
	if err := errors.Join(errs...); err != nil {
		return Seeding{}, worst("shard", errs)
	}
	done.Applied, err = l.open(ctx, c.SaleID)
	return done, err
}

// announce stores the request, the draft and the listing, with a draw also the key of its
// receipts, and adds the sale to its group; or
// it checks that the same request is already stored.
func (l *Ledger) announce(ctx context.Context, c sale.Creation, draft sale.Sale) error {
	request := withTerms(draft, with(createKey(c.SaleID), item{
		"name":     str(c.Name),
		"opensAt":  millis(c.OpensAt),
		"closesAt": millis(c.ClosesAt),
		"stock":    num(c.Stock),
		"shards":   num(int64(c.Shards)),
	}))
	drafted := saleItem(draft)
	if c.MaxStock != 0 {
		request["maxStock"], drafted["room"] = num(c.MaxStock), num(c.MaxStock-c.Stock)
	}
	listing := forReader(draft.MinReader, withLabels(c.Labels, with(listingKey(c.SaleID), item{"closesAt": millis(c.ClosesAt)})))
	if c.PayWithin != 0 {
		listing["payWithin"] = request["payWithin"]
	}
	if c.HasDraw() {
		listing["draw"] = boolean(true)
	}
	actions := []types.TransactWriteItem{l.put(request), l.put(drafted), l.put(listing)}
	if c.LimitGroup != "" {
		actions = append(actions, l.joinGroup(c.LimitGroup, c.SaleID))
	}
	if c.HasDraw() {
		secret, err := l.newLeafKey(c.SaleID)
		if err != nil {
			return err
		}
		actions = append(actions, l.put(secret))
	}
	reasons, err := l.retryTransaction(ctx, actions...)
	if reasons == nil {
		return asInternal(err)
	}
	if c.LimitGroup != "" && !failed(reasons[0]) && failed(reasons[3]) {
		if isSealed(reasons[3]) {
			return sale.RefuseSealed()
		}
		return sale.Refuse(sale.Conflicting, fmt.Sprintf("the group has %d sales, and cannot have more", sale.MaxGroup))
	}
	// One transaction writes all three, and nothing deletes them.
	if there := [...]bool{failed(reasons[0]), failed(reasons[1]), failed(reasons[2])}; there != [...]bool{true, true, true} {
		return asInternal(fmt.Errorf("the sale is stored in part (its request, its item, its listing: %t): %w", there, err))
	}
	r := reader{item: reasons[0].Item}
	same := r.text("name") == c.Name && r.number("opensAt") == c.OpensAt.UnixMilli() &&
		r.number("closesAt") == c.ClosesAt.UnixMilli() && r.number("stock") == c.Stock &&
		r.number("shards") == int64(c.Shards) && r.optionalNumber("maxStock") == c.MaxStock &&
		r.optionalNumber("payWithin") == int64(c.PayWithin/time.Second) && r.optionalNumber("price") == c.Price &&
		r.optionalText("currency") == c.Currency && r.optionalText("limitGroup") == c.LimitGroup && r.labels() == c.Labels && r.presentation() == c.Presentation &&
		r.drawTerms() == utc(c.DrawTerms)
	switch {
	case r.err != nil:
		return asInternal(r.err)
	case !same:
		return sale.Refuse(sale.Conflicting, "the sale was created before with other contents")
	}
	return nil
}

// putShard writes a shard unless it exists: an existing one may already have sold
// units.
func (l *Ledger) putShard(ctx context.Context, s sale.Sale, k int, units int64) error {
	return l.putAbsent(ctx, shardItem(s, k, units))
}

// open turns a draft into an open sale, and reports whether this call did.
func (l *Ledger) open(ctx context.Context, saleID string) (bool, error) {
	err := l.retry(ctx, patientTries, func(ctx context.Context) error {
		_, err := l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                 l.table,
			Key:                       saleKey(saleID),
			UpdateExpression:          &setState,
			ConditionExpression:       &ifState,
			ExpressionAttributeNames:  map[string]string{"#state": "state"},
			ExpressionAttributeValues: item{":draft": str(string(sale.Draft)), ":open": str(string(sale.Open))},
		})
		return err
	})
	if judge(err) == conditioned {
		return false, nil
	}
	return err == nil, asInternal(err)
}

var (
	setState = "SET #state = :open"
	ifState  = "#state = :draft"
)
