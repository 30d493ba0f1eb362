package handler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// press is the body of one of what owing owes, with these members more.
func press(more string) string {
	return `{"id":"p1","asOf":"2026-01-01T00:00:08.000Z","count":2,"sums":{"CNY":299800}` + more + `}`
}

// begun is the id of the sending that press begins.
const begun = "2026-01-01T00:00:08.000Z#p1"

// on makes a request to that route, with that body, by a caller with these roles.
func on(t *testing.T, route, text, roles string) []byte {
	t.Helper()
	return event(t, "operate-mark.json", groups(roles), body(text), func(r *events.APIGatewayV2HTTPRequest) { r.RouteKey = route })
}

func TestEachRoleDoesWhatItMayAndNoMore(t *testing.T) {
	const list, begin, stop, pause = "GET /operate/sendings", "POST /operate/sendings", "POST /operate/sendings/stop", "POST /operate/sales/{saleId}/changes"
	bodies := map[string]string{list: "", begin: press(""), stop: `{"id":"` + begun + `"}`, pause: `{"id":"c","action":"pause"}`, "POST /operate/refunds": `{"payments":["stripe#pi_2"]}`, "POST /operate/repairs": `{"action":"count","saleId":"moutai"}`}
	for roles, tt := range map[string]struct{ may, told string }{
		"flashsale-viewer":                       {list, `"role":"viewer","roles":["viewer"]`},
		"flashsale-operator":                     {strings.Join([]string{list, stop, pause, "POST /operate/refunds", "POST /operate/repairs"}, "\n"), `"role":"operator","roles":["operator"]`},
		"[flashsale-cashier flashsale-viewer]":   {strings.Join([]string{list, begin, stop}, "\n"), `"role":"cashier","roles":["cashier"]`},
		"[flashsale-operator flashsale-cashier]": {strings.Join([]string{list, begin, stop, pause, "POST /operate/refunds", "POST /operate/repairs"}, "\n"), `"role":"operator","roles":["operator","cashier"]`},
	} {
		owing(t, func(t *testing.T, f *function) {
			for _, route := range []string{list, begin, stop, pause, "POST /operate/refunds", "POST /operate/repairs"} {
				if route == stop {
					f.answered(t, on(t, begin, press(""), "flashsale-cashier"))
				}
				r := f.Ask(t, t.Context(), event(t, "operate-pause.json", groups(roles), body(bodies[route]), func(r *events.APIGatewayV2HTTPRequest) { r.RouteKey = route }))
				if may := strings.Contains("\n"+tt.may+"\n", "\n"+route+"\n"); may != (r.StatusCode == 200) || !may && r.StatusCode != 403 {
					t.Errorf("%s, %s: %d %s, want that it may: %t", roles, route, r.StatusCode, r.Body, may)
				}
			}
			f.shows(t, event(t, "operate-sales.json", groups(roles)), "{"+tt.told+"}")
		})
	}
}

func TestAPressIsStoredOnceWithWhoPressedAndWhatWasLookedAt(t *testing.T) {
	const of = `{"saleId":"moutai","payments":null,"id":"` + begun + `","asOf":"2026-01-01T00:00:08.000Z","count":2,"sums":{"CNY":299800},"digits":{"CNY":2},"note":"too many",
		"actor":"kim","verified":true,"at":"2026-01-01T00:00:08.000Z","taken":0,"left":0,"stoppedAt":%s,"stoppedBy":%s,"endedAt":null}`
	owing(t, func(t *testing.T, f *function) {
		stored := fmt.Sprintf(of, "null", "null")
		for range 2 { // the same again
			f.shows(t, on(t, "POST /operate/sendings", press(`,"saleId":"moutai","note":"too many"`), "flashsale-cashier"), `{"sending":`+stored+`}`)
		}
		refused(t, f.Ask(t, t.Context(), on(t, "POST /operate/sendings", press(`,"saleId":"moutai"`), "flashsale-cashier")), 409, sale.Conflicting)
		time.Sleep(time.Second)
		f.answered(t, on(t, "POST /operate/sendings", strings.Replace(press(`,"payments":[{"payment":"stripe#pi_9"},{"saleId":"moutai","payment":"stripe#pi_2"}]`), ":08.", ":09.", 1), "flashsale-cashier"))
		stopped := fmt.Sprintf(of, `"2026-01-01T00:00:09.000Z"`, `"kim"`)
		f.shows(t, on(t, "POST /operate/sendings/stop", `{"id":"`+begun+`"}`, "flashsale-operator"), `{"sending":`+stopped+`}`)
		f.shows(t, on(t, "GET /operate/sendings", "", "flashsale-viewer"), `{"sends":true,"asOf":"2026-01-01T00:00:09.000Z","unreadable":null,"sendings":[
			{"saleId":null,"payments":[{"payment":"stripe#pi_9","saleId":null},{"payment":"stripe#pi_2","saleId":"moutai"}]},`+stopped+`]}`)
		f.Handler.(*Handler).Sends = false
		refused(t, f.Ask(t, t.Context(), on(t, "POST /operate/sendings", press(""), "flashsale-cashier")), 409, sale.Conflicting)
	})
}

