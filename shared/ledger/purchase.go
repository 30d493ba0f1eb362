package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Purchase takes units for the user in one transaction: from a stock shard that has them, or from several that have
// them together, and the user's claim if absent (P1, P3, P40); in a sale with a group also
// the user's guard in it, if absent (P34). It returns only after the claim is committed (P4).
//
// In a sale with a draw the unit leaves its shard only in the call in which it is the user's
// turn (P29).
//
// It fails with sale.AlreadyOrdered (with the claim, or the other sale), sale.SaleNotFound, sale.NotOpen,
// sale.NotYourTurn, sale.TurnOver, sale.Closed, sale.Paused, sale.Recalled, sale.SoldOut, sale.NotEnough; before any of
// them with sale.InvalidRequest if the sale allows no order of so many units; with sale.Busy when the
// outcome is unknown or was not reached in time, and then the same request may be repeated (P5); with sale.Internal for
// anything that should not happen; and with the error of CheckUser.
func (l *Ledger) Purchase(ctx context.Context, r Request) (PurchaseResult, error) {
	p := purchasing{ledger: l, request: r, view: l.views.of(r.SaleID)}
	if r.Units > 1 {
		if err := p.mayAsk(ctx); err != nil {
			return PurchaseResult{}, err
		}
	}
	// While the user was checked the sale may have been paused or sold out, so all is asked again.
	for checked := r.CheckUser == nil; ; checked = true {
		if one, ok := l.recent.Get(buyer{r.SaleID, r.User}, l.now()); ok {
			return p.answerFromMemory(ctx, one)
		}
		s, err := l.look(ctx, p.view, r.SaleID, r.Units)
		if err != nil {
			return PurchaseResult{}, err
		}
		refusal, mayHold := s.refusal, true
		if refusal == nil && s.sale.HasDraw() {
			refusal, mayHold, err = p.takeTurn(ctx, &s)
		}
		switch {
		case err != nil:
			return PurchaseResult{}, err
		case refusal != nil && !mayHold:
			return PurchaseResult{}, refusal
		case refusal != nil:
			return p.refuse(ctx, s, refusal)
		case checked:
			return p.run(ctx)
		}
		if answer, found, err := p.findRepeat(ctx, s.sale); found || err != nil {
			return answer, err
		}
		if err := r.CheckUser(ctx, s.sale.Ends()); err != nil {
			return PurchaseResult{}, err
		}
	}
}

// run tries the transaction on one shard after another, until its outcome is final or the
// tries or the time are used up.
func (p *purchasing) run(ctx context.Context) (PurchaseResult, error) {
	p.claimID, p.left = p.ledger.newID(), p.ledger.table.UpTo(table.MaxTries)
	for {
		now := p.ledger.now()
		s := p.view.load(now)
		if s.sale.IsRecalled() {
			// The recall may not have paused this shard yet. A claim that is made now would
			// bear the version that the recall has given to the sale.
			return p.refuse(ctx, s, sale.RefuseRecalled())
		}
		shard := sale.ShardFor(p.request.User, p.moves, &s.avoid, s.sale.Shards)
		if shard < 0 {
			if s.certain && s.sale.SoldOut() {
				return p.refuse(ctx, s, s.sale.RefuseSoldOut())
			}
			if err := p.ledger.readConsistently(ctx, table.MaxTries, p.view, p.request.SaleID); err != nil {
				return p.fail(sale.CodeOf(err), err)
			}
			// Those that are still empty only according to this environment must be listed, by one write a try.
			if p.closeShards(ctx, s.sale.Version, 1); p.view.news(s.sale.Version) != nil && !p.left.Again(ctx) {
				return p.fail(sale.Busy, errUnlisted)
			}
			continue
		}
		var next step
		var result PurchaseResult
		var err error
		if p.plan.isNeeded {
			next, result, err = p.fill(ctx, &s)
		} else {
			next, result, err = p.try(ctx, &s, []part{{shard, p.request.units()}}, now)
		}
		switch next {
		case finish:
			return result, err
		case tryAnother:
			continue
		case planNext:
			if !p.left.AtOnce() {
				return p.fail(sale.Busy, err)
			}
			continue
		case waitAndMove:
			p.moves++
		}
		if !p.left.Again(ctx) {
			return p.fail(sale.Busy, err)
		}
	}
}

