package handler

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// open is what the list says of the sale of the events while nobody has edited it.
func open() map[string]any {
	return map[string]any{
		"saleId": "moutai", "name": "Feitian Moutai", "state": "OPEN", "paused": false, "opensAt": "2026-01-01T00:00:00.000Z",
		"closesAt": "2036-01-01T00:00:00.000Z", "drained": false, "recalling": false, "edits": 0.0, "seeded": 100.0, "shards": 5.0, "books": nil,
	}
}

func TestTheListSaysHowEachSaleStands(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		want := map[string]any{"asOf": "2026-01-01T00:00:08.000Z", "version": sale.Release, "actor": "vera", "role": "viewer", "sales": []any{open()}}
		if diff := cmp.Diff(want, f.answered(t, event(t, "operate-sales.json"))); diff != "" {
			t.Errorf("list (-want +got):\n%s", diff)
		}
		books := f.Receipt()
		books.Findings, books.Balanced = []string{"shard 0: stock is -1 (P1)"}, false
		if err := f.Ledger().SaveCursor(t.Context(), &ledger.Audit{SaleID: "moutai"}, books); err != nil {
			t.Fatal(err)
		}
		f.Pause()
		f.Draft("wine")
		draft := map[string]any{
			"saleId": "wine", "name": "", "state": "DRAFT", "paused": false, "opensAt": "2026-01-01T00:00:08.000Z", "closesAt": "2026-01-01T01:00:08.000Z",
			"drained": false, "recalling": false, "edits": 0.0, "seeded": 4.0, "shards": 2.0, "books": nil,
		}
		paused := open()
		maps.Copy(paused, map[string]any{"state": "PAUSED", "paused": true, "edits": 1.0, "changedAt": "2026-01-01T00:00:08.000Z", "books": map[string]any{
			"asOf": "2026-01-01T00:00:08.000Z", "stock": 98.0, "seeded": 100.0, "claims": 2.0, "pending": 1.0, "confirmed": 1.0, "paid": 0.0, "unpaid": 0.0,
			"released": 0.0, "refundsDue": 0.0, "oldestPendingSeconds": 3.0, "balanced": false, "findings": []any{"shard 0: stock is -1 (P1)"}, "money": []any{},
			"accepted": map[string]any{"from": "2026-01-01T00:00:05.000Z", "every": 1.0, "counts": []any{2.0}},
		}})
		delete(draft, "asOf")
		got := f.answered(t, event(t, "operate-sales.json"))["sales"]
		if diff := cmp.Diff([]any{paused, draft}, got); diff != "" {
			t.Errorf("sales (-want +got):\n%s", diff)
		}
	})
}

func TestTheMoneyOfASaleIsOfEveryCurrencyThatWasPaid(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		books := f.Receipt()
		books.Unpaid = 2
		for _, tt := range []struct {
			paid ledger.Money
			want []any
		}{
			{ledger.Money{"EUR": {Due: 500, Refunded: 7}, "XTS": {Due: 1}, "CNY": {Taken: 149900}}, []any{
				map[string]any{"currency": "CNY", "digits": 2.0, "taken": 149900.0, "outstanding": 299800.0, "due": 0.0, "refunded": 0.0},
				map[string]any{"currency": "EUR", "digits": 2.0, "taken": 0.0, "outstanding": 0.0, "due": 500.0, "refunded": 7.0},
				map[string]any{"currency": "XTS", "taken": 0.0, "outstanding": 0.0, "due": 1.0, "refunded": 0.0},
			}},
			{nil, []any{map[string]any{"currency": "CNY", "digits": 2.0, "taken": 0.0, "outstanding": 299800.0, "due": 0.0, "refunded": 0.0}}},
		} {
			books.Money = tt.paid
			if err := f.Ledger().SaveCursor(t.Context(), &ledger.Audit{SaleID: "moutai"}, books); err != nil {
				t.Fatal(err)
			}
			got := f.answered(t, event(t, "operate-sale.json"))["books"].(map[string]any)["money"]
			if diff := cmp.Diff(any(tt.want), got); diff != "" {
				t.Errorf("money (-want +got):\n%s", diff)
			}
		}
	}, asksForPayment)
}

