package change

import (
	"context"
	"strings"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// stored is a ledger that may have a sale already, and keeps what it was last asked for.
type stored struct {
	is    bool
	fault error // of looking whether it has
	asked any
}

func (s *stored) Created(context.Context, string) (bool, error) { return s.is, s.fault }

func (s *stored) Create(_ context.Context, c sale.Creation) (ledger.Seeding, error) {
	return ledger.Seeding{SaleID: c.SaleID, Applied: !s.is}, nil
}

func (s *stored) Add(_ context.Context, a sale.Addition) (ledger.Seeding, error) {
	s.asked = a
	return ledger.Seeding{}, nil
}

func (s *stored) Withdraw(_ context.Context, w sale.Withdrawal) (ledger.Withdrawn, error) {
	s.asked = w
	return ledger.Withdrawn{}, nil
}

func (s *stored) Describe(_ context.Context, d sale.Description) (ledger.Edited, error) {
	s.asked = d
	return ledger.Edited{}, nil
}

func (s *stored) Recall(_ context.Context, r sale.Recall) (ledger.Edited, error) {
	s.asked = r
	return ledger.Edited{}, nil
}

func (s *stored) CancelOrder(_ context.Context, c sale.Cancellation) (ledger.OrderCancelled, error) {
	s.asked = c
	return ledger.OrderCancelled{}, nil
}

func (s *stored) Edit(_ context.Context, e sale.Edit) (ledger.Edited, error) {
	s.asked = e
	if !e.Reschedules() {
		return ledger.Edited{}, nil
	}
	after := sale.Sale{ID: e.SaleID, OpensAt: e.OpensAt.Add(time.Hour), ClosesAt: e.Until}
	after.Draw = sale.Draw{DrawTerms: sale.DrawTerms{KeepFor: time.Hour}, BeginsAt: e.OpensAt, EndsAt: e.ClosesAt, Call: 1}
	return ledger.Edited{Sale: after, Applied: true}, nil
}

// The request for a stored sale may be repeated although the stack's settings or the list of currencies have changed.
// 89,901 baisa are 89.901 rials: Stripe charges 89.900 or 89.910.
func TestWhatOnlyANewSaleMustHaveIsNotAskedOfAStoredOne(t *testing.T) {
	const draw = `"enterFrom":"2026-11-08T20:00:00Z","enterUntil":"2026-11-10T20:00:00Z","keepHours":4,`
	const early, together = "at least 7200 seconds after enterUntil", "give payWithin, price and currency together"
	for _, tt := range []struct {
		opensAt, asks string
		stripe        bool
		want          string // the refusal of a new sale; "" for none
	}{
		{"2026-11-10T22:00:00Z", draw, false, ""}, {"2026-11-10T21:59:59Z", draw, false, early},
		{"2026-11-10T22:00:00Z", ``, false, ""}, {"2026-11-10T22:00:00Z", `"payWithin":60,"price":199900,"currency":"CNY",`, false, ""},
		{"2026-11-10T22:00:00Z", `"payWithin":60,`, false, together}, {"2026-11-10T22:00:00Z", `"price":1,"currency":"CNY",`, false, together},
		{"2026-11-10T22:00:00Z", `"payWithin":60,"price":1,"currency":"BGN",`, false, "currency must be one that ISO 4217 lists"},
		{"2026-11-10T22:00:00Z", `"image":"https://other.example/a.jpg",`, false, "image must be of https://images.example"},
		{"2026-11-10T22:00:00Z", `"payWithin":60,"price":89901,"currency":"OMR",`, true, "Stripe charges no smaller part of OMR"},
		{"2026-11-10T22:00:00Z", `"payWithin":60,"price":89901,"currency":"OMR",`, false, ""},
		{"2026-11-10T22:00:00Z", `"payWithin":60,"price":89900,"currency":"OMR",`, true, ""},
		{"2026-11-10T22:00:00Z", `"payWithin":60,"price":150,"currency":"MGA",`, true, "Stripe charges no smaller part of MGA"},
	} {
		for _, ledger := range []*stored{{}, {is: true}, {fault: sale.Fail(sale.Busy, nil)}} {
			d := Desk{Ledger: ledger, Now: time.Now, DrawLead: 2 * time.Hour, ImageOrigin: "https://images.example", Stripe: tt.stripe}
			r, err := Decode([]byte(`{"action":"create","saleId":"moutai","closesAt":"2026-11-14T20:00:00Z","stock":100,` + tt.asks + `"opensAt":"` + tt.opensAt + `"}`))
			if err != nil {
				t.Fatal(err)
			}
			want := sale.Code("")
			switch {
			case tt.want != "" && ledger.fault != nil:
				want = sale.Busy
			case tt.want != "" && !ledger.is:
				want = sale.InvalidRequest
			}
			answer, err := d.Apply(t.Context(), r)
			if sale.CodeOf(err) != want || err == nil && answer.Applied == ledger.is {
				t.Errorf("%s%s, stored %t: got %+v (%v), want %q", tt.asks, tt.opensAt, ledger.is, answer, err, want)
			}
			if want == sale.InvalidRequest && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s%s: the operator is told %v, want %s", tt.asks, tt.opensAt, err, tt.want)
			}
		}
	}
}

func TestAReschedulingOfADrawTellsTheWholeSaleAndTheCall(t *testing.T) {
	r, err := Decode([]byte(`{"action":"reschedule","saleId":"moutai","opensAt":"2026-11-10T22:00:00Z","closesAt":"2026-11-14T20:00:00Z","until":"2026-11-11T04:00:00Z"}`))
	if err != nil {
		t.Fatal(err)
	}
	ledger := &stored{}
	d := Desk{Ledger: ledger, Now: time.Now, DrawLead: 2 * time.Hour}
	answer, err := d.Apply(t.Context(), r)
	if err != nil || answer.OpensAt != "2026-11-10T22:00:00.000Z" || answer.ClosesAt != "2026-11-14T20:00:00.000Z" || answer.Until != "2026-11-11T04:00:00.000Z" {
		t.Errorf("got %+v (%v)", answer.Edited, err)
	}
	if e := ledger.asked.(sale.Edit); e.DrawLead != 2*time.Hour {
		t.Errorf("the ledger is asked for %+v", e)
	}
}
