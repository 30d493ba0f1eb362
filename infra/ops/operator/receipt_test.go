package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/dynamotest"
	system "flashsale/infra/ops/place"
)

func TestATableThatCannotBeReadEndsWithOneLine(t *testing.T) {
	offline(t)
	if total := system.Tries*callTime + (system.Tries-1)*callPause; total >= 30*time.Second || reachTime >= 30*time.Second {
		t.Errorf("a call may take %v, the first one %v", total, reachTime)
	}
	oldTime, oldPause := callTime, callPause
	callTime, callPause = 20*time.Millisecond, time.Millisecond
	defer func() { callTime, callPause = oldTime, oldPause }()
	hang := make(chan struct{})
	defer close(hang)
	t.Setenv("AWS_REGION", "us-east-1")
	at := func(url string) *place {
		return &place{found: &system.Place{System: client.System{Client: client.New(url, client.Options{}), Local: true, DynamoDB: url, Table: "T"}}}
	}
	answering := func(answer http.HandlerFunc) *place {
		engine := httptest.NewServer(answer)
		t.Cleanup(engine.Close)
		return at(engine.URL)
	}
	for name, p := range map[string]*place{
		"nothing listens": at("http://127.0.0.1:1"),
		"nothing answers": answering(func(http.ResponseWriter, *http.Request) { <-hang }),
		"it fails":        answering(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusInternalServerError) }),
		"no credentials":  {table: "T"},
		"no stack runs":   {apiPort: 1},
	} {
		for _, command := range []string{"receipt -sale moutai", "sales", "buyer -sale moutai -user alice"} {
			var out bytes.Buffer
			words := strings.Fields(command)
			c, _ := commandOf(words[0])
			if err := c.do(t.Context(), p, words[1:], &out); err == nil || errors.Is(err, errBroken) || strings.Contains(err.Error(), "\n") || out.Len() > 0 {
				t.Errorf("%s, %s: error %v, printed %q", name, command, err, &out)
			}
		}
	}
}

func TestAReceiptIsOfEachSaleThatIsAskedForAndCanBeRead(t *testing.T) {
	refuse := func(key string) func(*dynamotest.DB) {
		return func(db *dynamotest.DB) { db.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("", key) }
	}
	without := func(pk, sk string) func(*dynamotest.DB) {
		return func(db *dynamotest.DB) { remove(t, db, pk, sk) }
	}
	newer := func(db *dynamotest.DB) {
		if err := db.Tamper(t.Context(), "T", "SALE#boots", "SALE", "minReader", 1000); err != nil {
			t.Fatal(err)
		}
	}
	both, boots := []string{"boots", "moutai"}, []string{"boots"}
	for name, tt := range map[string]struct {
		sales   []string
		change  func(*dynamotest.DB)
		command string
		fails   error
		says    []string
		counts  int // of receipts
	}{
		"without a sale the list":           {both, nil, "receipt", nil, []string{"sales of the table T (make receipt SALE=…", "  boots  ", "  moutai  ", "  closes 2000"}, 0},
		"of a table without a sale":         {nil, nil, "receipt", nil, []string{"the table T has no sale"}, 0},
		"one":                               {both, nil, "receipt -sale boots", nil, []string{"receipt of sale boots"}, 1},
		"one that is not there":             {boots, nil, "receipt -sale maotai", errOther, []string{"make receipt without SALE lists the sales of the table T"}, 0},
		"all, and one is broken":            {both, without("SALE#boots", "SALE"), "receipt -all", errBroken, []string{"the sale item is missing: to everybody this sale does not exist (P11)"}, 2},
		"all, and one cannot be read":       {both, refuse("SALE#boots"), "receipt -all", errOther, []string{"no receipt of sale boots: query SALE#boots: "}, 1},
		"all, and one is for newer":         {both, newer, "receipt -all", errOther, []string{"no receipt of sale boots: stored for a newer release"}, 1},
		"the list cannot be read":           {boots, refuse("SALES"), "receipt -all", errOther, []string{"the table T cannot be read: "}, 0},
		"all of a table without any":        {nil, nil, "receipt -all", nil, []string{"the table T has no sale\n"}, 0},
		"all, but one is not listed":        {boots, without("SALES", "boots"), "receipt -all", errBroken, []string{"NOT BALANCED:\n  - the item ", "#boots"}, 0},
		"its events, but there is no file":  {boots, nil, "receipt -sale boots -events none.jsonl", errOther, []string{"read events: open none.jsonl"}, 0},
		"all events, but there is no file":  {boots, nil, "receipt -all -events none.jsonl", errOther, []string{"read events: open none.jsonl"}, 0},
		"for a machine, of a table without": {nil, nil, "receipt -all -json", nil, []string{`"findings": []`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, _ := listed(t, tt.sales...)
				if tt.change != nil {
					tt.change(db)
				}
				tells(t, db, tt.command, tt.fails, tt.says...)
				if said, _ := does(t, db, tt.command); strings.Count(said, "receipt of sale ") != tt.counts {
					t.Errorf("want %d receipts in\n%s", tt.counts, said)
				}
			})
		})
	}
}

func TestAReceiptIsPrintedForPeopleAndForMachines(t *testing.T) {
	r := &books.Receipt{SaleID: "moutai", AsOf: "2026-11-11T20:00:00.000Z", Seeded: 25, Stock: 40, Claims: 3, Pending: 1, Confirmed: 2, OldestPendingSeconds: 12,
		Findings:   []books.Finding{{Promise: "P2", Text: "shard 0: stock is 40, should be 22 (seeded 25 - claims 3 + put back 0): 18 too many"}},
		Unfinished: []string{"1 confirmed claims have no order item yet"}, NotLookedFor: []string{"orders that no claim knows"}}
	var out bytes.Buffer
	r.Print(&out)
	want := `receipt of sale moutai as of 2026-11-11T20:00:00.000Z
  seeded                   25
  stock left               40
  claims                    3
    confirmed               2
    pending                 1
    oldest                12s
  cost                      0 read units
not finished:
  - 1 confirmed claims have no order item yet
NOT BALANCED:
  - shard 0: stock is 40, should be 22 (seeded 25 - claims 3 + put back 0): 18 too many (P2)
not checked:
  - orders that no claim knows
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
	out.Reset()
	if err := writeJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	contains(t, out.String(), `"saleId": "moutai"`, `"seeded": 25`, `"pending": 1`, `"oldestPendingSeconds": 12`, `"balanced": false`,
		`"findings": [
    "shard 0: stock is 40, should be 22 (seeded 25 - claims 3 + put back 0): 18 too many (P2)"
  ]`)
	out.Reset()
	(&books.Receipt{SaleID: "moutai", Seeded: 25, Stock: 4, Claims: 23, Confirmed: 23, Paid: 19, Unpaid: 2, Released: 2, RefundsDue: 1, Balanced: true}).Print(&out)
	contains(t, out.String(), "    paid                   19\n    unpaid                  2\n    released                2\n  refunds due               1\n",
		"balanced: stock left + claims = seeded + units put back")
}