func TestADrainedSaleIsListedOnlyIfAskedForAndKeepsItsBooks(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open(func(c *sale.Creation) { c.ClosesAt = testledger.Began.Add(time.Hour) })
		time.Sleep(2 * time.Hour)
		if drained, err := f.Ledger().Drain(t.Context(), f.Receipt()); err != nil || !drained {
			t.Fatal(drained, err)
		}
		if sales := f.answered(t, event(t, "operate-sales.json"))["sales"]; len(sales.([]any)) != 0 {
			t.Errorf("listed are %v", sales)
		}
		for query, want := range map[string]int{"1": 1, "0": 0, "true": 0} {
			raw := strings.Replace(string(event(t, "operate-sales.json")), `"rawQueryString": ""`, `"queryStringParameters": {"drained": "`+query+`"}`, 1)
			sales := f.answered(t, []byte(raw))["sales"].([]any)
			if len(sales) != want {
				t.Errorf("drained=%s: listed are %v", query, sales)
			}
			if want == 1 {
				one := sales[0].(map[string]any)
				if one["drained"] != true || one["state"] != "CLOSED" || one["books"].(map[string]any)["stock"] != 2.0 {
					t.Errorf("the sale is %v", one)
				}
			}
		}
	})
}

func TestASaleThatCannotBeReadHidesNoOther(t *testing.T) {
	for name, spoil := range map[string]struct {
		change func(f *function)
		want   sale.Code
	}{
		"a newer release's sale":    {func(f *function) { f.Newer("SALE#moutai", "SALE") }, sale.NewerVersion},
		"a newer release's listing": {func(f *function) { f.Newer("SALES", "moutai") }, sale.NewerVersion},
		"a spoilt sale":             {func(f *function) { f.Tamper("SALE#moutai", "SALE", "buckets", -1e6) }, sale.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, f *function) {
				f.Open()
				f.Open(func(c *sale.Creation) { c.SaleID = "another" })
				spoil.change(f)
				sales := f.answered(t, event(t, "operate-sales.json"))["sales"].([]any)
				if len(sales) != 2 || sales[0].(map[string]any)["state"] != "OPEN" {
					t.Fatalf("listed are %v", sales)
				}
				if diff := cmp.Diff(map[string]any{"saleId": "moutai", "error": string(spoil.want)}, sales[1]); diff != "" {
					t.Errorf("sale (-want +got):\n%s", diff)
				}
				if r := f.Ask(t, t.Context(), event(t, "operate-sale.json")); r.StatusCode < 500 {
					t.Errorf("the sale itself is answered with %d %s", r.StatusCode, r.Body)
				}
			})
		})
	}
}

func TestOneSaleIsCountedFromItsShards(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		want := open()
		want["seen"] = sale.Seen{}.Text("moutai")
		want["remaining"] = map[string]any{"units": 98.0, "asOf": "2026-01-01T00:00:08.000Z"}
		if diff := cmp.Diff(want, f.answered(t, event(t, "operate-sale.json"))); diff != "" {
			t.Errorf("sale (-want +got):\n%s", diff)
		}
		if f.Logged(t, "saleId") != "moutai" {
			t.Errorf("the line is %s", f.Log.String())
		}
		f.Open(asksForPayment, func(c *sale.Creation) { c.SaleID = "beer" })
		if paid := f.answered(t, event(t, "operate-sale.json", path("saleId", "beer"))); paid["payWithin"] != 3600.0 {
			t.Errorf("an hour to pay is %v", paid["payWithin"])
		}
		f.Draft("wine")
		if _, counted := f.answered(t, event(t, "operate-sale.json", path("saleId", "wine")))["remaining"]; counted {
			t.Error("a draft is counted")
		}
		refused(t, f.Ask(t, t.Context(), event(t, "operate-sale.json", path("saleId", "nothing"))), 404, sale.SaleNotFound)
		for _, id := range []string{"", "a/b", "moutai#0", strings.Repeat("m", 65)} {
			refused(t, f.Ask(t, t.Context(), event(t, "operate-sale.json", path("saleId", id))), 400, sale.InvalidRequest)
		}
	})
}

