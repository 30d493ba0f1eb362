// Package wire is what the operators' API answers: OperateFunction writes it, and the command flashsale reads it.
// Instants are texts, as package httpapi writes them.
package wire

import (
	"encoding/json"
	"maps"
	"time"

	"flashsale/functions/operate/bulkrefund"
	"flashsale/shared/currency"
	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Sales are the sales, as far as each can be read.
type Sales struct {
	AsOf    string `json:"asOf"`
	Version string `json:"version"` // of the program
	Actor   string `json:"actor"`
	// Role is the first of the Roles.
	Role  string   `json:"role"`
	Roles []string `json:"roles"`
	Sales []Sale   `json:"sales"`
}

// Sale is how a sale stands. Of one that cannot be read only the id and the error are known.
type Sale struct {
	SaleID string    `json:"saleId"`
	Error  sale.Code `json:"error,omitempty"`
	*Terms
}

// Terms are what a sale sells, and when, and what was counted.
type Terms struct {
	Name       string `json:"name"`
	State      string `json:"state"`
	Paused     bool   `json:"paused"`
	OpensAt    string `json:"opensAt"`
	ClosesAt   string `json:"closesAt"`
	ChangedAt  string `json:"changedAt,omitempty"`
	RecalledAt string `json:"recalledAt,omitempty"`
	RecallNote string `json:"recallNote,omitempty"`
	LimitGroup string `json:"limitGroup,omitempty"`
	Drained    bool   `json:"drained"`
	Recalling  bool   `json:"recalling"`
	Edits      int64  `json:"edits"`
	// Version is what a change gives back, of one sale only.
	Version     string `json:"version,omitempty"`
	Seeded      int64  `json:"seeded"`
	Shards      int    `json:"shards"`
	MaxPerOrder int    `json:"maxPerOrder,omitempty"` // units; absent if it is one
	PayWithin   int64  `json:"payWithin,omitempty"`   // seconds
	LateDays    int64  `json:"lateDays,omitempty"`
	Price       int64  `json:"price,omitempty"`
	Currency    string `json:"currency,omitempty"`
	Extras      string `json:"extras,omitempty"`   // allowed
	PayUntil    string `json:"payUntil,omitempty"` // of all unpaid orders, if an operator has given more time
	Draw        *Draw  `json:"draw,omitempty"`
	Books       *Books `json:"books"` // null until the first pass
	// Offer is told of one sale only.
	Offer *Offer `json:"offer,omitempty"`
	// Remaining is counted for one sale only.
	Remaining *Remaining `json:"remaining,omitempty"`
}

// Offer is what a copy of the sale needs besides.
type Offer struct {
	Price    int64  `json:"price,omitempty"`
	Currency string `json:"currency,omitempty"`
	Image    string `json:"image,omitempty"`
	About    string `json:"about,omitempty"`
	Link     string `json:"link,omitempty"`
}

// Draw is how far the draw of a sale has come.
type Draw struct {
	EnterFrom  string `json:"enterFrom"`
	EnterUntil string `json:"enterUntil"`
	KeepHours  int64  `json:"keepHours"`
	// Call is the number of the newest call, 0 before the first, From and Until its window.
	// Open: it is for anybody.
	Call  int64  `json:"call"`
	From  string `json:"from,omitempty"`
	Until string `json:"until,omitempty"`
	Open  bool   `json:"open,omitempty"`
}

// Books are what the last complete pass of ReconcileFunction has found.
type Books struct {
	AsOf                 string   `json:"asOf"`
	Stock                int64    `json:"stock"`
	Seeded               int64    `json:"seeded"`
	Claims               int64    `json:"claims"`
	Units                int64    `json:"units,omitempty"`       // of the claims, if they may have several
	UnpaidUnits          int64    `json:"unpaidUnits,omitempty"` // of the unpaid ones
	Pending              int64    `json:"pending"`
	Confirmed            int64    `json:"confirmed"`
	Paid                 int64    `json:"paid"`
	Unpaid               int64    `json:"unpaid"`
	Released             int64    `json:"released"`
	RefundsDue           int64    `json:"refundsDue"`
	OldestPendingSeconds int64    `json:"oldestPendingSeconds"`
	Balanced             bool     `json:"balanced"`
	Findings             []string `json:"findings"`
	// Money has a currency each, Accepted is absent while there is nothing to count.
	Money    []Money `json:"money"`
	Accepted *Pace   `json:"accepted,omitempty"`
}

// Money is sums in minor units of a currency; Digits is absent if nobody knows it.
type Money struct {
	Currency    string `json:"currency"`
	Digits      *int   `json:"digits,omitempty"`
	Taken       int64  `json:"taken"`
	Outstanding int64  `json:"outstanding"`
	Due         int64  `json:"due"`
	Refunded    int64  `json:"refunded"`
}

// Pace counts the claims by when they were accepted, in steps from From on.
type Pace struct {
	From   string  `json:"from"`
	Every  int64   `json:"every"` // seconds
	Counts []int64 `json:"counts"`
}

// Remaining are the units that nobody holds.
type Remaining struct {
	Units int64  `json:"units"`
	AsOf  string `json:"asOf"`
}

// Trail is who changed a sale, the newest change first.
type Trail struct {
	SaleID  string           `json:"saleId"`
	Edits   int64            `json:"edits"`
	Changes []httpapi.Change `json:"changes"`
	More    bool             `json:"more"`
}

// Refunds are those of a sale, due and done, or of unknown orders.
type Refunds struct {
	SaleID     string   `json:"saleId"` // empty for payments of unknown orders
	AsOf       string   `json:"asOf"`
	Refunds    []Refund `json:"refunds"`
	Next       string   `json:"next,omitempty"`
	Unreadable int      `json:"unreadable"`
	// LinesPerFile is how many lines a file of a provider's bulk refund may have, by the provider.
	LinesPerFile map[string]int `json:"linesPerFile"`
}

// Refund is a payment that goes back, or went back.
type Refund struct {
	httpapi.Refund
	Digits     *int   `json:"digits,omitempty"` // of the currency's minor unit, if it is known
	SaleID     string `json:"saleId"`
	OrderID    string `json:"orderId,omitempty"`
	User       string `json:"user,omitempty"`
	At         string `json:"at"`
	RefundedBy string `json:"refundedBy,omitempty"`
	// UnmarkedBy has taken a mark back, and UnmarkNote says why.
	UnmarkedBy string `json:"unmarkedBy,omitempty"`
	UnmarkNote string `json:"unmarkNote,omitempty"`
	// Sent is what became of the request to its provider, nil if none was made.
	Sent *SentRefund `json:"sent,omitempty"`
	// BulkLine is its line in a file of the provider's bulk refund, or it is due and has none; see package bulkrefund.
	BulkLine string `json:"bulkLine,omitempty"`
	ByHand   bool   `json:"byHand,omitempty"`
}

// SentRefund is what is known of a refund that the stack has asked its provider for.
type SentRefund struct {
	State  sale.SentState `json:"state"`
	At     string         `json:"at,omitempty"` // when it was first sent; absent once it is refused
	Refund string         `json:"refund,omitempty"`
	Code   string         `json:"code,omitempty"`
	Words  string         `json:"words,omitempty"`
	By     string         `json:"by,omitempty"` // the sending
}

// RefundOf is a refund as it is shown.
func RefundOf(r sale.Refund) Refund {
	shown := Refund{
		Refund: httpapi.RefundsOf([]sale.Refund{r})[0], Digits: Digits(r.Currency), SaleID: r.SaleID, User: r.User,
		At: httpapi.Time(r.At), RefundedBy: r.RefundedBy, UnmarkedBy: r.UnmarkedBy, UnmarkNote: r.UnmarkNote,
	}
	shown.BulkLine, shown.ByHand = bulkrefund.Line(r)
	if r.OrderID != 0 {
		shown.OrderID = orderid.String(r.OrderID)
	}
	if t := r.Sent; t.State != "" && (t.State != sale.SentUnknown || r.RefundedAt.IsZero()) { // a report tells more
		shown.Sent = &SentRefund{
			State: t.State, At: timeOf(t.At), Refund: t.Refund, Code: t.Code, Words: t.Words, By: t.By,
		}
	}
	return shown
}

// timeOf is an instant, "" if there is none.
func timeOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return httpapi.Time(t)
}

