package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	system "flashsale/infra/ops/place"
)

// stackOver returns a local stack whose DynamoDB has this handler.
func stackOver(t *testing.T, dynamodb http.HandlerFunc) *place {
	t.Helper()
	engine := httptest.NewServer(dynamodb)
	t.Cleanup(engine.Close)
	return pointing(t, engine.URL)
}

// pointing returns a local stack whose DynamoDB is at the URL.
func pointing(t *testing.T, url string) *place {
	t.Helper()
	stack := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"dynamodb": url, "table": "T"})
	}))
	t.Cleanup(stack.Close)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(stack.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return &place{apiPort: n}
}

// does does a command there.
func (p *place) does(t *testing.T, out io.Writer, words ...string) error {
	t.Helper()
	c, ok := commandOf(words[0])
	if !ok {
		t.Fatalf("there is no command %s", words[0])
	}
	return c.do(t.Context(), p, words[1:], out)
}

func offline(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none",
	} {
		t.Setenv(name, value)
	}
}

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
	for name, p := range map[string]*place{
		"nothing listens": pointing(t, "http://127.0.0.1:1"),
		"nothing answers": stackOver(t, func(http.ResponseWriter, *http.Request) { <-hang }),
		"it fails":        stackOver(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusInternalServerError) }),
		"no credentials":  {table: "T"},
		"no stack runs":   {apiPort: 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{"receipt -sale moutai", "sales", "buyer -sale moutai -user alice"} {
				var out bytes.Buffer
				err := p.does(t, &out, strings.Fields(command)...)
				if err == nil || errors.Is(err, errBroken) || strings.Contains(err.Error(), "\n") || out.Len() > 0 {
					t.Errorf("%s: error %v, printed %q", command, err, &out)
				}
			}
		})
	}
}

// answers is a DynamoDB that holds only a list of sales.
func answers(ids ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		items := []any{}
		for _, id := range ids {
			items = append(items, map[string]any{"pk": map[string]string{"S": "SALES"}, "sk": map[string]string{"S": id}, "closesAt": map[string]string{"N": "4070908800000"}})
		}
		if !bytes.Contains(body, []byte(`"SALES"`)) {
			items = []any{}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Items": items, "Responses": map[string]any{"T": items}, "Table": map[string]any{"TableSizeBytes": 1}})
	}
}

func TestWithoutASaleTheReceiptListsTheSales(t *testing.T) {
	for _, c := range []struct {
		ids  []string
		want []string
	}{
		{nil, []string{"the table T has no sale"}},
		{[]string{"moutai", "other"}, []string{"  moutai  ", "  other  ", "closes 2099-01-01T00:00:00Z"}},
	} {
		var out bytes.Buffer
		err := stackOver(t, answers(c.ids...)).does(t, &out, "receipt")
		for _, want := range c.want {
			if err != nil || !strings.Contains(out.String(), want) {
				t.Errorf("printed %q (%v), want %q", &out, err, want)
			}
		}
	}
	err := stackOver(t, answers("moutai")).does(t, io.Discard, "receipt", "-sale", "maotai")
	if !errors.Is(err, books.ErrNoSale) || !strings.Contains(err.Error(), "the table T has moutai") {
		t.Errorf("a missing sale: %v", err)
	}
}

