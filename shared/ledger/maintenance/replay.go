package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Lost is what logs and published events say of a table that was restored to an earlier
// instant. Facts that the table has are no harm.
type Lost struct {
	// RestoredTo is the instant to which the table was restored. It tells one restore's replay
	// from another one's.
	RestoredTo time.Time
	// Claims have SaleID, User and ID, and what is known of the rest. AcceptedAt is zero if no
	// line of a log told it: such a claim can only be completed, not written.
	Claims []sale.Claim
	// Refunds are those that an event announced.
	Refunds   []sale.Refund
	Additions []LostAddition
	// PayUntil is, by sale, until when its unpaid orders have been given time.
	PayUntil map[string]time.Time
}

// LostAddition is an addition as the trail has it.
type LostAddition struct {
	SaleID string
	sale.Change
}

// Replayed counts what the table lacked, and what a replay has therefore written.
type Replayed struct {
	Claims, Guards, OrderIDs, Orders, Payments, Releases, Refunds, Additions, Extensions int
	// Halves counts the items that were restored without another one of their transaction, and the
	// steps of withdrawals that were restored without what comes before them.
	Halves int
	// TakenBack are withdrawals of which such steps are taken back: they must be repeated.
	TakenBack []string
	// Sendings counts those that went on, and are stopped: what they have sent since is lost.
	Sendings int
	// Shards counts the shards whose counts did not follow from their claims.
	Shards int
	// Oversold are the live claims of shards that have fewer units, in sales that have fewer units in all or in which
	// no shard gives units to another. Nothing is derived for them.
	Oversold []sale.Claim
	// Problems are facts that contradict the table, or that it cannot have.
	Problems []string
}

// Missing counts what the table lacked.
func (r *Replayed) Missing() int {
	return r.Claims + r.Guards + r.OrderIDs + r.Orders + r.Payments + r.Releases + r.Refunds +
		r.Additions + r.Extensions + r.Halves + r.Sendings + r.Shards
}

// Scanner is the one call of a client that only a replay needs.
type Scanner interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

const (
	// sequenceLeap and saleLeap are above what a table can have lost: order ids of a day, and
	// versions and edits of a sale.
	sequenceLeap = 100_000_000
	saleLeap     = 1_000_000
	// maxRestoreDays is how long ago a table can have been: DynamoDB keeps 35 days.
	maxRestoreDays = 36
)

// Replay writes into a restored table what it has lost; without write it only says what that
// is. Nothing else may write to the table meanwhile, and no environment may have read it
// before. A replay that was cut off is repeated with the same facts, and so is one that gets
// more of them.
//
// First nothing that was given out before can be given out again: each day's sequence of order
// ids leaps, and each sale's version and number of edits, from which ids of events come. Then claims, guards, order
// ids, payments, releases and refunds are written if they are absent; DynamoDB may have restored some but not all
// writes of a transaction, and what is there of it says the rest. Only then are the counts of each shard derived from
// its claims and steps: a unit that was sold again in the lost time cannot be found by adding and subtracting. A
// sale whose claims exceed its units keeps its counts, and people decide.
//
// What an account says is applied to what was restored or written, and not counted. What a claim or refund has heard
// and its account has lost is taken back: its provider must report it again.
//
// A sending that went on at that instant is stopped, also one that has ended since: what it has sent is lost, and so
// operators first mark what is back.
//
// More time that was given to unpaid orders is given again, to sales whose orders are not finished. Other edits and
// withdrawals are not replayed. A sale that is not over is paused, so that nothing is sold before an
// operator has repeated them.
//
// It fails with sale.SaleNotFound, before it writes anything, if the table does not have a sale
// of the facts, with sale.Busy or sale.Internal.
func (m *Maintenance) Replay(ctx context.Context, scanner Scanner, lost Lost, write bool) (Replayed, error) {
	p := &replay{
		Maintenance: m, lost: lost, write: write, sales: map[string]*replayed{},
		known: map[string]bool{}, due: map[string]bool{}, ends: map[uint64]bool{}, unreleased: map[uint64]bool{},
		unexplained: map[uint64]string{},
	}
	p.lost.PayUntil = map[string]time.Time{} // the trail adds to it
	maps.Copy(p.lost.PayUntil, lost.PayUntil)
	for _, r := range lost.Refunds {
		p.due[r.Payment] = true
	}
	for _, c := range lost.Claims {
		p.known[c.ID], p.ends[c.OrderID] = true, c.Payment != "" || c.Released()
	}
	err := p.readSales(ctx)
	if err == nil {
		err = p.identify(ctx)
	}
	if err == nil && write {
		err = p.leap(ctx)
	}
	for _, id := range p.ids {
		if err == nil {
			err = p.extend(ctx, p.sales[id])
		}
	}
	for _, a := range p.lost.Additions {
		if err == nil {
			err = p.add(ctx, a)
		}
	}
	for claims := range slices.Chunk(p.lost.Claims, table.BatchKeys/4) {
		if err == nil {
			err = p.restoreClaims(ctx, claims)
		}
	}
	for _, refund := range p.lost.Refunds {
		if err == nil {
			err = p.refund(ctx, refund, false)
		}
	}
	for halves := -1; err == nil && halves < p.done.Halves && (write || halves < 0); { // what is completed may say more
		halves = p.done.Halves
		if write {
			for _, one := range p.sales {
				clear(one.claims)
				clear(one.released)
				one.cancelled = 0
			}
		}
		err = p.scan(ctx, scanner)
	}
	p.done.Problems = append(p.done.Problems, slices.Sorted(maps.Values(p.unexplained))...)
	for _, id := range p.ids {
		if err == nil {
			err = p.derive(ctx, p.sales[id])
		}
	}
	return p.done, sale.AsInternal(err)
}

