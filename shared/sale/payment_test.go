package sale

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"flashsale/shared/orderid"
)

func TestWhatACreationAsksOfPaymentsIsChecked(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Creation)
		want   Code
	}{
		{"the shortest time", func(c *Creation) { c.PayWithin = MinPayWithin }, ""},
		{"the longest time", func(c *Creation) { c.PayWithin = MaxPayWithin }, ""},
		{"a price alone", func(c *Creation) { c.Price, c.Currency = 1, "EUR" }, ""},
		{"the highest price", func(c *Creation) { c.Price, c.Currency = MaxPrice, "JPY" }, ""},
		{"the most late days", func(c *Creation) { c.PayWithin, c.LateFor = MinPayWithin, 7*day }, ""},
		{"too many late days", func(c *Creation) { c.PayWithin, c.LateFor = MinPayWithin, 8*day }, InvalidRequest},
		{"fewer late days than none", func(c *Creation) { c.PayWithin, c.LateFor = MinPayWithin, -day }, InvalidRequest},
		{"half a late day", func(c *Creation) { c.PayWithin, c.LateFor = MinPayWithin, day/2 }, InvalidRequest},
		{"late days without a time to pay", func(c *Creation) { c.LateFor = day }, InvalidRequest},
		{"late days of a draw", func(c *Creation) { c.PayWithin, c.LateFor, c.DrawTerms = MinPayWithin, day, drawn().DrawTerms }, InvalidRequest},
		{"too short a time", func(c *Creation) { c.PayWithin = MinPayWithin - time.Second }, InvalidRequest},
		{"too long a time", func(c *Creation) { c.PayWithin = MaxPayWithin + time.Second }, InvalidRequest},
		{"a negative time", func(c *Creation) { c.PayWithin = -time.Hour }, InvalidRequest},
		{"a fraction of a second", func(c *Creation) { c.PayWithin = MinPayWithin + time.Millisecond }, InvalidRequest},
		{"a price without a currency", func(c *Creation) { c.Price = 1 }, InvalidRequest},
		{"a currency without a price", func(c *Creation) { c.Currency = "EUR" }, InvalidRequest},
		{"a negative price", func(c *Creation) { c.Price, c.Currency = -1, "EUR" }, InvalidRequest},
		{"too high a price", func(c *Creation) { c.Price, c.Currency = MaxPrice+1, "EUR" }, InvalidRequest},
		{"the highest price of eight", func(c *Creation) { c.Price, c.Currency, c.MaxPerOrder = MaxPrice/8, "JPY", 8 }, ""},
		{"a higher one", func(c *Creation) { c.Price, c.Currency, c.MaxPerOrder = MaxPrice/8+1, "JPY", 8 }, InvalidRequest},
		{"a currency in small letters", func(c *Creation) { c.Price, c.Currency = 1, "eur" }, InvalidRequest},
	} {
		c := creation(tt.change)
		if err := c.Check(); CodeOf(err) != tt.want {
			t.Errorf("%s: Check() = %v, want code %q", tt.name, err, tt.want)
		}
	}
}

func TestANewSaleHasATimeToPayAndAPriceOrNeither(t *testing.T) {
	for _, tt := range []struct {
		within time.Duration
		price  int64
		want   Code
	}{
		{0, 0, ""}, {MinPayWithin, 1, ""}, {MinPayWithin, 0, InvalidRequest}, {0, 1, InvalidRequest},
	} {
		c := creation(func(c *Creation) { c.PayWithin, c.Price = tt.within, tt.price })
		if err := c.CheckNew(); CodeOf(err) != tt.want {
			t.Errorf("%v to pay %d: CheckNew() = %v, want code %q", tt.within, tt.price, err, tt.want)
		}
	}
}

