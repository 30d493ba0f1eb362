package ledger

import (
	"testing"
	"time"

	"flashsale/shared/sale"
)

func TestAMessageThatWasLostTwiceIsSentASecondTimeWithinTheBound(t *testing.T) {
	// A pass every minute, as in reconciliation's schedule.
	c, sent := sale.Claim{AcceptedAt: readAt}, 0
	for age := time.Minute; age <= ResendBound; age += time.Minute {
		if now := readAt.Add(age); resendDue(c, now) {
			c.ResentAt = now
			sent++
		}
	}
	if sent != 2 {
		t.Errorf("sent %d times again within %s, want twice", sent, ResendBound)
	}
}
