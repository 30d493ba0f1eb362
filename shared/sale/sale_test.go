package sale

import (
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

	tests := []struct {
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
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			refusal := tt.sale.Refusal(tt.now)
			var code Code
			if refusal != nil {
				code = refusal.Code
			}
			if code != tt.code {
				t.Errorf("refusal %q, want %q", code, tt.code)
			}
			if got := tt.sale.Phase(tt.now); got != tt.phase {
				t.Errorf("phase %q, want %q", got, tt.phase)
			}
		})
	}
}

func TestAClaimMayBeReleasedUntilItIsPaidOrReleased(t *testing.T) {
	for name, tt := range map[string]struct {
		claim Claim
		want  bool
	}{
		"pending":   {Claim{}, true},
		"confirmed": {Claim{OrderID: 1}, true},
		"paid":      {Claim{OrderID: 1, PaidAt: opensAt}, false},
		"released":  {Claim{OrderID: 1, ReleasedAt: opensAt}, false},
	} {
		if got := tt.claim.MayBeReleased(); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

func TestTheStateOfAClaim(t *testing.T) {
	at := time.Unix(1, 0)
	for _, tt := range []struct {
		claim Claim
		want  ClaimState
	}{
		{Claim{}, Pending},
		{Claim{OrderID: 1}, Confirmed},
		{Claim{OrderID: 1, PaidAt: at}, Paid},
		{Claim{OrderID: 1, ReleasedAt: at, ReleasedBy: ByExpiry}, Expired},
		{Claim{OrderID: 1, ReleasedAt: at, ReleasedBy: ByBuyer}, Cancelled},
		{Claim{OrderID: 1, ReleasedAt: at, ReleasedBy: ByOperator}, Cancelled},
	} {
		if got := tt.claim.State(); got != tt.want {
			t.Errorf("%+v: state %q, want %q", tt.claim, got, tt.want)
		}
	}
}
