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

	"flashsale/functions/operate/wire"
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

// due is what is said of a refund that is due.
const due = `"reason":"other-payment","amount":149900,"currency":"CNY","digits":2,"saleId":"moutai","orderId":"` + alicesOrder + `","user":"alice","at":"2026-01-01T00:00:08.000Z"`

func TestTheListOfRefundsSaysWhatIsDueAndWhoHasPaidItBack(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		list := func(name, value string) []byte { return event(t, "operate-refunds.json", inQuery(name, value)) }
		f.answered(t, event(t, "operate-mark.json"))
		f.shows(t, event(t, "operate-refunds.json"), `{"saleId":"moutai","asOf":"2026-01-01T00:00:08.000Z","unreadable":0,"refunds":[
			{"payment":"stripe#pi_2",`+due+`,"refundedAt":"2026-01-01T00:00:08.000Z","refundedBy":"kim"},{"payment":"stripe#pi_3",`+due+`,"refundedAt":null}]}`)
		f.Newer("REFUND#moutai", "stripe#pi_2")
		f.shows(t, event(t, "operate-refunds.json"), `{"unreadable":1,"refunds":[{"payment":"stripe#pi_3"}]}`)
		f.shows(t, list("after", strings.Repeat("x", 1024)), `{"saleId":"","refunds":[]}`) // those of unknown orders
		refused(t, f.Ask(t, t.Context(), list("after", strings.Repeat("x", 1025))), 400, sale.InvalidRequest)
		for n := range pageRefunds { // whoever goes on after an answer's next sees all
			f.Pay("alice", fmt.Sprintf("pi_x%03d", n), 149900)
		}
		shown, more := 0, true
		for after := ""; more; {
			page := f.answered(t, event(t, "operate-refunds.json", func(r *events.APIGatewayV2HTTPRequest) {
				r.QueryStringParameters = map[string]string{"saleId": "moutai", "after": after}
			}))
			shown += len(page["refunds"].([]any))
			after, more = page["next"].(string)
		}
		if shown != pageRefunds+1 {
			t.Errorf("%d refunds are shown, want %d", shown, pageRefunds+1)
		}
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
		const already, part = `{"line":3,"payment":"pi_2","outcome":"already","refund":{"refundedBy":"lee"}}`, `{"line":4,"payment":"pi_3","outcome":"part","back":"1498.996 CNY"}`
		for more, want := range map[string]string{
			`,"saleId":"moutai"`: already + "," + part + `,{"line":5,"payment":"none","outcome":"unknown"}`, `,"group":"drinks"`: `{"outcome":"unknown"},{"outcome":"unknown"},{"outcome":"unknown"}`,
			``: already + "," + part + `,{"line":5,"payment":"none","outcome":"due"}`, `,"after":3`: part + `,{"line":5}`,
		} {
			for _, file := range [][]byte{file, packed(t, file)} {
				f.shows(t, listOf(t, file, more), `{"asOf":"2026-01-01T00:00:08.000Z","others":1,"unreadable":0,"rows":[`+want+`]}`)
			}
		}
		f.shows(t, event(t, "operate-list.json", groups("flashsale-viewer")), `{"rows":[{},{"line":2,"payment":"stripe#pi_3","outcome":"due","refund":{"payment":"stripe#pi_3",`+due+`}}]}`)
		if f.DB.Dump() != before {
			t.Error("the table has changed")
		}
		f.Newer("REFUND#moutai", "stripe#pi_3")
		f.Newer("REFUND#", "standard#none")
		f.shows(t, listOf(t, file, ""), `{"unreadable":2}`)
		f.BusyFor(time.Minute, "Query", "REFUND#moutai")
		refused(t, f.Ask(t, t.Context(), listOf(t, file, "")), 503, sale.Busy)
	})
}

