package ledger

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"flashsale/shared/draw"
	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

const (
	// SettleTime is for how long one item of a transaction is taken to be hidden from plain reads, consistent
	// ones too, while another one shows. DynamoDB hides none that it has answered, and says no time for one whose caller
	// is gone. What is written does not depend on it, because a write waits for the whole transaction. If one
	// takes longer, a receipt may find a mismatch that is none, a page may show a count without the newest addition for
	// a minute, and a recall may be complete without a claim that was hidden so long (see PauseSettles).
	SettleTime = 10 * time.Second
	// maxFindings bounds the findings of a receipt; the first ones suffice.
	maxFindings = 20
	// maxAbsent bounds the missing orders that a pass names to the next one. If more are
	// missing, the next pass checks all that this one has checked.
	maxAbsent = 100
	// ClockSkew is how much two machines' clocks may differ: an order id's second may
	// be that much earlier than its claim.
	ClockSkew = time.Minute
	// recheck is how long before its start a pass leaves orders to the next pass. The
	// ids' seconds come from other machines' clocks, and an order item is written up to
	// a few seconds after its id is issued.
	recheck = 2 * ClockSkew
	// editTime is longer than any edit takes to reach every shard: SeedFunction
	// times out after two minutes.
	editTime = 5 * time.Minute
)

// Stranded receives the claims of a pass whose message is due to be resent: pending
// ones, and confirmed ones without an order item.
type Stranded func(sale.Claim)

// Step continues a pass until it is complete or ctx ends. When the pass is complete it
// returns the receipt. On the first mismatch of a kind it begins a new pass and returns
// nil: the caller waits SettleTime and steps again. It fails with sale.SaleNotFound
// (with a *DraftError for a draft), sale.Busy (step again later; a keeps its progress)
// or sale.Internal.
func (l *Ledger) Step(ctx context.Context, a *Audit, stranded Stranded) (*Receipt, error) {
	s, err := l.table.OpenSale(ctx, a.SaleID)
	if err != nil {
		return nil, err
	}
	if s.Archive != "" {
		return nil, s.RefuseArchived()
	}
	a.ReadUnits++
	if s.HasDraw() {
		d, err := l.readDraw(ctx, table.PatientTries, s)
		if err != nil {
			return nil, err
		}
		a.calls = d.Calls
		a.ReadUnits++
	}
	var shards []table.Shard
	if a.Sold == nil {
		if shards, err = l.beginPass(ctx, s, a); err != nil {
			return nil, err
		}
		if a.Recalled, err = l.isRecallComplete(ctx, s); err != nil {
			a.Sold = nil // the next step begins again
			return nil, err
		}
	}
	if shards == nil {
		if err := l.auditClaims(ctx, s, a, stranded); err != nil {
			return nil, err
		}
		if err := l.auditRefunds(ctx, s, a); err != nil {
			return nil, err
		}
		if shards, err = l.readShards(ctx, s, a); err != nil {
			return nil, err
		}
	}
	r := l.compare(s, a, shards)
	a.findDoublePayments()
	var keys []string
	for _, m := range a.Mismatches {
		keys = append(keys, m.Key)
		if slices.Contains(a.Suspects, m.Key) {
			a.note("%s", m.Text)
		}
	}
	if len(keys) > 0 && a.Suspects == nil {
		*a = Audit{
			SaleID: a.SaleID, Suspects: keys, Version: a.Version, Since: a.Since, OrdersFrom: a.OrdersFrom, Absent: a.Absent,
			ReadUnits: a.ReadUnits, Hurry: a.Hurry,
		}
		return nil, nil
	}
	r.Findings, r.Balanced = a.Findings, len(a.Findings) == 0
	r.Finished = r.Finished && r.Balanced && len(keys) == 0 && r.Pending == 0 && r.Missing == 0
	if r.Finished && !a.OrdersFrom.IsZero() {
		// Only a pass that checks every order drains the sale.
		*a = Audit{SaleID: a.SaleID, Version: a.Version, Since: a.Since, ReadUnits: a.ReadUnits, Hurry: a.Hurry}
		return l.Step(ctx, a, stranded)
	}
	return r, nil
}

