package change

import (
	"context"
	"strings"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// stored is a book that may have a sale already, and keeps what it was last asked for.
type stored struct {
	is    bool
	asked any
}

func (s *stored) Created(context.Context, string) (bool, error) { return s.is, nil }

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

func (s *stored) Edit(_ context.Context, e sale.Edit) (ledger.Edited, error) {
	s.asked = e
	if !e.Reschedules() {
		return ledger.Edited{}, nil
	}
	after := sale.Sale{ID: e.SaleID, OpensAt: e.OpensAt.Add(time.Hour), ClosesAt: e.Until}
	after.Draw = sale.Draw{DrawTerms: sale.DrawTerms{KeepFor: time.Hour}, BeginsAt: e.OpensAt, EndsAt: e.ClosesAt, Call: 1}
	return ledger.Edited{Sale: after, Applied: true}, nil
}

func TestASaleMustNotOpenBeforeItsDice(t *testing.T) {
	const terms = `,"enterFrom":"2026-11-08T20:00:00Z","enterUntil":"2026-11-10T20:00:00Z","keepHours":4}`
	for _, tt := range []struct {
		stored  bool
		opensAt string
		want    sale.Code
	}{
		{false, "2026-11-10T22:00:00Z", ""}, {false, "2026-11-10T21:59:59Z", sale.InvalidRequest},
		{true, "2026-11-10T21:59:59Z", ""}, // a stack with shorter times has stored it
	} {
		r, err := Decode([]byte(`{"action":"create","saleId":"moutai","closesAt":"2026-11-14T20:00:00Z","stock":100,"opensAt":"` + tt.opensAt + `"` + terms))
		if err != nil {
			t.Fatal(err)
		}
		d := Desk{Book: &stored{is: tt.stored}, Now: time.Now, DrawLead: 2 * time.Hour}
		answer, err := d.Apply(t.Context(), r)
		if sale.CodeOf(err) != tt.want || err == nil && answer.Applied == tt.stored {
			t.Errorf("%+v: got %+v (%v)", tt, answer, err)
		}
		if err != nil && !strings.Contains(err.Error(), "at least 7200 seconds after enterUntil") {
			t.Errorf("%+v: the operator is told %v", tt, err)
		}
	}
}

func TestAReschedulingOfADrawTellsTheWholeSaleAndTheCall(t *testing.T) {
	r, err := Decode([]byte(`{"action":"reschedule","saleId":"moutai","opensAt":"2026-11-10T22:00:00Z","closesAt":"2026-11-14T20:00:00Z","until":"2026-11-11T04:00:00Z"}`))
	if err != nil {
		t.Fatal(err)
	}
	book := &stored{}
	d := Desk{Book: book, Now: time.Now, DrawLead: 2 * time.Hour}
	answer, err := d.Apply(t.Context(), r)
	if err != nil || answer.OpensAt != "2026-11-10T22:00:00.000Z" || answer.ClosesAt != "2026-11-14T20:00:00.000Z" || answer.Until != "2026-11-11T04:00:00.000Z" {
		t.Errorf("got %+v (%v)", answer.edited, err)
	}
	if e := book.asked.(sale.Edit); e.DrawLead != 2*time.Hour {
		t.Errorf("the ledger is asked for %+v", e)
	}
}
