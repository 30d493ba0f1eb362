// Package restore reads what a restored table has lost from where it is still written down: the
// functions' log lines and the published order events.
package restore

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Source collects facts. It holds each claim in memory, about half a kilobyte.
type Source struct {
	claims    map[string]*sale.Claim // by sale and claim id
	refunds   map[string]sale.Refund
	additions map[string]maintenance.LostAddition
	payUntil  map[string]time.Time // by sale
	edits     map[string]edit
}

// NewSource returns a Source without facts.
func NewSource() *Source {
	return &Source{map[string]*sale.Claim{}, map[string]sale.Refund{}, map[string]maintenance.LostAddition{}, map[string]time.Time{}, map[string]edit{}}
}

type edit struct {
	saleID, action, id string
	at                 time.Time
}

// maxLine is the longest line that is read: a batch of finalize has up to 100 orders.
const maxLine = 1 << 20

// read passes the JSON object of each line to take, whatever stands before it.
func read(r io.Reader, take func(text []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		start := bytes.IndexByte(lines.Bytes(), '{')
		if start < 0 {
			continue // Lambda's own lines
		}
		if err := take(lines.Bytes()[start:]); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

// order is a claim as a line of a log has it.
type order struct {
	SaleID, User, ClaimID, OrderID, RequestKey string
	Shard                                      *int
	Units                                      int64 // 0 is one
	AcceptedAt                                 int64
}

// Log reads log lines of PurchaseFunction and FinalizeFunction, one JSON object a line. Other
// lines are no harm. It fails if a line is cut off or contradicts another one.
func (s *Source) Log(r io.Reader) error {
	return read(r, func(text []byte) error {
		var line struct {
			Service string
			order
			Orders []order
		}
		if err := json.Unmarshal(text, &line); err != nil {
			return err
		}
		switch line.Service {
		case "purchase":
			if line.ClaimID != "" {
				return s.order(line.order)
			}
		case "finalize":
			for _, o := range line.Orders {
				if err := s.order(o); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (s *Source) order(o order) error {
	if !sale.ValidID(o.SaleID) || !sale.ValidUser(o.User) || !sale.ValidID(o.ClaimID) || o.Shard == nil || o.AcceptedAt <= 0 || o.Units < 0 || o.Units > sale.MaxPerOrder {
		return fmt.Errorf("claim %q of sale %q: a member is missing or malformed", o.ClaimID, o.SaleID)
	}
	c, err := s.claim(o.SaleID, o.User, o.ClaimID, o.OrderID)
	if err == nil {
		c.Shard, c.Units, c.AcceptedAt, c.RequestKey = *o.Shard, o.Units, time.UnixMilli(o.AcceptedAt).UTC(), o.RequestKey
	}
	return err
}

// claim returns what is known of a claim, after comparing.
func (s *Source) claim(saleID, user, id, orderID string) (*sale.Claim, error) {
	c := s.claims[saleID+"/"+id]
	if c == nil {
		c = &sale.Claim{SaleID: saleID, User: user, ID: id}
		s.claims[saleID+"/"+id] = c
	}
	switch {
	case c.User == user || sale.IsErased(user): // it was published again after the user was erased, which the table has lost
	case sale.IsErased(c.User):
		c.User = user
	default:
		return nil, fmt.Errorf("claim %s of sale %s is said to be of two users", id, saleID)
	}
	if orderID == "" {
		return c, nil
	}
	n, err := orderid.Parse(orderID)
	if err == nil && c.OrderID != 0 && c.OrderID != n {
		err = fmt.Errorf("claim %s of sale %s is said to have the order ids %s and %s", id, saleID, orderid.String(c.OrderID), orderID)
	}
	c.OrderID = n
	return c, err
}

// Events reads published events, one envelope a line as EventBridge delivers it.
func (s *Source) Events(r io.Reader) error {
	return read(r, func(text []byte) error {
		var e struct {
			Type   string `json:"detail-type"`
			Detail struct {
				OccurredAt, PayUntil                                                                                       time.Time
				SaleID, OrderID, ClaimID, User, Payment, ReleasedBy, Unit, Reason, Currency, ChangeID, Action, Actor, Note string
				Amount, Units                                                                                              int64
				Verified                                                                                                   bool
				Labels                                                                                                     []string
			}
		}
		if err := json.Unmarshal(text, &e); err != nil {
			return err
		}
		d := &e.Detail
		switch sale.EventType(e.Type) {
		case sale.EventConfirmed, sale.EventPaid, sale.EventReleased, sale.EventCancelled:
			c, err := s.claim(d.SaleID, d.User, d.ClaimID, d.OrderID)
			switch {
			case err != nil:
				return err
			case e.Type == string(sale.EventReleased):
				c.ReleasedAt, c.ReleasedBy, c.Unit = d.OccurredAt, sale.ReleasedBy(d.ReleasedBy), sale.Unit(d.Unit)
			case e.Type == string(sale.EventCancelled):
				c.CancelledAt, c.Unit = d.OccurredAt, sale.Unit(d.Unit)
			case e.Type == string(sale.EventPaid):
				c.PaidAt, c.Payment, c.Amount, c.Currency = d.OccurredAt, d.Payment, d.Amount, d.Currency
			}
		case sale.EventRefundDue:
			refund := sale.Refund{
				SaleID: d.SaleID, Payment: d.Payment, User: d.User, Reason: sale.RefundReason(d.Reason), Amount: d.Amount, Currency: d.Currency,
				Labels: sale.Labels(strings.Join(d.Labels, ",")), At: d.OccurredAt,
			}
			if d.OrderID != "" {
				var err error
				if refund.OrderID, err = orderid.Parse(d.OrderID); err != nil {
					return err
				}
			}
			if known := s.refunds[d.SaleID+"/"+d.Payment].User; known != "" && sale.IsErased(refund.User) {
				refund.User = known
			}
			s.refunds[d.SaleID+"/"+d.Payment] = refund
		case sale.EventChanged:
			switch sale.Action(d.Action) {
			case sale.ActionExtend:
				if d.PayUntil.After(s.payUntil[d.SaleID]) {
					s.payUntil[d.SaleID] = d.PayUntil
				}
				return nil
			case sale.ActionAdd:
			default:
				s.edits[d.SaleID+"/"+d.ChangeID] = edit{d.SaleID, d.Action, d.ChangeID, d.OccurredAt}
				return nil
			}
			s.additions[d.SaleID+"/"+d.ChangeID] = maintenance.LostAddition{SaleID: d.SaleID, Change: sale.Change{
				ID: d.ChangeID, Action: sale.ActionAdd, At: d.OccurredAt, Units: d.Units,
				Author: sale.Author{Actor: d.Actor, Verified: d.Verified, Note: d.Note},
			}}
		}
		return nil
	})
}

// Lost returns the facts, for the replay into a table that was restored to that instant.
func (s *Source) Lost(restoredTo time.Time) maintenance.Lost {
	lost := maintenance.Lost{RestoredTo: restoredTo, PayUntil: maps.Clone(s.payUntil)}
	users := map[uint64]string{}
	for _, c := range s.claims {
		users[c.OrderID] = c.User
		lost.Claims = append(lost.Claims, *c)
	}
	slices.SortFunc(lost.Claims, func(a, b sale.Claim) int {
		return cmp.Or(strings.Compare(a.SaleID, b.SaleID), strings.Compare(a.ID, b.ID))
	})
	lost.Refunds = sorted(s.refunds, func(r sale.Refund) (time.Time, string) { return r.At, r.Payment })
	for i, r := range lost.Refunds {
		if sale.IsErased(r.User) {
			lost.Refunds[i].User = cmp.Or(users[r.OrderID], r.User)
		}
	}
	lost.Additions = sorted(s.additions, func(a maintenance.LostAddition) (time.Time, string) { return a.At, a.ID })
	return lost
}

// Repeat lists what was changed since and is not replayed: edits and withdrawals, which an
// operator makes again.
func (s *Source) Repeat(restoredTo time.Time) (changes []string) {
	for _, e := range sorted(s.edits, func(e edit) (time.Time, string) { return e.at, e.id }) {
		if e.action != string(sale.ActionCall) && e.at.After(restoredTo) {
			changes = append(changes, fmt.Sprintf("%s  %s of %s (%s)", e.at.UTC().Format(time.RFC3339), e.action, e.saleID, e.id))
		}
	}
	return changes
}

// sorted returns the values by their instants, and those of the same instant by their ids.
func sorted[T any](all map[string]T, key func(T) (at time.Time, id string)) []T {
	return slices.SortedFunc(maps.Values(all), func(a, b T) int {
		atA, idA := key(a)
		atB, idB := key(b)
		return cmp.Or(atA.Compare(atB), strings.Compare(idA, idB))
	})
}
