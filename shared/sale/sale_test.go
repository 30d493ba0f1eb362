package sale

import (
	"cmp"
	"testing"
	"time"
)

var (
	opensAt  = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	closesAt = opensAt.Add(time.Hour)
)

func TestAPurchaseIsAdmittedOnlyInsideTheWindowOfAnOpenSale(t *testing.T) {
	open := Sale{State: Open, OpensAt: opensAt, ClosesAt: closesAt, Shards: 2}
	paused, draft, empty := open, open, open
	paused.Paused = true
	draft.State = Draft
	empty.Empty.Add(0)
	empty.Empty.Add(1)
	recalled := paused
	recalled.RecalledAt = opensAt
	half := open
	half.Empty.Add(1)

	for _, tt := range []struct {
		name  string
		sale  Sale
		now   time.Time
		code  Code
		phase Phase
	}{
		{"a nanosecond before it opens", open, opensAt.Add(-1), NotOpen, PhaseNotOpen},
		{"at the instant it opens", open, opensAt, "", PhaseOpen},
		{"a nanosecond before it closes", open, closesAt.Add(-1), "", PhaseOpen},
		{"at the instant it closes", open, closesAt, Closed, PhaseClosed},
		{"while paused", paused, opensAt, Paused, PhasePaused},
		{"paused, before it opens", paused, opensAt.Add(-time.Hour), NotOpen, PhaseNotOpen},
		{"paused, after it closed", paused, closesAt, Closed, PhaseClosed},
		{"recalled, before it opens", recalled, opensAt.Add(-time.Hour), Recalled, PhaseRecalled},
		{"recalled, while it would sell", recalled, opensAt, Recalled, PhaseRecalled},
		{"recalled, after it closed", recalled, closesAt, Recalled, PhaseRecalled},
		{"a draft inside its window", draft, opensAt, SaleNotFound, PhaseClosed},
		{"a sale without a state", Sale{OpensAt: opensAt, ClosesAt: closesAt}, opensAt, SaleNotFound, PhaseClosed},
		{"with one shard empty", half, opensAt, "", PhaseOpen},
		{"with every shard empty", empty, opensAt, "", PhaseSoldOut},
		{"empty, after it closed", empty, closesAt, Closed, PhaseClosed},
	} {
		if got := cmp.Or(tt.sale.Refusal(tt.now), &Error{}); got.Code != tt.code {
			t.Errorf("%s: refusal %q, want %q", tt.name, got.Code, tt.code)
		}
		if got := tt.sale.Phase(tt.now); got != tt.phase {
			t.Errorf("%s: phase %q, want %q", tt.name, got, tt.phase)
		}
	}
}