// Next returns the pass after this one, which must be complete. It checks the orders that
// are new or were missing.
func (a *Audit) Next() *Audit {
	next := &Audit{SaleID: a.SaleID, Version: a.Version, Since: a.Since, OrdersFrom: a.OrdersFrom, Absent: a.Absent}
	if a.Missing == int64(len(a.StillAbsent)) {
		next.OrdersFrom, next.Absent = a.Began.Add(-recheck), a.StillAbsent
	}
	return next
}

// isRecallComplete reports whether the sale was recalled and each order of it is finished.
func (l *Ledger) isRecallComplete(ctx context.Context, s sale.Sale) (bool, error) {
	if !s.IsRecalled() {
		return false, nil
	}
	listing, err := l.Listing(ctx, s.ID)
	return err == nil && !listing.Recalling, err
}

// beginPass returns the shards if the pass needs to read nothing else.
func (l *Ledger) beginPass(ctx context.Context, s sale.Sale, a *Audit) ([]table.Shard, error) {
	began := l.now()
	shards, err := l.readShards(ctx, s, a)
	if err != nil {
		return nil, err
	}
	a.Began = began
	if a.Version != s.Version {
		a.Version, a.Since = s.Version, began
	}
	a.Closed = began.Sub(s.Ends()) >= DrainAfter
	a.Sold, a.Units = make([]int64, s.Shards), make([]int64, s.Shards)
	for b := range s.Buckets {
		a.Positions = append(a.Positions, Position{Bucket: b})
	}
	for k, one := range shards {
		a.Sold[k] = one.Sold()
		a.ReleasedBefore += one.Released
		// An edit may not have reached every shard, and the shard's window applies.
		a.Closed = a.Closed && began.Sub(one.ClosesAt) >= DrainAfter
	}
	if a.OrdersFrom.After(began.Add(-recheck)) {
		a.OrdersFrom, a.Absent = time.Time{}, nil // the clock of an earlier pass was ahead
	}
	sold := slices.ContainsFunc(a.Sold, func(n int64) bool { return n != 0 })
	if sold || a.OrdersFrom.IsZero() {
		return nil, nil
	}
	return shards, nil
}

