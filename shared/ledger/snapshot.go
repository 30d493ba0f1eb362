package ledger

import (
	"context"
	"strings"
	"sync"
	"time"

	"flashsale/shared/cache"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

const (
	// snapshotAge is how old a snapshot may be before it is re-read; each read varies
	// it by ±10 % to spread the environments.
	snapshotAge = 1500 * time.Millisecond
	// refusalAge is how old a snapshot may be and still refuse purchases when it cannot
	// be re-read. "Sold out" must have been true within two seconds (P6).
	refusalAge = 1900 * time.Millisecond
	// firstPause is how long an environment leaves the sale item alone after a read that
	// failed. The pause doubles with each further one, up to longestPause.
	firstPause   = 30 * time.Millisecond
	longestPause = 500 * time.Millisecond
	// maxViews bounds the sales an environment remembers, existing or not.
	maxViews = 1000
)

// views are the sale snapshots of this execution environment: one item per
// sale, however many shards.
type views struct {
	mu sync.Mutex
	m  cache.Map[string, *view]
}

func newViews() *views { return &views{m: cache.NewMap[string, *view](maxViews)} }

func (vs *views) of(saleID string) *view {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v, ok := vs.m.Get(saleID)
	if !ok {
		v = &view{reading: make(chan struct{}, 1), closing: make(chan struct{}, 1)}
		vs.m.Put(strings.Clone(saleID), v) // do not keep the event that the id is part of
	}
	return v
}

// view is an environment's cached state of one sale.
//
// The empty set of the sale item is always correct for its version. A shard that this
// environment found empty by itself is skipped at once, but it joins the set, and so may make
// the sale sold out, only by a write on the condition of that version: no restock in between,
// so every member was empty at that one instant. Otherwise two shards that were never empty at
// the same time could add up to a false "sold out" (P6). A read of that version proves less:
// of a restock that is not answered yet it may not see the sale's half, while others buy.
type view struct {
	reading chan struct{} // holds one token while the sale is being read
	closing chan struct{} // holds one token while a shard is being closed

	mu      sync.Mutex
	known   bool      // the sale was read at least once
	found   bool      // and existed
	certain bool      // the latest read was consistent
	sale    sale.Sale // if found
	avoid   sale.Set  // its empty set, and what this environment found empty since it has this version
	readAt  time.Time // when the read of the above began
	age     time.Duration
	begun   int // number of the newest consistent read that has begun
	done    int // number of the newest consistent read that has succeeded
	// failed counts failed reads, see recordRead; failedAt is when the latest one ended.
	failed   int
	failedAt time.Time
	// left is how many units a proof found under provedAt, which is a version of the sale; see proved.
	left, provedAt int64
	// unreadable is why the item that was last read is refused, since rejectedAt.
	unreadable error
	rejectedAt time.Time
}

// snapshot is a consistent copy of a view.
type snapshot struct {
	known, found bool
	fresh        bool
	certain      bool // from a consistent read, so it may refuse
	readAt       time.Time
	sale         sale.Sale
	// avoid is the sale's empty set plus the shards that this environment found empty.
	avoid sale.Set
	// left is the most units that may be left under the sale's version, because so many were at one instant of it; 0
	// if that is not known.
	left int64
	// refusal is why a purchase is refused now without a transaction, or nil.
	refusal *sale.Error
}

// refuses returns why a purchase at now is refused without a transaction, or nil.
func (s *snapshot) refuses(now time.Time) *sale.Error {
	if !s.found {
		return sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	if refusal := s.sale.Refusal(now); refusal != nil {
		return refusal
	}
	if s.sale.SoldOut() {
		return s.sale.RefuseSoldOut()
	}
	return nil
}

// mayAnswer reports whether the snapshot, from which that refusal follows, may be used
// although the sale could not be read again. Without a refusal it may be of any age,
// because the transaction checks everything. A refusal needs a consistent read not older
// than refusalAge (P5, P6).
func (s *snapshot) mayAnswer(refusal *sale.Error, now time.Time) bool {
	return s.known && (refusal == nil || s.certain && isFresh(now, s.readAt, refusalAge))
}

func (v *view) load(now time.Time) snapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := snapshot{
		known:   v.known,
		found:   v.found,
		certain: v.certain,
		readAt:  v.readAt,
		fresh:   v.known && isFresh(now, v.readAt, v.age),
		sale:    v.sale,
		avoid:   v.avoid,
	}
	if v.left > 0 && v.provedAt == v.sale.Version {
		s.left = v.left
	}
	s.refusal = s.refuses(now)
	return s
}

// observe notes that a shard was empty in a transaction that was tried under that version of
// the sale.
func (v *view) observe(version int64, shard int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.found && v.sale.Version == version {
		v.avoid.Add(shard)
	}
}

// loadFor is load for an order of that many units: fewer that are left refuse it.
func (v *view) loadFor(now time.Time, units int64) snapshot {
	s := v.load(now)
	if s.refusal == nil && 0 < s.left && s.left < units {
		s.refusal = s.sale.RefuseNotEnough(s.left)
	}
	return s
}

// proved notes how many units were left at one instant of that version. Within a version they only become fewer, so
// they stay too few for whoever asks for more while the sale is known to be of that version.
func (v *view) proved(version, left int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if version > v.provedAt || version == v.provedAt && left < v.left {
		v.left, v.provedAt = left, version
	}
}

// begin marks the start of a consistent read, and returns its number.
func (v *view) begin() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.begun++
	return v.begun
}

