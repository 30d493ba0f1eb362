package table

import (
	"strconv"
	"strings"
	"time"

	"flashsale/shared/draw"
	"flashsale/shared/sale"
)

func (r *Reader) DrawTerms() (t sale.DrawTerms) {
	if Has(r.Item, "enterFrom") {
		t.EnterFrom, t.EnterUntil = r.Time("enterFrom"), r.Time("enterUntil")
		t.KeepFor = time.Duration(r.Number("keepHours")) * time.Hour
	}
	return t
}

// draw reads the draw of a sale that has one.
func (r *Reader) draw() sale.Draw {
	d := sale.Draw{
		DrawTerms: r.DrawTerms(), BeginsAt: r.Time("beginsAt"), EndsAt: r.Time("endsAt"), Call: r.OptionalNumber("call"),
	}
	d.OperatedAt, d.OpenCall = r.OptionalTime("operatedAt"), r.OptionalFlag("openCall")
	if !d.HasDraw() {
		r.Fail("keepHours", "a number of hours")
	}
	return d
}

// ReadDrawHead reads the head of a draw.
func ReadDrawHead(it Item) (draw.Head, error) {
	r := Read(it)
	h := draw.Head{
		Roll: r.digest("roll"), Entrants: r.Number("entrants"), Round: uint64(r.Number("round")),
		ClosedAt: r.Time("closedAt"),
	}
	if Has(it, "seed") {
		h.Seed, h.Signature = r.digest("seed"), r.hex("signature")
	}
	if h.Round == 0 {
		r.Fail("round", "a round")
	}
	return h, r.Err
}

func ReadCall(it Item) (draw.Call, error) {
	r := Read(it)
	number, err := strconv.ParseInt(strings.TrimPrefix(r.Text(SK), CallHead), 10, 64)
	if err != nil {
		r.Fail(SK, "a call")
	}
	c := draw.Call{
		Number: number, From: r.Time("from"), Until: r.Time("until"), At: r.Time("at"), Lo: r.rank("lo"),
		Open: r.OptionalFlag("open"), Stock: r.OptionalNumber("stock"),
	}
	if Has(it, "hi") {
		c.Complete, c.Hi = true, r.rank("hi")
	}
	return c, r.Err
}
