package sale

import (
	"strings"
	"time"
)

const (
	// MaxSendingPayments is how many payments a Sending may name.
	MaxSendingPayments = 100
	// SendingsFor is how long a Sending may go on.
	SendingsFor = 40 * day
	// maxSendingCount keeps sums within 64 bits: as many refunds of MaxPrice.
	maxSendingCount = 9_000_000
	// maxAsOfAge is how old the list may be that an operator has looked at.
	maxAsOfAge = time.Hour
)

// Sending is an operator's press: what was due of its scope by an instant goes back to the buyers, at most so many
// refunds and so much of each currency. It ends when each was sent and is known to be accepted or refused, or is
// stopped.
type Sending struct {
	// ID is AsOf and the id of the press: see SendingID. In that order sendings sort.
	ID    string
	Scope SendingScope
	// AsOf is when the list was read that the operator has looked at.
	AsOf time.Time
	// Count and Sums, in minor units by currency, are the most that are sent.
	Count int64
	Sums  map[string]int64
	Author
	At time.Time // of the press

	SendingProgress
	StoppedAt time.Time
	StoppedBy string
	EndedAt   time.Time
}

// SendingScope has a sale, a group or payments; nothing is every sale, and the payments of unknown orders.
type SendingScope struct {
	SaleID   string        `json:"saleId,omitempty"`
	Group    string        `json:"group,omitempty"`
	Sales    []string      `json:"sales,omitempty"` // of the group, when it was pressed, in their order
	Payments []SalePayment `json:"payments,omitempty"`
}

// SalePayment is a refund's key: its sale, "" if its order is unknown, and its payment's id.
type SalePayment struct {
	SaleID  string `json:"saleId,omitempty"`
	Payment string `json:"payment"`
}

// SendingProgress is how far RefundFunction has come. The first round takes what is due; those after it come back to
// what was left. What is before the cursor was passed in this round.
type SendingProgress struct {
	Round int64 `json:"round,omitempty"`
	// SaleID and After are the cursor: the last payment that was passed, in the order of sales and payments.
	SaleID string `json:"saleId,omitempty"`
	After  string `json:"after,omitempty"`
	// Taken and Amounts, by currency, are what the first rounds have taken.
	Taken   int64            `json:"taken,omitempty"`
	Amounts map[string]int64 `json:"amounts,omitempty"`
	// Left counts those that this round has passed and that must be looked at again, from NextAt on.
	Left   int64     `json:"left,omitempty"`
	NextAt time.Time `json:"nextAt,omitzero"`
	// Halted has the providers to which nothing is sent any more, and why: or, after a change of the account, only not
	// what is unknown at the other one.
	Halted map[string]Halt `json:"halted,omitempty"`
}

// Halt is why nothing is sent to a provider until the next press.
type Halt struct {
	Code  string    `json:"code"`
	Words string    `json:"words,omitempty"`
	At    time.Time `json:"at"`
}

// IsOpen reports whether it goes on.
func (s *Sending) IsOpen() bool { return s.StoppedAt.IsZero() && s.EndedAt.IsZero() }

// Allows reports whether count and sums allow to take one more.
func (s *Sending) Allows(r *Refund) bool {
	return s.Taken < s.Count && r.Amount <= s.Sums[r.Currency]-s.Amounts[r.Currency]
}

// SendingID is the id of the press with that id, of a list that was read at asOf.
func SendingID(asOf time.Time, id string) string {
	return asOf.UTC().Format("2006-01-02T15:04:05.000Z") + "#" + id
}

// ValidSendingID reports whether text may be the id of a Sending.
func ValidSendingID(text string) bool {
	at, id, _ := strings.Cut(text, "#")
	asOf, err := time.Parse("2006-01-02T15:04:05.000Z", at)
	return err == nil && SendingID(asOf, id) == text && ValidID(id)
}

// Check validates a press at that instant.
func (s *Sending) Check(now time.Time) error {
	kinds := 0
	for _, is := range []bool{s.Scope.SaleID != "", s.Scope.Group != "", len(s.Scope.Payments) > 0} {
		if is {
			kinds++
		}
	}
	for _, p := range s.Scope.Payments {
		if p.SaleID != "" && !ValidID(p.SaleID) {
			return RefuseID("saleId")
		}
		provider, reference, _ := strings.Cut(p.Payment, "#")
		if err := (&Payment{Provider: provider, Reference: reference}).CheckID(); err != nil {
			return err
		}
	}
	switch {
	case kinds > 1:
		return Refuse(InvalidRequest, "the scope must be a sale, a group, payments, or nothing, which is all")
	case s.Scope.SaleID != "" && !ValidID(s.Scope.SaleID):
		return RefuseID("saleId")
	case s.Scope.Group != "" && !ValidID(s.Scope.Group):
		return RefuseID("group")
	case len(s.Scope.Payments) > MaxSendingPayments:
		return Refusef(InvalidRequest, "payments must be at most %d", MaxSendingPayments)
	case !ValidSendingID(s.ID):
		return RefuseID("id")
	case s.AsOf.After(now.Add(time.Minute)) || now.Sub(s.AsOf) > maxAsOfAge:
		return Refuse(InvalidRequest, "asOf must be the asOf of a list of refunds that was read within the last hour")
	case s.Count < 1 || s.Count > maxSendingCount || len(s.Sums) == 0:
		return Refuse(InvalidRequest, "count and sums must say how many refunds of how much were looked at")
	case s.Actor == "":
		return Refuse(Unauthorized, "the request names nobody who asks")
	}
	for code, sum := range s.Sums {
		if !validCurrency(code) || sum < 1 || sum > s.Count*MaxPrice {
			return Refuse(InvalidRequest, "sums must be whole numbers of minor units by currency")
		}
	}
	return s.Author.Check()
}