// compare compares the claims with the shards before and after them, and the
// shards with the sale, which was read before them.
func (l *Ledger) compare(s sale.Sale, a *Audit, shards []table.Shard) *Receipt {
	now := l.now()
	r := &Receipt{
		SaleID: s.ID, AsOf: now, Claims: a.Pending + a.Confirmed, Pending: a.Pending, Confirmed: a.Confirmed,
		OldestPendingSeconds: a.OldestSeconds, Missing: a.Missing, ReadUnits: a.ReadUnits, RefundsDue: a.RefundsDue,
		Finished: a.Closed, ClosesAt: s.Ends(), Version: a.Version, Paid: a.Paid, Money: a.Money, Accepted: a.Accepted,
		ReleasedClaims: a.ReleasedClaims, SentSince: a.SentSince,
	}
	if s.PayWithin > 0 || s.IsRecalled() {
		r.Unpaid, r.UnpaidUnits = a.Unpaid, a.UnpaidUnits
		r.Finished = r.Finished && a.Unpaid == 0
	}
	if a.Recalled && (a.Pending+a.Unpaid > 0 || a.Paid != a.RecallRefunds) {
		a.suspect("recalled",
			"the recall is complete, but %d orders are neither paid nor released, and %d payments of %d go back (P35)",
			a.Pending+a.Unpaid, a.RecallRefunds, a.Paid)
	}
	if a.Cancelled != a.CancelRefunds { // unless one came between the reads: that raises the version
		a.suspect(fmt.Sprintf("cancelled, version %d", s.Version),
			"%d orders were cancelled after they were paid, and %d of their payments go back (P37)",
			a.Cancelled, a.CancelRefunds)
	}
	var moved int64
	isQuiet := true // no order was made while the claims were read
	edited := s.Version == a.Version && now.Sub(a.Since) >= editTime
	for k, one := range shards {
		r.Stock += one.Stock
		r.Seeded += one.Seeded
		sold := one.Sold()
		r.Released += one.Released
		moved, isQuiet = moved+one.Moved, isQuiet && sold == a.Sold[k]
		if s.MaxPerOrder != 0 {
			r.Units += a.Units[k]
		}
		r.Finished = r.Finished && a.Units[k] == sold
		r.Finished = r.Finished && one.PutBack == one.Released
		if a.Units[k] < a.Sold[k] || a.Units[k] > sold {
			a.suspect(fmt.Sprintf("sold %d", k),
				"shard %d: %d to %d units sold, %d of claims (P1, P2)", k, a.Sold[k], sold, a.Units[k])
		}
		if one.PutBack > one.Released {
			a.note("shard %d: %d units were put back, but only %d released (P2)", k, one.PutBack, one.Released)
		}
		// Adding stock raises the version and removes the shard from the set.
		if s.Empty.Has(k) && one.Stock > 0 {
			a.suspect(fmt.Sprintf("empty %d, version %d", k, s.Version),
				"shard %d has %d units but is marked empty: nobody can buy them (P6)", k, one.Stock)
		}
		if edited && (!one.OpensAt.Equal(s.OpensAt) || !one.ClosesAt.Equal(s.ClosesAt) || one.Paused != s.Paused) {
			a.suspect(fmt.Sprintf("window %d, version %d", k, s.Version),
				"shard %d: its window or pause differs from the sale's; repeat the last edit (P14)", k)
		}
	}
	if a.Released < a.ReleasedBefore || a.Released > r.Released {
		a.suspect("released",
			"the shards count %d to %d released units, there are %d (P2)", a.ReleasedBefore, r.Released, a.Released)
	}
	if isQuiet && moved != 0 {
		a.suspect(fmt.Sprintf("moved %d", moved), "the shards got %d more units from others than these gave (P2)", moved)
	}
	if s.Refusal(now) == nil && (!s.HasDraw() || s.OpenCall) {
		r.Available = r.Stock
	}
	if r.Seeded != s.Seeded {
		a.suspect(fmt.Sprintf("seeded, version %d", s.Version),
			"the shards were given %d units, the sale %d (P2)", r.Seeded, s.Seeded)
	}
	return r
}

// auditRefunds counts the refunds that are due, and adds the payments of all refunds to those
// that are compared. A refund that cannot be read is a finding. A sale without any of what
// may cause one costs no read.
func (l *Ledger) auditRefunds(ctx context.Context, s sale.Sale, a *Audit) error {
	if s.PayWithin == 0 && s.Price == 0 && a.Paid+a.Cancelled+s.Cancelled == 0 && !s.IsRecalled() {
		return nil
	}
	for !a.RefundsRead {
		page, err := l.refundPage(ctx, s.ID, a.RefundsAfter, 0)
		if err != nil {
			return err
		}
		for _, why := range page.unreadable {
			a.note("%v (P19)", why)
		}
		for _, r := range page.refunds {
			a.Money.refund(r)
			a.add(r)
			switch r.Reason {
			case sale.RefundRecalled: // the payment is also its order's
				a.RecallRefunds++
			case sale.RefundCancelled:
				a.CancelRefunds++
			default:
				a.addPayment(r.Payment)
			}
		}
		a.RefundsDue += page.due
		a.RefundsAfter, a.RefundsRead = page.last, page.last == ""
	}
	return nil
}

func (a *Audit) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(a.Findings) < maxFindings && !slices.Contains(a.Findings, text) {
		a.Findings = append(a.Findings, text)
	}
}

