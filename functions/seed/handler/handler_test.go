package handler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/invocation"
	"flashsale/shared/sale"
)

func TestACreationAppliesOnceAndOtherContentsAreAnError(t *testing.T) {
	f := newFunction(t)
	f.succeed(t, event(t, "seed-create.json"), `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`)
	f.succeed(t, event(t, "seed-create.json"), `{"saleId":"moutai","seeded":100,"shards":5,"applied":false}`)
	want := sale.Creation{
		SaleID: "moutai", Name: "Feitian Moutai", Stock: 100, Shards: 5,
		OpensAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ClosesAt: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, f.created["moutai"]); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	f.refuse(t, []byte(`{"action":"create","saleId":"moutai","opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z","stock":1000}`), sale.Conflicting)
	if f.seeded["moutai"] != 100 {
		t.Errorf("%d units, want 100", f.seeded["moutai"])
	}
}

func TestAnAdditionAppliesOnceAndOtherContentsAreAnError(t *testing.T) {
	f := newFunction(t)
	f.refuse(t, event(t, "seed-add.json"), sale.SaleNotFound)
	f.succeed(t, event(t, "seed-create.json"), `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`)
	f.succeed(t, event(t, "seed-add.json"), `{"saleId":"moutai","seeded":150,"shards":5,"applied":true}`)
	f.succeed(t, event(t, "seed-add.json"), `{"saleId":"moutai","seeded":150,"shards":5,"applied":false}`)
	f.refuse(t, []byte(`{"action":"add","saleId":"moutai","seedId":"second-batch","stock":51}`), sale.Conflicting)
}

func TestAWithdrawalAppliesOnceAndSaysHowManyUnitsItTook(t *testing.T) {
	f := newFunction(t)
	f.refuse(t, event(t, "seed-withdraw.json"), sale.SaleNotFound)
	f.succeed(t, event(t, "seed-create.json"), `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`)
	f.succeed(t, event(t, "seed-withdraw.json"), `{"saleId":"moutai","seeded":80,"shards":5,"applied":true,"withdrawn":20}`)
	f.succeed(t, event(t, "seed-withdraw.json"), `{"saleId":"moutai","seeded":80,"shards":5,"applied":false,"withdrawn":20}`)
	f.refuse(t, []byte(`{"action":"add","saleId":"moutai","seedId":"typo","stock":20}`), sale.Conflicting)
}

func TestACreationTakesItsMaxStockAlong(t *testing.T) {
	f := newFunction(t)
	f.succeed(t, []byte(`{"action":"create","saleId":"moutai","opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z","stock":100,"shards":5,"maxStock":150}`),
		`{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`)
	if c := f.created["moutai"]; c.MaxStock != 150 {
		t.Errorf("created with %d", c.MaxStock)
	}
}

func TestACreationTakesWhatItAsksOfPaymentsAlong(t *testing.T) {
	const create = `{"action":"create","saleId":"moutai","opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z","stock":100,"shards":5`
	f := newFunction(t)
	for _, wrong := range []string{
		`"payWithin":59`, `"payWithin":604801`, `"payWithin":-1`, `"payWithin":9223372036854775807`, `"payWithin":18446744134`, `"price":0,"currency":"CNY"`, `"price":1`, `"currency":"CNY"`,
	} {
		f.refuse(t, []byte(create+","+wrong+"}"), sale.InvalidRequest)
	}
	f.succeed(t, []byte(create+`,"payWithin":1800,"price":199900,"currency":"CNY"}`), `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`)
	if c := f.created["moutai"]; c.PayWithin != 30*time.Minute || c.Price != 199900 || c.Currency != "CNY" {
		t.Errorf("created as %+v", c)
	}
	f = newFunction(t)
	f.succeed(t, []byte(create+`,"payWithin":604800,"price":1,"currency":"CNY"}`), `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`)
	if c := f.created["moutai"]; c.PayWithin != sale.MaxPayWithin {
		t.Errorf("created as %+v, want seven days to pay", c)
	}
}

