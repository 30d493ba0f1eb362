package table

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"flashsale/shared/sale"
)

// withAuthor adds who asked for a change and why, as far as it is given.
func withAuthor(a sale.Author, it Item) Item {
	if a.Actor != "" {
		it["actor"] = S(a.Actor)
	}
	if a.Verified {
		it["verified"] = Yes
	}
	if a.Note != "" {
		it["note"] = S(a.Note)
	}
	return it
}

func (r *Reader) author() sale.Author {
	return sale.Author{Actor: r.OptionalText("actor"), Verified: r.OptionalFlag("verified"), Note: r.OptionalText("note")}
}

// texts are what a description may give.
func texts(c *sale.Change) map[string]**string {
	return map[string]**string{"name": &c.Name, "image": &c.Image, "about": &c.About, "link": &c.Link}
}

func ChangeItem(saleID string, c sale.Change) Item {
	it := withAuthor(c.Author, With(ChangeKey(saleID, c.Number), Item{
		"id": S(c.ID), "action": S(string(c.Action)), "at": Millis(c.At),
	}))
	if !c.OpensAt.IsZero() {
		it["paused"], it["opensAt"], it["closesAt"] = Bool(c.Paused), Millis(c.OpensAt), Millis(c.ClosesAt)
	}
	if !c.PayUntil.IsZero() {
		it["payUntil"] = Millis(c.PayUntil)
	}
	if !c.OperatedAt.IsZero() {
		it["operatedAt"], it["beginsAt"], it["endsAt"] = Millis(c.OperatedAt), Millis(c.BeginsAt), Millis(c.EndsAt)
	}
	for name, text := range texts(&c) {
		if *text != nil {
			it[name] = S(**text)
		}
	}
	return it
}

func ReadChange(it Item) (sale.Change, error) {
	r := Read(it)
	number, err := strconv.ParseInt(r.Text(SK), 10, 64)
	c := sale.Change{
		Number: number, ID: r.Text("id"), Action: sale.Action(r.Text("action")), At: r.Time("at"), Author: r.author(),
		PayUntil: r.OptionalTime("payUntil"),
	}
	if Has(it, "opensAt") {
		c.Paused, c.OpensAt, c.ClosesAt = r.Flag("paused"), r.Time("opensAt"), r.Time("closesAt")
	}
	if Has(it, "operatedAt") {
		c.OperatedAt, c.BeginsAt, c.EndsAt = r.Time("operatedAt"), r.Time("beginsAt"), r.Time("endsAt")
	}
	for name, text := range texts(&c) {
		if Has(it, name) {
			*text = aws.String(r.Text(name))
		}
	}
	return c, cmp.Or(r.Err, err)
}

// CancelledItem is what is stored of an order's cancellation by an operator.
func CancelledItem(saleID string, c sale.CancelledOrder) Item {
	return withAuthor(c.Author, With(CancelledKey(saleID, c.OrderID), Item{
		"id": S(c.ID), "at": Millis(c.At), "saw": S(string(c.Expected)), "unit": S(string(c.Unit)),
	}))
}

func ReadCancelled(it Item) (sale.CancelledOrder, error) {
	r := Read(it)
	id, err := strconv.ParseUint(r.Text(SK), 10, 63)
	return sale.CancelledOrder{
		OrderID: id, ID: r.Text("id"), At: r.Time("at"), Author: r.author(), Expected: sale.ClaimState(r.Text("saw")),
		Unit: sale.Unit(r.Text("unit")),
	}, cmp.Or(r.Err, err)
}

// SeedingItem is the head of an addition, or of a withdrawal, whose units are negative.
func SeedingItem(s sale.Sale, c sale.Change) Item {
	units := c.Units
	if c.Action == sale.ActionWithdraw {
		units = -units
	}
	return WithLabels(s.Labels, withAuthor(c.Author, With(SeedKey(s.ID, c.ID), Item{
		"units": N(units), "at": Millis(c.At), "action": S(string(c.Action)),
	})))
}

// ReadSeeding reads the head of an addition or a withdrawal.
func ReadSeeding(it Item) (sale.Change, error) {
	r := Read(it)
	c := sale.Change{
		ID: strings.TrimPrefix(r.Text(SK), SeedHeads), Action: sale.ActionAdd, At: r.Time("at"), Author: r.author(),
		Units: r.Number("units"),
	}
	if c.Units < 0 {
		c.Action, c.Units = sale.ActionWithdraw, -c.Units
	}
	return c, r.Err
}

// WithCreation adds to a creation's item its id, when it was asked for, by whom and why.
func WithCreation(c sale.Change, it Item) Item {
	if c.ID != "" {
		it["id"], it["at"] = S(c.ID), Millis(c.At)
		withAuthor(c.Author, it)
	}
	return it
}

// ReadCreation reads an entry of the trail from a creation's item; false if it is in no trail.
func ReadCreation(it Item) (c sale.Change, named bool, err error) {
	if !Has(it, "id") {
		return c, false, nil
	}
	r := Read(it)
	return sale.Change{
		ID: r.Text("id"), Action: sale.Created, At: r.Time("at"), Author: r.author(), Units: r.Number("stock"),
	}, true, r.Err
}

// IsSeeding tells the head of an addition or a withdrawal from the steps by which its shards were written.
func IsSeeding(id Identity) bool {
	seed, ok := strings.CutPrefix(id.SK, SeedHeads)
	return ok && !strings.Contains(seed, "#")
}
