package ledger

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Trail returns the newest changes of a sale, at most that many, newest first, and whether
// there are more. Additions and withdrawals are among the edits by their instants. It fails
// with sale.SaleNotFound, sale.Busy, sale.Internal or sale.NewerVersion.
func (l *Ledger) Trail(ctx context.Context, saleID string, most int) (changes []sale.Change, more bool, err error) {
	if _, err := l.existing(ctx, maxTries, saleID); err != nil {
		return nil, false, err
	}
	edits, err := l.edits(ctx, maxTries, saleID)
	if err != nil {
		return nil, false, err
	}
	seedings, err := l.seedings(ctx, saleID)
	if err != nil {
		return nil, false, err
	}
	var seeded []sale.Change
	for _, it := range seedings {
		c, err := readSeeding(it)
		if err != nil {
			return nil, false, asInternal(err)
		}
		seeded = append(seeded, c)
	}
	slices.SortFunc(seeded, func(a, b sale.Change) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.ID, b.ID)) })
	for _, it := range slices.Backward(edits) {
		c, err := readChange(it)
		if err != nil {
			return nil, false, asInternal(err)
		}
		for len(seeded) > 0 && seeded[0].At.After(c.At) {
			changes, seeded = append(changes, seeded[0]), seeded[1:]
		}
		changes = append(changes, c)
	}
	changes = append(changes, seeded...)
	if len(changes) > most {
		return changes[:most], true, nil
	}
	return changes, false, nil
}

// edits returns the entries of a sale's edits, the oldest first.
func (l *Ledger) edits(ctx context.Context, tries int, saleID string) ([]item, error) {
	return l.queryAll(ctx, tries, dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK},
		ExpressionAttributeValues: item{":pk": str(changesPK(saleID))},
	})
}

// seedings returns the heads of a sale's additions and withdrawals, without their receipts.
func (l *Ledger) seedings(ctx context.Context, saleID string) ([]item, error) {
	found, err := l.receipts(ctx, saleID, seedHeads)
	maps.DeleteFunc(found, func(id identity, _ item) bool { return !isSeeding(id) })
	return slices.Collect(maps.Values(found)), err
}

// edit is an edit, a description or a recall as it is written.
type edit struct {
	saleID string
	asks   sale.Change
	seen   *sale.Seen // by its author; nil if that does not matter
	// next returns the sale after the edit, or as it is if the edit changes nothing.
	next func(before sale.Sale) (sale.Sale, error)
	// set is what the edit sets or removes of the sale, as an update expression with its names
	// and values, and counts what it counts besides the version and the edits.
	set    func(after sale.Sale) (expression string, names map[string]string, values item)
	counts string
	// others are the actions on other items, if there are any.
	others func(after sale.Sale) []types.TransactWriteItem
	// refused, if not nil, returns the error for reasons of others, or nil if they are no news.
	refused func(others []types.CancellationReason) error
}

