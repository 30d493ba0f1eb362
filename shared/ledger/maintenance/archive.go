package maintenance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// ArchiveAfter is how long a sale must have been over before it is archived.
const ArchiveAfter = 90 * 24 * time.Hour

// Archived is what an archive has. Digest is the SHA-256 of its lines without the users, and without
// what an operator has noted when they cancelled their orders: who is
// erased from a file later leaves it as it was.
type Archived struct {
	SaleID string `json:"saleId"`
	Lines  int64  `json:"lines"`
	Claims int64  `json:"claims"`
	// Units are those of the claims of a sale with a maxPerOrder; 0 of others.
	Units  int64  `json:"units,omitempty"`
	Digest string `json:"digest"`
}

// archiving writes, or reads, the lines of an archive and sums them up.
type archiving struct {
	Archived
	digest, keys hash.Hash
	to           io.Writer
	lines        lines
	hasUnits     bool   // the claims come after their sale
	key          []byte // the last one
}

// summed is what an archive has, and the SHA-256 of its keys: those name users.
type summed struct {
	Archived
	keys string
}

func newArchiving(saleID string, to io.Writer) *archiving {
	return &archiving{Archived: Archived{SaleID: saleID}, digest: sha256.New(), keys: sha256.New(), to: to}
}

// add writes the line of an item.
func (a *archiving) add(it table.Item) error {
	line, bare, err := a.lines.of(it)
	if err != nil {
		return sale.AsInternal(err)
	}
	if _, err := a.to.Write(line); err != nil {
		return err
	}
	id := table.IdentityOf(it)
	a.key = strconv.AppendQuote(append(strconv.AppendQuote(a.key[:0], id.PK), ' '), id.SK)
	a.keys.Write(append(a.key, '\n'))
	switch kind, _, _ := strings.Cut(id.PK, "#"); kind {
	case "SALE":
		a.hasUnits = a.hasUnits || table.Has(it, "maxPerOrder")
	case "CLAIM":
		if a.Claims++; a.hasUnits {
			r := table.Reader{Item: it}
			a.Units += max(1, r.OptionalNumber("units"))
		}
	}
	a.Lines++
	a.digest.Write(bare)
	return nil
}

func (a *archiving) sum() summed {
	a.Digest = hex.EncodeToString(a.digest.Sum(nil))
	return summed{a.Archived, hex.EncodeToString(a.keys.Sum(nil))}
}

// WriteArchive writes everything that is stored of a sale as JSON lines: the sale, its creation,
// seedings, trail, cancelled orders, shards, claims, orders, guards, refunds and entries, and in the end what an
// archive has. It fails with sale.Conflicting unless the sale has been over for ArchiveAfter and it and its group may
// be sealed; with sale.SaleNotFound, sale.Busy or sale.Internal; or with to's error.
func (m *Maintenance) WriteArchive(ctx context.Context, saleID string, to io.Writer) (Archived, error) {
	s, _, err := m.mayBeArchived(ctx, saleID)
	if err != nil {
		return Archived{}, err
	}
	a, err := m.archive(ctx, s, to)
	if err != nil {
		return Archived{}, err
	}
	end, err := json.Marshal(map[string]Archived{"archive": a.Archived})
	if err == nil {
		_, err = to.Write(append(end, '\n'))
	}
	return a.Archived, err
}

// mayBeArchived returns a sale that may be archived, and the sales to seal with it.
func (m *Maintenance) mayBeArchived(ctx context.Context, saleID string) (sale.Sale, []sealing, error) {
	s, err := m.table.OpenSale(ctx, saleID)
	switch {
	case err != nil:
		return s, nil, err
	case s.Archive != "":
		return s, nil, s.RefuseArchived()
	}
	if from := s.Ends().Add(ArchiveAfter); m.table.Now().Before(from) {
		return s, nil, sale.Refusef(sale.Conflicting,
			"the sale %s may be archived from %s on", saleID, from.UTC().Format(time.RFC3339))
	}
	if m.table.Now().Sub(s.SealedAt).Abs() < ledger.PauseSettles {
		return s, nil, sale.Fail(sale.Busy,
			fmt.Errorf("somebody has just been erased from the sale %s, perhaps not in every item that can be seen", saleID))
	}
	with, err := m.mayBeSealed(ctx, s)
	return s, with, err
}