// try tries the transaction, once: each of the parts comes from its shard, and the first shard sells them. Unless the
// call is to finish, its error is why there is no result.
func (p *purchasing) try(ctx context.Context, s *snapshot, parts []part, now time.Time) (step, PurchaseResult, error) {
	p.tries++
	claim := sale.Claim{
		SaleID: p.request.SaleID, User: p.request.User, ID: p.claimID,
		Shard: parts[0].shard, AcceptedAt: time.UnixMilli(now.UnixMilli()).UTC(), RequestKey: p.request.Key,
		Buckets: s.sale.Buckets, MinReader: s.sale.OrdersReader(), Labels: s.sale.Labels, PaymentTerms: s.sale.PaymentTerms(),
	}
	if p.request.Units > 1 {
		claim.Units = p.request.Units
	}
	// One claim per sale and user, permanently (P3).
	putClaim := p.ledger.table.Put(table.ClaimItem(claim, sale.BucketOf(claim.User, claim.Buckets)))
	actions := []types.TransactWriteItem{p.take(&s.sale, parts[0], p.request.units()-parts[0].units, now), putClaim}
	for i, given := range parts[1:] {
		actions = slices.Insert(actions, 1+i, p.take(&s.sale, given, -given.units, now))
	}
	if s.sale.LimitGroup != "" {
		actions = append(actions, p.ledger.table.Put(table.GroupGuardItem(s.sale.LimitGroup, claim)))
	}
	err := table.Attempt(ctx, func(ctx context.Context) error { return p.ledger.table.Transact(ctx, actions...) })
	switch table.Judge(err) {
	case table.Succeeded:
		p.ledger.remember(claim, s.sale.AsksForPayment(), now)
		return finish, PurchaseResult{Claim: claim, New: true, Tries: p.tries}, nil
	case table.Cancelled:
		return p.handleCancelled(ctx, s, parts, now, err)
	case table.Contended:
		return waitAndMove, PurchaseResult{}, err
	case table.Unknown:
		p.unsure = true
		return waitAndMove, PurchaseResult{}, err
	}
	return finishWith(p.fail(sale.Internal, err))
}

// handleCancelled says what follows a transaction that was cancelled with err, and closes
// the shards that are empty.
func (p *purchasing) handleCancelled(
	ctx context.Context, s *snapshot, parts []part, now time.Time, err error,
) (step, PurchaseResult, error) {
	v, readErr := readPurchase(err, &s.sale, parts, p.opens, now)
	switch {
	case readErr != nil:
		return finishWith(p.fail(sale.Internal, readErr))
	case v.holder != nil:
		return finishWith(p.answerWithClaim(&s.sale, *v.holder, now))
	case v.guard != nil:
		return p.answerWithGuard(ctx, s, *v.guard, err)
	case v.otherCall:
		return finishWith(p.fail(sale.Busy, err))
	case v.refusal != nil && p.unsure:
		return finishWith(p.fail(sale.Busy, v.refusal))
	case v.refusal != nil:
		// The same transaction also found that the user has no claim.
		return finish, PurchaseResult{Tries: p.tries}, p.withWait(&s.sale, v.refusal)
	case v.keepShard:
		return waitAndStay, PurchaseResult{}, err
	case len(v.short) == 0 && v.empty.Len() == 0:
		return waitAndMove, PurchaseResult{}, err
	}
	if len(v.short) > 0 {
		p.plan = planning{isNeeded: true, version: s.sale.Version, found: v.short}
	}
	if v.empty.Len() > 0 {
		for _, k := range v.empty.Without(sale.Set{}) {
			p.view.observe(s.sale.Version, k)
		}
		p.closeShards(ctx, s.sale.Version, table.MaxTries)
	}
	if p.plan.isNeeded {
		return planNext, PurchaseResult{}, err
	}
	shard := parts[0].shard
	switch listed, avoided := p.view.isEmpty(shard); {
	case listed:
		return tryAnother, PurchaseResult{}, err
	case !avoided:
		return waitAndMove, PurchaseResult{}, err // the sale has changed
	}
	return waitAndStay, PurchaseResult{}, err // on the shard that now takes its place
}