// edit makes an edit in one transaction: the sale item and the entry of the trail, so neither
// is there without the other (P32). It returns the sale after it, also if that is as it was.
//
// An edit whose id is in the trail has been made. The sale is read first, then its trail, which
// must be whole, and the transaction requires that the sale has no newer edit: the same id is never
// written twice.
// It also requires that changedAt is as it was: an older release raises nothing else. And it
// requires that the id is no seed id: see announceSeeding.
func (l *Ledger) edit(ctx context.Context, e edit) (Edited, error) {
	call := l.newID() // tells the entry of this call from another call's with the same id
	e.asks.ID = cmp.Or(e.asks.ID, call)
	for left := l.upTo(patientTries); ; {
		before, err := l.readOpenSale(ctx, e.saleID)
		if err != nil {
			return Edited{}, err
		}
		h, err := l.historyOf(ctx, before, e.asks.ID)
		if err != nil {
			return Edited{}, err
		}
		if h.asked != nil {
			made, err := readChange(h.asked)
			switch {
			case err != nil:
				return Edited{}, asInternal(err)
			case !e.asks.Asks(made):
				return Edited{}, errOtherChange
			case made.Number <= before.Edits:
				r := reader{item: h.asked}
				return Edited{before, r.text("call") == call, e.seen.WithEdit(made.Number)}, asInternal(r.err)
			}
			// It was made after the sale was read, so the transaction is refused.
		}
		switch {
		case before.IsSealed():
			return Edited{}, sale.RefuseSealed()
		case h.whole:
		case !left.again(ctx):
			return Edited{}, errHalf
		default:
			continue
		}
		if h.asked == nil && e.seen != nil && e.seen.Edits != before.Edits {
			return Edited{}, refuseMeanwhile(before, h.newest)
		}
		after, err := e.next(before)
		if err != nil || after == before {
			return Edited{before, false, e.seen.WithEdit(before.Edits)}, err
		}
		if pause := h.pause; e.seen == nil && e.asks.Action == sale.ActionResume && before.Paused && pause != nil && has(pause, "actor") {
			made, err := readChange(pause)
			if err == nil {
				err = sale.RefusePaused(&before, made)
			}
			return Edited{}, asInternal(err)
		}
		after.Edits++
		reasons, err := l.retryTransaction(ctx, l.writeEdit(e, before, after, call)...)
		switch {
		case err == nil:
			return Edited{after, true, e.seen.WithEdit(after.Edits)}, nil
		case reasons != nil && !failed(reasons[0]) && failed(reasons[len(reasons)-1]):
			return Edited{}, errOtherChange
		case reasons == nil || !failed(reasons[0]):
			if reasons != nil && e.refused != nil {
				err = cmp.Or(e.refused(reasons[2:len(reasons)-1]), err)
			}
			return Edited{}, asInternal(err)
		case !left.again(ctx):
			return Edited{}, sale.Fail(sale.Busy, err)
		}
	}
}

// refuseMeanwhile refuses a change because of a newer one: an entry of the trail, or nil.
func refuseMeanwhile(s sale.Sale, newest item) error {
	if newest == nil {
		return sale.RefuseMeanwhile(&s, nil)
	}
	c, err := readChange(newest)
	if err != nil {
		return asInternal(err)
	}
	return sale.RefuseMeanwhile(&s, &c)
}

func (l *Ledger) writeEdit(e edit, before, after sale.Sale, call string) []types.TransactWriteItem {
	update, names, values := e.set(after)
	condition := "#changedAt = :before AND attribute_not_exists(#edits)"
	for name, attribute := range map[string]string{"#changedAt": "changedAt", "#version": "version", "#edits": "edits"} {
		names[name] = attribute
	}
	values[":before"], values[":one"] = millis(before.ChangedAt), num(1)
	if before.Edits > 0 {
		condition, values[":edits"] = "#changedAt = :before AND #edits = :edits", num(before.Edits)
	}
	update += " ADD #version :one, #edits :one" + e.counts
	c := e.asks
	c.Number = after.Edits
	if c.Action == sale.ActionDescribe {
		c.At = l.now()
	} else {
		c.At, c.Paused, c.OpensAt, c.ClosesAt = after.ChangedAt, after.Paused, after.OpensAt, after.ClosesAt
	}
	if after.HasDraw() && (c.Action == sale.ActionPause || c.Action == sale.ActionResume || c.Action == sale.ActionReschedule) {
		c.OperatedAt, c.BeginsAt, c.EndsAt = after.OperatedAt, after.BeginsAt, after.EndsAt
	}
	entry := withLabels(after.Labels, changeItem(e.saleID, c))
	entry["call"] = str(call)
	actions := []types.TransactWriteItem{
		{Update: &types.Update{
			TableName: l.table, Key: saleKey(e.saleID), UpdateExpression: &update, ConditionExpression: &condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}},
		l.put(entry),
	}
	if e.others != nil {
		actions = append(actions, e.others(after)...)
	}
	return append(actions, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: l.table, Key: seedKey(e.saleID, c.ID), ConditionExpression: &ifAbsent,
	}})
}

// history is what the trail says about the edits of a sale that has been read.
type history struct {
	asked  item // the entry of the id that is asked for, or nil
	newest item // the entry of the sale's newest edit, or nil
	pause  item // since the newest resumption, the newest pause by a person, or else the first; or nil
	// whole: plain reads see a transaction item by item, so the sale may tell of an edit whose
	// entry, perhaps of the very id, they do not see yet. Every edit waits for the entry of the one
	// before it, so the trail is whole once the newest is seen.
	whole bool
}

