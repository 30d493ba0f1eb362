package sale_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
)

var began = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)

// told is a report in short: "done a 2 @1" of a refund, "whole c 0 @1" of one without an amount, "total - 2 @1",
// "grows - 2 @1", or "open d 7 @0" of a dispute of rank 7. The amounts are in CNY.
func told(t *testing.T, text string) sale.MoneyReport {
	var kind, id string
	var amount, at int64
	if _, err := fmt.Sscanf(text, "%s %s %d @%d", &kind, &id, &amount, &at); err != nil {
		t.Fatal(text, err)
	}
	r := sale.MoneyReport{Provider: "stripe", Reference: "pi_1", Currency: "CNY", At: began.Add(time.Duration(at) * time.Second)}
	switch kind {
	case "total", "grows":
		r.Total = &sale.TotalReport{Amount: amount, Grows: kind == "grows"}
	case "asked", "open", "won", "lost":
		r.Currency, r.Dispute = "", &sale.DisputeReport{ID: id, State: sale.DisputeState(kind), Rank: amount}
	case "whole":
		r.Currency, r.Refund = "", &sale.RefundReport{ID: id, State: sale.RefundDone, Whole: true}
	default:
		r.Refund = &sale.RefundReport{ID: id, State: sale.RefundState(kind), Amount: amount}
	}
	if err := r.Check(began); err != nil {
		t.Fatal(text, err)
	}
	return r
}

// orders calls with every order of the texts.
func orders(texts []string, with func([]string)) {
	var next func(at int)
	texts = slices.Clone(texts)
	next = func(at int) {
		if at == len(texts) {
			with(texts)
			return
		}
		for i := at; i < len(texts); i++ {
			texts[at], texts[i] = texts[i], texts[at]
			next(at + 1)
			texts[at], texts[i] = texts[i], texts[at]
		}
	}
	next(0)
}

// The payment is of 2. Each history is what happens at the provider, in the reports that it sends.
func TestAnAccountSaysWhatIsBackAndDisputedWhateverTheOrderOfItsReports(t *testing.T) {
	// With Stripe an endpoint may have chosen the totals, the ids, or both; failures come with both.
	stripe := func(history ...string) (all [][]string) {
		for _, without := range []string{"", "total", "done"} {
			all = append(all, slices.DeleteFunc(slices.Clone(history),
				func(s string) bool { return without != "" && strings.HasPrefix(s, without) }))
		}
		return all
	}
	one := func(history ...string) [][]string { return [][]string{history} }
	for name, tt := range map[string]struct {
		histories [][]string
		back      int64
		disputed  sale.DisputeState
	}{
		"Stripe, whole":                          {stripe("done a 2 @1", "total - 2 @1"), 2, ""},
		"Stripe, part":                           {stripe("done a 1 @1", "total - 1 @1"), 1, ""},
		"Stripe, two parts":                      {stripe("done a 1 @1", "total - 1 @1", "done b 1 @2", "total - 2 @2"), 2, ""},
		"Stripe, whole fails":                    {stripe("done a 2 @1", "total - 2 @1", "failed a 2 @3"), 0, ""},
		"Stripe, whole fails in the same second": {stripe("done a 2 @1", "total - 2 @1", "failed a 2 @1"), 0, ""},
		"Stripe, whole fails, again": {
			stripe("done a 2 @1", "total - 2 @1", "failed a 2 @3", "done b 2 @5", "total - 2 @5"), 2, ""},
		"Stripe, second part fails": {
			stripe("done a 1 @1", "total - 1 @1", "done b 1 @2", "total - 2 @2", "failed b 1 @4"), 1, ""},
		"Stripe, part fails, then whole": {
			stripe("done a 1 @1", "total - 1 @1", "failed a 1 @2", "done b 2 @4", "total - 2 @4"), 2, ""},
		"Stripe, whole fails, fails again": {
			stripe("done a 2 @1", "total - 2 @1", "failed a 2 @3", "done b 2 @5", "total - 2 @5", "failed b 2 @7"), 0, ""},
		"Stripe, whole fails, again, and the failed one is edited": {
			stripe("done a 2 @1", "total - 2 @1", "failed a 2 @3", "done b 2 @5", "total - 2 @5", "failed a 2 @7"), 2, ""},
		"WeChat Pay, two parts":                     {one("done a 1 @0", "done b 1 @0"), 2, ""},
		"WeChat Pay, closed, again":                 {one("failed a 2 @0", "done b 2 @0"), 2, ""},
		"WeChat Pay, abnormal":                      {one("stuck a 2 @0"), 0, ""},
		"WeChat Pay, abnormal, paid out elsewhere":  {one("stuck a 2 @0", "done a 2 @0"), 2, ""},
		"Adyen, refund failed":                      {one("done a 2 @0", "failed a 2 @0"), 0, ""},
		"Adyen, refund reversed, again":             {one("done a 2 @0", "failed a 2 @0", "done b 2 @0"), 2, ""},
		"Adyen, cancellation without an amount":     {one("whole c 0 @0"), 2, ""},
		"Alipay, two parts":                         {one("grows - 1 @1", "grows - 2 @2"), 2, ""},
		"Alipay, two parts of one second":           {one("grows - 1 @1", "grows - 2 @1"), 2, ""},
		"a refund of nothing":                       {one("done a 0 @1", "total - 0 @1"), 0, ""},
		"more than was paid":                        {one("done a 2 @1", "done b 2 @2"), 2, ""},
		"one id with two amounts":                   {one("done a 1 @1", "done a 2 @1", "done a 1 @1970"), 2, ""},
		"an inquiry":                                {one("asked d 1 @0"), 0, sale.DisputeAsked},
		"a dispute that is won":                     {one("open d 1 @0", "won d 5 @0"), 0, sale.DisputeWon},
		"two states of one second":                  {one("open d 5 @0", "lost d 5 @0", "won d 5 @0"), 0, sale.DisputeLost},
		"lost once more":                            {one("open d 1 @0", "lost d 2 @0", "won d 3 @0", "lost d 4 @0"), 0, sale.DisputeLost},
		"one that is won, and an inquiry":           {one("won d 5 @0", "asked e 9 @0"), 0, sale.DisputeWon},
		"one that is won, and another that is open": {one("won d 5 @0", "open e 1 @0"), 0, sale.DisputeOpen},
	} {
		for _, history := range tt.histories {
			for repeated := range len(history) {
				orders(append(history, history[repeated]), func(order []string) {
					var a sale.Account
					for _, text := range order {
						a.Take(told(t, text), time.Unix(9, 0))
					}
					if back, whole := a.Back(2, "CNY"); back != tt.back || whole != (back == 2) {
						t.Errorf("%s: after %q got %d, whole: %t, want %d", name, order, back, whole, tt.back)
					}
					if got := a.Disputed(); got != tt.disputed {
						t.Errorf("%s: after %q it is disputed as %q, want %q", name, order, got, tt.disputed)
					}
					if v := a.V; a.Take(told(t, order[0]), time.Unix(10, 0)) || a.V != v {
						t.Errorf("%s: after %q, a repeat of the first changes the account", name, order)
					}
				})
			}
		}
	}
}

