package handler

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// owing runs a test of a function over a sale of which alice has paid her order and two payments more.
func owing(t *testing.T, test func(t *testing.T, f *function)) {
	t.Helper()
	selling(t, func(t *testing.T, f *function) {
		for n := range 3 {
			f.Pay("alice", fmt.Sprint("pi_", n+1), 149900)
		}
		test(t, f)
	}, asksForPayment)
}

// due is what the list says of a refund that is due.
func due(payment string) map[string]any {
	return map[string]any{
		"payment": payment, "reason": "other-payment", "amount": 149900.0, "currency": "CNY", "digits": 2.0, "saleId": "moutai",
		"orderId": "406709376884146177", "user": "alice", "at": "2026-01-01T00:00:08.000Z",
	}
}

func TestTheListOfRefundsSaysWhatIsDueAndWhoHasPaidItBack(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		f.answered(t, event(t, "operate-mark.json"))
		done := due("stripe#pi_2")
		done["refundedAt"], done["refundedBy"] = "2026-01-01T00:00:08.000Z", "kim"
		want := map[string]any{"saleId": "moutai", "asOf": "2026-01-01T00:00:08.000Z", "refunds": []any{done, due("stripe#pi_3")}, "unreadable": 0.0}
		if diff := cmp.Diff(want, f.answered(t, event(t, "operate-refunds.json"))); diff != "" {
			t.Errorf("list (-want +got):\n%s", diff)
		}
		if f.Logged(t, "actor") != "vera" {
			t.Errorf("the line is %s", f.Log.String())
		}
		f.Newer("REFUND#moutai", "stripe#pi_2")
		got := f.answered(t, event(t, "operate-refunds.json"))
		if got["unreadable"] != 1.0 || len(got["refunds"].([]any)) != 1 {
			t.Errorf("with one that cannot be read the list is %v", got)
		}
		unknown := f.answered(t, event(t, "operate-refunds.json", inQuery("after", "")))
		if unknown["saleId"] != "" || len(unknown["refunds"].([]any)) != 0 {
			t.Errorf("those of unknown orders are %v", unknown)
		}
		refused(t, f.Ask(t, t.Context(), event(t, "operate-refunds.json", inQuery("saleId", "nothing"))), 404, sale.SaleNotFound)
		refused(t, f.Ask(t, t.Context(), event(t, "operate-refunds.json", inQuery("saleId", "a#b"))), 400, sale.InvalidRequest)
		refused(t, f.Ask(t, t.Context(), event(t, "operate-refunds.json", inQuery("after", strings.Repeat("x", 1025)))), 400, sale.InvalidRequest)
		f.answered(t, event(t, "operate-refunds.json", inQuery("after", strings.Repeat("x", 1024))))
	})
}

// listOf is a request that asks what a file means; more are the body's other members.
func listOf(t *testing.T, file []byte, more string) []byte {
	t.Helper()
	return event(t, "operate-list.json", body(`{"list":"`+base64.StdEncoding.EncodeToString(file)+`"`+more+`}`))
}