// historyOf reads the trail of a sale that has been read.
func (l *Ledger) historyOf(ctx context.Context, s sale.Sale, id string) (history, error) {
	var h history
	edits, err := l.edits(ctx, patientTries, s.ID)
	newest := identityOf(changeKey(s.ID, s.Edits))
	for _, it := range edits {
		r := reader{item: it}
		if r.text("id") == id {
			h.asked = it
		}
		switch sale.Action(r.text("action")) {
		case sale.ActionPause:
			if h.pause == nil || has(it, "actor") {
				h.pause = it
			}
		case sale.ActionResume:
			h.pause = nil
		}
		if r.err != nil {
			return h, asInternal(r.err)
		}
		if identityOf(it) == newest {
			h.newest = it
		}
	}
	h.whole = s.Edits == 0 || h.newest != nil
	return h, err
}

// errHalf: the newest edit of a sale is not visible as a whole.
var errHalf = sale.Fail(sale.Busy, errors.New("the entry of the newest edit is not visible yet"))

// withAuthor adds who asked for a change and why, as far as it is given.
func withAuthor(a sale.Author, it item) item {
	if a.Actor != "" {
		it["actor"] = str(a.Actor)
	}
	if a.Verified {
		it["verified"] = boolean(true)
	}
	if a.Note != "" {
		it["note"] = str(a.Note)
	}
	return it
}

func (r *reader) author() sale.Author {
	return sale.Author{Actor: r.optionalText("actor"), Verified: has(r.item, "verified") && r.flag("verified"), Note: r.optionalText("note")}
}

// texts are what a description may give.
func texts(c *sale.Change) map[string]**string {
	return map[string]**string{"name": &c.Name, "image": &c.Image, "about": &c.About, "link": &c.Link}
}

func changeItem(saleID string, c sale.Change) item {
	it := withAuthor(c.Author, with(changeKey(saleID, c.Number), item{"id": str(c.ID), "action": str(string(c.Action)), "at": millis(c.At)}))
	if !c.OpensAt.IsZero() {
		it["paused"], it["opensAt"], it["closesAt"] = boolean(c.Paused), millis(c.OpensAt), millis(c.ClosesAt)
	}
	if !c.OperatedAt.IsZero() {
		it["operatedAt"], it["beginsAt"], it["endsAt"] = millis(c.OperatedAt), millis(c.BeginsAt), millis(c.EndsAt)
	}
	for name, text := range texts(&c) {
		if *text != nil {
			it[name] = str(**text)
		}
	}
	return it
}

func readChange(it item) (sale.Change, error) {
	r := reading(it)
	number, err := strconv.ParseInt(r.text(attrSK), 10, 64)
	c := sale.Change{Number: number, ID: r.text("id"), Action: sale.Action(r.text("action")), At: r.time("at"), Author: r.author()}
	if has(it, "opensAt") {
		c.Paused, c.OpensAt, c.ClosesAt = r.flag("paused"), r.time("opensAt"), r.time("closesAt")
	}
	if has(it, "operatedAt") {
		c.OperatedAt, c.BeginsAt, c.EndsAt = r.time("operatedAt"), r.time("beginsAt"), r.time("endsAt")
	}
	for name, text := range texts(&c) {
		if has(it, name) {
			*text = aws.String(r.text(name))
		}
	}
	return c, cmp.Or(r.err, err)
}

// seedingItem is the head of an addition, or of a withdrawal, whose units are negative.
func seedingItem(s sale.Sale, c sale.Change) item {
	units := c.Units
	if c.Action == sale.ActionWithdraw {
		units = -units
	}
	return withLabels(s.Labels, withAuthor(c.Author, with(seedKey(s.ID, c.ID), item{
		"units": num(units), "at": millis(c.At), "action": str(string(c.Action)),
	})))
}

// readSeeding reads the head of an addition or a withdrawal. An older release stored no action
// and no author.
func readSeeding(it item) (sale.Change, error) {
	r := reading(it)
	c := sale.Change{
		ID: strings.TrimPrefix(r.text(attrSK), seedHeads), Action: sale.ActionAdd, At: r.time("at"), Author: r.author(), Units: r.number("units"),
	}
	if c.Units < 0 {
		c.Action, c.Units = sale.ActionWithdraw, -c.Units
	}
	return c, r.err
}

// isSeeding tells the head of an addition or a withdrawal from the receipts of its shards.
func isSeeding(id identity) bool {
	seed, ok := strings.CutPrefix(id.sk, seedHeads)
	return ok && !strings.Contains(seed, "#")
}