func TestAListThatMeansNothingIsToldWhy(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		for want, file := range map[string][]byte{
			`"problem":"packed"`: packed(t, []byte("PK\x03\x04")), `"problem":"too-long"`: packed(t, bytes.Repeat([]byte("x\n"), 16<<20+1)), `"problem":null`: []byte("# nothing\n"),
			`"problem":"untitled","missing":["gross debit (gc)"]`: []byte("Psp Reference,Type,Gross Currency\npi_2,Refunded,CNY\n"),
		} {
			f.shows(t, listOf(t, file, ""), `{"rows":[],`+want+`}`)
		}
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

// The file of a provider has lines of everything.
func TestEachPaymentToMarkIsAnswered(t *testing.T) {
	for _, saleID := range []string{`"saleId":"moutai",`, ""} { // the guards say which sale
		owing(t, func(t *testing.T, f *function) {
			f.answered(t, event(t, "operate-mark.json", user("lee")))
			time.Sleep(time.Minute)
			text := `{` + saleID + `"payments":["stripe#pi_2","stripe#pi_3","stripe#pi_3","stripe#pi_1","stripe#pi_9","pi_3","","#","a#\n","stripe#` + strings.Repeat("x", 201) + `"]}`
			const none = `{"outcome":"unknown","refund":null}`
			f.shows(t, event(t, "operate-mark.json", body(text)), `{"refunds":[{"outcome":"already","refund":{"payment":"stripe#pi_2","refundedAt":"2026-01-01T00:00:08.000Z","refundedBy":"lee"}},
				{"outcome":"marked","refund":{"payment":"stripe#pi_3","refundedAt":"2026-01-01T00:01:08.000Z","refundedBy":"kim"}},{"outcome":"doubled","refund":null}`+strings.Repeat(","+none, 7)+`]}`)
			if f.Logged(t, "marked") != 1.0 || f.Logged(t, "actor") != "kim" {
				t.Errorf("the line is %s", f.Log.String())
			}
		})
	}
}

func TestAFailureOfOneMarkHidesNoOther(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		f.Newer("REFUND#moutai", "stripe#pi_2")
		f.shows(t, event(t, "operate-mark.json", body(`{"payments":["stripe#pi_2","stripe#pi_3"]}`)), `{"refunds":[{"outcome":"failed"},{"outcome":"marked"}]}`)
		if f.Logged(t, "failure") == nil {
			t.Errorf("the line is %s", f.Log.String())
		}
		f.BusyFor(time.Minute, "UpdateItem", "REFUND#moutai")
		f.shows(t, event(t, "operate-mark.json", body(`{"payments":["stripe#pi_3","stripe#pi_9","#"]}`)), `{"refunds":[{"outcome":"busy"},{},{}]}`)
		refused(t, f.Ask(t, t.Context(), event(t, "operate-mark.json", body(`{"payments":["stripe#pi_3"]}`))), 503, sale.Busy)
	})
}

func TestABodyThatIsNotAsDocumentedIsRefused(t *testing.T) {
	marks := `{"payments":["stripe#pi_2"` + strings.Repeat(`,"x"`, wire.MostMarks-1) + `]}`
	owing(t, func(t *testing.T, f *function) {
		before := f.DB.Dump()
		for name, bodies := range map[string][]string{
			"operate-list.json": {``, `{"list":"%"}`, `{"list":"H4sI"}`, `{"list":"","saleId":"moutai","group":"drinks"}`, `{"list":"","saleId":"a#b"}`, `{"list":"","group":"a#b"}`, `{"list":"","sale":"moutai"}`, `{"list":["pi_2"]}`},
			"operate-mark.json": {``, `null`, `[]`, `{}`, `{"payments":[]}`, `{"payments":"stripe#pi_2"}`, `{"payments":["stripe#pi_2"],"actor":"vera"}`, `{"payments":["stripe#pi_2"]} {}`, `{"payments":[2]}`,
				`{"payments":["stripe#pi_2",null]}`, `{"payments":["stripe#pi_2"],"payments":["stripe#pi_3"]}`, `{"Payments":["stripe#pi_2"]}`, `{"saleId":null,"payments":["stripe#pi_2"]}`, `{"payments":{"0":"stripe#pi_2"}}`,
				`{"payments":[["stripe#pi_2"]]}`, `{"saleId":"a#b","payments":["stripe#pi_2"]}`, strings.Replace(marks, `"x"`, `"x","x"`, 1)},
			"operate-count.json": {`{}`, `[]`, `{"action":"drop","saleId":"moutai"}`, `{"action":"count"}`, `{"action":"count","saleId":"a b"}`, `{"action":"redrive","saleId":"moutai"}`, `{"Action":"count","saleId":"moutai"}`,
				`{"action":"count","saleId":"moutai","note":"x"}`},
			"operate-create.json": {`{"action":"pause","saleId":"lamp","id":"x"}`, `{"action":"create","saleId":"lamp"}`},
		} {
			for _, text := range bodies {
				refused(t, f.Ask(t, t.Context(), event(t, name, body(text))), 400, sale.InvalidRequest)
			}
		}
		refused(t, f.Ask(t, t.Context(), event(t, "operate-list.json", body(`{"list":"`+strings.Repeat("A", wire.MaxList)+`"}`))), 413, sale.BodyTooLarge)
		refused(t, f.Ask(t, t.Context(), []byte(`{"routeKey":"POST /operate/refunds","requestContext":{"authorizer":{"asTold":{"actor":"kim "}}},"body":"{\"payments\":[\"stripe#pi_2\"]}"}`)), 400, sale.InvalidRequest)
		if f.DB.Dump() != before {
			t.Error("the table has changed")
		}
		f.answered(t, event(t, "operate-mark.json", body(marks)))
	})
}
