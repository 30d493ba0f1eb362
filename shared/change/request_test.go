package change

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/sale"
)

func TestAPriceWithAFractionIsToldItsUnit(t *testing.T) {
	for _, price := range []string{`899.00`, `"89900"`, `89900000000000000000`} {
		_, err := Decode([]byte(`{"action":"create","saleId":"moutai","price":` + price + `}`))
		if sale.CodeOf(err) != sale.InvalidRequest || !strings.Contains(err.Error(), "minor units: 89900 for 899.00") {
			t.Errorf("%s: %v", price, err)
		}
	}
	for _, stock := range []string{"1.5", "100.0", `"100"`, "1e30"} {
		if _, err := Decode([]byte(`{"action":"create","saleId":"moutai","stock":` + stock + `}`)); err == nil || !strings.Contains(err.Error(), "stock must be a whole number") {
			t.Errorf("a stock of %s: %v", stock, err)
		}
	}
	if r, err := Decode([]byte(`{"action":"create","saleId":"moutai","stock":1e3,"price":8E+2}`)); err != nil || *r.Stock != 1000 || *r.Price != 800 {
		t.Errorf("with an exponent: %+v, %v", r, err)
	}
}

func TestARequestIsReadStrictly(t *testing.T) {
	const create = `"action":"create","saleId":"moutai","name":"M","opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z","stock":100`
	for _, tt := range []struct {
		name, raw string
		ok        bool
	}{
		{"a creation", `{` + create + `}`, true},
		{"a draw that is an object", `{` + create + `,"draw":{"keepHours":4}}`, false},
		{"a draw when pausing", `{"action":"pause","saleId":"moutai","keepHours":4}`, false},
		{"a later end of a call", `{"action":"reschedule","saleId":"moutai","opensAt":"a","closesAt":"b","until":"c"}`, true},
		{"more time to pay", `{"action":"extend","saleId":"moutai","until":"2026-11-11T16:00:00Z","changeId":"c-1"}`, true},
		{"more time to pay at an instant", `{"action":"extend","saleId":"moutai","until":"a","at":"2026-01-01T00:00:00Z"}`, true},
		{"the end of a call when creating", `{` + create + `,"until":"c"}`, false},
		{"a description", `{"action":"describe","saleId":"moutai","about":"a\nb","link":""}`, true},
		{"a recall with a note", `{"action":"recall","saleId":"moutai","note":"the soles come off"}`, true},
		{"an order's cancellation", `{"action":"cancel","saleId":"moutai","orderId":"5","expected":"PAID","unit":"kept","note":"moved away"}`, true},
		{"an order's cancellation whose number is a number", `{"action":"cancel","saleId":"moutai","orderId":5,"expected":"PAID","unit":"kept"}`, false},
		{"the order of a recall", `{"action":"recall","saleId":"moutai","orderId":"5"}`, false},
		{"a recall at an instant", `{"action":"recall","saleId":"moutai","at":"2026-01-01T00:00:00Z"}`, false},
		{"who asks, why, and the change's id", `{"action":"pause","saleId":"moutai","actor":"kim","note":"the price is wrong","changeId":"c-1"}`, true},
		{"who asks for a creation", `{` + create + `,"actor":"kim"}`, false},
		{"a second id of an addition", `{"action":"add","saleId":"moutai","seedId":"s","stock":50,"changeId":"c-1"}`, false},
		{"an actor who is verified", `{"action":"pause","saleId":"moutai","actor":"kim","Verified":true}`, false},
		{"the id of the operators' API", `{"action":"pause","saleId":"moutai","id":"c-1"}`, false},

		{"no action", `{"saleId":"moutai"}`, false},
		{"an unknown action", `{"action":"drop","saleId":"moutai"}`, false},
		{"a field in capitals", `{"action":"add","saleId":"moutai","seedId":"s","STOCK":50}`, false},
		{"a field twice, once in capitals", `{"action":"pause","Action":"resume","saleId":"moutai"}`, false},
		{"an event of HTTP with a request in it", `{"version":"2.0","routeKey":"$default","action":"pause","saleId":"moutai"}`, false},
	} {
		_, err := Decode([]byte(tt.raw))
		if tt.ok && err != nil || !tt.ok && sale.CodeOf(err) != sale.InvalidRequest {
			t.Errorf("%s: decode = %v, want success %t", tt.name, err, tt.ok)
		}
	}
}

