package sale

import (
	"cmp"
	"strings"
	"testing"
	"time"
)

func TestAChangeAsksForTheOneOfTheSameActionAndArguments(t *testing.T) {
	at, until := opensAt.Add(-time.Hour), closesAt.Add(-time.Minute)
	pause := Change{Action: ActionPause, At: at, OpensAt: opensAt, ClosesAt: closesAt}
	// The edit of a sale with a draw was applied later than at its instant, and while a call ran.
	reschedule := Change{Action: ActionReschedule, At: at.Add(time.Minute), OpensAt: opensAt.Add(time.Minute), ClosesAt: until,
		OperatedAt: at, BeginsAt: opensAt, EndsAt: closesAt}
	describe := func(name, image, about, link string) Change {
		return Change{Action: ActionDescribe, Name: &name, Image: &image, About: &about, Link: &link}
	}
	described := describe("n", "i", "a", "l")
	for name, tt := range map[string]struct {
		asked, made Change
		want        bool
	}{
		"a pause":                  {Change{Action: ActionPause, Author: Author{Actor: "bob", Note: "again"}}, pause, true},
		"a pause at its instant":   {Change{Action: ActionPause, At: at}, pause, true},
		"a pause at another":       {Change{Action: ActionPause, At: at.Add(time.Millisecond)}, pause, false},
		"a resumption":             {Change{Action: ActionResume, At: at}, pause, false},
		"a rescheduling":           {Change{Action: ActionReschedule, At: at, OpensAt: opensAt, ClosesAt: closesAt}, reschedule, true},
		"another opening":          {Change{Action: ActionReschedule, At: at, OpensAt: at, ClosesAt: closesAt}, reschedule, false},
		"another end":              {Change{Action: ActionReschedule, At: at, OpensAt: opensAt, ClosesAt: until}, reschedule, false},
		"an end of the call":       {Change{Action: ActionReschedule, At: at, OpensAt: opensAt, ClosesAt: closesAt, Until: until}, reschedule, true},
		"another end of the call":  {Change{Action: ActionReschedule, At: at, OpensAt: opensAt, ClosesAt: closesAt, Until: closesAt}, reschedule, false},
		"a description":            {describe("n", "i", "a", "l"), described, true},
		"another name":             {describe("x", "i", "a", "l"), described, false},
		"another image":            {describe("n", "x", "a", "l"), described, false},
		"another text":             {describe("n", "i", "x", "l"), described, false},
		"another link":             {describe("n", "i", "a", "x"), described, false},
		"what was removed is kept": {Change{Action: ActionDescribe}, describe("", "", "", ""), false},
		"what was kept is removed": {describe("", "", "", ""), Change{Action: ActionDescribe}, false},
	} {
		if got := tt.asked.Asks(tt.made); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

func TestACancellationAsksForTheOneOfTheSameStateAndUnit(t *testing.T) {
	made := (&Cancellation{OrderID: 1, ChangeID: "c", Expected: Paid, Unit: UnitKept}).Entry(opensAt)
	for c, want := range map[Cancellation]bool{{Expected: Paid, Unit: UnitKept}: true, {Expected: Confirmed, Unit: UnitKept}: false, {Expected: Paid, Unit: UnitBack}: false} {
		if got := c.Asks(made); got != want {
			t.Errorf("%+v: %t, want %t", c, got, want)
		}
	}
}

func TestWhatAnAuthorHasSeenIsOneSales(t *testing.T) {
	seen, unknown := ReadVersion{3, 4}, (*ReadVersion)(nil)
	for text, want := range map[string]bool{seen.Text("moutai"): true, ReadVersion{}.Text("moutai"): true, seen.Text("mutai"): false, "3.4": false,
		ReadVersion{-1, 0}.Text("moutai"): false, ReadVersion{0, -1}.Text("moutai"): false} {
		if got, err := ParseReadVersion("moutai", text); (err == nil) != want || want && got.Text("moutai") != text {
			t.Errorf("%q: got %+v (%v), want it read: %t", text, got, err, want)
		}
	}
	for got, want := range map[ReadVersion]ReadVersion{
		seen.WithEdit(9): {9, 4}, seen.WithSeeding(Sale{Seedings: 9}): {3, 5}, seen.WithSeeding(Sale{Seedings: 4}): {3, 4},
		unknown.WithEdit(9): {}, unknown.WithSeeding(Sale{Seedings: 9}): {},
	} {
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	by := &Change{Action: ActionPause, At: opensAt}
	for want, newest := range map[string]*Change{"; look": nil, ": pause by ? on 2026-11-11T12:00:00Z; look": by,
		": pause by kim on 2026-11-11T12:00:00Z (why); look": {Action: ActionPause, At: opensAt, Author: Author{Actor: "kim", Note: "why"}}} {
		if e := RefuseMeanwhile(&Sale{}, newest); e.Detail != "the sale was changed meanwhile"+want+" at it again" {
			t.Errorf("got %q, want %q", e.Detail, want)
		}
	}
}

func TestEveryChangeChecksItsAuthorAndItsID(t *testing.T) {
	now, yes := time.Now(), true
	for _, c := range []interface{ Check() error }{
		&Recall{SaleID: "mou tai"}, &Cancellation{SaleID: "moutai", Expected: Paid, Unit: UnitKept},
		&Cancellation{SaleID: "moutai", OrderID: 1, Expected: Pending, Unit: UnitKept}, &Cancellation{SaleID: "moutai", OrderID: 1, Expected: Paid},
	} {
		if err := c.Check(); CodeOf(err) != InvalidRequest {
			t.Errorf("%+v: %v, want %s", c, err, InvalidRequest)
		}
	}
	for _, tt := range []struct {
		id   string
		by   Author
		want Code
	}{
		{"", Author{}, ""}, {"c-1", Author{Actor: strings.Repeat("安", MaxActor), Verified: true, Note: strings.Repeat("n", MaxNote)}, ""},
		{"c#1", Author{}, InvalidRequest}, {strings.Repeat("c", MaxID+1), Author{}, InvalidRequest},
		{"c", Author{Actor: strings.Repeat("a", MaxActor+1)}, InvalidRequest}, {"c", Author{Actor: "a\nb"}, InvalidRequest}, {"c", Author{Actor: "kim "}, InvalidRequest}, {"c", Author{Actor: "\u3000kim"}, InvalidRequest},
		{"c", Author{Note: strings.Repeat("n", MaxNote+1)}, InvalidRequest}, {"c", Author{Note: "a\x00"}, InvalidRequest},
	} {
		seedID := cmp.Or(tt.id, "s")
		for name, err := range map[string]error{
			"pause":      (&Edit{SaleID: "moutai", ChangeID: tt.id, Author: tt.by, Paused: &yes}).Check(now),
			"reschedule": (&Edit{SaleID: "moutai", ChangeID: tt.id, Author: tt.by, OpensAt: now, ClosesAt: now.Add(time.Hour)}).Check(now),
			"describe":   (&Description{SaleID: "moutai", ChangeID: tt.id, Author: tt.by, Name: &seedID}).Check(),
			"recall":     (&Recall{SaleID: "moutai", ChangeID: tt.id, Author: tt.by}).Check(),
			"cancel":     (&Cancellation{SaleID: "moutai", OrderID: 1, ChangeID: tt.id, Author: tt.by, Expected: Paid, Unit: UnitKept}).Check(),
			"add":        (&Addition{SaleID: "moutai", SeedID: seedID, Stock: 1, Author: tt.by}).Check(),
			"withdraw":   (&Withdrawal{SaleID: "moutai", SeedID: seedID, Stock: 1, Author: tt.by}).Check(),
		} {
			if CodeOf(err) != tt.want {
				t.Errorf("%s %.9q by %.9q: %v, want %q", name, tt.id, tt.by.Actor, err, tt.want)
			}
		}
	}
}