// archive writes the lines of a sale.
func (m *Maintenance) archive(ctx context.Context, s sale.Sale, to io.Writer) (summed, error) {
	a := newArchiving(s.ID, to)
	add := func(items []table.Item) error {
		for _, it := range items {
			if err := a.add(it); err != nil {
				return err
			}
		}
		return nil
	}
	partition := func(pk types.AttributeValue) error {
		return m.table.QueryPages(ctx, table.PatientTries, table.Partition(pk), true, add)
	}
	parts := []types.AttributeValue{
		table.SaleKey(s.ID)[table.PK], table.S(table.ChangesPK(s.ID)), table.S(table.DrawPK(s.ID)),
		table.CancelledKey(s.ID, 0)[table.PK],
	}
	for k := range s.Shards {
		parts = append(parts, table.StockKey(s.ID, k)[table.PK])
	}
	parts = append(parts, table.RefundKey(s.ID, "")[table.PK])
	if s.HasDraw() {
		for page := range 256 {
			parts = append(parts, table.S(table.EntryPK(s.ID, byte(page))))
		}
	}
	for _, pk := range parts {
		if err := partition(pk); err != nil {
			return summed{}, err
		}
	}
	err := m.table.ClaimItems(ctx, s, func(claims []table.Item) error {
		if err := add(claims); err != nil {
			return err
		}
		var keys []table.Item
		for _, it := range claims {
			c, err := table.ReadClaim(s.ID, s.Buckets, it)
			if err != nil {
				return sale.AsInternal(err)
			}
			if c.OrderID != 0 {
				keys = append(keys, table.OrderKey(c.OrderID))
			}
			if s.LimitGroup != "" {
				keys = append(keys, table.GroupGuardKey(s.LimitGroup, c.User))
			}
		}
		asked := slices.Clone(keys)
		found, err := m.table.GetAll(ctx, keys)
		if err != nil {
			return err
		}
		for _, k := range asked {
			if it := found[table.IdentityOf(k)]; it == nil {
				// An erasure in between has moved it.
				return sale.Fail(sale.Busy, fmt.Errorf("%v of a claim is not there", table.IdentityOf(k)))
			} else if err := add([]table.Item{it}); err != nil {
				return err
			}
		}
		return nil
	})
	return a.sum(), err
}

// CheckArchive reads an archive as DeleteArchived does, and returns what it has.
func CheckArchive(from io.Reader, saleID string) (Archived, error) {
	a, err := readArchive(from, saleID, nil)
	return a.Archived, err
}

// readArchive passes the lines of an archive to each, and returns what it has. It fails with sale.Poison
// if it is cut off, or was changed in more than its users.
func readArchive(from io.Reader, saleID string, each func(table.Item) error) (summed, error) {
	a, whole := newArchiving(saleID, io.Discard), false
	lines := bufio.NewReaderSize(from, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0 && whole:
			return a.sum(), nil
		case errors.Is(err, io.EOF):
			return summed{}, sale.Refuse(sale.Poison, "the archive is cut off")
		case err != nil:
			return summed{}, err
		case whole:
			return summed{}, sale.Refuse(sale.Poison, "the archive has lines behind its end")
		}
		if bytes.HasPrefix(line, []byte(`{"archive":`)) {
			var end struct{ Archive Archived }
			if err := json.Unmarshal(line, &end); err != nil || end.Archive != a.sum().Archived {
				return summed{}, sale.Refuse(sale.Poison,
					"the archive is of another sale, or was changed: its end does not fit its lines")
			}
			whole = true
			continue
		}
		it, err := readLine(line)
		if err != nil {
			return summed{}, sale.Refusef(sale.Poison, "line %d of the archive is no item", a.Lines+1)
		}
		if err := a.add(it); err != nil {
			return summed{}, err
		}
		if each != nil {
			if err := each(it); err != nil {
				return summed{}, err
			}
		}
	}
}