func (a *Audit) suspect(key, format string, args ...any) {
	if len(a.Mismatches) < maxFindings {
		a.Mismatches = append(a.Mismatches, Mismatch{Key: key, Text: fmt.Sprintf(format, args...)})
	}
}

// readShards reads every shard consistently. A missing or unreadable shard is a finding
// and counts as zero, so that the others are still checked.
func (l *Ledger) readShards(ctx context.Context, s sale.Sale, a *Audit) ([]table.Shard, error) {
	shards := make([]table.Shard, s.Shards)
	err := l.table.ShardItems(ctx, s, func(k int, it table.Item) error {
		if it == nil {
			a.note("shard %d does not exist (P2)", k)
			return nil
		}
		one, err := table.ReadShard(it)
		if err != nil {
			a.note("shard %d: %v (P19)", k, err)
			return nil
		}
		if shards[k] = one; one.Stock < 0 {
			a.note("shard %d: stock is %d (P1)", k, one.Stock)
		}
		return nil
	})
	a.ReadUnits += float64(s.Shards)
	return shards, err
}

// auditClaims reads the claims that the pass has not read yet, of several buckets at once.
func (l *Ledger) auditClaims(ctx context.Context, s sale.Sale, a *Audit, stranded Stranded) error {
	var mu sync.Mutex // guards a, but for its places, and orders the calls of stranded
	var failed atomic.Bool
	err := table.EachOf("bucket", len(a.Positions), func(i int) error {
		for at := &a.Positions[i]; !at.read && !failed.Load(); {
			if err := l.auditPage(ctx, s, a, at, &mu, stranded); err != nil {
				failed.Store(true)
				return err
			}
		}
		return nil
	})
	a.Positions = slices.DeleteFunc(a.Positions, func(p Position) bool { return p.read })
	return err
}

// pageClaims bounds a page, so that the pages that are held at a time need little memory.
const pageClaims = 1000