// take is what the transaction does to a shard that gives a part of the order; moved is how many units come to it from
// the others, less those that it gives to them. Its condition includes the window and the pause flag, which therefore
// cannot change meanwhile (P14).
func (p *purchasing) take(s *sale.Sale, of part, moved int64, now time.Time) types.TransactWriteItem {
	take := table.Update{
		Key: table.StockKey(p.request.SaleID, of.shard), Expr: "SET #stock = #stock - :one", ReturnOld: true,
		If:     "#stock > :zero AND #opensAt <= :now AND #closesAt > :now AND #paused = :no",
		Values: table.Item{":zero": table.Zero, ":one": table.One, ":now": table.Millis(now), ":no": table.No},
	}
	if p.request.Units > 1 {
		take.Expr = "SET #stock = #stock - :units"
		take.If = "#stock >= :units AND #opensAt <= :now AND #closesAt > :now AND #paused = :no"
		take.Values = table.Item{":units": table.N(of.units), ":now": table.Millis(now), ":no": table.No}
	}
	if moved != 0 {
		take.Expr += " ADD #moved :moved"
		take.Values[":moved"] = table.N(moved)
	}
	if s.HasDraw() {
		// The window tells the calls of a draw apart, so no try of an earlier call takes a unit of a
		// later one, however late it is applied and whatever its machine's clock said (P29).
		take.If += " AND #opensAt = :opens"
		take.Values[":opens"] = table.Millis(p.opens)
	}
	return p.ledger.table.Action(take)
}

var errUnlisted = errors.New("the sale does not list every empty shard yet")

// closeShards records in the sale item which shards this environment has seen empty, unless the
// sale was restocked since the version under which it saw them. Each environment has at most
// one such update in flight. It is retried when throttled: at the end of a large sale the
// purchases exhaust the table, and they continue until this write succeeds.
//
// Unless the shard is listed afterwards, the caller must count its try and wait: nobody
// else may know of the shard, or the sale has changed, and while units are put back it
// changes so often that the caller would try shard after shard.
//
// Unless the snapshot is fresh, the sale is read first: another environment has
// probably closed the shards already, and the sale item's writes are scarce. An update
// takes up to 4 of its 1,000 write units a second, up to 8 if buyers are shown long texts;
// a read takes 1 or 2 of its 3,000 read units, and also shows all other shards that have
// run empty. Without it the updates of 1,000 environments throttle each other, and closing
// takes seconds.
func (p *purchasing) closeShards(ctx context.Context, version int64, tries int) {
	if p.view.isOlder(p.ledger.now(), newsAge) {
		tries = min(tries, p.closingTries(ctx))
	}
	shards := p.view.news(version)
	if tries == 0 || shards == nil {
		return
	}
	select {
	case p.view.closing <- struct{}{}:
		defer func() { <-p.view.closing }()
	default:
		return
	}
	begun, now := p.view.begin(), p.ledger.now()
	closed, _, err := p.ledger.table.UpdateWithin(ctx, tries, table.Update{
		Key: table.SaleKey(p.request.SaleID), Expr: "ADD #empty :k", If: "#version = :v", Return: types.ReturnValueAllNew,
		Values: table.Item{":k": table.NS(shards...), ":v": table.N(version)},
	})
	switch table.Judge(err) {
	case table.Succeeded:
		if s, err := table.ReadSale(closed); err == nil {
			p.view.accept(begun, true, s, now, p.ledger.snapshotAge())
		}
	case table.Conditioned:
		// The version has changed: the observations are void, so read the new state.
		// After a failed read the old snapshot stays, which the next transaction
		// corrects.
		_ = p.ledger.readConsistently(ctx, table.MaxTries, p.view, p.request.SaleID)
	}
}

// closingTries reads the sale and returns how often to try to close shards. If the sale cannot be
// read, the update is tried once: its answer shows the same, and where reads are what is scarce
// somebody must write.
func (p *purchasing) closingTries(ctx context.Context) int {
	switch {
	case p.view.isBackingOff(p.ledger.now()):
		return 0
	case p.ledger.readConsistently(ctx, 1, p.view, p.request.SaleID) != nil:
		return 1
	}
	return table.MaxTries
}

// newsAge: with an older snapshot, the sale is read again before empty shards are closed.
const newsAge = 50 * time.Millisecond