func TestAllSalesAreRecountedAndOneBrokenSaleFailsTheCommand(t *testing.T) {
	db, table, err := stackOver(t, answers("moutai", "other")).dynamodb(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := books.Options{Sleep: func(context.Context, time.Duration) error { return nil }}
	err = recountEach(t.Context(), db, table, []string{"moutai", "other"}, o, true, &out)
	if n := strings.Count(out.String(), `"the sale item is missing: to everybody this sale does not exist (P11)"`); n != 2 || !errors.Is(err, errBroken) {
		t.Errorf("printed %q (%v)", &out, err)
	}
}

// refusesKey answers, and refuses every query of that key.
func refusesKey(key string, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"`+key+`"`)) {
			w.Header().Set("X-Amzn-ErrorType", "ValidationException")
			http.Error(w, "{}", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}
}

func TestASaleThatCannotBeReadDoesNotKeepTheOthersFromBeingRecounted(t *testing.T) {
	o := books.Options{Sleep: func(context.Context, time.Duration) error { return nil }}
	for refused, c := range map[string]struct {
		receipts int
		says     string
	}{
		"SALE#first": {1, "no receipt of sale first: query SALE#first: "},
		"SALES":      {0, "the table T cannot be read: "},
	} {
		answer := answers("first", "moutai")
		if refused == "SALES" {
			answer = refusesKey("SALE#first", answer)
		}
		db, table, err := stackOver(t, refusesKey(refused, answer)).dynamodb(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = recountEach(t.Context(), db, table, []string{"first", "moutai"}, o, true, &out)
		if n := strings.Count(out.String(), `"saleId"`); n != c.receipts || err == nil || errors.Is(err, errBroken) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %d receipts (%v)", refused, n, err)
		}
	}
}

func TestAllSalesOfATableWithoutAnySaleAreNone(t *testing.T) {
	lost := func(w http.ResponseWriter, r *http.Request) {
		answer := answers()
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Scan") {
			answer = func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"Items": [{"pk": {"S": "SALE#moutai"}, "sk": {"S": "SALE"}}]}`)
			}
		}
		answer(w, r)
	}
	for name, c := range map[string]struct {
		table http.HandlerFunc
		want  error
		says  []string
	}{
		"an empty table":            {answers(), nil, []string{`"findings": []`, "the table T has no sale\n"}},
		"a sale that is not listed": {lost, errBroken, []string{"the item SALE#moutai, SALE is there, but the list of sales is empty", "NOT BALANCED:\n  - the item SALE#moutai"}},
	} {
		for i, args := range [][]string{{"receipt", "-all", "-json"}, {"receipt", "-all"}} {
			var out bytes.Buffer
			if err := stackOver(t, c.table).does(t, &out, args...); !errors.Is(err, c.want) || !strings.Contains(out.String(), c.says[i]) {
				t.Errorf("%s, %q: printed %q (%v)", name, args, &out, err)
			}
		}
	}
}

func TestAReceiptOfASaleThatAsksForPaymentSaysHowItsOrdersStand(t *testing.T) {
	r := &books.Receipt{SaleID: "moutai", Seeded: 25, Stock: 4, Claims: 23, Confirmed: 23, Paid: 19, Unpaid: 2, Released: 2, RefundsDue: 1, Balanced: true}
	var out bytes.Buffer
	if err := write(&out, r, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"    paid                   19\n    unpaid                  2\n    released                2\n  refunds due               1\n",
		"balanced: stock left + claims = seeded + units put back",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestAReceiptIsPrintedForPeopleAndForMachines(t *testing.T) {
	r := &books.Receipt{SaleID: "moutai", AsOf: "2026-11-11T20:00:00.000Z", Seeded: 25, Stock: 40, Claims: 3, Pending: 1, Confirmed: 2, OldestPendingSeconds: 12,
		Findings:   []books.Finding{{Promise: "P2", Text: "shard 0: stock is 40, should be 22 (seeded 25 - claims 3): 18 too many"}},
		Unfinished: []string{"1 confirmed claims have no order item yet"}, NotLookedFor: []string{"orders that no claim knows"}}
	var out bytes.Buffer
	if err := write(&out, r, false); err != nil {
		t.Fatal(err)
	}
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
  - shard 0: stock is 40, should be 22 (seeded 25 - claims 3): 18 too many (P2)
not checked:
  - orders that no claim knows
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
	out.Reset()
	if err := write(&out, r, true); err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"saleId": "moutai", "asOf": "2026-11-11T20:00:00.000Z", "seeded": 25.0, "stock": 40.0, "claims": 3.0, "pending": 1.0, "confirmed": 2.0,
		"oldestPendingSeconds": 12.0, "balanced": false, "readUnits": 0.0,
		"findings": []any{"shard 0: stock is 40, should be 22 (seeded 25 - claims 3): 18 too many (P2)"},
	} {
		if fmt.Sprint(back[name]) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, back[name], want)
		}
	}
}
