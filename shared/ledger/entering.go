package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/draw"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Entry is a user's in a draw: with the nonce they can show that the leaf on the roll is theirs.
type Entry struct {
	Nonce draw.Nonce
	Leaf  draw.Leaf
	At    time.Time
}

// Enter enters a user into the draw of a sale, once and permanently: the same again gets the same
// answer. settle is the time between the end of entering and the reading of the roll. check, if
// not nil, is asked whether the user may enter, with the end of the sale; its error ends the
// call. Once Enter has answered, the entry is on the roll (P27).
//
// It fails with sale.EnteringNotOpen; with sale.EnteringClosed, unless the user has entered;
// with sale.DrawNotFound, sale.Recalled or sale.SaleNotFound; with sale.Busy when it is unknown
// whether the entry will be on the roll, and then the same may be asked again; or with
// sale.Internal.
func (l *Ledger) Enter(
	ctx context.Context, saleID, user string, settle time.Duration, check func(ctx context.Context, until time.Time) error,
) (Entry, error) {
	s, err := l.Sale(ctx, saleID)
	if err != nil {
		return Entry{}, err
	}
	if check != nil && s.EnteringRefusal(l.now()) == nil {
		if err := check(ctx, s.Ends()); err != nil {
			return Entry{}, err
		}
	}
	now := l.now()
	if refusal := s.EnteringRefusal(now); refusal != nil {
		if refusal.Code != sale.EnteringClosed {
			return Entry{}, refusal
		}
		entry, err := l.entry(ctx, s, user, settle)
		if sale.CodeOf(err) == sale.EntryNotFound {
			err = refusal
		}
		return entry, err
	}
	entry, err := l.EntryOf(ctx, s, user)
	if err != nil {
		return Entry{}, err
	}
	entry.At = time.UnixMilli(now.UnixMilli()).UTC()
	it := table.With(table.EntryKey(s.ID, entry.Leaf.Page(), user), table.Item{"at": table.Millis(entry.At)})
	err = l.table.TryPut(ctx, table.MaxTries, it, true)
	var entered *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &entered):
		if entry.At, err = table.ReadEntered(entered.Item); err != nil {
			return Entry{}, err
		}
	case err != nil:
		return Entry{}, sale.AsInternal(err)
	}
	return entry, l.settled(s, settle)
}

// maxSettle bounds the time to settle that an environment counts on: the draw function of another
// release may have a shorter one, but on AWS never one below this.
const maxSettle = 15 * time.Minute

// maxLooks bounds how often somebody looks in the time to settle whether a roll that is overdue is closed.
const maxLooks = 15

// settled fails with sale.Busy if the roll may have been read by now: an entry that was written,
// or found, at this instant may not be on it. An environment may have been frozen between its
// look at the clock and its write. Half of the time is for clocks that differ.
func (l *Ledger) settled(s sale.Sale, settle time.Duration) error {
	if l.now().Before(s.EnterUntil.Add(min(settle, maxSettle) / 2)) {
		return nil
	}
	return sale.Fail(sale.Busy, errors.New("the roll may have been read before"))
}

// Entry returns the user's entry in the draw of a sale. From the closing of the roll on it is
// one that is on the roll. It fails with sale.EntryNotFound, sale.DrawNotFound,
// sale.SaleNotFound or sale.Internal, and with sale.Busy also while it is unknown whether the
// entry will be on the roll; RetryAfter is then until it is known.
func (l *Ledger) Entry(ctx context.Context, saleID, user string, settle time.Duration) (Entry, error) {
	s, err := l.existing(ctx, table.MaxTries, saleID)
	if err != nil {
		return Entry{}, err
	}
	if !s.HasDraw() {
		return Entry{}, sale.RefuseNoDraw()
	}
	return l.entry(ctx, s, user, settle)
}

func (l *Ledger) entry(ctx context.Context, s sale.Sale, user string, settle time.Duration) (Entry, error) {
	entry, err := l.EntryOf(ctx, s, user)
	if err != nil {
		return Entry{}, err
	}
	it, err := l.table.Get(ctx, table.EntryKey(s.ID, entry.Leaf.Page(), user))
	if err != nil {
		return Entry{}, err
	}
	if it == nil {
		return Entry{}, errNoEntry
	}
	if entry.At, err = table.ReadEntered(it); err != nil {
		return Entry{}, err
	}
	if l.settled(s, settle) == nil { // asked after the entry was read
		return entry, nil
	}
	head, err := l.drawHead(ctx, table.MaxTries, s.ID)
	switch {
	case err != nil:
		return Entry{}, err
	case !head.IsClosed():
		unknown := sale.Fail(sale.Busy, errors.New("the roll is not closed"))
		unknown.RetryAfter = max(s.EnterUntil.Add(settle).Sub(l.now()), settle/maxLooks)
		return Entry{}, unknown
	}
	switch isOn, err := l.isOnRoll(ctx, s.ID, entry.Leaf); {
	case err != nil:
		return Entry{}, err
	case !isOn:
		return Entry{}, errNoEntry
	}
	return entry, nil
}

var errNoEntry = sale.Refuse(sale.EntryNotFound, "the user has not entered the draw")

// EntryOf returns a user's nonce and leaf, whether or not they have entered.
func (l *Ledger) EntryOf(ctx context.Context, s sale.Sale, user string) (Entry, error) {
	secret, err := l.leafKey(ctx, table.MaxTries, s.ID)
	if err != nil {
		return Entry{}, err
	}
	nonce := draw.NonceOf(secret, user)
	return Entry{Nonce: nonce, Leaf: draw.LeafOf(user, nonce)}, nil
}
