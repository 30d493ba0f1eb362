package change

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"flashsale/shared/jsonread"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Request is what an operator or a schedule asks for. Fields are pointers to distinguish
// absent from 0: nothing is assumed that was not given.
type Request struct {
	Action          string  `json:"action"`
	SaleID          string  `json:"saleId"`
	Name            *string `json:"name"`
	OpensAt         string  `json:"opensAt"`
	ClosesAt        string  `json:"closesAt"`
	Stock           *int64  `json:"stock"`
	Shards          *int    `json:"shards"`
	OrdersPerSecond *int64  `json:"ordersPerSecond"`
	MaxStock        *int64  `json:"maxStock"`
	MaxPerOrder     *int    `json:"maxPerOrder"`
	PayWithin       int64   `json:"payWithin"`
	LateDays        int64   `json:"lateDays"`
	Price           *int64  `json:"price"`
	Currency        string  `json:"currency"`
	Extras          string  `json:"extras"`
	Labels          string  `json:"labels"`
	LimitGroup      *string `json:"limitGroup"`
	EnterFrom       *string `json:"enterFrom"`
	EnterUntil      *string `json:"enterUntil"`
	KeepHours       *int64  `json:"keepHours"`
	Until           *string `json:"until"`
	Image           *string `json:"image"`
	About           *string `json:"about"`
	Link            *string `json:"link"`
	SeedID          string  `json:"seedId"`
	OrderID         string  `json:"orderId"`
	Expected        string  `json:"expected"`
	Unit            string  `json:"unit"`
	At              *string `json:"at"`
	// ID names a change on the operators' API: an addition's or a withdrawal's seed id, or
	// any other's change id.
	ID       string `json:"id"`
	ChangeID string `json:"changeId"`
	Actor    string `json:"actor"`
	Note     string `json:"note"`
	// Version is that of the sale as the author had read it; nil if that does not matter.
	Version *string `json:"version"`
	// Verified: the actor is of a token that API Gateway verified. No request says that of
	// itself.
	Verified bool `json:"-"`
}

// Decode reads a seeding request strictly: a misspelt, duplicate, null or unknown field
// is an error, because a typo in a schedule must not seed something else.
func Decode(raw []byte) (Request, error) { return decode(raw, fields, "saleId") }

// DecodeOperated reads a request of the operators' API, as strictly. Its path names the sale,
// its token the actor.
func DecodeOperated(raw []byte, saleID string) (Request, error) {
	r, err := decode(raw, operated, "id", "note")
	if err != nil {
		return r, err
	}
	if !sale.ValidID(r.ID) {
		return r, sale.RefuseID("id")
	}
	if r.Version == nil && slices.Contains(operated[r.Action], "version") {
		return r, invalid("version is needed: give back the one that came with the sale, " +
			"so that nothing is undone that somebody else has changed since")
	}
	r.SaleID, r.ChangeID = saleID, r.ID
	if r.seeds() {
		r.SeedID = r.ID
	}
	return r, nil
}

// DecodeCreation reads an operator's request to create a sale, as strictly. Its token names the actor.
func DecodeCreation(raw []byte) (Request, error) {
	r, err := decode(raw, map[string][]string{"create": fields["create"]}, "saleId", "id", "note")
	if err == nil && !sale.ValidID(r.ID) {
		err = sale.RefuseID("id")
	}
	return r, err
}

// decode reads a request of one of these actions. common are the fields of every action
// besides action.
func decode(raw []byte, actions map[string][]string, common ...string) (Request, error) {
	var r Request
	names, err := jsonread.Flat(raw, &r)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field == "price" {
		return r, invalid("price must be a whole number of minor units: 89900 for 899.00")
	} else if ok && e.Type.Kind() != reflect.String {
		return r, invalid(e.Field + " must be a whole number without a decimal point")
	}
	if err != nil {
		return r, &sale.Error{
			Code: sale.InvalidRequest, Detail: "the request must be one JSON object of strings and numbers, each name once",
			Err: err,
		}
	}
	allowed, known := actions[r.Action]
	if !known {
		return r, invalid("action must be one of " + strings.Join(slices.Sorted(maps.Keys(actions)), ", "))
	}
	allowed = slices.Concat(common, allowed)
	for _, name := range names {
		if name != "action" && !slices.Contains(allowed, name) {
			return r, invalid("the action " + r.Action + " takes only " + strings.Join(allowed, ", "))
		}
	}
	return r, nil
}

// author is who asks for the change, and why.
func (r *Request) author() sale.Author {
	return sale.Author{Actor: r.Actor, Verified: r.Verified, Note: r.Note}
}

// seen reads the version.
func (r *Request) seen() (*sale.ReadVersion, error) {
	if r.Version == nil {
		return nil, nil
	}
	s, err := sale.ParseReadVersion(r.SaleID, *r.Version)
	return &s, err
}

// seeds reports whether the request is named by its seed id.
func (r *Request) seeds() bool { return r.Action == "add" || r.Action == "withdraw" }

func invalid(detail string) error { return sale.Refuse(sale.InvalidRequest, detail) }

