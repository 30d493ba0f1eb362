package model

import (
	"testing"
	"time"
)

// A user who is refused without a key costs a read where the table has room for it. Where
// it has none most of the reads are left out, and everybody still has an answer soon: the
// refusals themselves depend on reads of the sale.
func TestARefusalLooksForAnOrderWhereTheTableHasRoom(t *testing.T) {
	for _, tt := range []struct {
		reads       float64 // read units a second
		least, most float64 // share of the refusals
	}{
		{2000, 0.999, 1}, {500, 0.2, 0.8},
	} {
		c := roomy(20, 2000)
		c.Stock, c.Users, c.Repeats, c.NoFinalize, c.TableReads = 200, 6000, 20, true, tt.reads
		r := play(t, c)
		looked := r.Looked / r.Refused
		t.Logf("%7.0f read units a second: looked before %5.1f %% of the refusals, p50 %v, p99 %v, %d calls throttled",
			tt.reads, 100*looked, r.LosersP50.Round(time.Millisecond), r.LosersP99.Round(time.Millisecond), r.Throttled)
		if looked < tt.least || looked > tt.most || r.Unanswered > 0 || r.LosersP99 > time.Second {
			t.Errorf("with %g read units a second %.3f of the refusals looked, want %g to %g; %g without an answer, p99 %v",
				tt.reads, looked, tt.least, tt.most, r.Unanswered, r.LosersP99)
		}
	}
}
