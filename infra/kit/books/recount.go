package books

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// pass is one count of a sale.
type pass struct {
	source
	Options
	saleID string
	// first is the first pass, nil in the first pass itself.
	first *pass

	before, after    header // the sale's own items, before and after everything else
	n                int    // shards
	buckets          int
	trail            []changeItem // in the order of their numbers
	shards0, shards1 []*shardItem // before and after the claims; nil is missing
	sold             []int64      // per shard, the units of its claims
	total            int64        // claims
	pending          int64
	oldest           time.Time // of the pending claims
	missing          int64     // confirmed claims without their order item
	releasedClaims   int64
	released         []int64 // per shard, their units
	endings          []int64 // per shard, the releases and cancellations whose units a pass puts back
	paid, unpaid     int64   // claims
	waiting          int64   // released units that are not back in stock
	oldestDue        int64   // when the first of the unpaid was to be paid
	refunds          int64
	refundsDue       int64
	cancelled        int64 // orders of which it is stored who has cancelled them
	cancelledClaims  int64
	broughtBack      []int64            // per shard, the units that a cancellation brought back
	unrecalled       int64              // see open
	lastConfirmed    int64              // of them
	sent             map[string]*sentBy // by their sending
	isNoted          bool               // the listing's refundAt is that of a refund
	doubles          [len(uniques)]doubles
	days             map[string]uint64 // by day, the order id with the highest number
	hasty            []Claim           // expired before the sale's payUntil, as far as recorded
	outside          []Claim           // accepted outside the first and the present window, as far as recorded
	whyNoScan        string
	found            []Finding
	about            map[string]bool // subjects of the findings
	unfinished       []string
	draw             drawCount
	erased           int64 // claims of erased users
}

const (
	// remembered bounds the first pass's findings that the second pass compares with.
	remembered = 100_000
	// maxDoubles bounds the claims that are compared with each other: 32 MB for each of
	// the uniques.
	maxDoubles = 1 << 22
	// maxDays bounds the days whose sequence is checked: far more than a sale lasts.
	maxDays = 1000
)

// find records a finding on the subject about, once. In a second pass it counts only if
// the first pass had a finding on the same subject, or could not check it because the
// sale was edited meanwhile.
func (p *pass) find(promise, about, format string, args ...any) {
	if p.about[about] || len(p.about) == remembered {
		return
	}
	if p.first != nil && p.first.still() && !p.first.about[about] && len(p.first.about) < remembered {
		return
	}
	if p.about == nil {
		p.about = map[string]bool{}
	}
	p.about[about] = true
	p.found = append(p.found, Finding{promise, fmt.Sprintf(format, args...)})
}

// findIf records it only if that is so.
func (p *pass) findIf(is bool, promise, about, format string, args ...any) {
	if is {
		p.find(promise, about, format, args...)
	}
}

// malformed records an item that deviates from ITEMS.md.
func (p *pass) malformed(it item, problem string) {
	if problem != "" {
		k := keyOf(it)
		p.find("P19", "item "+k.pk+" "+k.sk, "the item %s, %s is not as documented: %s", k.pk, k.sk, problem)
	}
}

// sound is what a reader makes of an item, whose deviations are findings.
func sound[T any](p *pass, it item, reader func(item) (T, string)) T {
	v, problem := reader(it)
	p.malformed(it, problem)
	return v
}

func (p *pass) unfinish(format string, args ...any) {
	p.unfinished = append(p.unfinished, fmt.Sprintf(format, args...))
}

func (p *pass) unfinishIf(is bool, format string, args ...any) {
	if is {
		p.unfinish(format, args...)
	}
}

// pause waits, in a second pass, until partly visible transactions are visible.
func (p *pass) pause(ctx context.Context) error {
	if p.first == nil {
		return nil
	}
	return p.Sleep(ctx, readPause)
}