// replay is the state of one call.
type replay struct {
	*Maintenance
	lost       Lost
	known      map[string]bool // the ids of its claims
	due        map[string]bool // the payments of its refunds
	ends       map[uint64]bool // the ids of the orders of which it is known, or said, how they ended
	unreleased map[uint64]bool // the ids of the orders that a lost recall has released
	// unexplained are refunds due, by their orders, besides payments that nothing tells: a guard may.
	unexplained map[uint64]string
	write       bool
	sales       map[string]*replayed // those whose orders are not finished, or of which there are facts
	ids         []string             // of these sales, in order
	done        Replayed
}

// replayed is a sale of a replay, with what its claims add up to.
type replayed struct {
	sale             sale.Sale
	item, listing    table.Item
	calls            []draw.Call
	claims, released []int64 // units of all claims, and of those whose units came back, per shard
	cancelled        int64   // by an operator
	added            []int64 // by additions that the table lacks
	// refundAt is the instant of one of its refunds; isNoted: the listing notes one.
	refundAt time.Time
	isNoted  bool
}

func (p *replay) problem(format string, about ...any) {
	p.done.Problems = append(p.done.Problems, fmt.Sprintf(format, about...))
}

// readSales reads the sales whose orders are not finished, and those of the facts.
func (p *replay) readSales(ctx context.Context) error {
	listings, err := p.table.QueryAll(ctx, table.PatientTries, table.Partition(table.ListingKey("")[table.PK]))
	if err != nil {
		return err
	}
	of := map[string]bool{}
	for _, c := range p.lost.Claims {
		of[c.SaleID] = true
	}
	for _, r := range p.lost.Refunds {
		of[r.SaleID] = true
	}
	for _, a := range p.lost.Additions {
		of[a.SaleID] = true
	}
	delete(of, "") // refunds of unknown orders
	for _, listing := range listings {
		id := table.IdentityOf(listing).SK
		if table.Has(listing, "sealedAt") { // it had lost nothing, and users may have been erased from it since
			delete(of, id)
			p.lost = p.lost.without(id)
			continue
		}
		if table.Has(listing, "drained") && !of[id] {
			isFinished, err := p.isFinished(ctx, id, listing)
			if err != nil {
				return err
			}
			if isFinished {
				continue
			}
		}
		one, err := p.readSale(ctx, id, listing)
		if err != nil {
			return err
		}
		if one != nil {
			p.sales[id], p.ids = one, append(p.ids, id)
		}
	}
	for id := range of {
		if p.sales[id] == nil {
			return sale.Refusef(sale.SaleNotFound,
				"the table has no open sale %q: it is another stack's, or the sale was created later", id)
		}
	}
	return nil
}