// DeleteArchived deletes the claims, guards, entries and orders of a sale that an archive has, and takes
// the users out of its refunds, and the notes out of its cancelled orders. open opens that archive: it is read whole
// first, and nothing is deleted, nor sealed, unless the table is as it says, users included. The sale and its group are
// sealed; the sale, its creation, its trail, its shards, its refunds, its roll and the guards of its payments stay,
// with the archive's digest. The same again, after it was cut off anywhere, deletes what is left. It fails as
// WriteArchive does, and with sale.Poison if the archive is not whole.
func (m *Maintenance) DeleteArchived(
	ctx context.Context, saleID string, open func() (io.ReadCloser, error),
) (Archived, error) {
	read := func(each func(table.Item) error) (summed, error) {
		from, err := open()
		if err != nil {
			return summed{}, err
		}
		defer from.Close()
		return readArchive(from, saleID, each)
	}
	sum, err := read(nil)
	if err != nil {
		return sum.Archived, err
	}
	s, err := m.table.OpenSale(ctx, saleID)
	if err != nil {
		return sum.Archived, err
	}
	switch {
	case s.Archive == "":
		err = m.beginArchive(ctx, saleID, sum)
	case s.Archive != sum.Digest:
		err = sale.Refusef(sale.Conflicting,
			"the sale %s was archived in another file, whose digest is %s", saleID, s.Archive)
	case s.ArchivedKeys != sum.keys:
		err = refuseUsers
	}
	if err != nil {
		return sum.Archived, err
	}
	// The claims first: an order without a claim is nobody's, but reconciliation would put an order that a
	// claim has and the table has not.
	d := deleting{Maintenance: m, ctx: ctx, noted: map[string]bool{}}
	for _, kinds := range [][]string{{"CLAIM", "GUARD", "ENTRY"}, {"ORDER"}} {
		again, err := read(func(it table.Item) error {
			if kind, _, _ := strings.Cut(table.IdentityOf(it).PK, "#"); !slices.Contains(kinds, kind) {
				return nil
			}
			return d.add(it)
		})
		if err != nil {
			return sum.Archived, err
		}
		if err := d.flush(); err != nil {
			return sum.Archived, err
		}
		if again != sum {
			return sum.Archived, sale.Refuse(sale.Poison, "the archive was changed while it was read: what is left stays")
		}
	}
	if err := d.forgetRefunded(saleID); err != nil {
		return sum.Archived, err
	}
	if err := d.forgetNotes(saleID); err != nil {
		return sum.Archived, err
	}
	return sum.Archived, m.table.Update(ctx, table.Update{
		Key: table.SaleKey(saleID), Expr: "SET #archivedAt = :now", If: "attribute_not_exists(#archivedAt)",
		Values: table.Item{":now": table.Millis(m.table.Now())},
	})
}

// refuseUsers: by its digest alone, which has no user, the file would do.
var refuseUsers = sale.Refuse(sale.Conflicting,
	"the archive has other users than the table: take the file as it was written")

// beginArchive compares the sale with the archive, seals it and notes the archive in it: from then on
// its claims may be deleted, and nobody can be erased from it.
func (m *Maintenance) beginArchive(ctx context.Context, saleID string, sum summed) error {
	s, with, err := m.mayBeArchived(ctx, saleID)
	if err != nil {
		return err
	}
	now, err := m.archive(ctx, s, io.Discard)
	switch {
	case err != nil:
		return err
	case now.Archived != sum.Archived:
		return sale.Refusef(sale.Conflicting, "the sale %s is not as the archive says any more: write it again", saleID)
	case now != sum:
		return refuseUsers
	}
	note := seal{
		sale: s, with: with, write: ", #archive = :digest, #archivedClaims = :claims, #archivedKeys = :keys",
		condition: "#version = :version AND attribute_not_exists(#erased)",
		values: table.Item{
			":digest": table.S(sum.Digest), ":claims": table.N(sum.Claims), ":keys": table.S(sum.keys),
			":version": table.N(s.Version),
		},
	}
	if sum.Units > 0 {
		note.write += ", #archivedUnits = :units"
		note.values[":units"] = table.N(sum.Units)
	}
	if s.Erased > 0 {
		note.condition, note.values[":erased"] = "#version = :version AND #erased = :erased", table.N(s.Erased)
	}
	reasons, err := m.table.RetryTransaction(ctx, note.actions(m)...)
	if reasons != nil {
		return note.refused(reasons)
	}
	return sale.AsInternal(err)
}

// forgetRefunded takes the users and providers' words out of a sale's refunds, also of those that came after the
// archive was written: those that can be seen, and those that the deleted claims have noted. No refund gets a
// user without a claim. The refunds stay: a provider that reports one again gets the same answer.
func (d *deleting) forgetRefunded(saleID string) error {
	refunds, err := d.table.RefundItems(d.ctx, saleID)
	if err != nil {
		return err
	}
	keys := map[table.Identity]table.Item{}
	for _, it := range refunds {
		if table.Has(it, "user") {
			r, err := table.ReadRefund(it)
			if err == nil && r.Sent.Words != "" { // before the user, who marks it as still to do
				err = d.table.Update(d.ctx, table.ForgetWords(table.KeyOf(it), r.Sent))
			}
			if err != nil {
				return sale.AsInternal(err)
			}
			keys[table.IdentityOf(it)] = table.KeyOf(it)
		}
	}
	for payment := range d.noted {
		key := table.RefundKey(saleID, payment)
		keys[table.IdentityOf(key)] = key
	}
	for _, key := range keys {
		forget := table.Update{Key: key, Expr: "REMOVE #user, #unmarkNote", If: "attribute_exists(#user)"}
		if err := d.table.Update(d.ctx, forget); err != nil {
			return err
		}
	}
	return nil
}

