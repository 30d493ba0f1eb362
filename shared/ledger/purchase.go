package ledger

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Request asks for one unit of a sale for one user. SaleID, User and, if not
// empty, Key must have passed sale.ValidID and sale.ValidUser.
type Request struct {
	SaleID string
	User   string
	Key    string // the Idempotency-Key, or ""
	// Admit, if not nil, must admit the user before a unit is taken. It is called only
	// if the sale admits purchases and no claim of the user is known. It may be slow,
	// so nothing is held while it runs. Its error, with a code of package sale, ends
	// the purchase.
	Admit func(ctx context.Context, closesAt time.Time) error
}

// Purchase is the result of a request; one that failed may have a claim and tries, too.
type Purchase struct {
	// Claim is the user's claim; zero if the request found none.
	Claim sale.Claim
	// New: this call took the unit, so its order message has not been sent yet.
	New bool
	// Tries counts the transactions that were tried.
	Tries int
}

// Purchase takes one unit for the user in one transaction: a stock shard's
// stock > 0 minus one, and the user's claim if absent (P1, P3). It returns only
// after the claim is committed (P4).
//
// It fails with sale.AlreadyOrdered (with the claim), sale.SaleNotFound, sale.NotOpen,
// sale.Closed, sale.Paused, sale.SoldOut; with sale.Busy when the outcome is unknown or
// was not reached in time, and then the same request may be repeated (P5); with
// sale.Internal for anything that should not happen; and with the error of Admit.
func (l *Ledger) Purchase(ctx context.Context, r Request) (Purchase, error) {
	if held, ok := l.recent.Get(buyer{r.SaleID, r.User}, l.now()); ok {
		if held.MayBeReleased() {
			var err error
			if held, err = l.Claim(ctx, r.SaleID, r.User); err != nil {
				return Purchase{}, err
			}
			l.remember(held, l.now())
		}
		return r.answerRepeat(held, 0)
	}
	p := purchase{Ledger: l, Request: r, view: l.views.of(r.SaleID)}
	s, refusal, err := l.look(ctx, p.view, r.SaleID)
	if err != nil {
		return Purchase{}, err
	}
	if refusal != nil {
		return p.refuse(ctx, s, refusal)
	}
	if r.Admit != nil {
		return p.admit(ctx, s.sale)
	}
	return p.run(ctx)
}

// admit calls Admit, unless the request is a repeat, and then starts the purchase over:
// while Admit ran the sale may have been paused or sold out.
func (p *purchase) admit(ctx context.Context, s sale.Sale) (Purchase, error) {
	if answer, err := p.repeated(ctx, s); sale.CodeOf(err) != sale.OrderNotFound {
		return answer, err
	}
	if err := p.Admit(ctx, s.ClosesAt); err != nil {
		return Purchase{}, err
	}
	admitted := p.Request
	admitted.Admit = nil
	return p.Purchase(ctx, admitted)
}

// answerRepeat answers a request whose user already holds a claim.
func (r Request) answerRepeat(held sale.Claim, tries int) (Purchase, error) {
	if r.Key != "" && r.Key == held.RequestKey && !held.Released() {
		return Purchase{Claim: held, Tries: tries}, nil
	}
	return Purchase{Claim: held, Tries: tries},
		&sale.Error{Code: sale.AlreadyOrdered, Detail: "the user has already ordered in this sale", Claim: &held}
}

// purchase is the state of one call of Purchase.
type purchase struct {
	*Ledger
	Request
	view    *view
	claimID string
	tries   int
	// unsure: a try had no answer and may still be applied, so no refusal is certain.
	unsure bool
}

