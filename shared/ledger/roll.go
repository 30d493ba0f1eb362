package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"flashsale/shared/draw"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// The roll is stored, because the entries are not it: one that is applied late would be on it.
// A page is stored in parts, by the first two bits of the leaves' second bytes, so that it fits
// its items, of 400 KB at most, up to more than ten million entrants. A part is put if it is
// absent and never changes. Which part a leaf belongs to does not depend on other leaves, so
// runs that overlap may put parts of one page, although they have read different entries.
const (
	// maxPartLeaves bounds a part: 12,000 leaves are 384 KB.
	maxPartLeaves = 12_000
	// entriesAtOnce bounds what is read of the entries in one call: with more, decoding the
	// answer takes long.
	entriesAtOnce = 2000
)

var partNumbers = []int{0, 1, 2, 3}

func partOf(l draw.Leaf) int { return int(l[1] >> 6) }

// CloseRoll stores the roll of a draw from the entries, and then its digest with the number of
// entrants and the round that decides: the first one that is published dice or more after now.
// It must not be called before the time to settle has passed since the end of entering, see
// Enter. A call that was cut off is completed by the next one, and what is stored never changes.
// It fails with sale.Busy or sale.Internal.
func (l *Ledger) CloseRoll(
	ctx context.Context, s sale.Sale, roundAt func(time.Time) uint64, dice time.Duration,
) (draw.Head, error) {
	if head, err := l.drawHead(ctx, table.PatientTries, s.ID); err != nil || head.IsClosed() {
		return head, err
	}
	if l.now().Before(s.EnterUntil) {
		return draw.Head{}, sale.AsInternal(errors.New("people may still enter"))
	}
	secret, err := l.leafKey(ctx, table.PatientTries, s.ID)
	if err != nil {
		return draw.Head{}, err
	}
	var digests [draw.Pages]draw.Digest
	counts := make([]int64, draw.Pages)
	if err := table.EachOf("page", draw.Pages, func(i int) (err error) {
		digests[i], counts[i], err = l.closePage(ctx, s.ID, byte(i), secret)
		return err
	}); err != nil {
		return draw.Head{}, sale.AsInternal(err)
	}
	head := draw.Head{Roll: draw.RollDigest(&digests), ClosedAt: l.millis()}
	for _, n := range counts {
		head.Entrants += n
	}
	head.Round = roundAt(head.ClosedAt.Add(dice))
	err = l.table.TryPut(ctx, table.PatientTries, table.With(table.DrawHeadKey(s.ID), table.Item{
		"roll": table.S(head.Roll.String()), "entrants": table.N(head.Entrants), "round": table.N(int64(head.Round)),
		"closedAt": table.Millis(head.ClosedAt),
	}), false)
	if table.Judge(err) != table.Conditioned {
		return head, sale.AsInternal(err)
	}
	stored, err := l.drawHead(ctx, table.PatientTries, s.ID) // another run's, or an earlier try's
	if err == nil && stored.Roll != head.Roll {
		err = sale.AsInternal(fmt.Errorf("the roll is %s, its pages are those of %s", stored.Roll, head.Roll))
	}
	return stored, err
}

// closePage stores a page unless it is stored, and returns its digest and the number of its
// leaves.
func (l *Ledger) closePage(ctx context.Context, saleID string, page byte, secret []byte) (draw.Digest, int64, error) {
	parts, err := l.pageParts(ctx, table.PatientTries, saleID, page, true)
	if err != nil {
		return draw.Digest{}, 0, err
	}
	if len(parts) < pageParts {
		entered, err := l.enteredLeaves(ctx, saleID, page, secret)
		if err != nil {
			return draw.Digest{}, 0, err
		}
		for p := range pageParts {
			if _, stored := parts[p]; stored {
				continue
			}
			if err := l.putPart(ctx, saleID, page, p, entered[p]); err != nil {
				return draw.Digest{}, 0, err
			}
		}
		// Another run may have put any of them, so only what is stored counts.
		if parts, err = l.pageParts(ctx, table.PatientTries, saleID, page, true); err != nil {
			return draw.Digest{}, 0, err
		}
	}
	leaves, err := joinParts(page, parts)
	return draw.PageDigest(leaves), int64(len(leaves)), sale.AsInternal(err)
}

// enteredLeaves returns the leaves of a page's entries as they are now, by their parts, each in
// order.
func (l *Ledger) enteredLeaves(
	ctx context.Context, saleID string, page byte, secret []byte,
) (parts [pageParts][]draw.Leaf, err error) {
	query := table.Partition(table.S(table.EntryPK(saleID, page)))
	query.Limit = aws.Int32(entriesAtOnce)
	err = l.table.QueryPages(ctx, table.PatientTries, query, true, func(items []table.Item) error {
		for _, it := range items {
			user := table.IdentityOf(it).SK
			leaf := draw.LeafOf(user, draw.NonceOf(secret, user))
			parts[partOf(leaf)] = append(parts[partOf(leaf)], leaf)
		}
		return nil
	})
	for _, leaves := range parts {
		slices.SortFunc(leaves, draw.Leaf.Compare)
	}
	return parts, err
}

// putPart puts a part of a page if it is absent.
func (l *Ledger) putPart(ctx context.Context, saleID string, page byte, part int, leaves []draw.Leaf) error {
	if len(leaves) > maxPartLeaves {
		return sale.AsInternal(fmt.Errorf("page %02x: %d leaves do not fit part %d", page, len(leaves), part))
	}
	return l.table.PutAbsent(ctx, table.With(table.RollKey(saleID, page, part), table.Item{
		"leaves": table.B(draw.Join(leaves)),
	}))
}