// isFinished reports whether a sale whose listing says that it is drained has not been taken back by a
// recall or another end: the listing may be the half of it that was not restored.
func (p *replay) isFinished(ctx context.Context, id string, listing table.Item) (bool, error) {
	it, err := p.table.GetWithin(ctx, table.PatientTries, table.SaleKey(id))
	if err != nil {
		return false, err
	}
	s, err := table.ReadSale(it)
	if err != nil {
		return true, nil // nor can it be replayed
	}
	r := table.Reader{Item: listing}
	return !s.IsRecalled() && s.Ends().Equal(r.Time("closesAt")), sale.AsInternal(r.Err)
}

// identify finds in the table whose the claims and refunds are of which the facts know the id of an
// erased user alone: they were published again after the erasure, which the table has lost. One whose order
// the table has not is nobody's.
func (p *replay) identify(ctx context.Context) error {
	var keys []table.Item
	ask := func(user string, orderID uint64) {
		if sale.IsErased(user) && orderID != 0 {
			keys = append(keys, table.OrderKey(orderID))
		}
	}
	for _, c := range p.lost.Claims {
		ask(c.User, c.OrderID)
	}
	for _, r := range p.lost.Refunds {
		ask(r.User, r.OrderID)
	}
	orders, err := p.table.GetAll(ctx, keys)
	if err != nil || len(keys) == 0 {
		return err
	}
	userOf := func(user string, orderID uint64) string {
		if !sale.IsErased(user) {
			return user
		}
		r := table.Reader{Item: orders[table.IdentityOf(table.OrderKey(orderID))]}
		return r.OptionalText("user")
	}
	claims := p.lost.Claims
	p.lost.Claims = nil
	for _, c := range claims {
		erased := c.User
		if c.User = userOf(c.User, c.OrderID); c.User == "" {
			p.problem("claim %s of sale %s is known under %s alone, the id of an erased user: "+
				"no line of a log and no older event says whose it was", c.ID, c.SaleID, erased)
			continue
		}
		p.lost.Claims = append(p.lost.Claims, c)
	}
	p.lost.Refunds = slices.Clone(p.lost.Refunds)
	for i, r := range p.lost.Refunds {
		p.lost.Refunds[i].User = userOf(r.User, r.OrderID)
	}
	return nil
}

// without returns the facts of all sales but one.
func (l Lost) without(saleID string) Lost {
	l.Claims = slices.DeleteFunc(slices.Clone(l.Claims), func(c sale.Claim) bool { return c.SaleID == saleID })
	l.Refunds = slices.DeleteFunc(slices.Clone(l.Refunds), func(r sale.Refund) bool { return r.SaleID == saleID })
	l.Additions = slices.DeleteFunc(slices.Clone(l.Additions), func(a LostAddition) bool { return a.SaleID == saleID })
	return l
}

// readSale returns nil for a draft, which has no claims.
func (p *replay) readSale(ctx context.Context, id string, listing table.Item) (*replayed, error) {
	it, err := p.table.GetWithin(ctx, table.PatientTries, table.SaleKey(id))
	if err != nil {
		return nil, err
	}
	if it == nil {
		p.problem("sale %q is listed, and its item is gone", id)
		return nil, nil
	}
	s, err := table.ReadSale(it)
	if err != nil || s.State != sale.Open {
		return nil, sale.AsInternal(err)
	}
	one := &replayed{
		sale: s, item: it, listing: listing,
		claims: make([]int64, s.Shards), released: make([]int64, s.Shards), added: make([]int64, s.Shards),
	}
	if s.HasDraw() {
		calls, err := p.table.QueryAll(ctx, table.PatientTries, table.Partition(table.S(table.DrawPK(id))))
		if err != nil {
			return nil, err
		}
		for _, it := range calls {
			if strings.HasPrefix(table.IdentityOf(it).SK, table.CallHead) {
				c, err := table.ReadCall(it)
				if err != nil {
					return nil, sale.AsInternal(err)
				}
				one.calls = append(one.calls, c)
			}
		}
		if int64(len(one.calls)) < s.Call { // one more is of a beginning that goes on by itself
			p.problem("sale %q has had %d calls, and %d are stored: recall it", id, s.Call, len(one.calls))
		}
	}
	return one, nil
}