// Digits are those of a currency's minor unit, nil if nobody knows it.
func Digits(code string) *int {
	if n, known := currency.Digits(code); known {
		return &n
	}
	return nil
}

// Mark asks that payments are marked as refunded or, with the action Unmark and a note, that their marks are taken
// back.
type Mark struct {
	SaleID   string   `json:"saleId,omitempty"`
	Payments []string `json:"payments"`
	Action   string   `json:"action,omitempty"`
	Note     string   `json:"note,omitempty"`
}

// Unmark is the action that takes marks back.
const Unmark = "unmark"

// MostMarks is how many payments one Mark may have.
const MostMarks = 100

// Marks are what became of the payments of a Mark, in its order.
type Marks struct {
	Refunds []Marked `json:"refunds"`
}

// Outcomes of marking a payment. Already: marked before, do not pay it back again. Doubled: named before in the
// request. Busy: ask again. Failed: the log says why. Sent: its provider was asked for it and tells what becomes of
// it; do not pay it back. Unmarked: the mark was taken back. Unchanged: there is no mark to take back, or the provider
// has made it.
const (
	Done, Already, Doubled, Unknown, Busy, Failed = "marked", "already", "doubled", "unknown", "busy", "failed"
	Sent, Unmarked, Unchanged                     = "sent", "unmarked", "unchanged"
)