// Every field of a sale has a value of its own.
func TestOneSaleIsShownWithAllItsTerms(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open(asksForPayment, func(c *sale.Creation) {
			c.Stock, c.Shards, c.LateFor, c.LimitGroup = 100, 5, 72*time.Hour, "spirits"
			c.Presentation = sale.Presentation{Image: "https://images.example/m.jpg", About: "53 %", Link: "https://shop.example/m"}
		})
		f.Edit(sale.Edit{PayUntil: testledger.Began.Add(5 * time.Hour)})
		time.Sleep(time.Second)
		f.Buy(testledger.Alice, testledger.AlicesClaim, "k")
		f.Recall()
		f.over(f.Ledger())
		want := open()
		maps.Copy(want, map[string]any{
			"state": "RECALLED", "paused": true, "recalling": true, "edits": 2.0, "changedAt": "2026-01-01T00:00:01.000Z", "recalledAt": "2026-01-01T00:00:01.000Z", "recallNote": "a batch is defective",
			"limitGroup": "spirits", "payWithin": 3600.0, "lateDays": 3.0, "payUntil": "2026-01-01T05:00:00.000Z", "price": 149900.0, "currency": "CNY",
		})
		if diff := cmp.Diff([]any{want}, f.answered(t, event(t, "operate-sales.json"))["sales"]); diff != "" {
			t.Errorf("in the list (-want +got):\n%s", diff)
		}
		got := f.answered(t, event(t, "operate-sale.json"))
		want["offer"] = map[string]any{"price": 149900.0, "currency": "CNY", "image": "https://images.example/m.jpg", "about": "53 %", "link": "https://shop.example/m"}
		want["remaining"], want["seen"] = map[string]any{"units": 99.0, "asOf": "2026-01-01T00:00:01.000Z"}, got["seen"]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by itself (-want +got):\n%s", diff)
		}
	})
}

func TestAGroupIsListedWhole(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		for _, id := range []string{"size-9", "size-10", "shirt"} {
			f.Open(func(c *sale.Creation) {
				if c.SaleID = id; id != "shirt" {
					c.LimitGroup, c.ClosesAt = "shoe", testledger.Began.Add(time.Hour)
				}
			})
		}
		var ids []string
		for _, one := range f.answered(t, event(t, "operate-sales.json", inQuery("group", "shoe")))["sales"].([]any) {
			ids = append(ids, one.(map[string]any)["saleId"].(string))
		}
		if want := "size-10 size-9"; strings.Join(ids, " ") != want {
			t.Errorf("the group has %q, want %q", ids, want)
		}
		refused(t, f.Ask(t, t.Context(), event(t, "operate-sales.json", inQuery("group", "hat"))), 404, sale.GroupNotFound)
		refused(t, f.Ask(t, t.Context(), event(t, "operate-sales.json", inQuery("group", "a#b"))), 400, sale.InvalidRequest)
	})
}

// looking gives a change what is to be seen of the sale now, if it takes that.
func (f *function) looking(text string) string {
	if strings.Contains(text, `"action":"pause"`) || strings.Contains(text, `"action":"recall"`) {
		return text
	}
	s, err := f.Ledger().Sale(f.T.Context(), testledger.SaleID)
	if err != nil {
		f.T.Fatal(err)
	}
	return strings.TrimSuffix(text, "}") + `,"seen":"` + s.Seen().Text(s.ID) + `"}`
}

// changed asks for a change by kim, who has looked at the sale.
func (f *function) changed(t *testing.T, text string) map[string]any {
	t.Helper()
	return f.answered(t, event(t, "operate-pause.json", body(f.looking(text))))
}