// leap makes sure that nothing is given out again, and pauses the sales.
func (p *replay) leap(ctx context.Context) error {
	now := p.table.Now().UTC()
	from := p.lost.RestoredTo.UTC()
	if now.Sub(from) > maxRestoreDays*24*time.Hour {
		return fmt.Errorf("the table is of %s, and no restore goes further back than 35 days", from.Format(time.RFC3339))
	}
	// The clock of whoever gave out an order id may have been on the day before or after.
	day := from.Add(-ledger.ClockSkew).Truncate(24 * time.Hour)
	for ; !day.After(now.Add(ledger.ClockSkew)); day = day.AddDate(0, 0, 1) {
		key := table.SequenceKey(orderid.Day(day))
		if err := p.mark(ctx, key, "ADD #next :leap SET #restoredAt = :at", sequenceLeap, table.Item{}); err != nil {
			return err
		}
	}
	for _, id := range p.ids {
		if err := p.pause(ctx, p.sales[id], now); err != nil {
			return err
		}
		if err := p.resetListing(ctx, p.sales[id]); err != nil {
			return err
		}
	}
	return nil
}

// restoreActor is whose edit a restore's is in the trail: a schedule does not resume what it has paused.
const restoreActor = "restore"

func (p *replay) author() sale.Author {
	return sale.Author{Actor: restoreActor, Note: "restored to " + p.lost.RestoredTo.UTC().Format(time.RFC3339)}
}

// pause raises a sale's numbers, and edits it: the number of edits that it leaps to is this
// edit's. It pauses a sale that is not over, and a recalled one stays paused. Of an edit, only some shards may have
// been restored, which follow this one; or only its entry in the trail, which goes, so that the edit can
// be repeated under its id. This one is later than that.
func (p *replay) pause(ctx context.Context, one *replayed, now time.Time) error {
	s := one.sale
	trail, err := p.table.Edits(ctx, table.MaxTries, s.ID)
	if err != nil {
		return err
	}
	last := s.ChangedAt.UnixMilli()
	for _, entry := range trail {
		made, err := table.ReadChange(entry)
		if err != nil {
			return sale.AsInternal(err)
		}
		last = max(last, made.At.UnixMilli())
		if made.PayUntil.After(p.lost.PayUntil[s.ID]) { // it may have been restored without its sale
			p.lost.PayUntil[s.ID] = made.PayUntil
		}
		if made.Number > s.Edits {
			if _, err := p.table.RetryTransaction(ctx, p.table.Delete(table.KeyOf(entry), "", nil)); err != nil {
				return sale.AsInternal(err)
			}
		}
	}
	update := "ADD #version :leap, #edits :leap SET #restoredAt = :at, #paused = :paused, #changedAt = :now"
	values := table.Item{
		":paused": table.Bool(s.Paused || s.Ends().After(now)), ":now": table.N(max(now.UnixMilli(), last+1)),
	}
	if s.HasDraw() {
		update += ", #operatedAt = :now"
	}
	if err := p.mark(ctx, table.SaleKey(s.ID), update+" REMOVE #empty", saleLeap, values); err != nil {
		return err
	}
	if s, err = p.table.OpenSale(ctx, s.ID); err != nil {
		return err
	}
	c := sale.Change{
		Number: s.Edits, ID: "restore-" + strconv.FormatInt(p.lost.RestoredTo.UnixMilli(), 10), Action: sale.ActionResume,
		At: s.ChangedAt, Paused: s.Paused,
		OpensAt: s.OpensAt, ClosesAt: s.ClosesAt,
		Author: p.author(),
	}
	if s.Paused {
		c.Action = sale.ActionPause
	}
	if s.HasDraw() {
		c.OperatedAt, c.BeginsAt, c.EndsAt = s.OperatedAt, s.BeginsAt, s.EndsAt
	}
	entry := table.WithLabels(s.Labels, table.ChangeItem(s.ID, c))
	entry["call"] = table.S(c.ID)
	if err := p.table.PutAbsent(ctx, entry); err != nil {
		return err
	}
	one.sale = s
	return p.ledger.EditShards(ctx, s, nil)
}

// mark raises numbers of an item by a leap, once in a restore.
func (p *replay) mark(ctx context.Context, key table.Item, update string, leap int64, values table.Item) error {
	values[":leap"], values[":at"] = table.N(leap), table.Millis(p.lost.RestoredTo)
	return p.table.Update(ctx, table.Update{
		Key: key, Expr: update, If: "attribute_not_exists(#restoredAt) OR #restoredAt < :at", Values: values,
	})
}

