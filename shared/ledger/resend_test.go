package ledger

import (
	"testing"
	"time"

	"flashsale/shared/sale"
)

func TestAnOldClaimIsDueAgainSoonEnoughForTheRepairBound(t *testing.T) {
	for _, age := range []time.Duration{time.Hour, 8 * time.Hour, 30 * 24 * time.Hour} {
		now := readAt.Add(age)
		c := sale.Claim{AcceptedAt: readAt, ResentAt: now}
		if now = now.Add(RepairBound - ResendBound); resendDue(c, now, false) || !resendDue(c, now.Add(1), false) {
			t.Errorf("%v old: due %t, a moment later %t", age, resendDue(c, now, false), resendDue(c, now.Add(1), false))
		}
	}
}

func TestAMessageThatWasLostTwiceIsSentASecondTimeWithinTheBound(t *testing.T) {
	// A pass every minute, as in reconciliation's schedule.
	c, sent := sale.Claim{AcceptedAt: readAt}, 0
	for age := time.Minute; age <= ResendBound; age += time.Minute {
		if now := readAt.Add(age); resendDue(c, now, false) {
			c.ResentAt = now
			sent++
		}
	}
	if sent != 2 {
		t.Errorf("sent %d times again within %s, want twice", sent, ResendBound)
	}
}
