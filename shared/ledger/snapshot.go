package ledger

import (
	"context"
	"strings"
	"sync"
	"time"

	"flashsale/shared/sale"
)

const (
	// snapshotAge is how old a snapshot may be before a refusal needs a new
	// one; each read varies it by ±25 % so that environments spread. With the
	// read itself it keeps "sold out" true within two seconds (P6).
	snapshotAge = time.Second
	// tailAge is how old it may be for a try in the tail of a sale: a read costs a
	// unit and a few milliseconds, a try on an empty shard four and twenty.
	tailAge = 30 * time.Millisecond
	// maxViews bounds the sales an environment remembers, existing or not.
	maxViews = 1000
)

// views are the sale snapshots of this execution environment: one item per
// sale, however many shards.
type views struct {
	mu sync.Mutex
	m  map[string]*view
}

func newViews() *views { return &views{m: map[string]*view{}} }

func (vs *views) of(saleID string) *view {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v := vs.m[saleID]
	if v == nil {
		if len(vs.m) >= maxViews {
			for other := range vs.m {
				delete(vs.m, other)
				break
			}
		}
		v = &view{reading: make(chan struct{}, 1), closing: make(chan struct{}, 1)}
		vs.m[strings.Clone(saleID)] = v // not all of what the id was read from
	}
	return v
}

// view is what an environment knows of one sale.
//
// The empty set of the sale item is always true for its version. A shard that
// this environment found empty in a transaction is skipped at once, but it
// joins the set, and so may make the sale sold out, only when a read that began
// later shows the same version: nobody restocked in between, so every member
// was empty at that one instant. Without that, two shards that were never empty
// together could add up to a phantom sold-out (P6).
type view struct {
	reading chan struct{} // holds one token while the sale is being read
	closing chan struct{} // holds one token while a shard is being closed

	mu      sync.Mutex
	known   bool      // the sale was read at least once
	found   bool      // and existed
	sale    sale.Sale // if found
	told    sale.Set  // the empty set as the table itself says it
	readAt  time.Time // when the read began that the above is from
	age     time.Duration
	seen    sale.Set // found empty since the newest read began
	pending sale.Set // found empty before it began, not confirmed yet
	begun   int      // number of the newest read that has begun
	done    int      // number of the newest read that has succeeded
}

// snapshot is a consistent copy of a view.
type snapshot struct {
	known, found bool
	fresh        bool
	sale         sale.Sale
	// avoid is the confirmed empty set and what this environment saw since.
	avoid sale.Set
}

func (v *view) load(now time.Time) snapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := snapshot{
		known: v.known,
		found: v.found,
		fresh: v.known && isFresh(now, v.readAt, v.age),
		sale:  v.sale,
		avoid: v.sale.Empty,
	}
	s.avoid.Union(v.seen)
	s.avoid.Union(v.pending)
	return s
}

// tail reports whether some shards, but not all, are known to be empty: the end
// of the sale, when every shard in turn runs empty under those who try it.
func (s *snapshot) tail() bool { return s.sale.Empty.Len() > 0 && !s.sale.SoldOut() }

// refusal is what a purchase at now meets without touching the stock, or nil.
func (s *snapshot) refusal(now time.Time) *sale.Error {
	if !s.found {
		return sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	if refusal := s.sale.Refusal(now); refusal != nil {
		return refusal
	}
	if s.sale.SoldOut() {
		return sale.Refuse(sale.SoldOut, "every unit has been sold")
	}
	return nil
}

// observe notes that a shard was empty in a transaction that was tried under
// that version of the sale.
func (v *view) observe(version int64, shard int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.found && v.sale.Version == version {
		v.seen.Add(shard)
	}
}

// begin marks the start of a read: what was seen until now can be confirmed by
// it.
func (v *view) begin() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.begun++
	v.pending.Union(v.seen)
	v.seen = sale.Set{}
	return v.begun
}

// accept takes over what the read with that number brought. A lower version
// never replaces a higher one; equal versions unite their empty sets. What was
// seen before the newest read began is confirmed by that one only.
func (v *view) accept(number int, found bool, s sale.Sale, readAt time.Time, age time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	same := v.found && found && s.Version == v.sale.Version
	if v.found && found && s.Version < v.sale.Version || number < v.done && (same || !found) {
		return
	}
	v.told = s.Empty
	if same {
		s.Empty.Union(v.sale.Empty)
		if number == v.begun {
			s.Empty.Union(v.pending)
			v.pending = sale.Set{}
		}
	} else {
		v.seen, v.pending = sale.Set{}, sale.Set{}
	}
	v.known, v.found, v.sale = true, found, s
	v.readAt, v.age, v.done = readAt, age, max(v.done, number)
}

