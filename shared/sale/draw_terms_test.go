package sale

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"
)

// drawn is a creation of a sale with a draw, whose roll, dice and first call have an hour.
func drawn() Creation {
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	return Creation{
		SaleID: "moutai", Stock: 1000, OpensAt: from.Add(25 * time.Hour), ClosesAt: from.Add(96 * time.Hour),
		DrawTerms: DrawTerms{EnterFrom: from, EnterUntil: from.Add(24 * time.Hour), KeepFor: 4 * time.Hour},
	}
}

func TestACreationWithADraw(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Creation)
		says   string // "" is accepted
	}{
		"as it should be":                {func(*Creation) {}, ""},
		"without a draw":                 {func(c *Creation) { c.DrawTerms = DrawTerms{} }, ""},
		"no time to enter":               {func(c *Creation) { c.EnterUntil = c.EnterFrom }, "enterUntil must be after"},
		"a millisecond to enter":         {func(c *Creation) { c.EnterUntil = c.EnterFrom.Add(time.Millisecond) }, ""},
		"no beginning of entering":       {func(c *Creation) { c.EnterFrom = time.Time{} }, "enterFrom and enterUntil are needed"},
		"no end of entering":             {func(c *Creation) { c.EnterUntil = time.Time{} }, "enterFrom and enterUntil are needed"},
		"entering alone":                 {func(c *Creation) { c.KeepFor = 0 }, "keepHours must be 1 to 168"},
		"kept for an hour":               {func(c *Creation) { c.KeepFor = time.Hour }, ""},
		"kept for less":                  {func(c *Creation) { c.KeepFor = time.Hour - time.Second }, "keepHours"},
		"kept for an hour and a half":    {func(c *Creation) { c.KeepFor = 90 * time.Minute }, "keepHours"},
		"kept for a week":                {func(c *Creation) { c.KeepFor = MaxKeepFor }, ""},
		"kept for longer":                {func(c *Creation) { c.KeepFor = MaxKeepFor + time.Hour }, "keepHours"},
		"100 shards":                     {func(c *Creation) { c.Shards = 100 }, ""},
		"101 shards":                     {func(c *Creation) { c.Shards = 101 }, "at most 100 shards, which are planned for 2000 ordersPerSecond"},
		"101 shards without a draw":      {func(c *Creation) { c.Shards, c.DrawTerms = 101, DrawTerms{} }, ""},
		"a rate that 100 shards bear":    {func(c *Creation) { c.Stock, c.OrdersPerSecond = 100_000, 2000 }, ""},
		"a rate that they do not":        {func(c *Creation) { c.Stock, c.OrdersPerSecond = 100_000, 2001 }, "at most 100 shards"},
		"opening at the end of entering": {func(c *Creation) { c.OpensAt = c.EnterUntil }, ""},
		"opening while people enter":     {func(c *Creation) { c.OpensAt = c.EnterUntil.Add(-time.Millisecond) }, "opensAt must be at least 0 seconds after enterUntil"},
	} {
		c := drawn()
		tt.change(&c)
		err := c.Check()
		if tt.says == "" && (err != nil || c.HasDraw() && c.Shards > MaxDrawShards) {
			t.Errorf("%s: %v, %d shards", name, err, c.Shards)
		}
		if tt.says != "" && (CodeOf(err) != InvalidRequest || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: got %v, want that %s", name, err, tt.says)
		}
	}
}

func TestASaleWithADrawOpensWhenItsDiceAreKnown(t *testing.T) {
	c := drawn()
	for lead, want := range map[time.Duration]Code{0: "", time.Hour: "", time.Hour + time.Second: InvalidRequest} {
		if err := c.CheckDraw(lead); CodeOf(err) != want {
			t.Errorf("%v: got %v, want %q", lead, err, want)
		}
	}
	if refusal, _ := errors.AsType[*Error](c.CheckDraw(2 * time.Hour)); refusal == nil || !strings.Contains(refusal.Detail, "at least 7200 seconds after") {
		t.Errorf("the refusal %v does not say how much later is enough", refusal)
	}
	c.DrawTerms = DrawTerms{}
	if err := c.CheckDraw(1000 * time.Hour); err != nil {
		t.Errorf("without a draw: %v", err)
	}
}

func TestASaleWithADrawSellsDuringItsCalls(t *testing.T) {
	begins := drawn().OpensAt
	s := Sale{State: Open, OpensAt: begins, ClosesAt: begins.Add(4 * time.Hour)}
	s.Draw = Draw{DrawTerms: drawn().DrawTerms, BeginsAt: begins, EndsAt: drawn().ClosesAt}
	for _, tt := range []struct {
		name string
		call int64
		now  time.Time
		want Code
		wait time.Duration
	}{
		{"a nanosecond before the first call should begin", 0, begins.Add(-1), NotOpen, 1},
		{"when the first call should begin", 0, begins, NotOpen, time.Minute},
		{"a nanosecond before the first call begins", 1, begins.Add(-1), NotOpen, 1},
		{"when the first call begins", 1, begins, "", 0},
		{"a nanosecond before the second call begins", 2, begins.Add(-1), NotYourTurn, 1},
		{"a nanosecond before a call is over", 2, s.ClosesAt.Add(-1), "", 0},
		{"when a call is over", 2, s.ClosesAt, NotYourTurn, 0},
		{"a nanosecond before the sale is over", 2, s.EndsAt.Add(-1), NotYourTurn, 0},
		{"when the sale is over", 2, s.EndsAt, Closed, 0},
	} {
		s.Call = tt.call
		if got := cmp.Or(s.Refusal(tt.now), &Error{}); got.Code != tt.want || got.RetryAfter != tt.wait {
			t.Errorf("%s: %q, in %v; want %q, in %v", tt.name, got.Code, got.RetryAfter, tt.want, tt.wait)
		}
	}
}