// resetListing makes the scheduled functions begin anew, and the listing agree with the sale.
func (p *replay) resetListing(ctx context.Context, one *replayed) error {
	update := "SET #closesAt = :closesAt REMOVE #drained, #cursor, #books, #releasing, #nextDue"
	r := table.Reader{Item: one.listing}
	values := table.Item{":closesAt": table.Millis(one.sale.Ends()), ":read": table.N(r.Number("closesAt"))}
	if one.sale.IsRecalled() {
		update = strings.Replace(update, " REMOVE", ", #recalling = :recalling REMOVE", 1)
		values[":recalling"] = table.Millis(one.sale.RecalledAt)
	} else if table.Has(one.listing, "recalling") {
		update += ", #recalling"
	}
	if r.Err != nil {
		return sale.AsInternal(r.Err)
	}
	return p.table.Update(ctx, table.Update{
		Key: table.ListingKey(one.sale.ID), Expr: update, If: "#closesAt = :read", Values: values,
	})
}

// extend gives the unpaid orders of a sale the time that they had been given.
func (p *replay) extend(ctx context.Context, one *replayed) error {
	s, until := &one.sale, p.lost.PayUntil[one.sale.ID]
	if !until.After(s.PayUntil) {
		return nil
	}
	p.done.Extensions++
	if s.PayUntil = until; !p.write {
		return nil
	}
	return p.table.Update(ctx, table.Update{
		Key: table.SaleKey(s.ID), Expr: "SET #payUntil = :until, #minReader = :reader",
		Values: table.Item{":until": table.Millis(until), ":reader": table.N(int64(max(s.MinReader, sale.ReadsOperators)))},
	})
}

// add puts an addition and its steps, under its own instant and author, so that its event stays
// what was published. The shards' counts follow from the steps.
func (p *replay) add(ctx context.Context, a LostAddition) error {
	one := p.sales[a.SaleID]
	s := one.sale
	items := []table.Item{table.SeedingItem(s, a.Change)}
	for k := range s.Shards {
		if units := sale.Share(a.Units, k, s.Shards); units > 0 {
			items = append(items, table.With(table.SeedShardKey(s.ID, a.ID, k), table.Item{
				"units": table.N(units), "at": table.Millis(a.At),
			}))
		}
	}
	there, err := p.table.Under(ctx, s.ID, table.SeedHeads+a.ID)
	if err != nil {
		return err
	}
	lacking := false
	for k, it := range items {
		if there[table.IdentityOf(it)] != nil {
			continue
		}
		lacking = true
		switch {
		case p.write:
			if err := p.table.PutAbsent(ctx, it); err != nil {
				return err
			}
		case k > 0:
			one.added[k-1] += sale.Share(a.Units, k-1, s.Shards)
		}
	}
	if lacking {
		p.done.Additions++
	}
	return nil
}

// replayRounds is how often a batch is written and looked at again: an order id is written
// before what needs it.
const replayRounds = 4

var errReplayOvertaken = errors.New("the table changed under the replay: something else writes to it")

// restoreClaims completes up to a quarter of table.BatchKeys claims and what belongs to each: its order, its
// guard in a group, its payment's guard.
func (p *replay) restoreClaims(ctx context.Context, claims []sale.Claim) error {
	for round := range replayRounds {
		writes, err := p.lacking(ctx, claims, round == 0)
		if err != nil || len(writes) == 0 || !p.write {
			return err
		}
		if err := table.EachOf("claim", len(writes), func(i int) error { return writes[i](ctx) }); err != nil {
			return err
		}
	}
	return sale.AsInternal(errReplayOvertaken)
}

// lacking returns the writes of the claims of a batch that can be made now. In the first round
// it counts whatever is lacking.
func (p *replay) lacking(
	ctx context.Context, claims []sale.Claim, count bool,
) (writes []func(context.Context) error, err error) {
	var keys []table.Item
	for _, c := range claims {
		s := p.sales[c.SaleID].sale
		keys = append(keys, table.ClaimKey(c.SaleID, sale.BucketOf(c.User, s.Buckets), c.User))
		if c.OrderID != 0 {
			keys = append(keys, table.OrderKey(c.OrderID))
		}
		if s.LimitGroup != "" {
			keys = append(keys, table.GroupGuardKey(s.LimitGroup, c.User))
		}
		if c.Payment != "" {
			keys = append(keys, table.PaymentKey(c.Payment))
		}
		if c.Unit != "" {
			keys = append(keys, table.CancelledKey(c.SaleID, c.OrderID))
		}
	}
	there, err := p.table.GetAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	for _, c := range claims {
		one := p.sales[c.SaleID]
		c.Labels, c.MinReader, c.Buckets = one.sale.Labels, one.sale.OrdersReader(), one.sale.Buckets
		c.PaymentTerms = one.sale.PaymentTerms()
		if c.ReleasedBy == sale.ByOperator && c.Unit == "" && !one.sale.IsRecalled() {
			c.ReleasedAt, c.ReleasedBy = time.Time{}, "" // the recall is lost; repeated, it releases the claim
			p.unreleased[c.OrderID] = true
		}
		writes = append(writes, p.lackingOf(c, one, there, count)...)
	}
	return writes, nil
}