// run reads the sale's items, the shards, the claims with their orders, the shards
// again and the sale's items again. In this order the counts of a quiet sale must be
// equal, and those of a busy one within bounds.
func (p *pass) run(ctx context.Context) (err error) {
	if p.first != nil {
		p.whyNoScan = p.first.whyNoScan
	}
	if p.before, err = p.readHeader(ctx); err != nil {
		return err
	}
	p.size()
	if p.before.sale.Archive != "" {
		return p.runArchived(ctx)
	}
	steps := []func(context.Context) error{
		p.pause,
		func(ctx context.Context) (err error) { p.shards0, err = p.readShards(ctx); return err },
		p.pause, p.readDraw, p.readClaims, p.readCancelledOrders, p.readTrail, p.pause, p.readAgain, p.readSequences, p.readRefunds, p.readGroup, p.readStrays,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if !p.before.any && !p.after.any && p.total == 0 && len(p.found) == 0 && !slices.ContainsFunc(p.shards1, func(s *shardItem) bool { return s != nil }) {
		return fmt.Errorf("%w: %s", ErrNoSale, p.saleID)
	}
	p.judge()
	return nil
}

// readAgain reads the items again that purchases, additions and edits change.
func (p *pass) readAgain(ctx context.Context) (err error) {
	if _, atOnce := p.source.(*Books); atOnce {
		p.shards1, p.after, p.draw.after = p.shards0, p.before, p.draw.before
		return nil
	}
	if p.shards1, err = p.readShards(ctx); err != nil {
		return err
	}
	if err = p.pause(ctx); err != nil {
		return err
	}
	if p.after, err = p.readHeader(ctx); err != nil || !p.lasting().hasDraw() {
		return err
	}
	p.draw.after, err = p.readCalls(ctx)
	return err
}

// size sets the shards and buckets from the sale item or, if they are missing there or are not as documented, from the
// creation.
func (p *pass) size() {
	p.n = cmp.Or(p.before.sale.Shards, p.before.create.Shards)
	p.buckets = cmp.Or(p.before.sale.Buckets, (p.n+3)/4)
	for _, counts := range []*[]int64{&p.sold, &p.released, &p.endings, &p.broughtBack} {
		*counts = make([]int64, p.n)
	}
	p.days = map[string]uint64{}
}

// header is the items under the sale's own key, and its listing.
type header struct {
	any                        bool
	sale                       saleItem
	create                     createItem
	listing                    listingItem
	hasSale, hasCreate, listed bool
	seeds                      map[string]*seeding
	receipts                   int64         // of additions and withdrawals that changed a shard
	added, withdrawn           map[int]int64 // units in those receipts, per shard
}

func (p *pass) readHeader(ctx context.Context) (header, error) {
	h := header{seeds: map[string]*seeding{}, added: map[int]int64{}, withdrawn: map[int]int64{}}
	err := each(ctx, p, "SALE#"+p.saleID, func(it item) error {
		h.any = true
		p.malformed(it, h.take(it))
		return nil
	})
	if err != nil {
		return h, err
	}
	it, err := one(ctx, p, key{"SALES", p.saleID})
	if err = cmp.Or(err, readable(it)); err != nil || it == nil {
		return h, err
	}
	h.any, h.listed = true, true
	h.listing = sound(p, it, readListing)
	return h, nil
}

// take reads one item under the sale's key and returns what is wrong with it.
func (h *header) take(it item) (problem string) {
	switch kind, of := locate(keyOf(it)); kind {
	case "sale":
		h.hasSale = true
		h.sale, problem = readSale(it)
	case "creation":
		h.hasCreate = true
		h.create, problem = readCreate(it)
	case "addition":
		s := h.seeding(of.get("seed"))
		s.announced = true
		s.seedItem, problem = readSeed(it)
	case "receipt":
		var one receipt
		one, problem = readReceipt(it)
		h.seeding(one.Seed).shards[one.Shard] = one
		h.receipts++
		h.added[one.Shard] += one.Units
	case "step":
		var one stepItem
		if one, problem = readStep(it); !one.Ended {
			h.receipts++
			h.withdrawn[one.Shard] += one.Units
		}
		h.seeding(one.Seed).steps[one.Step] = one
	default:
		problem = "no such item is documented under a sale's key"
	}
	return problem
}

func (p *pass) stockKey(k int) key { return key{"STOCK#" + p.saleID + "#" + strconv.Itoa(k), "STOCK"} }

func (p *pass) claimPK(bucket int) string { return "CLAIM#" + p.saleID + "#" + strconv.Itoa(bucket) }

// claimKey is where the claim of a user lies; zero if there is no such place.
func (p *pass) claimKey(user string) key {
	if p.buckets == 0 || !isUser(user) {
		return key{}
	}
	return key{p.claimPK(bucketOf(user, p.buckets)), user}
}

// readShards reads the shards of the sale; nil is a missing one.
func (p *pass) readShards(ctx context.Context) ([]*shardItem, error) {
	shards, numbers := make([]*shardItem, p.n), make([]int, p.n)
	for k := range numbers {
		numbers[k] = k
	}
	return shards, lookUp(ctx, p, numbers, p.stockKey, func(k int, it item) {
		if it != nil {
			s := sound(p, it, readShard)
			shards[k] = &s
		}
	})
}
