package trial

import (
	"math"
	"time"

	"flashsale/infra/lab/tally"
)

// Row is one line of the lab's table.
type Row struct {
	Strategy string `json:"strategy"`
	Family   string `json:"family"`
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	Stock    int    `json:"stock"`
	Sold     int    `json:"sold"`
	Oversold int    `json:"oversold"`
	// Unsold is units left although buyers were refused.
	Unsold  int `json:"unsold"`
	Doubles int `json:"doubles"`
	Lost    int `json:"lost"`
	// Misled is buyers with an order who were told "sold out".
	Misled int `json:"misled"`
	// PerSecond is decisions a second; a decision is any answer but "busy".
	PerSecond float64 `json:"perSecond"`
	P50Ms     float64 `json:"p50Ms"`
	P99Ms     float64 `json:"p99Ms"`
	// DurablePerSecond is orders a second until the last was written, DurableAfterMs
	// how long after the last answer that was; 0 in all scenarios but the peak.
	DurablePerSecond float64       `json:"durablePerSecond,omitempty"`
	DurableAfterMs   float64       `json:"durableAfterMs,omitempty"`
	Verdict          tally.Verdict `json:"verdict"`
	// Why is one sentence, made from what was measured.
	Why string `json:"why"`
	// Expected reports whether the verdict is one that the lab expects.
	Expected bool `json:"expected"`
	// Run is the command that repeats the row.
	Run string `json:"run"`
}

// fill enters the figures of a count.
func (r *Row) fill(c tally.Count) {
	r.Sold, r.Oversold, r.Unsold, r.Doubles, r.Lost = c.Sold, c.Oversold, c.Unsold, c.Doubles, c.Lost
	r.Misled = c.Misled
	r.DurablePerSecond, r.DurableAfterMs = round(c.DurablePerSecond), milliseconds(c.DurableAfter)
	r.PerSecond, r.P50Ms, r.P99Ms = round(c.PerSecond), milliseconds(c.P50), milliseconds(c.P99)
}

func milliseconds(d time.Duration) float64 { return round(float64(d) / float64(time.Millisecond)) }

// round keeps one decimal: the rest is noise.
func round(x float64) float64 { return math.Round(x*10) / 10 }