// lackingOf returns the writes for one claim.
func (p *replay) lackingOf(
	c sale.Claim, one *replayed, there map[table.Identity]table.Item, count bool,
) (writes []func(context.Context) error) {
	problem := func(format string, about ...any) []func(context.Context) error {
		if count {
			p.problem("claim "+c.ID+" of sale "+c.SaleID+": "+format, about...)
		}
		return nil
	}
	lacks := func(n *int, write func(context.Context) error) {
		if count {
			*n++
		}
		if write != nil {
			writes = append(writes, write)
		}
	}
	key := table.ClaimKey(c.SaleID, sale.BucketOf(c.User, c.Buckets), c.User)
	stored := there[table.IdentityOf(key)]
	if stored == nil {
		switch {
		case c.AcceptedAt.IsZero() || c.Shard < 0 || c.Shard >= one.sale.Shards:
			return problem("no line of a log says when it was accepted, and in which shard")
		case one.sale.HasDraw() && !slices.ContainsFunc(one.calls, func(call draw.Call) bool {
			return !c.AcceptedAt.Before(call.From) && c.AcceptedAt.Before(call.Until)
		}):
			return problem("it was accepted in a call that is lost")
		}
		lacks(&p.done.Claims, func(ctx context.Context) error { return p.table.PutAbsent(ctx, wholeClaim(c)) })
		if count && !p.write {
			one.count(c)
		}
	}
	held := sale.Claim{ID: c.ID}
	if stored != nil {
		var err error
		if held, err = table.ReadClaim(c.SaleID, c.Buckets, stored); err != nil {
			return problem("%v", err)
		}
		c.Units = held.Units // only a log tells them, and there may be none
	}
	switch {
	case held.ID != c.ID:
		return problem("the user has another claim, %s", held.ID)
	case held.OrderID != 0 && c.OrderID != 0 && held.OrderID != c.OrderID:
		return problem("its order id is %s, and was published as %s", orderid.String(held.OrderID), orderid.String(c.OrderID))
	case held.Released() && c.Payment != "" || held.Payment != "" && c.Released() ||
		held.Payment != "" && c.Payment != "" && held.Payment != c.Payment:
		return problem("it is paid, released or paid otherwise, and the events say another thing")
	}
	final := !c.PaidAt.IsZero() || c.Released()
	if c.OrderID != 0 && held.OrderID == 0 {
		lacks(&p.done.OrderIDs, unless(stored == nil, func(ctx context.Context) error { return p.giveOrderID(ctx, c) }))
	}
	if final && held.PaidAt.IsZero() && !held.Released() {
		n := &p.done.Payments
		if c.Released() {
			n = &p.done.Releases
		}
		lacks(n, unless(held.OrderID == 0, func(ctx context.Context) error { return p.finish(ctx, c) }))
		if count && !p.write && stored != nil {
			one.end(c, held.Shard)
		}
	}
	switch isCancelled := held.Unit != ""; {
	case c.Unit == "":
	case !isCancelled && !c.CancelledAt.IsZero() && c.PaidAt.IsZero() && held.PaidAt.IsZero():
		return problem("its order was cancelled after it was paid, and no event tells the payment: " +
			"find it in the provider's list, and add its event OrderPaid to EVENTS")
	case !isCancelled && held.Payment != "":
		lacks(&p.done.Releases, func(ctx context.Context) error { return p.cancel(ctx, c) })
		if count && !p.write && stored != nil {
			one.end(c, held.Shard)
		}
		fallthrough
	default:
		if there[table.IdentityOf(table.CancelledKey(c.SaleID, c.OrderID))] == nil {
			n := new(int) // counted with the claim's end
			if isCancelled {
				n = &p.done.Halves
			}
			lacks(n, func(ctx context.Context) error { return p.table.PutAbsent(ctx, p.cancellationOf(c)) })
		}
	}
	if g := one.sale.LimitGroup; g != "" {
		switch it := there[table.IdentityOf(table.GroupGuardKey(g, c.User))]; {
		case it == nil:
			lacks(&p.done.Guards, func(ctx context.Context) error { return p.table.PutAbsent(ctx, table.GroupGuardItem(g, c)) })
		default:
			if guard, err := table.ReadGroupGuard(it); err != nil || guard.ClaimID != c.ID {
				return problem("the user's guard in group %s is of claim %s (%v)", g, guard.ClaimID, err)
			}
		}
	}
	if c.OrderID != 0 {
		o := sale.Order{ID: c.OrderID, SaleID: c.SaleID, User: c.User, ClaimID: c.ID}
		switch it := there[table.IdentityOf(table.OrderKey(c.OrderID))]; {
		case it == nil:
			lacks(&p.done.Orders, func(ctx context.Context) error { return p.table.PutAbsent(ctx, table.OrderItem(o)) })
		default:
			if have, err := table.ReadOrder(it); err != nil || have != o {
				return problem("order %s is of claim %s (%v)", orderid.String(c.OrderID), have.ClaimID, err)
			}
		}
	}
	if c.Payment != "" && there[table.IdentityOf(table.PaymentKey(c.Payment))] == nil {
		lacks(&p.done.Guards, func(ctx context.Context) error { return p.table.PutAbsent(ctx, paidGuard(c)) })
	}
	return writes
}