func (p *purchase) run(ctx context.Context) (Purchase, error) {
	p.claimID = p.newID()
	hop := 0   // how often contention made it change the shard
	waits := 0 // tries without a definite answer
	for {
		now := p.now()
		s := p.view.load(now)
		shard := sale.ShardFor(p.User, hop, &s.avoid, s.sale.Shards)
		if shard < 0 {
			if s.certain && s.sale.SoldOut() {
				return p.refuse(ctx, s, s.sale.RefuseSoldOut())
			}
			// Some shards are empty only according to this environment; a new
			// consistent read must confirm that.
			if err := p.refresh(ctx, p.view, p.SaleID); err != nil {
				return p.fail(sale.CodeOf(err), err)
			}
			continue
		}
		p.tries++
		claim := sale.Claim{
			SaleID: p.SaleID, User: p.User, ID: p.claimID,
			Shard: shard, AcceptedAt: time.UnixMilli(now.UnixMilli()).UTC(), RequestKey: p.Key,
			Buckets: s.sale.Buckets, MinReader: s.sale.MinReader,
		}
		err := attempt(ctx, func(ctx context.Context) error {
			return p.transact(ctx, p.takeUnit(shard, now), p.putClaim(claim))
		})
		switch judge(err) {
		case succeeded:
			p.remember(claim, now)
			return Purchase{Claim: claim, New: true, Tries: p.tries}, nil
		case cancelled:
			v, readErr := readPurchase(err, &s.sale, now)
			switch {
			case readErr != nil:
				return p.fail(sale.Internal, readErr)
			case v.holder != nil:
				return p.held(*v.holder, now)
			case v.refusal != nil && p.unsure:
				return p.fail(sale.Busy, v.refusal)
			case v.refusal != nil:
				// The same transaction also found that the user has no claim.
				return Purchase{Tries: p.tries}, v.refusal
			case v.empty:
				p.closeShard(ctx, s.sale.Version, shard)
				if p.view.lists(shard) {
					continue // nobody tries the shard again: no need to wait
				}
				if changed := p.view.load(now); !changed.avoid.Has(shard) {
					hop++ // the sale has changed
				}
			case !v.keepShard:
				hop++
			}
		case contended:
			hop++
		case unknown:
			p.unsure = true
			hop++
		default:
			return p.fail(sale.Internal, err)
		}
		if waits++; waits >= maxTries || !p.backOff(ctx, waits-1+s.crowding()) {
			return p.fail(sale.Busy, err)
		}
		if !s.tail() {
			continue
		}
		// After a failed read the old snapshot stays.
		if s, refusal, _ := p.look(ctx, p.view, p.SaleID); refusal != nil && refusal.Code == sale.SoldOut {
			return p.refuse(ctx, s, refusal)
		}
	}
}

// crowding is the number of tries, up to 3, added to the back-off because fewer shards
// serve the same crowd.
func (s *snapshot) crowding() int { return 3 * s.avoid.Len() / s.sale.Shards }