func packed(t *testing.T, file []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(file)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAListSaysWhatEachOfItsRowsMeansAndMarksNothing(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		f.answered(t, event(t, "operate-mark.json", user("lee")))
		f.Open(func(c *sale.Creation) { c.SaleID, c.LimitGroup = "beer", "drinks" })
		if _, err := f.Ledger().Pay(t.Context(), sale.Payment{Provider: "standard", Reference: "none", Amount: 700, Currency: "EUR"}); err != nil {
			t.Fatal(err)
		}
		before := f.DB.Dump()
		f.DB.PageBytes = 1 // a refund a page
		file := []byte("payment_intent_id,reporting_category,gross,currency\npi_1,charge,1499.00,cny\npi_2,refund,1499.00,cny\npi_3,refund,-1498.996,cny\nnone,refund,7.00,eur\n")
		for more, want := range map[string]string{
			`,"saleId":"moutai"`: "3 pi_2 already lee|4 pi_3 part 1498.996 CNY|5 none unknown",
			`,"group":"drinks"`:  "3 pi_2 unknown|4 pi_3 unknown|5 none unknown",
			``:                   "3 pi_2 already lee|4 pi_3 part 1498.996 CNY|5 none due",
			`,"after":3`:         "4 pi_3 part 1498.996 CNY|5 none due",
		} {
			for _, file := range [][]byte{file, packed(t, file)} {
				answer := f.answered(t, listOf(t, file, more))
				var got []string
				for _, one := range answer["rows"].([]any) {
					row := one.(map[string]any)
					refund, _ := row["refund"].(map[string]any)
					text := fmt.Sprintln(row["line"], row["payment"], row["outcome"], row["back"], refund["refundedBy"])
					got = append(got, strings.Join(strings.Fields(strings.ReplaceAll(text, "<nil>", "")), " "))
				}
				if diff := cmp.Diff(want, strings.Join(got, "|")); diff != "" || answer["others"] != 1.0 || answer["unreadable"] != 0.0 || answer["asOf"] != "2026-01-01T00:00:08.000Z" {
					t.Errorf("%s: (-want +got):\n%s\nof %v", more, diff, answer)
				}
			}
		}
		viewer := f.answered(t, event(t, "operate-list.json", groups("flashsale-viewer")))
		if diff := cmp.Diff(map[string]any{"line": 2.0, "payment": "stripe#pi_3", "outcome": "due", "refund": due("stripe#pi_3")}, viewer["rows"].([]any)[1]); diff != "" {
			t.Errorf("a row (-want +got):\n%s", diff)
		}
		if f.DB.Dump() != before {
			t.Error("the table has changed")
		}
		f.Newer("REFUND#moutai", "stripe#pi_3")
		f.Newer("REFUND#", "standard#none")
		if got := f.answered(t, listOf(t, file, "")); got["unreadable"] != 2.0 {
			t.Errorf("of two that cannot be read the answer is %v", got)
		}
		refused(t, f.Ask(t, t.Context(), listOf(t, file, `,"saleId":"nothing"`)), 404, sale.SaleNotFound)
		refused(t, f.Ask(t, t.Context(), listOf(t, file, `,"group":"nothing"`)), 404, sale.GroupNotFound)
		f.BusyFor(time.Minute, "Query", "REFUND#moutai")
		refused(t, f.Ask(t, t.Context(), listOf(t, file, "")), 503, sale.Busy)
	})
}

func TestAListThatMeansNothingIsToldWhy(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		for want, file := range map[string][]byte{
			"[] packed []": packed(t, []byte("PK\x03\x04")), "[] too-long []": packed(t, bytes.Repeat([]byte("x\n"), 16<<20+1)),
			"[] untitled [gross debit (gc)]": []byte("Psp Reference,Type,Gross Currency\npi_2,Refunded,CNY\n"), "[] <nil> []": []byte("# nothing\n"),
		} {
			answer := f.answered(t, listOf(t, file, ""))
			missing, _ := answer["missing"].([]any)
			if got := fmt.Sprint(answer["rows"], " ", answer["problem"], " ", missing); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		for _, text := range []string{``, `{"list":"%"}`, `{"list":"H4sI"}`, `{"list":"","saleId":"moutai","group":"drinks"}`, `{"list":"","saleId":"a#b"}`, `{"list":"","group":"a#b"}`, `{"list":"","sale":"moutai"}`, `{"list":["pi_2"]}`} {
			refused(t, f.Ask(t, t.Context(), event(t, "operate-list.json", body(text))), 400, sale.InvalidRequest)
		}
		refused(t, f.Ask(t, t.Context(), event(t, "operate-list.json", body(`{"list":"`+strings.Repeat("A", 5<<20)+`"}`))), 413, sale.BodyTooLarge)
	})
}

