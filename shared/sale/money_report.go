package sale

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// MoneyReport is what a payment provider says, by a valid signature, of money of one payment that went back, did not,
// or is disputed. It has exactly one of Refund, Total and Dispute.
type MoneyReport struct {
	// Provider and Reference are the payment's, as in Payment.
	Provider, Reference string
	// At is the provider's instant, in its own grain; zero if it signs none.
	At time.Time
	// Currency is of the amounts; "" if there is none: of a whole refund without an amount, or of a dispute.
	Currency string
	Refund   *RefundReport
	Total    *TotalReport
	Dispute  *DisputeReport
	// MayBeOurs: neither the report nor its payment's text says that it is something else. Such a report is kept for
	// ForeignFor while no payment is known.
	MayBeOurs bool
}

// RefundReport is of one refund, in minor units. Whole: of whatever was paid, and Amount is 0.
type RefundReport struct {
	ID     string // the provider's, the same in every report of the refund
	State  RefundState
	Amount int64
	Whole  bool
}

// RefundState is what became of a refund. Of two reports the higher state counts: stuck, done, failed. A refund
// that is done may still come back, and then has failed for good.
type RefundState string

const (
	// RefundStuck: the provider could not send the money and waits for the merchant; the same refund may still succeed.
	RefundStuck  RefundState = "stuck"
	RefundDone   RefundState = "done"
	RefundFailed RefundState = "failed"
)

// TotalReport is all that went back of the payment so far, in minor units. Grows: the largest report counts, because
// the provider tells of no failure (Alipay); or else the newest by At (Stripe).
type TotalReport struct {
	Amount int64
	Grows  bool
}

// DisputeReport is of one dispute. Its newest report by Rank counts, of one rank the worse.
type DisputeReport struct {
	ID    string
	State DisputeState
	// Rank orders the reports of one dispute: with Stripe created, in seconds; with Adyen the stage, because its
	// eventDate is not signed.
	Rank int64
}

// DisputeState is how a dispute stands.
type DisputeState string

const (
	// DisputeAsked: an inquiry or a fraud notice, which takes no money yet.
	DisputeAsked DisputeState = "asked"
	// DisputeOpen: the money is held until the dispute is decided.
	DisputeOpen DisputeState = "open"
	DisputeWon  DisputeState = "won"
	// DisputeLost: the buyer has the money back from the provider.
	DisputeLost DisputeState = "lost"
)

// HoldsBack reports whether a refund that is due must not be sent: the provider may give the money back itself, or has.
func (s DisputeState) HoldsBack() bool { return s == DisputeOpen || s == DisputeLost }

// The states from the lowest to the highest, as two reports of one thing are compared.
var (
	refundStates  = []RefundState{RefundStuck, RefundDone, RefundFailed}
	disputeStates = []DisputeState{DisputeAsked, DisputeWon, DisputeOpen, DisputeLost}
)

// compare orders states from the best to the worst, "" first.
func (s DisputeState) compare(t DisputeState) int {
	return cmp.Compare(slices.Index(disputeStates, s), slices.Index(disputeStates, t))
}

// ForeignFor is how long a report is kept while no payment is known that it could be of: providers report
// the refunds of all payments of an account, and a payment's own report comes within 30 days (Adyen's retries).
const ForeignFor = 35 * day

// maxAhead is how far a provider's clock may be ahead.
const maxAhead = day

// PaymentID is the payment's id, as Payment.ID.
func (r *MoneyReport) PaymentID() string {
	p := Payment{Provider: r.Provider, Reference: r.Reference}
	return p.ID()
}

// Check validates the report, which was heard at that instant.
func (r *MoneyReport) Check(heard time.Time) error {
	p := Payment{Provider: r.Provider, Reference: r.Reference}
	if err := p.CheckID(); err != nil {
		return err
	}
	kinds := 0
	var amount int64
	needsCurrency := false
	if f := r.Refund; f != nil {
		kinds, amount, needsCurrency = kinds+1, f.Amount, !f.Whole
		switch {
		case !validReportID(f.ID):
			return Refuse(InvalidRequest, "the report has no valid refund id")
		case !slices.Contains(refundStates, f.State):
			return Refuse(InvalidRequest, "the report has no valid state of a refund")
		case f.Whole && f.Amount != 0:
			return Refuse(InvalidRequest, "the report is of the whole and of an amount")
		}
	}
	if r.Total != nil {
		kinds, amount, needsCurrency = kinds+1, r.Total.Amount, true
	}
	if d := r.Dispute; d != nil {
		kinds++
		switch {
		case !validReportID(d.ID):
			return Refuse(InvalidRequest, "the report has no valid dispute id")
		case !slices.Contains(disputeStates, d.State):
			return Refuse(InvalidRequest, "the report has no valid state of a dispute")
		}
	}
	switch {
	case kinds != 1:
		return Refuse(InvalidRequest, "the report is not of one refund, one total or one dispute")
	case amount < 0 || amount > MaxPrice:
		return Refuse(InvalidRequest, "the report has no valid amount")
	case needsCurrency && !validCurrency(r.Currency), r.Currency != "" && !validCurrency(r.Currency):
		return Refuse(InvalidRequest, "the report has no valid currency")
	case r.At.After(heard.Add(maxAhead)), !r.At.IsZero() && r.At.Year() < 2000: // the newest for ever, or never
		return Refuse(InvalidRequest, "the report is not of this time")
	}
	return nil
}

// validReportID reports whether s may be a provider's id of a refund or a dispute.
func validReportID(s string) bool {
	return s != "" && validText(s, MaxReference) && s == strings.TrimSpace(s)
}