// isNews reports whether the table, as far as this environment has read, does
// not say yet that a shard seen empty under that version is empty.
func (v *view) isNews(version int64, shard int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sale.Version == version && !v.told.Has(shard)
}

// isOlder reports whether what is known was read longer ago than age.
func (v *view) isOlder(now time.Time, age time.Duration) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !isFresh(now, v.readAt, age)
}

// isFresh reports whether what an environment has remembered since that instant is
// younger than age. After the wall clock has stepped back it cannot be known how old
// a thing is, so a negative age is no fresh one.
func isFresh(now, since time.Time, age time.Duration) bool {
	passed := now.Sub(since)
	return 0 <= passed && passed < age
}

// look returns a snapshot that is at most snapshotAge ± 25 % old, in the tail of
// a sale at most tailAge. If it cannot be read anew, an older one that would
// admit a purchase still serves: the transaction checks everything itself. For a
// refusal it would not be enough, so that ends in sale.Busy (P5).
func (l *Ledger) look(ctx context.Context, v *view, saleID string) (snapshot, error) {
	s := v.load(l.now())
	if s.fresh && !(s.tail() && v.isOlder(l.now(), tailAge)) {
		return s, nil
	}
	err := l.refresh(ctx, v, saleID)
	now := l.now()
	s = v.load(now)
	if err != nil && (!s.known || s.refusal(now) != nil) {
		return s, err
	}
	return s, nil
}

// refresh reads the sale, or waits for a read that another handler began after
// this call. It fails with sale.Busy or sale.Internal.
func (l *Ledger) refresh(ctx context.Context, v *view, saleID string) error {
	return l.refreshWithin(ctx, maxTries, v, saleID)
}

func (l *Ledger) refreshWithin(ctx context.Context, tries int, v *view, saleID string) error {
	v.mu.Lock()
	asked := v.begun
	v.mu.Unlock()
	select {
	case v.reading <- struct{}{}:
	case <-ctx.Done():
		return sale.Fail(sale.Busy, context.Cause(ctx))
	}
	defer func() { <-v.reading }()
	v.mu.Lock()
	served := v.done > asked
	v.mu.Unlock()
	if served {
		return nil
	}
	number, now := v.begin(), l.now()
	it, err := l.getWithin(ctx, tries, saleKey(saleID))
	if err != nil {
		return err
	}
	if it == nil {
		v.accept(number, false, sale.Sale{}, now, l.snapshotAge())
		return nil
	}
	s, err := readSale(it)
	if err != nil {
		return foreign(err)
	}
	v.accept(number, true, s, now, l.snapshotAge())
	return nil
}

func (l *Ledger) snapshotAge() time.Duration {
	return time.Duration((0.75 + 0.5*l.random()) * float64(snapshotAge))
}

// existing returns a snapshot of a sale that exists, of any age: its buckets
// and shards never change. It fails with sale.SaleNotFound, sale.Busy or
// sale.Internal.
func (l *Ledger) existing(ctx context.Context, tries int, saleID string) (sale.Sale, error) {
	if s := l.views.of(saleID).load(l.now()); s.isOpen() {
		return s.sale, nil
	}
	return l.saleWithin(ctx, tries, saleID)
}

// Sale returns the sale as it was at most 1.25 seconds ago. It fails with
// sale.SaleNotFound (a draft counts as not found), sale.Busy or sale.Internal.
func (l *Ledger) Sale(ctx context.Context, saleID string) (sale.Sale, error) {
	return l.saleWithin(ctx, maxTries, saleID)
}

func (l *Ledger) saleWithin(ctx context.Context, tries int, saleID string) (sale.Sale, error) {
	v := l.views.of(saleID)
	s := v.load(l.now())
	if !s.fresh {
		if err := l.refreshWithin(ctx, tries, v, saleID); err != nil {
			return sale.Sale{}, err
		}
		s = v.load(l.now())
	}
	if !s.isOpen() {
		return sale.Sale{}, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	return s.sale, nil
}

// isOpen reports whether the sale exists and is no draft.
func (s *snapshot) isOpen() bool { return s.found && s.sale.State == sale.Open }