func TestEachChangeIsMadeAndIsInTheTrailWithItsAuthor(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		for _, step := range []struct {
			asks string
			want map[string]any
		}{
			{`{"id":"1","action":"pause","note":"the price is wrong"}`, map[string]any{"paused": true}},
			{`{"id":"2","action":"resume"}`, map[string]any{"paused": false}},
			{`{"id":"3","action":"reschedule","opensAt":"2026-01-01T00:00:00Z","closesAt":"2030-01-01T00:00:00Z"}`, map[string]any{"closesAt": "2030-01-01T00:00:00.000Z"}},
			{`{"id":"4","action":"describe","about":"53 % <b>=1+1</b>"}`, map[string]any{"about": "53 % <b>=1+1</b>"}},
			{`{"id":"5","action":"add","stock":50}`, map[string]any{"seeded": 150.0}},
			{`{"id":"6","action":"withdraw","stock":20}`, map[string]any{"seeded": 130.0, "withdrawn": 20.0}},
			{`{"id":"7","action":"recall","note":"=HYPERLINK(\"x\") <img src=x onerror=alert(1)>"}`, map[string]any{"paused": true, "recalledAt": "2026-01-01T00:00:14.000Z"}},
		} {
			for again := range 2 {
				got := f.changed(t, step.asks)
				step.want["saleId"], step.want["applied"] = "moutai", again == 0
				step.want["changeId"] = fmt.Sprint(len(f.trail(t)))
				for name, want := range step.want {
					if got[name] != want {
						t.Errorf("%s, again %d: %s is %v, want %v", step.asks, again, name, got[name], want)
					}
				}
			}
			time.Sleep(time.Second)
		}
		page := f.answered(t, event(t, "operate-trail.json"))
		changes := page["changes"].([]any)
		if page["saleId"] != "moutai" || page["edits"] != 5.0 || page["more"] != false || len(changes) != 7 {
			t.Fatalf("the trail is %v", page)
		}
		for i, want := range []map[string]any{
			{"n": 5.0, "id": "7", "action": "recall", "at": "2026-01-01T00:00:14.000Z", "actor": "kim", "verified": true, "note": "=HYPERLINK(\"x\") <img src=x onerror=alert(1)>",
				"paused": true, "opensAt": "2026-01-01T00:00:00.000Z", "closesAt": "2030-01-01T00:00:00.000Z"},
			{"id": "6", "action": "withdraw", "at": "2026-01-01T00:00:13.000Z", "actor": "kim", "verified": true, "units": 20.0},
			{"id": "5", "action": "add", "at": "2026-01-01T00:00:12.000Z", "actor": "kim", "verified": true, "units": 50.0},
			{"n": 4.0, "id": "4", "action": "describe", "at": "2026-01-01T00:00:11.000Z", "actor": "kim", "verified": true, "about": "53 % <b>=1+1</b>"},
		} {
			if diff := cmp.Diff(want, changes[i]); diff != "" {
				t.Errorf("change %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

func TestMoreTimeToPayIsToldByTheAnswerTheSaleAndTheTrail(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		const until = "2026-01-01T05:00:00.000Z"
		answer := f.changed(t, `{"id":"more","action":"extend","until":"2026-01-01T05:00:00Z"}`)
		trail := f.answered(t, event(t, "operate-trail.json"))["changes"].([]any)
		story := f.answered(t, event(t, "operate-buyer.json"))
		if days := f.answered(t, event(t, "operate-sale.json"))["lateDays"]; days != 2.0 {
			t.Errorf("%v late days, want 2", days)
		}
		for what, body := range map[string]any{"the answer": answer, "the sale": f.answered(t, event(t, "operate-sale.json")), "the trail": trail[0]} {
			if got := body.(map[string]any)["payUntil"]; got != until {
				t.Errorf("%s: until %v, want %s", what, got, until)
			}
		}
		if lines := fmt.Sprint(story["lines"]); !strings.Contains(lines, "at:"+until) {
			t.Errorf("the buyer's story: %s", lines)
		}
	}, func(c *sale.Creation) {
		c.PayWithin, c.LateFor, c.Price, c.Currency = time.Hour, 48*time.Hour, 149900, "CNY"
	})
}

func TestAnOvertakenChangeIsRefusedWithWhatCameBetween(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		const resume = `{"id":"kims","action":"resume","seen":"%s"}`
		f.changed(t, `{"id":"lees","action":"pause","note":"the price is wrong"}`)
		before := f.DB.Dump()
		for what, seen := range map[string]sale.Seen{"old": {}, "of the future": {Edits: 2}} {
			r := f.Ask(t, t.Context(), event(t, "operate-pause.json", body(fmt.Sprintf(resume, seen.Text("moutai")))))
			var problem struct {
				Code   sale.Code
				Seen   string
				Change map[string]any
			}
			if err := json.Unmarshal([]byte(r.Body), &problem); err != nil || r.StatusCode != 409 || problem.Code != sale.ChangedMeanwhile || f.DB.Dump() != before {
				t.Errorf("%s: got %d %s", what, r.StatusCode, r.Body)
			}
			want := map[string]any{"n": 1.0, "id": "lees", "action": "pause", "at": "2026-01-01T00:00:08.000Z", "actor": "kim", "verified": true, "note": "the price is wrong",
				"paused": true, "opensAt": "2026-01-01T00:00:00.000Z", "closesAt": "2036-01-01T00:00:00.000Z"}
			if diff := cmp.Diff(want, problem.Change); diff != "" || problem.Seen != f.answered(t, event(t, "operate-sale.json"))["seen"] {
				t.Errorf("%s: seen is %s, the change (-want +got):\n%s", what, problem.Seen, diff)
			}
		}
		next := f.answered(t, event(t, "operate-pause.json", body(fmt.Sprintf(resume, f.answered(t, event(t, "operate-sale.json"))["seen"]))))
		f.answered(t, event(t, "operate-pause.json", body(fmt.Sprintf(`{"id":"next","action":"add","stock":1,"seen":"%s"}`, next["seen"]))))
	})
}