func TestAnAccountForgetsNoStateThatItHasHeardAndKnowsABoundedNumberOfRefunds(t *testing.T) {
	var a sale.Account
	for i := range int64(1000) {
		r := told(t, fmt.Sprintf("done r%d 1 @1", i))
		a.Take(r, time.Unix(i, 0))
		if r.Refund.State = sale.RefundFailed; i == 0 {
			a.Take(r, time.Unix(5, 0))
		}
	}
	if back, whole := a.Back(2000, "CNY"); len(a.Refunds) != 50 || a.Other != 950 || a.V != 999_000 || back != 49 || whole {
		t.Errorf("got %d refunds, %d others, version %d, %d back", len(a.Refunds), a.Other, a.V, back)
	}
	heard := a.Refunds["r0"].Heard
	if !heard[sale.RefundDone].Equal(time.Unix(0, 0)) || !heard[sale.RefundFailed].Equal(time.Unix(5, 0)) {
		t.Errorf("got %v", heard)
	}
	if back, whole := a.Back(2000, "USD"); back != 0 || whole {
		t.Errorf("of a payment of another currency %d is back", back)
	}
}

func TestAReportOfMoneyIsRefusedIfItIsNotOne(t *testing.T) {
	long := strings.Repeat("长", 200)
	for name, tt := range map[string]struct {
		change func(*sale.MoneyReport)
		isFine bool
	}{
		"as it is":              {func(*sale.MoneyReport) {}, true},
		"ids of 200 characters": {func(r *sale.MoneyReport) { r.Reference, r.Refund.ID = long, long }, true},
		"an id of 201":          {func(r *sale.MoneyReport) { r.Refund.ID = long + "1" }, false},
		"no id":                 {func(r *sale.MoneyReport) { r.Refund.ID = "" }, false},
		"no payment":            {func(r *sale.MoneyReport) { r.Reference = "" }, false},
		"of 1970":               {func(r *sale.MoneyReport) { r.At = time.Unix(0, 0) }, false},
		"of no instant":         {func(r *sale.MoneyReport) { r.At = time.Time{} }, true},
		"of 2099":               {func(r *sale.MoneyReport) { r.At = time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC) }, false},
		"of nothing":            {func(r *sale.MoneyReport) { r.Refund.Amount = 0 }, true},
		"of less than nothing":  {func(r *sale.MoneyReport) { r.Refund.Amount = -1 }, false},
		"of the whole and of 1": {func(r *sale.MoneyReport) { r.Refund.Whole = true }, false},
		"no currency":           {func(r *sale.MoneyReport) { r.Currency = "" }, false},
		"no currency, the whole": {func(r *sale.MoneyReport) {
			r.Currency = ""
			*r.Refund = sale.RefundReport{ID: "re_1", State: "done", Whole: true}
		}, true},
		"an unknown state":   {func(r *sale.MoneyReport) { r.Refund.State = "lost" }, false},
		"two things":         {func(r *sale.MoneyReport) { r.Total = &sale.TotalReport{Amount: 1} }, false},
		"no thing":           {func(r *sale.MoneyReport) { r.Refund = nil }, false},
		"an unknown dispute": {func(r *sale.MoneyReport) { r.Refund, r.Dispute = nil, &sale.DisputeReport{ID: "dp_1", State: "done"} }, false},
	} {
		r := sale.MoneyReport{
			Provider: "stripe", Reference: "pi_1", At: began, Currency: "CNY",
			Refund: &sale.RefundReport{ID: "re_1", State: sale.RefundDone, Amount: 1},
		}
		tt.change(&r)
		if err := r.Check(began); (err == nil) != tt.isFine {
			t.Errorf("%s: got %v, fine: %t", name, err, tt.isFine)
		}
	}
}