func TestANewSaleHasACurrencyThatISO4217ListsWithAMinorUnit(t *testing.T) {
	for code, want := range map[string]Code{
		"EUR": "", "OMR": "", "SLE": "", "CLF": "", // a fund has a minor unit, too
		"ZZZ": InvalidRequest, "OMN": InvalidRequest, "XXX": InvalidRequest, "XTS": InvalidRequest, "XAU": InvalidRequest, "DEM": InvalidRequest,
	} {
		c := creation(func(c *Creation) { c.PayWithin, c.Price, c.Currency = MinPayWithin, 1, code })
		if err := cmp.Or(c.Check(), c.CheckNew()); CodeOf(err) != want {
			t.Errorf("a price in %s: %v, want code %q", code, err, want)
		}
	}
	for price, want := range map[int64]Code{100: "", 150: InvalidRequest} {
		c := Creation{Price: price, Currency: "MGA"} // of which Stripe charges hundreds
		if err := c.CheckStripe(true); CodeOf(err) != want || c.CheckStripe(false) != nil {
			t.Errorf("%d MGA: %v, want code %q", price, err, want)
		}
	}
}

func TestAnOrderIsPaidByTheLaterTimeAndIsLateWhileNobodyWaitsForItsUnit(t *testing.T) {
	id, err := orderid.New(opensAt, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := Sale{PayWithin: time.Minute, LateFor: day, ClosesAt: closesAt}
	free := Sale{PayUntil: closesAt}
	for until, want := range map[time.Time]time.Time{{}: opensAt.Add(time.Minute), opensAt: opensAt.Add(time.Minute), closesAt: closesAt} {
		if s.PayUntil = until; !s.PayBy(id).Equal(want) || !s.PayBy(0).IsZero() || !free.PayBy(id).IsZero() || free.AsksForPayment() {
			t.Errorf("with time until %v: by %v, want %v", until, s.PayBy(id), want)
		}
	}
	if s.Late(1, opensAt) != day || s.Late(0, opensAt) != 0 || s.Late(0, closesAt) != day {
		t.Errorf("late for %v, %v, %v", s.Late(1, opensAt), s.Late(0, opensAt), s.Late(0, closesAt))
	}
	for want, s := range map[int]Sale{ReadsOperators: s, ReadsPayment: {PayWithin: 1}, ReadsGroups: {PayWithin: 1, LimitGroup: "shoe"}, 0: free, ReadsUnits: {LateFor: day, MaxPerOrder: 2}} {
		if got := s.OrdersReader(); got != want {
			t.Errorf("%+v needs %d, want %d", s, got, want)
		}
	}
}

func TestAPaymentIsCheckedFieldByField(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Payment)
		want   Code
	}{
		{"a complete one", func(*Payment) {}, ""},
		{"no order and no sale", func(p *Payment) { p.OrderID, p.SaleID = 0, "" }, ""},
		{"nothing paid", func(p *Payment) { p.Amount = 0 }, ""},
		{"the longest reference", func(p *Payment) { p.Reference = strings.Repeat("付", MaxReference) }, ""},
		{"a reference with a separator", func(p *Payment) { p.Reference = "pi#1" }, ""},
		{"no provider", func(p *Payment) { p.Provider = "" }, InvalidRequest},
		{"a provider with a separator", func(p *Payment) { p.Provider = "str#ipe" }, InvalidRequest},
		{"no reference", func(p *Payment) { p.Reference = "" }, InvalidRequest},
		{"too long a reference", func(p *Payment) { p.Reference = strings.Repeat("a", MaxReference+1) }, InvalidRequest},
		{"a reference that ends with a blank", func(p *Payment) { p.Reference = "pi_1 " }, InvalidRequest},
		{"a negative amount", func(p *Payment) { p.Amount = -1 }, InvalidRequest},
		{"the largest amount", func(p *Payment) { p.Amount = MaxPrice }, ""},
		{"too large an amount", func(p *Payment) { p.Amount = MaxPrice + 1 }, InvalidRequest},
		{"a currency of the first and the last letter", func(p *Payment) { p.Currency = "ZAR" }, ""},
		{"no currency", func(p *Payment) { p.Currency = "" }, InvalidRequest},
	} {
		p := Payment{Provider: "stripe", Reference: "pi_1", SaleID: "moutai", OrderID: 1, Amount: 100, Currency: "EUR"}
		tt.change(&p)
		if err := p.Check(); CodeOf(err) != tt.want {
			t.Errorf("%s: Check() = %v, want code %q", tt.name, err, tt.want)
		}
	}
}
