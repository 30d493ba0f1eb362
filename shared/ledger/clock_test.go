package ledger

import "testing"

func TestALedgerThatIsGivenNoClockAgesByTheWallClock(t *testing.T) {
	if now := New(nil, "Ledger", Options{}).now(); now != now.Round(0) {
		t.Errorf("%v has a monotonic reading: it stands still while the environment is frozen", now)
	}
}