func TestAPressThatIsNotAsDocumentedBeginsNothing(t *testing.T) {
	many := `{"payment":"stripe#pi_2"}` + strings.Repeat(`,{"payment":"stripe#pi_2"}`, 100)
	bad := []string{
		``, `null`, `[]`, `{}`, press("") + "{}", press(`,"id":"p2"`), press(`,"sums":{}`), press(`,"sales":["moutai"]`), press(`,"Note":"x"`), press(`,"note":null`), press(`,"actor":"vera"`),
		// None of these is a press of everything.
		press(`,"saleId":null`), press(`,"saleId":""`), press(`,"group":""`), press(`,"payments":null`), press(`,"payments":[]`), press(`,"saleid":"moutai"`),
		press(`,"saleId":"moutai","group":"g"`), press(`,"saleId":"a#b"`), press(`,"payments":["stripe#pi_2"]`), press(`,"payments":[null]`), press(`,"payments":[{}]`), press(`,"payments":[` + many + `]`),
		press(`,"payments":[{"payment":"stripe#pi_2","payment":"stripe#pi_3"}]`), press(`,"payments":[{"payment":"stripe#pi_2","sale":"moutai"}]`), press(`,"payments":[{"payment":"pi_2"}]`), press(`,"payments":[{"payment":"stripe#pi_2","saleId":null}]`),
	}
	for old, all := range map[string][]string{
		`{"CNY":299800}`: {`{"CNY":"299800"}`, `{"CNY":2998.00}`, `{"CNY":299800.5}`, `{"CNY":0}`, `{"CNY":-1}`, `{"cny":299800}`, `{"CNY":1,"CNY":2}`, `{"CNY":null}`, `{}`, `[]`, `null`, `299800`, `{"CNY":{}}`, `{"CNY":9223372036854775808}`},
		`"count":2`:      {`"count":0`, `"count":-1`, `"count":"2"`, `"count":2.5`, `"count":null`, `"count":9000001`, `"counts":2`},
		`"p1"`:           {`""`, `"a#b"`, `1`}, `"2026-01-01T00:00:08.000Z"`: {`""`, `"2026-01-01"`, `"2026-01-01T00:00:08.0001Z"`, `"2025-12-31T22:59:08.000Z"`, `"2026-01-01T00:02:08.000Z"`, `1767225608`},
	} {
		for _, text := range all {
			bad = append(bad, strings.Replace(press(""), old, text, 1))
		}
	}
	owing(t, func(t *testing.T, f *function) {
		before := f.DB.Dump()
		for _, text := range bad {
			r := f.Ask(t, t.Context(), on(t, "POST /operate/sendings", text, "flashsale-cashier"))
			if r.StatusCode != 400 {
				t.Errorf("%s: %d %s", text, r.StatusCode, r.Body)
			}
		}
		for _, text := range []string{`{}`, `{"id":null}`, `{"id":"p1"}`, `{"id":"` + begun + `","saleId":"moutai"}`, `{"id":["` + begun + `"]}`} {
			refused(t, f.Ask(t, t.Context(), on(t, "POST /operate/sendings/stop", text, "flashsale-cashier")), 400, sale.InvalidRequest)
		}
		refused(t, f.Ask(t, t.Context(), on(t, "POST /operate/sendings", press(`,"saleId":"nowhere"`), "flashsale-cashier")), 404, sale.SaleNotFound)
		refused(t, f.Ask(t, t.Context(), on(t, "POST /operate/sendings", press(`,"group":"nowhere"`), "flashsale-cashier")), 404, sale.GroupNotFound)
		refused(t, f.Ask(t, t.Context(), on(t, "POST /operate/sendings/stop", `{"id":"`+begun+`"}`, "flashsale-cashier")), 404, sale.OrderNotFound)
		refused(t, f.Ask(t, t.Context(), on(t, "POST /operate/sendings", press(`,"note":"`+strings.Repeat("x", maxSending)+`"`), "flashsale-cashier")), 413, sale.BodyTooLarge)
		if f.DB.Dump() != before {
			t.Error("the table has changed")
		}
		zone := strings.Replace(press(""), "2026-01-01T00:00:08.000Z", "2026-01-01T08:00:08+08:00", 1)
		f.shows(t, on(t, "POST /operate/sendings", zone, "flashsale-cashier"), `{"sending":{"id":"`+begun+`"}}`)
	})
}