// Releases before this one created sales with only one of the two, and their requests may be repeated.
func TestPriceAndPayWithinComeTogetherInANewSale(t *testing.T) {
	const create = `{"action":"create","saleId":"moutai","name":"M","opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z","stock":100,"shards":5`
	stored := func(change func(*sale.Creation)) *sale.Creation {
		c := sale.Creation{
			SaleID: "moutai", Name: "M", Stock: 100, Shards: 5,
			OpensAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ClosesAt: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC),
		}
		change(&c)
		return &c
	}
	timed := stored(func(c *sale.Creation) { c.PayWithin = time.Minute })
	priced := stored(func(c *sale.Creation) { c.Price, c.Currency = 199900, "CNY" })
	const applied, repeated = `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`, `{"saleId":"moutai","seeded":100,"shards":5,"applied":false}`
	for _, tt := range []struct {
		name, asks string
		stored     *sale.Creation
		answer     string // or
		code       sale.Code
	}{
		{"neither", ``, nil, applied, ""},
		{"neither, and no time given as 0", `,"payWithin":0`, nil, applied, ""},
		{"both", `,"payWithin":60,"price":199900,"currency":"CNY"`, nil, applied, ""},
		{"a time without a price", `,"payWithin":60`, nil, "", sale.InvalidRequest},
		{"a price without a time", `,"price":199900,"currency":"CNY"`, nil, "", sale.InvalidRequest},
		{"a price and 0 as time", `,"payWithin":0,"price":199900,"currency":"CNY"`, nil, "", sale.InvalidRequest},
		{"a time alone that is stored", `,"payWithin":60`, timed, repeated, ""},
		{"a price alone that is stored", `,"price":199900,"currency":"CNY"`, priced, repeated, ""},
		{"a time alone where another is stored", `,"payWithin":61`, timed, "", sale.Conflicting},
		{"both where a time alone is stored", `,"payWithin":60,"price":199900,"currency":"CNY"`, timed, "", sale.Conflicting},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFunction(t)
			if tt.stored != nil {
				f.created["moutai"], f.seeded["moutai"] = *tt.stored, tt.stored.Stock
			}
			request := []byte(create + tt.asks + "}")
			if tt.code == "" {
				f.succeed(t, request, tt.answer)
				return
			}
			before := len(f.created)
			f.refuse(t, request, tt.code)
			if len(f.created) != before {
				t.Errorf("created as %+v", f.created["moutai"])
			}
			_, failure := f.invoke(t, t.Context(), request)
			if says := "give payWithin, price and currency together"; tt.code == sale.InvalidRequest && (failure == nil || !strings.Contains(failure.Message, says)) {
				t.Errorf("told %+v, not to %s", failure, says)
			}
		})
	}
	f := newFunction(t)
	f.fault = sale.Fail(sale.Busy, errForeign)
	f.refuse(t, []byte(create+`,"payWithin":60}`), sale.Busy)
}

