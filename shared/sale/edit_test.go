package sale

import (
	"cmp"
	"testing"
	"time"
)

func TestAnEditIsCheckedFieldByField(t *testing.T) {
	now := opensAt
	for _, tt := range []struct {
		name string
		e    Edit
		want Code
	}{
		{"a pause is valid", Edit{SaleID: "moutai", At: now, Paused: new(true)}, ""},
		{"an instant within a clock's error is valid", Edit{SaleID: "moutai", At: now.Add(MaxAhead), Paused: new(true)}, ""},
		{"the year 2000 is valid", Edit{SaleID: "moutai", At: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), Paused: new(true)}, ""},
		{"the year 1999", Edit{SaleID: "moutai", At: time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC), Paused: new(true)}, InvalidRequest},
		{"an invalid sale id", Edit{SaleID: "", At: now, Paused: new(true)}, InvalidRequest},
		{"an instant in the future", Edit{SaleID: "moutai", At: now.Add(MaxAhead + 1), Paused: new(true)}, InvalidRequest},
		{"no instant is valid", Edit{SaleID: "moutai", Paused: new(true)}, ""},
		{"half a window", Edit{SaleID: "moutai", At: now, OpensAt: opensAt}, InvalidRequest},
		{"the other half", Edit{SaleID: "moutai", At: now, ClosesAt: closesAt}, InvalidRequest},
		{"a window backwards", Edit{SaleID: "moutai", At: now, OpensAt: closesAt, ClosesAt: opensAt}, InvalidRequest},
		{"an end of a call is valid", Edit{SaleID: "moutai", OpensAt: opensAt, ClosesAt: closesAt, Until: closesAt}, ""},
		{"an end of a call without a window", Edit{SaleID: "moutai", Until: closesAt}, InvalidRequest},
		{"the longest time to pay is valid", Edit{SaleID: "moutai", PayUntil: now.AddDate(0, 0, 7)}, ""},
		{"a longer time to pay", Edit{SaleID: "moutai", PayUntil: now.AddDate(0, 0, 7).Add(1)}, InvalidRequest},
		{"a time to pay before 2000", Edit{SaleID: "moutai", PayUntil: time.UnixMilli(0)}, InvalidRequest},
		{"an end of a call before 2000", Edit{SaleID: "moutai", OpensAt: opensAt, ClosesAt: closesAt, Until: time.UnixMilli(0)}, InvalidRequest},
	} {
		if err := tt.e.Check(now); CodeOf(err) != tt.want {
			t.Errorf("%s: Check() = %v, want code %q", tt.name, err, tt.want)
		}
	}
}