// pageParts returns the parts of a page that are stored.
func (l *Ledger) pageParts(
	ctx context.Context, tries int, saleID string, page byte, consistent bool,
) (map[int][]draw.Leaf, error) {
	parts := map[int][]draw.Leaf{}
	query := table.Headed(table.S(table.RollPK(saleID)), table.PageName(page)+"#")
	err := l.table.QueryPages(ctx, tries, query, consistent, func(items []table.Item) error {
		for _, it := range items {
			leaves, err := readPart(it)
			part := slices.IndexFunc(partNumbers, func(p int) bool {
				return table.IdentityOf(it) == table.IdentityOf(table.RollKey(saleID, page, p))
			})
			if err == nil && part < 0 {
				err = errors.New("it is no part of a page")
			}
			if err != nil {
				return sale.AsInternal(fmt.Errorf("%v: %w", table.IdentityOf(it), err))
			}
			parts[part] = leaves
		}
		return nil
	})
	return parts, err
}

// joinParts returns the leaves of a page, of which every part is there.
func joinParts(page byte, parts map[int][]draw.Leaf) ([]draw.Leaf, error) {
	if len(parts) < pageParts {
		return nil, fmt.Errorf("page %02x has %d parts", page, len(parts))
	}
	var leaves []draw.Leaf
	for p := range pageParts {
		for _, l := range parts[p] {
			if partOf(l) != p {
				return nil, fmt.Errorf("leaf %s is not of part %d", l, p)
			}
		}
		leaves = append(leaves, parts[p]...)
	}
	return leaves, draw.Check(page, leaves)
}

// isOnRoll reports whether a leaf is on a roll that is closed. It needs the leaf's part of its
// page only, which an environment remembers.
func (l *Ledger) isOnRoll(ctx context.Context, saleID string, leaf draw.Leaf) (bool, error) {
	id := partID{saleID, leaf.Page(), partOf(leaf)}
	leaves, ok := l.draws.parts.Get(id, l.now())
	if !ok {
		// At half the cost, an eventually consistent read shows the same: parts never change.
		it, err := l.table.ReadItem(ctx, table.MaxTries, table.RollKey(saleID, id.page, id.part), false)
		if err == nil && it == nil {
			it, err = l.table.Get(ctx, table.RollKey(saleID, id.page, id.part))
		}
		if err != nil {
			return false, err
		}
		if leaves, err = readPart(it); err != nil {
			return false, sale.AsInternal(fmt.Errorf("page %02x, part %d: %w", id.page, id.part, err))
		}
		id.saleID = strings.Clone(saleID)
		l.draws.parts.Put(id, leaves, time.Time{}, forever)
	}
	_, found := slices.BinarySearchFunc(leaves, leaf, draw.Leaf.Compare)
	return found, nil
}

func readPart(it table.Item) ([]draw.Leaf, error) {
	r := table.Read(it)
	leaves := r.Bytes("leaves")
	if r.Err != nil {
		return nil, r.Err
	}
	return draw.Split(leaves)
}

// rollPage returns a page of a roll that is closed; an environment remembers it.
func (l *Ledger) rollPage(ctx context.Context, saleID string, page byte) ([]draw.Leaf, error) {
	id := pageID{saleID, page}
	if leaves, ok := l.draws.pages.Get(id, l.now()); ok {
		return leaves, nil
	}
	parts, err := l.pageParts(ctx, table.MaxTries, saleID, page, false)
	if err == nil && len(parts) < pageParts {
		parts, err = l.pageParts(ctx, table.MaxTries, saleID, page, true)
	}
	if err != nil {
		return nil, err
	}
	leaves, err := joinParts(page, parts)
	if err != nil {
		return nil, sale.AsInternal(err)
	}
	id.saleID = strings.Clone(saleID)
	l.draws.pages.Put(id, leaves, time.Time{}, forever)
	return leaves, nil
}

// RollPage returns the leaves of a page of the roll of a sale that Sale returned, in order. They
// never change. It fails with sale.RollNotFound until the roll is closed, with
// sale.DrawNotFound, sale.Busy or sale.Internal.
func (l *Ledger) RollPage(ctx context.Context, s sale.Sale, page byte) ([]draw.Leaf, error) {
	d, err := l.Draw(ctx, s)
	if err != nil {
		return nil, err
	}
	if !d.IsClosed() {
		return nil, sale.Refuse(sale.RollNotFound, "the roll is not closed yet")
	}
	return l.rollPage(ctx, s.ID, page)
}

// Ranks returns the ranks of the whole roll, in no order that matters. Its leaves, twice as large,
// are held for a few pages at a time. It fails with sale.Busy, and with sale.Internal if the roll
// is not the one of the head's digest.
func (l *Ledger) Ranks(ctx context.Context, s sale.Sale, head draw.Head) ([]draw.Rank, error) {
	var digests [draw.Pages]draw.Digest
	var mu sync.Mutex
	all := make([]draw.Rank, 0, min(max(head.Entrants, 0), draw.Pages*pageParts*maxPartLeaves))
	if err := table.EachOf("page", draw.Pages, func(i int) error {
		parts, err := l.pageParts(ctx, table.PatientTries, s.ID, byte(i), true)
		if err != nil {
			return err
		}
		leaves, err := joinParts(byte(i), parts)
		digests[i] = draw.PageDigest(leaves)
		ranks := draw.Ranks(head.Seed, leaves)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, ranks...)
		return sale.AsInternal(err)
	}); err != nil {
		return nil, err
	}
	if stored := draw.RollDigest(&digests); stored != head.Roll {
		return nil, sale.AsInternal(fmt.Errorf("the roll is %s, its pages are those of %s", head.Roll, stored))
	}
	return all, nil
}