// Marked is what became of a payment.
type Marked struct {
	Payment string  `json:"payment"`
	Outcome string  `json:"outcome"`
	Refund  *Refund `json:"refund,omitempty"`
}

// Send is an operator's press: what was due of a sale, a group, payments or all when the list was read goes back.
type Send struct {
	ID   string `json:"id"`   // of the press: a repeat begins nothing more
	AsOf string `json:"asOf"` // the oldest of the list's answers
	// Count and Sums, in minor units by currency, are what the list has shown as due, and the most that is sent.
	Count    int64              `json:"count"`
	Sums     map[string]int64   `json:"sums"`
	Note     string             `json:"note,omitempty"`
	SaleID   string             `json:"saleId,omitempty"`
	Group    string             `json:"group,omitempty"`
	Payments []sale.SalePayment `json:"payments,omitempty"`
}

// StopSending asks that nothing more of a sending is sent.
type StopSending struct {
	ID string `json:"id"`
}

// Begun has a sending as it is after it was begun or stopped.
type Begun struct {
	Sending Sending `json:"sending"`
}

// Sendings are those of the last weeks, the newest first.
type Sendings struct {
	AsOf     string    `json:"asOf"`
	Sends    bool      `json:"sends"` // the stack sends refunds
	Sendings []Sending `json:"sendings"`
	// Unreadable: this version cannot read some.
	Unreadable bool `json:"unreadable,omitempty"`
}

// Sending is a press and how far it has come. It goes on unless it was stopped or has ended.
type Sending struct {
	Send            // ID is the sending's
	Actor    string `json:"actor"`
	Verified bool   `json:"verified"`
	At       string `json:"at"`
	// Digits are those of the currencies, as far as they are known.
	Digits map[string]int `json:"digits"`
	// Taken and Amounts are what was taken to be sent. Left of them are to be looked at again, from NextAt on.
	Taken     int64            `json:"taken"`
	Amounts   map[string]int64 `json:"amounts"`
	Left      int64            `json:"left"`
	NextAt    string           `json:"nextAt,omitempty"`
	Halted    map[string]Halt  `json:"halted"` // the providers to which it sends nothing any more
	StoppedAt string           `json:"stoppedAt,omitempty"`
	StoppedBy string           `json:"stoppedBy,omitempty"`
	EndedAt   string           `json:"endedAt,omitempty"`
}

// Halt is why nothing is sent to a provider until the next press.
type Halt struct {
	Code  string `json:"code"`
	Words string `json:"words,omitempty"`
	At    string `json:"at"`
}

// SendingOf is a sending as it is shown.
func SendingOf(s sale.Sending) Sending {
	of := s.Scope
	shown := Sending{
		Send: Send{
			ID: s.ID, AsOf: httpapi.Time(s.AsOf), Count: s.Count, Sums: s.Sums, Note: s.Note,
			SaleID: of.SaleID, Group: of.Group, Payments: of.Payments,
		},
		Actor: s.Actor, Verified: s.Verified, At: httpapi.Time(s.At), Digits: map[string]int{},
		Taken: s.Taken, Amounts: map[string]int64{}, Left: s.Left, NextAt: timeOf(s.NextAt), Halted: map[string]Halt{},
		StoppedAt: timeOf(s.StoppedAt), StoppedBy: s.StoppedBy, EndedAt: timeOf(s.EndedAt),
	}
	maps.Copy(shown.Amounts, s.Amounts)
	for code := range s.Sums {
		if n, known := currency.Digits(code); known {
			shown.Digits[code] = n
		}
	}
	for provider, h := range s.Halted {
		shown.Halted[provider] = Halt{h.Code, h.Words, httpapi.Time(h.At)}
	}
	return shown
}