// Lambda returns six megabytes.
func TestALongListIsAnsweredInParts(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		var file strings.Builder
		const n = 3000
		for i := range n {
			fmt.Fprintf(&file, "\"%d%s\"\n", i, strings.Repeat(`<\`, 200))
		}
		rows, parts, after := 0, 0, 0
		for parts == 0 || after > 0 {
			r := f.Ask(t, t.Context(), listOf(t, []byte(file.String()), fmt.Sprintf(`,"after":%d`, after)))
			var page struct {
				Rows []struct{ Line int }
				Next int
			}
			if err := json.Unmarshal([]byte(r.Body), &page); err != nil || len(page.Rows) == 0 || page.Rows[0].Line != rows+1 {
				t.Fatalf("part %d begins at %.200s (%v), want line %d", parts, r.Body, err, rows+1)
			}
			if answer, _ := json.Marshal(r); len(answer) > 6<<20 {
				t.Errorf("part %d has %d bytes", parts, len(answer))
			}
			rows, parts, after = rows+len(page.Rows), parts+1, page.Next
		}
		if rows != n || parts < 2 {
			t.Errorf("%d rows in %d parts, want %d in several", rows, parts, n)
		}
	})
}

// Whoever goes on after an answer's next sees all refunds.
func TestALongListOfRefundsIsReadToItsEnd(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		for n := range pageRefunds {
			f.Pay("alice", fmt.Sprintf("pi_x%03d", n), 149900)
		}
		seen := map[string]bool{}
		for after, more := "", true; more; {
			page := f.answered(t, event(t, "operate-refunds.json", func(r *events.APIGatewayV2HTTPRequest) {
				r.QueryStringParameters = map[string]string{"saleId": "moutai", "after": after}
			}))
			for _, one := range page["refunds"].([]any) {
				seen[one.(map[string]any)["payment"].(string)] = true
			}
			after, more = page["next"].(string)
		}
		if want := pageRefunds + 2; len(seen) != want {
			t.Errorf("%d refunds, want %d", len(seen), want)
		}
	})
}

// The file of a provider has lines of everything.
func TestEachPaymentToMarkIsAnswered(t *testing.T) {
	for _, saleID := range []string{`"saleId":"moutai",`, ""} { // the guards say which sale
		owing(t, func(t *testing.T, f *function) {
			f.answered(t, event(t, "operate-mark.json", user("lee")))
			time.Sleep(time.Minute)
			text := `{` + saleID + `"payments":["stripe#pi_2","stripe#pi_3","stripe#pi_3","stripe#pi_1","stripe#pi_9","pi_3","","#","a#\n","stripe#` + strings.Repeat("x", 201) + `"]}`
			var got []string
			for _, one := range f.answered(t, event(t, "operate-mark.json", body(text)))["refunds"].([]any) {
				m := one.(map[string]any)
				refund, _ := m["refund"].(map[string]any)
				got = append(got, strings.TrimSpace(fmt.Sprintf("%v %v %v %v", m["outcome"], refund["payment"], refund["refundedAt"], refund["refundedBy"])))
			}
			none := " <nil> <nil> <nil>"
			want := []string{"already stripe#pi_2 2026-01-01T00:00:08.000Z lee", "marked stripe#pi_3 2026-01-01T00:01:08.000Z kim", "doubled" + none,
				"unknown" + none, "unknown" + none, "unknown" + none, "unknown" + none, "unknown" + none, "unknown" + none, "unknown" + none}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", saleID, diff)
			}
			if f.Logged(t, "marked") != 1.0 || f.Logged(t, "actor") != "kim" {
				t.Errorf("the line is %s", f.Log.String())
			}
		})
	}
}

func TestAFailureOfOneMarkHidesNoOther(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		f.Newer("REFUND#moutai", "stripe#pi_2")
		got := f.answered(t, event(t, "operate-mark.json", body(`{"payments":["stripe#pi_2","stripe#pi_3"]}`)))["refunds"].([]any)
		if got[0].(map[string]any)["outcome"] != "failed" || got[1].(map[string]any)["outcome"] != "marked" || f.Logged(t, "failure") == nil {
			t.Errorf("got %v, the line is %s", got, f.Log.String())
		}
		f.BusyFor(time.Minute, "UpdateItem", "REFUND#moutai")
		got = f.answered(t, event(t, "operate-mark.json", body(`{"payments":["stripe#pi_3","stripe#pi_9","#"]}`)))["refunds"].([]any)
		if got[0].(map[string]any)["outcome"] != "busy" {
			t.Errorf("with a busy table got %v", got)
		}
		refused(t, f.Ask(t, t.Context(), event(t, "operate-mark.json", body(`{"payments":["stripe#pi_3"]}`))), 503, sale.Busy)
	})
}

func TestABodyThatMarksNothingIsRefused(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		before := f.DB.Dump()
		many := `{"payments":["stripe#pi_2"` + strings.Repeat(`,"x"`, 100) + `]}`
		for _, text := range []string{``, `null`, `[]`, `{}`, `{"payments":[]}`, `{"payments":"stripe#pi_2"}`, `{"payments":["stripe#pi_2"],"actor":"vera"}`,
			`{"payments":["stripe#pi_2"]} {}`, `{"payments":[2]}`, `{"payments":["stripe#pi_2",null]}`, `{"payments":["stripe#pi_2"],"payments":["stripe#pi_3"]}`,
			`{"Payments":["stripe#pi_2"]}`, `{"saleId":null,"payments":["stripe#pi_2"]}`, `{"payments":{"0":"stripe#pi_2"}}`, `{"payments":[["stripe#pi_2"]]}`, `{"saleId":"a#b","payments":["stripe#pi_2"]}`, many} {
			refused(t, f.Ask(t, t.Context(), event(t, "operate-mark.json", body(text))), 400, sale.InvalidRequest)
		}
		refused(t, f.Ask(t, t.Context(), event(t, "operate-mark.json", body(`{"saleId":"nothing","payments":["stripe#pi_2"]}`))), 404, sale.SaleNotFound)
		refused(t, f.Ask(t, t.Context(), []byte(`{"routeKey":"POST /operate/refunds","requestContext":{"authorizer":{"asTold":{"actor":"kim "}}},"body":"{\"payments\":[\"stripe#pi_2\"]}"}`)), 400, sale.InvalidRequest)
		if f.DB.Dump() != before {
			t.Error("the table has changed")
		}
		f.answered(t, event(t, "operate-mark.json", body(strings.Replace(many, `,"x"`, "", 1))))
	})
}

// Reconciliation reads every claim and refund anyway; the sums are what it has seen.
func TestTheBooksSumTheMoneyOfASale(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		f.Confirm(ledger.ClaimRef{SaleID: testledger.SaleID, User: testledger.Bob, ClaimID: testledger.BobsClaim})
		f.answered(t, event(t, "operate-mark.json"))
		r := f.Receipt()
		var books map[string]any
		for _, p := range []struct {
			ledger.Pace
			want any
		}{{ledger.Pace{}, nil}, {ledger.Pace{Every: 60, First: 29453760, Counts: []int64{2}}, map[string]any{"from": "2026-01-01T00:00:00.000Z", "every": 60.0, "counts": []any{2.0}}}} {
			r.Accepted = p.Pace
			if err := f.Ledger().SaveCursor(t.Context(), &ledger.Audit{SaleID: "moutai"}, r); err != nil {
				t.Fatal(err)
			}
			books = f.answered(t, event(t, "operate-sale.json"))["books"].(map[string]any)
			if diff := cmp.Diff(p.want, books["accepted"]); diff != "" {
				t.Errorf("accepted (-want +got):\n%s", diff)
			}
		}
		want := []any{map[string]any{"currency": "CNY", "digits": 2.0, "taken": 149900.0, "outstanding": 149900.0, "due": 149900.0, "refunded": 149900.0}}
		if diff := cmp.Diff(want, books["money"]); diff != "" {
			t.Errorf("money (-want +got):\n%s", diff)
		}
	})
}