func TestAnEditAgreesWithASaleThatIsAsItAsks(t *testing.T) {
	s := Sale{Paused: true, OpensAt: opensAt, ClosesAt: closesAt, PayWithin: 1, PayUntil: closesAt}
	later := opensAt.Add(time.Millisecond)
	for _, tt := range []struct {
		name string
		e    Edit
		want bool
	}{
		{"the same pause flag", Edit{Paused: new(true)}, true},
		{"another pause flag", Edit{Paused: new(false)}, false},
		{"the same window", Edit{OpensAt: opensAt, ClosesAt: closesAt}, true},
		{"the same window to the millisecond", Edit{OpensAt: opensAt.Add(time.Nanosecond), ClosesAt: closesAt}, true},
		{"the same time to pay to the millisecond", Edit{PayUntil: closesAt.Add(time.Nanosecond)}, true},
		{"less time to pay than was given", Edit{PayUntil: opensAt}, true},
		{"more time to pay", Edit{PayUntil: closesAt.Add(time.Millisecond)}, false},
		{"another opening", Edit{OpensAt: later, ClosesAt: closesAt}, false},
		{"another end", Edit{OpensAt: opensAt, ClosesAt: closesAt.Add(time.Millisecond)}, false},
	} {
		if got := tt.e.Agrees(s); got != tt.want {
			t.Errorf("%s: Agrees = %t, want %t", tt.name, got, tt.want)
		}
		after := tt.e.Apply(s, later)
		if !tt.e.Agrees(after) || !after.ChangedAt.Equal(later) || tt.e.Extends() != (after.MinReader == ReadsOperators) {
			t.Errorf("%s: after it was applied the sale is %+v", tt.name, after)
		}
		if err := tt.e.CheckExtension(s, opensAt.Add(-1)); (CodeOf(err) == Conflicting) != tt.e.PayUntil.Equal(opensAt) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// People have been told until when a unit is kept for them (P30), and nobody would be called
// after a call for anybody that ends before the sale (P31).
func TestAReschedulingMakesNothingInADrawEarlier(t *testing.T) {
	c := drawn()
	begins, ends := c.OpensAt, c.ClosesAt
	during := func(call int64, from, until time.Time) Sale {
		return Sale{State: Open, OpensAt: from, ClosesAt: until, Draw: Draw{DrawTerms: c.DrawTerms, BeginsAt: begins, EndsAt: ends, Call: call}}
	}
	uncalled := during(0, begins, ends)
	// Units are kept for four hours.
	longer := during(2, begins.Add(10*time.Hour), begins.Add(16*time.Hour))
	shortened := during(3, ends.Add(-time.Hour), ends)
	anybody := shortened
	anybody.OpenCall = true
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		sale Sale
		edit Edit
		want time.Time // the end of the call or, before the first, of the sale; zero if the edit is refused
	}{
		"nothing, before the first call":                            {uncalled, Edit{OpensAt: begins, ClosesAt: ends}, ends},
		"a later window, before the first call":                     {uncalled, Edit{OpensAt: begins.Add(ms), ClosesAt: ends.Add(ms)}, ends.Add(ms)},
		"a window before the dice are known":                        {uncalled, Edit{OpensAt: begins, ClosesAt: ends, DrawLead: time.Hour + ms}, time.Time{}},
		"another beginning, after the first call":                   {longer, Edit{OpensAt: begins.Add(ms), ClosesAt: ends}, time.Time{}},
		"an earlier end of the sale":                                {longer, Edit{OpensAt: begins, ClosesAt: ends.Add(-ms)}, time.Time{}},
		"a later end of the sale, in a call that lasts longer":      {longer, Edit{OpensAt: begins, ClosesAt: ends.Add(ms)}, longer.ClosesAt},
		"an earlier end of the call":                                {longer, Edit{OpensAt: begins, ClosesAt: ends, Until: longer.ClosesAt.Add(-ms)}, time.Time{}},
		"an end of the call at that of the sale":                    {longer, Edit{OpensAt: begins, ClosesAt: ends, Until: ends}, ends},
		"an end of the call after that of the sale":                 {longer, Edit{OpensAt: begins, ClosesAt: ends, Until: ends.Add(ms)}, time.Time{}},
		"a sale an hour longer, in a call three hours too short":    {shortened, Edit{OpensAt: begins, ClosesAt: ends.Add(time.Hour)}, ends.Add(time.Hour)},
		"a sale nine hours longer, in a call three hours too short": {shortened, Edit{OpensAt: begins, ClosesAt: ends.Add(9 * time.Hour)}, ends.Add(3 * time.Hour)},
		"a later end of the sale, in a call for anybody":            {anybody, Edit{OpensAt: begins, ClosesAt: ends.Add(9 * time.Hour)}, ends.Add(9 * time.Hour)},
		"a later end of the sale and of its call for anybody":       {anybody, Edit{OpensAt: begins, ClosesAt: ends.Add(ms), Until: ends.Add(ms)}, ends.Add(ms)},
		"a later end of the sale, but not of its call for anybody":  {anybody, Edit{OpensAt: begins, ClosesAt: ends.Add(ms), Until: ends}, time.Time{}},
	} {
		e, s := tt.edit, tt.sale
		e.DrawLead = cmp.Or(e.DrawLead, time.Hour)
		err := e.CheckDraw(s)
		if tt.want.IsZero() {
			if CodeOf(err) != Conflicting {
				t.Errorf("%s: got %v, want that it is refused", name, err)
			}
			continue
		}
		after := e.Apply(s, s.ChangedAt)
		if err != nil || after.ClosesAt != tt.want || after.Ends() != e.ClosesAt {
			t.Errorf("%s: %v; the call ends at %v, the sale at %v", name, err, after.ClosesAt, after.Ends())
		}
		if !e.Agrees(after) || e.Agrees(s) != (after == s) {
			t.Errorf("%s: agrees with the sale before it: %t, and after it: %t", name, e.Agrees(s), e.Agrees(after))
		}
	}
}