// ReadList asks what a list of payments that went back means for the refunds.
type ReadList struct {
	List   string `json:"list"` // the file in base64, as it is or packed by gzip
	SaleID string `json:"saleId,omitempty"`
	Group  string `json:"group,omitempty"`
	After  int    `json:"after,omitempty"` // the line after which the answer begins
}

// MaxList is the longest body with a list, in bytes: Lambda takes 6 MiB with all else of the event.
const MaxList = 5 << 20

// List says what a list means for the refunds, from behind the line that was asked for.
type List struct {
	AsOf       string            `json:"asOf"`
	Rows       []json.RawMessage `json:"rows"` // Row
	Others     int               `json:"others"`
	Unreadable int               `json:"unreadable"` // refunds that this version cannot read
	Problem    string            `json:"problem,omitempty"`
	Missing    []string          `json:"missing,omitempty"`
	Next       int               `json:"next,omitempty"` // the line after which the next answer goes on
}

// Row is a payment of a list. Its outcome is one of package refundlist's.
type Row struct {
	Line    int     `json:"line"`
	Payment string  `json:"payment"`
	Outcome string  `json:"outcome"`
	First   int     `json:"first,omitempty"`
	Back    string  `json:"back,omitempty"`
	Refund  *Refund `json:"refund,omitempty"`
}

// The signs of health, in the order in which they are shown.
const (
	SignPending     = "pending"
	SignWaiting     = "waiting"
	SignDeadLetters = "deadLetters"
	SignFunctions   = "functions"
	SignEvents      = "events"
	SignBooks       = "books"
	SignOthers      = "others"
)

// Health is what is wrong with the stack.
type Health struct {
	AsOf  string  `json:"asOf"`
	Signs []*Sign `json:"signs"`
}

// Sign is one of them. Its level is that of the worst of its troubles: red if an alarm of them
// wakes somebody, amber if it opens a ticket.
type Sign struct {
	Sign  string `json:"sign"`
	Level string `json:"level"` // green, amber, red, unknown
	// Count is of messages, of troubles, or of orders that are pending; null if nobody knows.
	Count *int64 `json:"count"`
	// Since is when the oldest pending order was accepted.
	Since    string    `json:"since,omitempty"`
	Troubles []Trouble `json:"troubles"`
}

// Trouble is an alarm that rings, or whose bound the function has seen reached.
type Trouble struct {
	Alarm   string `json:"alarm"`
	Page    bool   `json:"page"`
	Runbook string `json:"runbook"` // the fragment of its entry
	Says    string `json:"says,omitempty"`
	Since   string `json:"since,omitempty"`
	SaleID  string `json:"saleId,omitempty"`
}

// The repairs. None of them changes a sale or sells a unit, and the second time one does nothing
// that the first has done: so they have no id and are not in a trail, but in the log with who asked.
const (
	Resend  = "resend"  // lost order messages of a sale, at once
	Count   = "count"   // a sale again
	Redrive = "redrive" // dead letters of orders that are pending
)

// Repair asks for a repair.
type Repair struct {
	Action string `json:"action"`
	SaleID string `json:"saleId,omitempty"` // not of a redrive
}

// Repaired is what a repair has done.
type Repaired struct {
	Action string `json:"action"`
	SaleID string `json:"saleId,omitempty"`
	// Done is false if the repair takes longer: a pass of ReconcileFunction goes on, and of a
	// redrive another request moves what is left.
	Done bool `json:"done"`
	*Reconciled
	*Redriven
}

// Reconciled is what a pass of ReconcileFunction has found.
type Reconciled struct {
	Resent   int64 `json:"resent"`
	Pending  int64 `json:"pending"`
	Balanced bool  `json:"balanced"`
}

// Redriven counts dead letters by what became of them.
type Redriven struct {
	Moved   int64 `json:"moved"`   // back to the order queue
	Deleted int64 `json:"deleted"` // because their orders have an id
	Poison  int64 `json:"poison"`  // stay: they belong to no order
	Unknown int64 `json:"unknown"` // stay: the table does not answer, or a newer version wrote them
}