func TestABodyThatIsNoChangeReachesNothing(t *testing.T) {
	pad := func(n int) string { return `{"id":"c","action":"pause","note":"` + strings.Repeat("x", n) + `"}` }
	in(t, func(t *testing.T, f *function) {
		for text, want := range map[string]sale.Code{
			``: sale.InvalidRequest, `null`: sale.InvalidRequest, `[]`: sale.InvalidRequest, `"pause"`: sale.InvalidRequest, `{}`: sale.InvalidRequest, `{`: sale.InvalidRequest,
			`{"id":"c"}`:                                                                                          sale.InvalidRequest,
			`{"action":"pause"}`:                                                                                  sale.InvalidRequest,
			`{"id":"","action":"pause"}`:                                                                          sale.InvalidRequest,
			`{"id":"a b","action":"pause"}`:                                                                       sale.InvalidRequest,
			`{"id":1,"action":"pause"}`:                                                                           sale.InvalidRequest,
			`{"id":"c","action":"pause","actor":"vera"}`:                                                          sale.InvalidRequest,
			`{"id":"c","action":"pause","verified":"true"}`:                                                       sale.InvalidRequest,
			`{"id":"c","action":"pause","saleId":"another"}`:                                                      sale.InvalidRequest,
			`{"id":"c","action":"pause","at":"2026-01-01T00:00:00Z"}`:                                             sale.InvalidRequest,
			`{"id":"c","action":"pause","changeId":"d"}`:                                                          sale.InvalidRequest,
			`{"id":"c","action":"add","seedId":"d","stock":1,"seen":"0.0.46d378e2"}`:                              sale.InvalidRequest,
			`{"id":"c","action":"add","seen":"0.0.46d378e2"}`:                                                     sale.InvalidRequest,
			`{"id":"c","action":"add","stock":0,"seen":"0.0.46d378e2"}`:                                           sale.InvalidRequest,
			`{"id":"c","action":"create","stock":1}`:                                                              sale.InvalidRequest,
			`{"id":"c","action":"describe","seen":"0.0.46d378e2"}`:                                                sale.InvalidRequest,
			`{"id":"c","action":"describe","image":"https://evil.example/a.jpg","seen":"0.0.46d378e2"}`:           sale.InvalidRequest,
			`{"id":"c","action":"reschedule","opensAt":"2026-01-01T00:00:00Z","seen":"0.0.46d378e2"}`:             sale.InvalidRequest,
			`{"id":"c","action":"pause","seen":"0.0.46d378e2"}`:                                                   sale.InvalidRequest,
			`{"id":"c","action":"recall","seen":"0.0.46d378e2"}`:                                                  sale.InvalidRequest,
			`{"id":"c","action":"cancel","orderId":"406709376884146177","saw":"PAID","unit":"sold"}`:              sale.InvalidRequest,
			`{"id":"c","action":"cancel","orderId":"406709376884146177","saw":"PENDING","unit":"back"}`:           sale.InvalidRequest,
			`{"id":"c","action":"cancel","orderId":"0406709376884146177","saw":"PAID","unit":"back"}`:             sale.InvalidRequest,
			`{"id":"c","action":"cancel","saw":"PAID","unit":"back"}`:                                             sale.InvalidRequest,
			`{"id":"c","action":"resume"}`:                                                                        sale.InvalidRequest,
			`{"id":"c","action":"add","stock":1}`:                                                                 sale.InvalidRequest,
			`{"id":"c","action":"withdraw","stock":1}`:                                                            sale.InvalidRequest,
			`{"id":"c","action":"describe","about":"x"}`:                                                          sale.InvalidRequest,
			`{"id":"c","action":"reschedule","opensAt":"2026-01-01T00:00:00Z","closesAt":"2030-01-01T00:00:00Z"}`: sale.InvalidRequest,
			`{"id":"c","action":"resume","seen":"0.0.54c64122"}`:                                                  sale.InvalidRequest,
			`{"id":"c","action":"resume","seen":"-1.0.dbd1dbdd"}`:                                                 sale.InvalidRequest,
			`{"id":"c","action":"resume","seen":"00.0.78603ea8"}`:                                                 sale.InvalidRequest,
			"{\"id\":\"c\",\"action\":\"pause\",\"note\":\"a\\u202eb\"}":                                          sale.InvalidRequest,
			pad(501):     sale.InvalidRequest,
			pad(5 << 10): sale.BodyTooLarge,
		} {
			calls := f.Calls(func() {
				r := f.Ask(t, t.Context(), event(t, "operate-pause.json", body(text)))
				var problem struct{ Code sale.Code }
				if err := json.Unmarshal([]byte(r.Body), &problem); err != nil || problem.Code != want {
					t.Errorf("%.80s: %d %s, want %s", text, r.StatusCode, r.Body, want)
				}
			})
			if calls != 0 {
				t.Errorf("%.80s reaches the table", text)
			}
		}
	})
}