// accept stores the result of a consistent read. A lower version never replaces a higher
// one, nor does a read that another one has overtaken, unless it shows a higher version.
func (v *view) accept(number int, found bool, s sale.Sale, readAt time.Time, age time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.found && found && s.Version < v.sale.Version {
		return
	}
	if isNewer := found && !(v.found && s.Version == v.sale.Version); number < v.done && !isNewer {
		return
	}
	v.replace(found, s, readAt, age)
	v.certain, v.done = true, max(v.done, number)
}

// acceptStale stores the result of an eventually consistent read, which may be some
// time behind. It never replaces a higher version and confirms no refusal.
func (v *view) acceptStale(s sale.Sale, readAt time.Time, age time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.found && s.Version < v.sale.Version {
		return
	}
	v.replace(true, s, readAt, age)
	v.certain = false
}

// replace stores what a read showed. For equal versions the empty sets are united, because
// within a version shards only join them.
func (v *view) replace(found bool, s sale.Sale, readAt time.Time, age time.Duration) {
	if v.found && found && s.Version == v.sale.Version {
		s.Empty.Union(v.sale.Empty)
		v.avoid.Union(s.Empty)
	} else {
		v.avoid = s.Empty
	}
	v.known, v.found, v.sale = true, found, s
	v.readAt, v.age = readAt, age
}

// reject remembers that the item cannot be read by this version, so that a crowd does
// not read it again with each request, and returns why.
func (v *view) reject(why error, readAt time.Time) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.unreadable, v.rejectedAt = sale.AsInternal(why), readAt
	return v.unreadable
}

// rejected returns why the item was refused when it was read lately, or nil.
func (v *view) rejected(now time.Time) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !isFresh(now, v.rejectedAt, snapshotAge) {
		return nil
	}
	return v.unreadable
}

// recordRead counts a failed read; a successful read halves the count.
func (v *view) recordRead(err error, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		v.failed /= 2
		return
	}
	v.failed, v.failedAt = v.failed+1, now
}

// isBackingOff reports whether a read failed so recently that the next one must wait.
func (v *view) isBackingOff(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	since := now.Sub(v.failedAt)
	return v.failed > 0 && since >= 0 && since < min(longestPause, firstPause<<min(v.failed-1, 8))
}

// news returns the shards that this environment has seen empty under that version and that, as
// far as it has read, the table does not list.
func (v *view) news(version int64) []int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.sale.Version != version {
		return nil
	}
	return v.avoid.Without(v.sale.Empty)
}