func TestAnEditSaysWhatItChangesAndWhenAndIsToldWhatHolds(t *testing.T) {
	yes, no := true, false
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	opensAt, closesAt := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)
	const window = `,"opensAt":"2026-01-01T00:00:00.000Z","closesAt":"2036-01-01T00:00:00.000Z","changedAt":`
	tests := map[string]struct {
		want  sale.Edit
		holds string
	}{
		"seed-pause.json":           {sale.Edit{SaleID: "moutai", Paused: &yes}, `"paused":true` + window + `"2026-01-02T00:00:00.000Z"`},
		"seed-pause-scheduled.json": {sale.Edit{SaleID: "moutai", At: at, Paused: &yes}, `"paused":true` + window + `"2026-01-01T12:00:00.000Z"`},
		"seed-resume.json":          {sale.Edit{SaleID: "moutai", Paused: &no}, `"paused":false` + window + `"2026-01-02T00:00:00.000Z"`},
		"seed-reschedule.json": {
			sale.Edit{SaleID: "moutai", OpensAt: opensAt, ClosesAt: closesAt}, `"paused":false` + window + `"2026-01-02T00:00:00.000Z"`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			f.succeed(t, event(t, "seed-create.json"), `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`)
			f.succeed(t, event(t, name), `{"saleId":"moutai","seeded":100,"shards":5,"applied":true,`+tt.holds+`}`)
			if diff := cmp.Diff([]sale.Edit{tt.want}, f.edits); diff != "" {
				t.Errorf("edit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOlderEditIsToldWhichOneStands(t *testing.T) {
	f := newFunction(t)
	f.succeed(t, event(t, "seed-create.json"), `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`)
	f.invoke(t, t.Context(), event(t, "seed-resume.json"))
	f.refuse(t, event(t, "seed-pause-scheduled.json"), sale.Conflicting)
	_, failure := f.invoke(t, t.Context(), event(t, "seed-pause-scheduled.json"))
	want := "conflicting-request: an edit of 2026-01-02T00:00:00.000Z stands: the sale is not paused"
	if failure == nil || failure.Message != want {
		t.Errorf("got %+v, want %s", failure, want)
	}
}

func TestAnInvalidRequestReachesNothing(t *testing.T) {
	const window = `"opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z"`
	for _, raw := range []string{
		`null`, `[]`, `"create"`, `{}`,
		`{"action":"create","saleId":"moutai",` + window + `}`,
		`{"action":"create","saleId":"moutai",` + window + `,"stock":0}`,
		`{"action":"create","saleId":"moutai",` + window + `,"stock":-1}`,
		`{"action":"create","saleId":"moutai",` + window + `,"stock":100,"shards":0}`,
		`{"action":"create","saleId":"moutai",` + window + `,"stock":100,"shards":101}`,
		`{"action":"create","saleId":"moutai",` + window + `,"stock":100,"ordersPerSecond":0}`,
		`{"action":"create","saleId":"moutai",` + window + `,"stock":100,"shards":1,"ordersPerSecond":1}`,
		`{"action":"create","saleId":"moutai","stock":100}`,
		`{"action":"create","saleId":"moutai","stock":100,"opensAt":"tomorrow","closesAt":"2036-01-01T00:00:00Z"}`,
		`{"action":"create","saleId":"moutai","stock":100,"opensAt":"2026-01-01","closesAt":"2036-01-01T00:00:00Z"}`,
		`{"action":"create","saleId":"moutai","stock":100,"opensAt":"2026-01-01T00:00:00","closesAt":"2036-01-01T00:00:00Z"}`,
		`{"action":"create","saleId":"moutai","stock":100,"opensAt":"2036-01-01T00:00:00Z","closesAt":"2026-01-01T00:00:00Z"}`,
		`{"action":"create","saleId":"mou#tai",` + window + `,"stock":100}`,
		`{"action":"create",` + window + `,"stock":100}`,
		`{"action":"create","saleId":"moutai","name":"a\nb",` + window + `,"stock":100}`,
		`{"action":"add","saleId":"moutai","seedId":"s"}`,
		`{"action":"add","saleId":"moutai","stock":1}`,
		`{"action":"add","saleId":"moutai","seedId":"s#1","stock":1}`,
		`{"action":"create","saleId":"moutai",` + window + `,"stock":100,"maxStock":0}`,
		`{"action":"create","saleId":"moutai",` + window + `,"stock":100,"maxStock":99}`,
		`{"action":"withdraw","saleId":"moutai","seedId":"s"}`,
		`{"action":"withdraw","saleId":"moutai","stock":1}`,
		`{"action":"withdraw","saleId":"moutai","seedId":"s","stock":0}`,
		`{"action":"pause"}`,
		`{"action":"pause","saleId":"moutai","at":"noon"}`,
		`{"action":"pause","saleId":"moutai","at":""}`,
		`{"action":"pause","saleId":"moutai","at":"0001-01-01T00:00:00Z"}`,
		`{"action":"pause","saleId":"moutai","at":"2026-01-02T00:01:01Z"}`,
		`{"action":"reschedule","saleId":"moutai"}`,
		`{"action":"reschedule","saleId":"moutai","opensAt":"2026-01-01T00:00:00Z"}`,
	} {
		f := newFunction(t)
		f.refuse(t, []byte(raw), sale.InvalidRequest)
		if f.calls != 0 {
			t.Errorf("%s reaches the ledger", raw)
		}
	}
}

func TestTheErrorTypeIsTheCodeAndACauseStaysInside(t *testing.T) {
	tests := []struct {
		name   string
		change func(*function)
		want   sale.Code
	}{
		{"a busy table", func(f *function) { f.fault = fmt.Errorf("shard 3: %w", sale.Fail(sale.Busy, errForeign)) }, sale.Busy},
		{"a sale for a newer release", func(f *function) { f.fault = sale.Refuse(sale.NewerVersion, "") }, sale.NewerVersion},
		{"a foreign error", func(f *function) { f.fault = errForeign }, sale.Internal},
		{"a panic", func(f *function) { f.panics = true }, sale.Internal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"seed-create.json", "seed-add.json", "seed-withdraw.json", "seed-pause.json"} {
				f := newFunction(t)
				tt.change(f)
				f.refuse(t, event(t, name), tt.want)
			}
		})
	}
}

func TestSeedingEndsHalfASecondBeforeTheDeadline(t *testing.T) {
	f := newFunction(t)
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	if _, failure := f.invoke(t, ctx, event(t, "seed-create.json")); failure != nil {
		t.Fatal(failure)
	}
	if want := deadline.Add(-invocation.Margin); !f.deadline.Equal(want) {
		t.Errorf("the ledger had until %s, want %s", f.deadline, want)
	}
}