func TestTheTermsOfADrawAreGivenTogether(t *testing.T) {
	const create = `{"action":"create","saleId":"moutai","opensAt":"2026-11-10T22:00:00Z","closesAt":"2026-11-14T20:00:00Z","stock":100`
	const from, until, hours = `,"enterFrom":"2026-11-08T20:00:00Z"`, `,"enterUntil":"2026-11-10T20:00:00Z"`, `,"keepHours":4`
	for given, want := range map[string]string{
		"": "", from + until + hours: "",
		from: "together", until + hours: "together", from + hours: "together", from + until: "together",
		from + until + `,"keepHours":0`: "keepHours must be 1 to 168", from + until + `,"keepHours":169`: "keepHours", from + until + `,"keepHours":9223372036854775807`: "keepHours",
		from + until + `,"keepHours":2251799813685252`: "keepHours", // in nanoseconds it would overflow to four hours
		`,"enterFrom":"soon"` + until + hours:          "enterFrom must be an RFC 3339 time", from + `,"enterUntil":"later"` + hours: "enterUntil must be an RFC 3339 time",
		`,"enterFrom":"0001-01-01T00:00:00Z","enterUntil":"0001-01-01T00:00:00Z"` + hours: "enterFrom and enterUntil are needed",
	} {
		r, err := Decode([]byte(create + given + "}"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Creation()
		switch {
		case want != "" && (sale.CodeOf(err) != sale.InvalidRequest || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %s", given, err, want)
		case want == "" && (err != nil || c.HasDraw() != (given != "") || c.HasDraw() && (c.KeepFor != 4*time.Hour || c.EnterUntil.Sub(c.EnterFrom) != 48*time.Hour)):
			t.Errorf("%s: got %+v (%v)", given, c.DrawTerms, err)
		}
	}
}

func TestACreationHasWhatItsRequestGivesUpToTheLimits(t *testing.T) {
	const create = `{"action":"create","saleId":"moutai","opensAt":"2026-11-10T22:00:00Z","closesAt":"2026-11-14T20:00:00Z","stock":100`
	const paid, drawn = `,"price":1,"currency":"CNY","payWithin":`, `,"enterFrom":"2026-11-08T20:00:00Z","enterUntil":"2026-11-10T20:00:00Z","keepHours":`
	for given, is := range map[string]func(sale.Creation) bool{
		`,"shards":1`:          func(c sale.Creation) bool { return c.Shards == 1 },
		`,"ordersPerSecond":1`: func(c sale.Creation) bool { return c.OrdersPerSecond == 1 },
		`,"maxStock":100`:      func(c sale.Creation) bool { return c.MaxStock == 100 },
		`,"limitGroup":"g"`:    func(c sale.Creation) bool { return c.LimitGroup == "g" },
		`,"labels":"a=b,c=d"`:  func(c sale.Creation) bool { return c.Labels == "a=b,c=d" },
		paid + `604800`: func(c sale.Creation) bool {
			return c.PayWithin == 7*24*time.Hour && c.Price == 1 && c.Currency == "CNY"
		},
		paid + `60,"lateDays":7`:       func(c sale.Creation) bool { return c.LateFor == 7*day },
		paid + `60,"lateDays":0`:       func(c sale.Creation) bool { return c.LateFor == 0 },
		paid + `60,"extras":"allowed"`: func(c sale.Creation) bool { return c.Extras },
		paid + `60,"extras":"none"`:    func(c sale.Creation) bool { return !c.Extras },
		drawn + `1`:                    func(c sale.Creation) bool { return c.KeepFor == time.Hour },
		drawn + `168`:                  func(c sale.Creation) bool { return c.KeepFor == 7*24*time.Hour },
	} {
		r, err := Decode([]byte(create + given + "}"))
		if err != nil {
			t.Fatal(err)
		}
		if c, err := r.Creation(); err != nil || !is(c) {
			t.Errorf("%s: got %+v (%v)", given, c, err)
		}
	}
	for name, given := range map[string]string{
		"an endless time to pay": paid + `36028797018964028`,             // in nanoseconds it would overflow to a minute
		"endless late days":      paid + `60,"lateDays":281474976710657`, // in nanoseconds it would overflow to a day
		"an endless time kept":   drawn + `2251799813685249`,             // in nanoseconds it would overflow to an hour
		"extras of no price":     `,"extras":"allowed"`,
		"other extras":           paid + `60,"extras":"tax"`,
		"a price of nothing":     `,"price":0,"currency":"CNY"`,
		"a group of two words":   `,"limitGroup":"a b"`,
		"a group without a name": `,"limitGroup":""`,
	} {
		r, err := Decode([]byte(create + given + "}"))
		if err != nil {
			t.Fatal(err)
		}
		if c, err := r.Creation(); sale.CodeOf(err) != sale.InvalidRequest {
			t.Errorf("%s: got %+v (%v)", name, c, err)
		}
	}
}

func TestAnOperatorsRequestAsksTheLedgerForItsChange(t *testing.T) {
	yes, no, image := true, false, "https://images.example/a.jpg"
	why := sale.Author{Note: "why"}
	saw := &sale.ReadVersion{Edits: 12, Seedings: 3}
	seen := `,"version":"` + saw.Text("moutai") + `"`
	for asks, want := range map[string]any{
		`"action":"add","stock":50` + seen:                   sale.Addition{SaleID: "moutai", SeedID: "c", Stock: 50, Author: why, ReadVersion: saw},
		`"action":"withdraw","stock":50` + seen:              sale.Withdrawal{SaleID: "moutai", SeedID: "c", Stock: 50, Author: why, ReadVersion: saw},
		`"action":"pause"`:                                   sale.Edit{SaleID: "moutai", ChangeID: "c", Paused: &yes, Author: why},
		`"action":"resume"` + seen:                           sale.Edit{SaleID: "moutai", ChangeID: "c", Paused: &no, Author: why, ReadVersion: saw},
		`"action":"describe","image":"` + image + `"` + seen: sale.Description{SaleID: "moutai", ChangeID: "c", Image: &image, Author: why, ReadVersion: saw},
		`"action":"extend","until":"2026-11-11T16:00:00Z"` + seen: sale.Edit{
			SaleID: "moutai", ChangeID: "c", PayUntil: time.Date(2026, 11, 11, 16, 0, 0, 0, time.UTC), Author: why, ReadVersion: saw,
		},
		`"action":"recall"`: sale.Recall{SaleID: "moutai", ChangeID: "c", Author: why},
		`"action":"cancel","orderId":"523415642750058497","expected":"PAID","unit":"kept"`: sale.Cancellation{
			SaleID: "moutai", OrderID: 523415642750058497, ChangeID: "c", Author: why, Expected: sale.Paid, Unit: sale.UnitKept,
		},
	} {
		r, err := DecodeOperated([]byte(`{"id":"c","note":"why",`+asks+`}`), "moutai")
		if err != nil {
			t.Fatal(err)
		}
		ledger := &stored{}
		now := func() time.Time { return time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC) }
		d := Desk{Ledger: ledger, Now: now, ImageOrigin: "https://images.example"}
		answer, err := d.Apply(t.Context(), r)
		if diff := cmp.Diff(want, ledger.asked); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", asks, err, diff)
		}
		if answer.Edited != nil && answer.Until != "" {
			t.Errorf("%s: a sale without a draw has a call until %s", asks, answer.Until)
		}
	}
}

func TestMoreTimeToPayIsAnInstantWithinSevenDays(t *testing.T) {
	now := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	for until, want := range map[string]string{
		`,"until":"2026-11-18T00:00:00Z"`: "", ``: "until is needed", `,"until":""`: "until must be an RFC 3339 time",
		`,"until":"2026-11-18T00:00:00.001Z"`: "until must be at most 7 days ahead", `,"until":"0001-01-01T00:00:00Z"`: "until is out of range",
	} {
		r, err := Decode([]byte(`{"action":"extend","saleId":"moutai"` + until + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Edit(now); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", until, err, want)
		}
	}
}

func TestTheInstantsOfAnEditAreRead(t *testing.T) {
	now := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	for name, read := range map[string]func(sale.Edit) time.Time{
		"until": func(e sale.Edit) time.Time { return e.Until }, // the later end of a call
		"at":    func(e sale.Edit) time.Time { return e.At },
	} {
		for text, ok := range map[string]bool{"2026-11-10T04:00:00Z": true, "": false, "later": false, "0001-01-01T00:00:00Z": false, "1999-01-01T00:00:00Z": false} {
			r, err := Decode([]byte(`{"action":"reschedule","saleId":"moutai","opensAt":"2026-11-10T22:00:00Z","closesAt":"2026-11-14T20:00:00Z","` + name + `":"` + text + `"}`))
			if err != nil {
				t.Fatal(err)
			}
			e, err := r.Edit(now)
			if (err == nil) != ok || ok && (!read(e).Equal(now.Add(-20*time.Hour)) || e.ClosesAt.IsZero()) || !ok && sale.CodeOf(err) != sale.InvalidRequest {
				t.Errorf("%s %q: got %v (%v)", name, text, e, err)
			}
		}
	}
}