// unless returns no write if another one comes first.
func unless(later bool, write func(context.Context) error) func(context.Context) error {
	if later {
		return nil
	}
	return write
}

// paidGuard is the guard of the payment that has paid the claim.
func paidGuard(c sale.Claim) table.Item {
	return table.GuardItem(c.Payment, table.Guard{
		Fate: table.FatePaid, SaleID: c.SaleID, OrderID: c.OrderID, Amount: c.Amount, Currency: c.Currency,
	}, c.PaidAt)
}

// wholeClaim is a claim with all that is known of it.
func wholeClaim(c sale.Claim) table.Item {
	it := table.ClaimItem(c, sale.BucketOf(c.User, c.Buckets))
	if c.OrderID != 0 {
		it["orderId"] = table.N(int64(c.OrderID))
		_, values := finishing(c)
		for name, value := range values {
			it[strings.TrimPrefix(name, ":")] = value
		}
	}
	return it
}

// finishing sets what makes a claim paid or released, and perhaps cancelled.
func finishing(c sale.Claim) (update string, values table.Item) {
	switch {
	case c.Released():
		update, values = "SET #releasedAt = :releasedAt, #releasedBy = :releasedBy",
			table.Item{":releasedAt": table.Millis(c.ReleasedAt), ":releasedBy": table.S(string(c.ReleasedBy))}
	case c.PaidAt.IsZero():
		return "", nil
	default:
		update, values = "SET #paidAt = :paidAt, #payment = :payment, #amount = :amount, #currency = :currency", table.Item{
			":paidAt": table.Millis(c.PaidAt), ":payment": table.S(c.Payment),
			":amount": table.N(c.Amount), ":currency": table.S(c.Currency),
		}
	}
	if more, cancelled := cancelling(c); cancelled != nil {
		update += ", " + more
		maps.Copy(values, cancelled)
	}
	return update, values
}

func claimKey(c sale.Claim) table.Item {
	return table.ClaimKey(c.SaleID, sale.BucketOf(c.User, c.Buckets), c.User)
}

func (p *replay) giveOrderID(ctx context.Context, c sale.Claim) error {
	return p.table.Update(ctx, table.Update{
		Key: claimKey(c), Expr: "SET #orderId = :orderId", If: "attribute_not_exists(#orderId)",
		Values: table.Item{":orderId": table.N(int64(c.OrderID))},
	})
}

// finish writes that a claim is paid or released.
func (p *replay) finish(ctx context.Context, c sale.Claim) error {
	update, values := finishing(c)
	return p.table.Update(ctx, table.Update{Key: claimKey(c), Expr: update, If: table.IfNotFinal, Values: values})
}

func (one *replayed) count(c sale.Claim) {
	if c.Shard < 0 || c.Shard >= one.sale.Shards {
		return // an audit finds it
	}
	one.claims[c.Shard] += c.UnitCount()
	one.end(c, c.Shard)
}