// sentLedger refuses marks as a ledger does of refunds that were sent, and cannot read all sendings.
type sentLedger struct {
	Ledger
	refund sale.Refund
}

var errConflict = sale.Refuse(sale.Conflicting, "")

func (l sentLedger) MarkRefunds(_ context.Context, _ string, payments []string, _ string) []ledger.Marking {
	return []ledger.Marking{{Payment: payments[0], Refund: l.refund, Err: errConflict}}
}
func (l sentLedger) UnmarkRefund(context.Context, string, string, string, string) (sale.Refund, bool, error) {
	return l.refund, false, errConflict
}
func (l sentLedger) RefundPage(context.Context, string, string, int32) ([]sale.Refund, string, int, error) {
	time.Sleep(time.Second)
	return []sale.Refund{l.refund}, "", 0, nil
}
func (l sentLedger) Sendings(context.Context) ([]sale.Sending, error) {
	s := sale.Sending{ID: begun, StoppedAt: time.Now(), SendingProgress: sale.SendingProgress{Halted: map[string]sale.Halt{"stripe": {Code: "401", Words: "expired", At: time.Now()}}}}
	old := s
	old.ID, old.StoppedAt = "old", time.Time{}
	all := make([]sale.Sending, mostSendings+1, mostSendings+2)
	for i := range all {
		all[i] = s
	}
	return append(all, old), sale.AsInternal(errors.New("one is of a newer version"))
}

func TestWhatWasSentIsToldAndNotMarked(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 5, 0, time.UTC)
	of := func(sent sale.Sent, back time.Time) sale.Refund {
		return sale.Refund{SaleID: "moutai", Payment: "stripe#pi_2", Currency: "CNY", Sent: sent, Returned: sale.Returned{RefundedAt: back}}
	}
	unknown, accepted := of(sale.Sent{State: sale.SentUnknown, ID: "0f", At: now, By: begun}, time.Time{}), of(sale.Sent{State: sale.SentAccepted, At: now, Refund: "re_1"}, time.Time{})
	for _, tt := range []struct {
		refund        sale.Refund
		outcome, sent string
	}{
		{unknown, "sent", `{"state":"unknown","id":null,"at":"2026-01-01T00:00:05.000Z","by":"` + begun + `"}`},
		{accepted, "sent", `{"state":"accepted","at":"2026-01-01T00:00:05.000Z","refund":"re_1"}`},
		{of(sale.Sent{State: sale.SentRefused, Code: "c", Words: "w"}, now), "unchanged", `{"state":"refused","at":null,"code":"c","words":"w"}`},
		{of(accepted.Sent, now), "unchanged", `{"state":"accepted"}`},
		{of(sale.Sent{Tries: 1}, now), "unchanged", `null`},
	} {
		owing(t, func(t *testing.T, f *function) {
			f.over(sentLedger{f.Ledger(), tt.refund})
			for _, action := range []string{"", `,"action":"unmark","note":"x"`} {
				f.shows(t, event(t, "operate-mark.json", body(`{"payments":["stripe#pi_2"]`+action+`}`)), `{"refunds":[{"outcome":"`+tt.outcome+`"}]}`)
			}
			f.shows(t, event(t, "operate-refunds.json"), `{"asOf":"2026-01-01T00:00:08.000Z","refunds":[{"sent":`+tt.sent+`}]}`) // when it began to read
			all := f.shows(t, on(t, "GET /operate/sendings", "", "flashsale-viewer"), `{"unreadable":true}`)["sendings"].([]any)
			if len(all) != mostSendings+1 || !has(all[mostSendings], map[string]any{"id": "old", "halted": map[string]any{"stripe": map[string]any{"code": "401", "words": "expired", "at": "2026-01-01T00:00:09.000Z"}}}) {
				t.Errorf("%d sendings, the last %v", len(all), all[len(all)-1])
			}
		})
	}
}