// forgetNotes takes the notes out of what is stored of a sale's cancelled orders: they are about users.
func (d *deleting) forgetNotes(saleID string) error {
	of := table.Partition(table.CancelledKey(saleID, 0)[table.PK])
	return d.table.QueryPages(d.ctx, table.PatientTries, of, true, func(items []table.Item) error {
		for _, it := range items {
			if !table.Has(it, "note") {
				continue
			}
			if err := d.table.Update(d.ctx, table.Update{Key: table.KeyOf(it), Expr: "REMOVE #note"}); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleting deletes items in transactions of maxDeletes, table.AtOnce of them at a time.
type deleting struct {
	*Maintenance
	ctx   context.Context
	batch []types.TransactWriteItem
	noted map[string]bool // the payments that deleted claims have noted to go back
}

// maxDeletes is DynamoDB's limit of actions in a transaction.
const maxDeletes = 100

func (d *deleting) add(it table.Item) error {
	if strings.HasPrefix(table.IdentityOf(it).PK, "CLAIM#") {
		d.batch = append(d.batch, d.deleteArchivedClaim(it))
	} else {
		d.batch = append(d.batch, d.table.Delete(table.KeyOf(it), "", nil))
	}
	if len(d.batch) < maxDeletes*table.AtOnce {
		return nil
	}
	return d.flush()
}

// deleteArchivedClaim deletes a claim if it notes as many refunds as in the archive, unless a payment has
// come since that was written.
func (d *deleting) deleteArchivedClaim(it table.Item) types.TransactWriteItem {
	r := table.Reader{Item: it}
	refunds := r.OptionalTexts("refunds")
	for _, payment := range refunds {
		d.noted[payment] = true
	}
	return d.deleteNoting(table.KeyOf(it), r.OptionalText("payment") != "", len(refunds))
}

func (d *deleting) flush() error {
	batches := slices.Collect(slices.Chunk(d.batch, maxDeletes))
	noted, errs := make([][]string, len(batches)), make([]error, len(batches))
	table.Each(len(batches), func(i int) { noted[i], errs[i] = d.deleteAll(batches[i]) })
	for _, payment := range slices.Concat(noted...) {
		d.noted[payment] = true
	}
	d.batch = d.batch[:0]
	return table.Worst("batch", errs)
}

// deleteAll deletes the items of a batch, and returns what else its claims have noted to go back since
// the archive was written. A claim that is gone notes nothing.
func (d *deleting) deleteAll(batch []types.TransactWriteItem) (noted []string, err error) {
	for {
		reasons, err := d.table.RetryTransaction(d.ctx, batch...)
		if reasons == nil {
			return noted, sale.AsInternal(err)
		}
		for i, reason := range reasons {
			if !table.Failed(reason) {
				continue
			}
			gone := batch[i].Delete
			mayBePaid := gone.ExpressionAttributeNames["#payment"] == ""
			if !mayBePaid && table.Has(reason.Item, "payment") {
				return noted, sale.Refuse(sale.Conflicting,
					"an order was paid after the archive was written (see flashsale refund list): what is left stays")
			}
			r := table.Reader{Item: reason.Item}
			refunds := r.OptionalTexts("refunds")
			if r.Err != nil {
				return noted, sale.AsInternal(r.Err)
			}
			noted = append(noted, refunds...)
			batch[i] = d.deleteNoting(gone.Key, mayBePaid, len(refunds))
		}
	}
}

// deleteNoting deletes a claim if that many refunds are noted on it, and if it is not paid, unless it
// may be.
func (d *deleting) deleteNoting(key table.Item, mayBePaid bool, refunds int) types.TransactWriteItem {
	condition, values := ifNotes(refunds)
	if !mayBePaid {
		condition += " AND attribute_not_exists(#payment)"
	}
	action := d.table.Delete(key, condition, values)
	action.Delete.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	return action
}