func TestTheTrailCountsTheEditsThatItDoesNotShow(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open()
		f.Pause()
		time.Sleep(time.Second)
		for i := range mostChanges {
			if _, err := f.Ledger().Add(t.Context(), sale.Addition{SaleID: testledger.SaleID, SeedID: fmt.Sprint(i), Stock: 1}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // the second time from memory, and with an edit that it does not know
			page := f.answered(t, event(t, "operate-trail.json"))
			shown := page["changes"].([]any)
			if edits := len(f.trail(t)) - mostChanges; len(shown) != mostChanges || page["more"] != true || page["edits"] != float64(edits) {
				t.Errorf("%d changes of %v edits, more %v, want %d edits", len(shown), page["edits"], page["more"], edits)
			}
			f.Pause()
		}
	})
}

func TestOperatorsSeeHowFarADrawHasCome(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open(testledger.WithDraw)
		shown := func() map[string]any {
			t.Helper()
			s := f.answered(t, event(t, "operate-sale.json"))
			if s["opensAt"] != "2026-01-01T03:00:00.000Z" || s["closesAt"] != "2026-01-03T00:00:00.000Z" {
				t.Errorf("the window is that of a call: %v to %v", s["opensAt"], s["closesAt"])
			}
			return map[string]any{"state": s["state"], "draw": s["draw"]}
		}
		want := map[string]any{"enterFrom": "2026-01-01T00:01:00.000Z", "enterUntil": "2026-01-01T01:00:00.000Z", "keepHours": 2.0, "call": 0.0}
		if diff := cmp.Diff(map[string]any{"state": "NOT_OPEN", "draw": want}, shown()); diff != "" {
			t.Errorf("before the first call (-want +got):\n%s", diff)
		}
		f.Until(testledger.EnterFrom)
		f.Enter("alice", "bob")
		f.CloseRoll()
		f.Throw()
		call := f.Call()
		want["call"], want["from"], want["until"] = 1.0, "2026-01-01T03:00:15.000Z", "2026-01-01T05:00:15.000Z"
		f.over(f.Ledger())
		if diff := cmp.Diff(map[string]any{"state": "OPEN", "draw": want}, shown()); diff != "" {
			t.Errorf("in the first call (-want +got):\n%s", diff)
		}
		f.Until(call.Until)
		if state := shown()["state"]; state != "WAITING" {
			t.Errorf("between calls the state is %v", state)
		}
		f.Call()
		want["call"], want["from"], want["until"], want["open"] = 2.0, "2026-01-01T05:01:30.000Z", "2026-01-03T00:00:00.000Z", true
		f.over(f.Ledger())
		if diff := cmp.Diff(map[string]any{"state": "OPEN", "draw": want}, shown()); diff != "" {
			t.Errorf("in the call for anybody (-want +got):\n%s", diff)
		}
	})
}

func TestTheTrailHasTheCallsAndTheWindowThatPeopleAreShown(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Drawn(2, "alice", "bob")
		time.Sleep(time.Minute)
		f.Edit(sale.Edit{OpensAt: testledger.DrawBegins, ClosesAt: testledger.DrawEnds.Add(time.Hour), Until: testledger.DrawBegins.Add(4 * time.Hour)})
		changes := f.answered(t, event(t, "operate-trail.json"))["changes"].([]any)
		if len(changes) != 2 {
			t.Fatalf("changes %v", changes)
		}
		edit, begun := changes[0].(map[string]any), changes[1].(map[string]any)
		if edit["opensAt"] != "2026-01-01T03:00:00.000Z" || edit["closesAt"] != "2026-01-03T01:00:00.000Z" {
			t.Errorf("the rescheduling: %v", edit)
		}
		if begun["action"] != "call" || begun["actor"] != "draw" || begun["note"] != "call 1" || begun["opensAt"] != "2026-01-01T03:00:15.000Z" || begun["closesAt"] != "2026-01-01T05:00:15.000Z" {
			t.Errorf("the call: %v", begun)
		}
	})
}