// isEmpty reports whether, as far as this environment has read, the table lists the shard as empty, and
// whether the shard is avoided; one that is not has been restocked, or may have been.
func (v *view) isEmpty(shard int) (listed, avoided bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sale.Empty.Has(shard), v.avoid.Has(shard)
}

// isOlder reports whether the view was read longer ago than age.
func (v *view) isOlder(now time.Time, age time.Duration) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !isFresh(now, v.readAt, age)
}

// isFresh reports whether data cached at since is younger than age. A negative age is
// not fresh: after the wall clock has stepped back, the real age is unknown.
func isFresh(now, since time.Time, age time.Duration) bool {
	passed := now.Sub(since)
	return 0 <= passed && passed < age
}

// look returns a snapshot from which a purchase of so many units may be tried or refused. It is at most
// snapshotAge ± 10 % old, unless the table is too busy to be read that often. look fails with
// sale.Busy or sale.Internal when there is no snapshot that may answer.
//
// All environments read one item, and a DynamoDB partition serves 3,000 read units a
// second: a consistent read takes one, an eventually consistent read half of one.
// Thousands of environments read the item at the same moment when a sale opens and when
// its shards run empty. Retries would take capacity from each other, so an environment
// that has a usable snapshot tries once, and pauses after a failure.
func (l *Ledger) look(ctx context.Context, v *view, saleID string, units int64) (snapshot, error) {
	now := l.now()
	s := v.loadFor(now, units)
	switch {
	case s.fresh && (s.refusal == nil || s.certain):
		return s, nil
	case !s.known:
		if err := l.readEventually(ctx, table.MaxTries, v, saleID); err != nil {
			return s, err
		}
	case v.isBackingOff(now):
	case s.refusal == nil:
		_ = l.readEventually(ctx, 1, v, saleID)
	default:
		_ = l.readConsistently(ctx, 1, v, saleID)
	}
	now = l.now()
	if s = v.loadFor(now, units); s.mayAnswer(s.refusal, now) {
		return s, nil
	}
	if err := l.readConsistently(ctx, table.MaxTries, v, saleID); err != nil {
		return s, err
	}
	return v.loadFor(l.now(), units), nil
}

// readEventually reads the sale with an eventually consistent read, which costs half a
// unit. Not finding the sale proves nothing: it may have been created since.
func (l *Ledger) readEventually(ctx context.Context, tries int, v *view, saleID string) error {
	now := l.now()
	if err := v.rejected(now); err != nil {
		return err
	}
	it, err := l.table.ReadItem(ctx, tries, table.SaleKey(saleID), false)
	v.recordRead(err, l.now())
	if err != nil || it == nil {
		return err
	}
	s, err := table.ReadSale(it)
	if err != nil {
		return v.reject(err, now)
	}
	v.acceptStale(s, now, l.snapshotAge())
	return nil
}

// readConsistently reads the sale, or waits for a read that another goroutine began after
// this call. It fails with sale.Busy or sale.Internal.
func (l *Ledger) readConsistently(ctx context.Context, tries int, v *view, saleID string) error {
	v.mu.Lock()
	asked := v.begun
	v.mu.Unlock()
	if err := takeTurn(ctx, v.reading); err != nil {
		return err
	}
	defer func() { <-v.reading }()
	v.mu.Lock()
	served := v.done > asked
	v.mu.Unlock()
	if served {
		return nil
	}
	if err := v.rejected(l.now()); err != nil {
		return err
	}
	begun, now := v.begin(), l.now()
	it, err := l.table.GetWithin(ctx, tries, table.SaleKey(saleID))
	v.recordRead(err, l.now())
	if err != nil {
		return err
	}
	if it == nil {
		v.accept(begun, false, sale.Sale{}, now, l.snapshotAge())
		return nil
	}
	s, err := table.ReadSale(it)
	if err != nil {
		return v.reject(err, now)
	}
	v.accept(begun, true, s, now, l.snapshotAge())
	return nil
}

func (l *Ledger) snapshotAge() time.Duration {
	return time.Duration((0.9 + 0.2*l.table.Random()) * float64(snapshotAge))
}
