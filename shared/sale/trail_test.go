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

func TestEveryChangeChecksItsAuthorAndItsID(t *testing.T) {
	now, yes := time.Now(), true
	if err := (&Recall{SaleID: "mou tai"}).Check(); CodeOf(err) != InvalidRequest {
		t.Errorf("the recall of an invalid sale: %v, want %s", err, InvalidRequest)
	}
	for _, tt := range []struct {
		id   string
		by   Author
		want Code
	}{
		{"", Author{}, ""}, {"c-1", Author{Actor: strings.Repeat("安", MaxActor), Verified: true, Note: strings.Repeat("n", MaxNote)}, ""},
		{"c#1", Author{}, InvalidRequest}, {strings.Repeat("c", MaxID+1), Author{}, InvalidRequest},
		{"c", Author{Actor: strings.Repeat("a", MaxActor+1)}, InvalidRequest}, {"c", Author{Actor: "a\nb"}, InvalidRequest},
		{"c", Author{Note: strings.Repeat("n", MaxNote+1)}, InvalidRequest}, {"c", Author{Note: "a\x00"}, InvalidRequest},
	} {
		seedID := cmp.Or(tt.id, "s")
		for name, err := range map[string]error{
			"pause":      (&Edit{SaleID: "moutai", ChangeID: tt.id, Author: tt.by, Paused: &yes}).Check(now),
			"reschedule": (&Edit{SaleID: "moutai", ChangeID: tt.id, Author: tt.by, OpensAt: now, ClosesAt: now.Add(time.Hour)}).Check(now),
			"describe":   (&Description{SaleID: "moutai", ChangeID: tt.id, Author: tt.by, Name: &seedID}).Check(),
			"recall":     (&Recall{SaleID: "moutai", ChangeID: tt.id, Author: tt.by}).Check(),
			"add":        (&Addition{SaleID: "moutai", SeedID: seedID, Stock: 1, Author: tt.by}).Check(),
			"withdraw":   (&Withdrawal{SaleID: "moutai", SeedID: seedID, Stock: 1, Author: tt.by}).Check(),
		} {
			if CodeOf(err) != tt.want {
				t.Errorf("%s %.9q by %.9q: %v, want %q", name, tt.id, tt.by.Actor, err, tt.want)
			}
		}
	}
}