// Creation is the checked creation that the request asks for.
func (r *Request) Creation() (sale.Creation, error) {
	c := sale.Creation{SaleID: r.SaleID, Name: given(r.Name), ChangeID: r.ID, Author: r.author()}
	c.Presentation = sale.Presentation{Image: given(r.Image), About: given(r.About), Link: given(r.Link)}
	var err error
	if c.OpensAt, c.ClosesAt, err = r.window(); err != nil {
		return c, err
	}
	if r.Stock == nil {
		return c, invalid("stock is needed")
	}
	c.Stock = *r.Stock
	if err := cmp.Or(
		optional(&c.Shards, r.Shards, "shards must be at least 1"),
		optional(&c.OrdersPerSecond, r.OrdersPerSecond, "ordersPerSecond must be at least 1"),
		optional(&c.MaxStock, r.MaxStock, "maxStock must be at least the stock"),
		optional(&c.MaxPerOrder, r.MaxPerOrder, "maxPerOrder must be at least 1"),
		optional(&c.LimitGroup, r.LimitGroup, "limitGroup must not be empty"),
		optional(&c.Price, r.Price, "price must be at least 1 minor unit"),
	); err != nil {
		return c, err
	}
	// Beyond the limit the product could overflow.
	if r.PayWithin < 0 || r.PayWithin > int64(sale.MaxPayWithin/time.Second) {
		r.PayWithin = -1
	}
	if r.LateDays < 0 || r.LateDays > int64(sale.MaxLateFor/day) {
		r.LateDays = -1
	}
	c.LateFor = time.Duration(r.LateDays) * day
	c.PayWithin, c.Currency = time.Duration(r.PayWithin)*time.Second, r.Currency
	if r.Extras != "" && r.Extras != "none" && r.Extras != sale.ExtrasAllowed {
		return c, invalid("extras must be none or allowed")
	}
	c.Extras, c.Labels = r.Extras == sale.ExtrasAllowed, sale.Labels(r.Labels)
	if c.DrawTerms, err = r.drawTerms(); err != nil {
		return c, err
	}
	return c, c.Check()
}

const day = 24 * time.Hour

// drawTerms are those of a creation; zero if none of them is given.
func (r *Request) drawTerms() (terms sale.DrawTerms, err error) {
	given := [...]bool{r.EnterFrom != nil, r.EnterUntil != nil, r.KeepHours != nil}
	switch given {
	case [...]bool{false, false, false}:
		return terms, nil
	case [...]bool{true, true, true}:
	default:
		return terms, invalid("give enterFrom, enterUntil and keepHours together, or none of them")
	}
	// Beyond the limit the product could overflow.
	if *r.KeepHours < 1 || *r.KeepHours > int64(sale.MaxKeepFor/time.Hour) {
		*r.KeepHours = -1
	}
	terms.KeepFor = time.Duration(*r.KeepHours) * time.Hour
	if terms.EnterFrom, err = instant("enterFrom", *r.EnterFrom); err == nil {
		terms.EnterUntil, err = instant("enterUntil", *r.EnterUntil)
	}
	return terms, err
}

// optional sets a field to a value that may be missing. It refuses zero, which the field has
// without one.
func optional[T comparable](field, value *T, refusal string) error {
	if value == nil {
		return nil
	}
	if *field = *value; *field == *new(T) {
		return invalid(refusal)
	}
	return nil
}

func given(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func (r *Request) Description() (sale.Description, error) {
	d := sale.Description{
		SaleID: r.SaleID, ChangeID: r.ChangeID, Author: r.author(),
		Name: r.Name, Image: r.Image, About: r.About, Link: r.Link,
	}
	var err error
	d.ReadVersion, err = r.seen()
	return d, cmp.Or(d.Check(), err)
}

// Addition is also used for withdrawals, whose fields and limits are the same.
func (r *Request) Addition() (sale.Addition, error) {
	if r.Stock == nil {
		return sale.Addition{}, invalid("stock is needed")
	}
	a := sale.Addition{SaleID: r.SaleID, SeedID: r.SeedID, Stock: *r.Stock, Author: r.author()}
	var err error
	a.ReadVersion, err = r.seen()
	return a, cmp.Or(a.Check(), err)
}

// Edit has the instant that the request gives. Without one it applies in any case.
func (r *Request) Edit(now time.Time) (sale.Edit, error) {
	e := sale.Edit{SaleID: r.SaleID, ChangeID: r.ChangeID, Author: r.author()}
	var err error
	if e.ReadVersion, err = r.seen(); err != nil {
		return e, err
	}
	if e.At, err = optionalInstant("at", r.At); err != nil {
		return e, err
	}
	switch r.Action {
	case "reschedule":
		if e.OpensAt, e.ClosesAt, err = r.window(); err != nil {
			return e, err
		}
		if e.Until, err = optionalInstant("until", r.Until); err != nil {
			return e, err
		}
	case "extend":
		if r.Until == nil {
			return e, invalid("until is needed")
		}
		if e.PayUntil, err = optionalInstant("until", r.Until); err != nil {
			return e, err
		}
	default:
		paused := r.Action == "pause"
		e.Paused = &paused
	}
	return e, e.Check(now)
}

func (r *Request) cancellation() (sale.Cancellation, error) {
	id, err := orderid.Parse(r.OrderID)
	if err != nil {
		return sale.Cancellation{}, invalid("orderId must be the number of an order, as text")
	}
	c := sale.Cancellation{
		SaleID: r.SaleID, OrderID: id, ChangeID: r.ChangeID, Author: r.author(), Expected: sale.ClaimState(r.Expected),
		Unit: sale.Unit(r.Unit),
	}
	return c, c.Check()
}

func (r *Request) window() (opensAt, closesAt time.Time, err error) {
	if opensAt, err = instant("opensAt", r.OpensAt); err == nil {
		closesAt, err = instant("closesAt", r.ClosesAt)
	}
	return opensAt, closesAt, err
}

// optionalInstant refuses the zero time, which an edit has without one.
func optionalInstant(name string, text *string) (time.Time, error) {
	if text == nil {
		return time.Time{}, nil
	}
	t, err := instant(name, *text)
	if err == nil && t.IsZero() {
		err = invalid(name + " is out of range")
	}
	return t, err
}

func instant(name, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, invalid(name + " must be an RFC 3339 time such as 2026-11-11T20:00:00Z")
	}
	return t, nil
}