// auditPage reads the page of claims at a position and adds it to the pass, all or nothing.
func (l *Ledger) auditPage(
	ctx context.Context, s sale.Sale, a *Audit, at *Position, mu *sync.Mutex, stranded Stranded,
) error {
	if err := takeTurn(ctx, l.pages); err != nil {
		return err
	}
	defer func() { <-l.pages }()
	out, err := l.table.ClaimPage(ctx, s.ID, at.Bucket, at.After, pageClaims)
	if err != nil {
		return err
	}
	claims := make([]sale.Claim, 0, len(out.Items))
	var unreadable []string
	for _, it := range out.Items {
		c, err := table.ReadClaim(s.ID, s.Buckets, it)
		if err != nil {
			unreadable = append(unreadable, fmt.Sprintf("user %q: %v (P19)", table.IdentityOf(it).SK, err))
			continue
		}
		claims = append(claims, c)
	}
	orders, err := l.auditOrders(ctx, a, claims)
	if err != nil {
		return err
	}
	next := Position{Bucket: at.Bucket}
	bucket, after, err := table.PageEnd(out, at.Bucket)
	if err != nil {
		return err
	}
	next.After, next.read = after, bucket != at.Bucket

	mu.Lock()
	defer mu.Unlock()
	*at = next
	if out.ConsumedCapacity != nil {
		a.ReadUnits += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	a.ReadUnits += float64(orders.read)
	for _, text := range append(unreadable, orders.findings...) {
		a.note("%s", text)
	}
	l.countClaims(s, a, at.Bucket, claims, stranded)
	now := l.now()
	for _, c := range orders.missing {
		if a.Missing++; len(a.StillAbsent) < maxAbsent {
			a.StillAbsent = append(a.StillAbsent, c.OrderID)
		}
		a.age(now.Sub(orderid.Time(c.OrderID)))
		if resendDue(c, now, a.Hurry) {
			stranded(c)
		}
	}
	return nil
}

// takeTurn waits until fewer than the most turns are taken; each is given back by a receive. It fails with
// sale.Busy if ctx ends first.
func takeTurn(ctx context.Context, turns chan struct{}) error {
	select {
	case turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return sale.Fail(sale.Busy, context.Cause(ctx))
	}
}

// age records how long an order has been unfinished. A pass may take longer than that,
// so the age is taken when the claim is read.
func (a *Audit) age(d time.Duration) { a.OldestSeconds = max(a.OldestSeconds, int64(d/time.Second)) }

func (l *Ledger) countClaims(s sale.Sale, a *Audit, bucket int, claims []sale.Claim, stranded Stranded) {
	now := l.now()
	for _, c := range claims {
		if sale.BucketOf(c.User, s.Buckets) != bucket {
			a.note("user %q: a claim outside of its bucket (P3)", c.User)
		}
		if c.Shard < 0 || c.Shard >= s.Shards {
			a.note("user %q: the claim names shard %d of %d (P2)", c.User, c.Shard, s.Shards)
		} else {
			a.Units[c.Shard] += c.UnitCount()
		}
		a.Accepted.add(c.AcceptedAt)
		checkAccepted(s, a, c, now)
		switch c.State() {
		case sale.Expired:
			checkExpired(s, a, c)
		case sale.Confirmed:
			if a.Unpaid++; s.MaxPerOrder != 0 {
				a.UnpaidUnits += c.UnitCount()
			}
		case sale.Paid:
			a.Paid++
			a.Money.take(s, c)
		}
		if !c.PaidAt.IsZero() {
			a.addPayment(c.Payment)
		}
		if !c.CancelledAt.IsZero() {
			a.Cancelled++
		}
		if c.Ended() && c.Unit != sale.UnitKept {
			if a.Released += c.UnitCount(); s.MaxPerOrder != 0 {
				a.ReleasedClaims++
			}
		}
		if c.State() != sale.Pending {
			a.Confirmed++
			// An id has whole seconds only.
			earliest := c.AcceptedAt.Add(-ClockSkew).Truncate(time.Second)
			if at := orderid.Time(c.OrderID); at.Before(earliest) || at.After(now.Add(ClockSkew)) {
				a.note("user %q: order %s says %s, the claim is of %s (P7)", c.User, orderid.String(c.OrderID),
					at.Format(time.RFC3339), c.AcceptedAt.Format(time.RFC3339))
			}
			continue
		}
		a.Pending++
		a.age(now.Sub(c.AcceptedAt))
		if resendDue(c, now, a.Hurry) {
			stranded(c)
		}
	}
}

// checkExpired compares the instant of a release with when the order was to be paid. The release compared the
// same two instants, so clock error does not matter. Only the newest edit tells when more time was given.
func checkExpired(s sale.Sale, a *Audit, c sale.Claim) {
	early := func(payBy time.Time, promise string) {
		if c.ReleasedAt.Before(payBy) {
			a.note("user %q: released at %s, although it was to be paid by %s (%s)", c.User,
				c.ReleasedAt.Format(time.RFC3339), payBy.Format(time.RFC3339), promise)
		}
	}
	early(s.FirstPayBy(c.OrderID), "P21")
	if c.ReleasedAt.After(s.ChangedAt.Add(editTime)) {
		early(s.PayUntil, "P38")
		if s.LateFor > 0 && c.ReleasedAt.After(s.Ends().Add(editTime)) {
			early(s.PayBy(c.OrderID).Add(s.LateFor), "P39")
		}
	}
}

// maxPayments bounds the payments that a pass compares, 8 bytes each.
const maxPayments = 1 << 20

var paymentSeed = maphash.MakeSeed()

func (a *Audit) addPayment(id string) {
	if len(a.payments) < maxPayments {
		a.payments = append(a.payments, maphash.String(paymentSeed, id))
	}
}

// findDoublePayments reports payments that were read twice, as those of several orders or
// of an order and a refund: their provider has reported one reference for each of these,
// which no write of a claim or a refund can notice.
func (a *Audit) findDoublePayments() {
	all := len(a.payments)
	slices.Sort(a.payments)
	a.payments = slices.Compact(a.payments)
	if n := all - len(a.payments); n > 0 {
		a.note("%d orders or refunds have a payment that is another's, too; a recount names them (P24)", n)
	}
}

// checkAccepted compares the instant of a claim with the window. The purchase's
// condition used the same instant, so clock error does not matter if the window was
// never edited; if it was, the window at the time of the purchase is unknown. The windows of a
// draw's calls are all known.
func checkAccepted(s sale.Sale, a *Audit, c sale.Claim, now time.Time) {
	if c.AcceptedAt.After(now.Add(ClockSkew)) {
		a.note("user %q: the claim is of %s, which is yet to come (P14)", c.User, c.AcceptedAt.Format(time.RFC3339))
	}
	isIn := func(call draw.Call) bool { return !c.AcceptedAt.Before(call.From) && c.AcceptedAt.Before(call.Until) }
	switch {
	case s.HasDraw():
		if !slices.ContainsFunc(a.calls, isIn) { // it may have begun after the calls were read
			a.suspect("accepted "+c.User,
				"user %q: the claim is of %s, in no call (P29)", c.User, c.AcceptedAt.Format(time.RFC3339))
		}
	case s.ChangedAt.UnixMilli() == 0 && (c.AcceptedAt.Before(s.OpensAt) || !c.AcceptedAt.Before(s.ClosesAt)):
		// An edit after the sale was read may have moved the window.
		a.suspect("accepted "+c.User, "user %q: the claim is of %s, outside of the sale's window (P14)",
			c.User, c.AcceptedAt.Format(time.RFC3339))
	}
}

// auditedOrders is what the orders of a page are like.
type auditedOrders struct {
	missing  []sale.Claim // their claims
	findings []string
	read     int
}

// auditOrders checks the orders of a page's confirmed claims. An order that names its
// claim belongs to that claim alone, so ids are unique if all do (P7).
func (l *Ledger) auditOrders(ctx context.Context, a *Audit, claims []sale.Claim) (result auditedOrders, err error) {
	var keys []table.Item
	var asked []sale.Claim
	for _, c := range claims {
		if c.State() != sale.Pending &&
			(!orderid.Time(c.OrderID).Before(a.OrdersFrom) || slices.Contains(a.Absent, c.OrderID)) {
			keys, asked = append(keys, table.OrderKey(c.OrderID)), append(asked, c)
		}
	}
	batches := slices.Collect(slices.Chunk(keys, table.BatchKeys))
	orders := make([]map[table.Identity]table.Item, len(batches))
	if err := table.EachOf("batch of orders", len(batches), func(i int) (err error) {
		if err := takeTurn(ctx, l.batches); err != nil {
			return err
		}
		defer func() { <-l.batches }()
		orders[i], err = l.table.GetAll(ctx, batches[i])
		return err
	}); err != nil {
		return auditedOrders{}, err
	}
	result.read = len(keys)
	for i, c := range asked {
		it := orders[i/table.BatchKeys][table.IdentityOf(table.OrderKey(c.OrderID))]
		if it == nil {
			result.missing = append(result.missing, c)
			continue
		}
		switch o, err := table.ReadOrder(it); {
		case err != nil:
			result.findings = append(result.findings, fmt.Sprintf("order %s: %v (P19)", orderid.String(c.OrderID), err))
		case o != sale.Order{ID: c.OrderID, SaleID: c.SaleID, User: c.User, ClaimID: c.ID}:
			result.findings = append(result.findings,
				fmt.Sprintf("user %q: order %s belongs to another claim (P7)", c.User, orderid.String(c.OrderID)))
		}
	}
	return result, nil
}