// takeUnit is the stock half of the transaction. Its condition includes the window and
// the pause flag, which therefore cannot change meanwhile (P14).
func (p *purchase) takeUnit(shard int, now time.Time) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName:                p.table,
		Key:                      stockKey(p.SaleID, shard),
		UpdateExpression:         &takeUnitUpdate,
		ConditionExpression:      &takeUnitCondition,
		ExpressionAttributeNames: takeUnitNames,
		ExpressionAttributeValues: item{
			":zero": zero, ":one": one, ":now": millis(now), ":no": no,
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

var (
	takeUnitUpdate    = "SET #stock = #stock - :one"
	takeUnitNames     = map[string]string{"#stock": "stock", "#opensAt": "opensAt", "#closesAt": "closesAt", "#paused": "paused"}
	takeUnitCondition = "#stock > :zero AND #opensAt <= :now AND #closesAt > :now AND #paused = :no"
	zero, one, no     = num(0), num(1), boolean(false)
)

// putClaim is the user's half: one claim per sale and user, forever (P3).
func (p *purchase) putClaim(c sale.Claim) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName:                           p.table,
		Item:                                claimItem(c, sale.BucketOf(c.User, c.Buckets)),
		ConditionExpression:                 &ifAbsent,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// held ends a call that found a claim of its user: its own, from a try whose answer was
// lost, or another request's.
func (p *purchase) held(held sale.Claim, now time.Time) (Purchase, error) {
	p.remember(held, now)
	if held.ID == p.claimID {
		return Purchase{Claim: held, New: true, Tries: p.tries}, nil
	}
	return p.answerRepeat(held, p.tries)
}

// refuse ends a call with a refusal, unless the user has a claim: a winner whose answer
// was lost must not get "sold out", nor one whose other click took the last unit while
// this one found its shard empty. The refusal follows from that snapshot. If looking for the
// claim took until it is too old to refuse, the answer is "busy": a newer snapshot would have
// to be followed by another look for the claim, which the user's other click may have made
// meanwhile.
func (p *purchase) refuse(ctx context.Context, s snapshot, refusal *sale.Error) (Purchase, error) {
	if p.unsure {
		return p.fail(sale.Busy, refusal)
	}
	if answer, err := p.repeated(ctx, s.sale); sale.CodeOf(err) != sale.OrderNotFound {
		return answer, err
	}
	if !isFresh(p.now(), s.readAt, refusalAge) {
		return p.fail(sale.Busy, refusal)
	}
	if p.Key == "" && (refusal.Code == sale.SoldOut || refusal.Code == sale.Closed) {
		if held, found := p.claimBeforeRefusal(ctx, s.sale); found {
			return p.held(held, p.now())
		}
	}
	return Purchase{Tries: p.tries}, refusal
}

// repeated answers a repeat from the user's claim, and fails with sale.OrderNotFound
// when there is none. Looking costs one consistent read and its retries, so only requests
// with a key, which may be repeats, are looked up.
func (p *purchase) repeated(ctx context.Context, s sale.Sale) (Purchase, error) {
	if p.Key == "" || s.Buckets == 0 {
		return Purchase{}, errNoRepeat
	}
	held, err := p.claim(ctx, s, p.User)
	if err != nil {
		return Purchase{Tries: p.tries}, err
	}
	return p.held(held, p.now())
}

var errNoRepeat = sale.Refuse(sale.OrderNotFound, "the request is no repeat")

// fail ends a call without a definite answer. After a try with an unknown outcome even
// an unexpected failure is "busy": the unit may be the user's.
func (p *purchase) fail(code sale.Code, err error) (Purchase, error) {
	if p.unsure {
		code = sale.Busy
	}
	return Purchase{Tries: p.tries}, sale.Fail(code, err)
}

// closeShard records in the sale item that a shard has no stock, unless the sale was
// restocked since the version under which it was seen empty. Each environment has at most
// one such update in flight. It is retried when throttled: at the end of a large sale the
// purchases exhaust the table, and they continue until this write succeeds.
//
// Unless the shard is listed afterwards, the caller must count its try and wait: nobody
// else may know of the shard, or the sale has changed, and while units are put back it
// changes so often that the caller would try shard after shard.
//
// Unless the snapshot is fresh, the sale is read first: another environment has
// probably closed the shard already, and the sale item's writes are scarce. An update
// takes up to 4 of its 1,000 write units a second, a read 1 of its 3,000 read units,
// and a read also shows all other shards that have run empty. Without it the updates
// of 1,000 environments throttle each other, and closing takes seconds.
func (p *purchase) closeShard(ctx context.Context, version int64, shard int) {
	p.view.observe(version, shard)
	if p.view.isOlder(p.now(), newsAge) && !p.shouldClose(ctx, version, shard) {
		return
	}
	select {
	case p.view.closing <- struct{}{}:
		defer func() { <-p.view.closing }()
	default:
		return
	}
	number, now := p.view.begin(), p.now()
	var out *dynamodb.UpdateItemOutput
	err := p.retry(ctx, maxTries, func(ctx context.Context) (err error) {
		out, err = p.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                 p.table,
			Key:                       saleKey(p.SaleID),
			UpdateExpression:          &closeShardUpdate,
			ConditionExpression:       &ifVersion,
			ExpressionAttributeNames:  map[string]string{"#empty": "empty", "#version": "version"},
			ExpressionAttributeValues: item{":k": numberSet(shard), ":v": num(version)},
			ReturnValues:              types.ReturnValueAllNew,
		})
		return err
	})
	switch judge(err) {
	case succeeded:
		if s, err := readSale(out.Attributes); err == nil {
			p.view.accept(number, true, s, now, p.snapshotAge())
		}
	case conditioned:
		// The version has changed: the observation is void, so read the new state.
		// After a failed read the old snapshot stays, which the next transaction
		// corrects.
		_ = p.refresh(ctx, p.view, p.SaleID)
	}
}

// shouldClose reports whether the sale item does not list the shard as empty yet. When
// it cannot be read, some environments write anyway, because a write's answer contains
// the same information.
func (p *purchase) shouldClose(ctx context.Context, version int64, shard int) bool {
	if !p.view.isBackingOff(p.now()) && p.refreshWithin(ctx, 1, p.view, p.SaleID) == nil {
		return p.view.isNews(version, shard)
	}
	return p.random() < closeUnreadShare
}

const (
	// newsAge: with an older snapshot, the sale is read again before an empty shard
	// is closed.
	newsAge = 50 * time.Millisecond
	// closeUnreadShare is the share of environments that close a shard without having
	// been able to read the sale.
	closeUnreadShare = 0.2
)

var (
	closeShardUpdate = "ADD #empty :k"
	ifVersion        = "#version = :v"
)
