package handler

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// Every field of a sale has a value of its own.
func TestSalesAreShownAsTheyStand(t *testing.T) {
	const open = `"saleId":"moutai","name":"Feitian Moutai","opensAt":"2026-01-01T00:00:00.000Z","closesAt":"2036-01-01T00:00:00.000Z","drained":false,"seeded":100,"shards":5`
	const fresh = open + `,"state":"OPEN","paused":false,"recalling":false,"edits":0,"books":null`
	list, one, now := "operate-sales.json", "operate-sale.json", testledger.Began.Add(8*time.Second)
	group := func(c *sale.Creation) { c.LimitGroup, c.ClosesAt = "shoe", now.Add(time.Hour) }
	for name, tt := range map[string]struct {
		sale func(*sale.Creation)
		is   func(t *testing.T, f *function)
		asks string
		with []httpapitest.Change
		want string
	}{
		"all of them":                  {asks: list, want: `{"asOf":"2026-01-01T00:00:08.000Z","version":"` + sale.ProgramVersion + `","actor":"vera","role":"viewer","sales":[{` + fresh + `}]}`},
		"one, counted from its shards": {asks: one, want: `{` + fresh + `,"version":"0.0.46d378e2","remaining":{"units":98,"asOf":"2026-01-01T00:00:08.000Z"}}`},
		"wrong books, a pause and a draft": {nil, func(t *testing.T, f *function) {
			f.counted(t, func(r *ledger.Receipt) { r.Findings, r.Balanced = []string{"shard 0: stock is -1 (P1)"}, false })
			f.Pause()
			f.Draft("wine")
		}, list, nil, `{"sales":[{` + open + `,"state":"PAUSED","paused":true,"edits":1,"changedAt":"2026-01-01T00:00:08.000Z","books":{
			"asOf":"2026-01-01T00:00:08.000Z","stock":98,"seeded":100,"claims":2,"pending":1,"confirmed":1,"paid":0,"unpaid":0,"released":0,"refundsDue":0,"oldestPendingSeconds":3,
			"balanced":false,"findings":["shard 0: stock is -1 (P1)"],"money":[],"accepted":{"from":"2026-01-01T00:00:05.000Z","every":1,"counts":[2]}}},
			{"saleId":"wine","name":"","state":"DRAFT","seeded":4,"shards":2,"books":null}]}`},
		"a draft, which is not counted": {nil, func(t *testing.T, f *function) { f.Draft("wine") }, one, []httpapitest.Change{path("saleId", "wine")}, `{"state":"DRAFT","remaining":null,"version":null}`},
		"money of every currency that was paid, and no pace": {asksForPayment, func(t *testing.T, f *function) {
			f.counted(t, func(r *ledger.Receipt) {
				r.Unpaid, r.Money, r.Accepted = 2, ledger.Money{"EUR": {Due: 500, Refunded: 7}, "XTS": {Due: 1}, "CNY": {Taken: 149900}}, ledger.Pace{}
			})
		}, one, nil, `{"books":{"accepted":null,"money":[{"currency":"CNY","digits":2,"taken":149900,"outstanding":299800,"due":0,"refunded":0},
			{"currency":"EUR","digits":2,"taken":0,"outstanding":0,"due":500,"refunded":7},{"currency":"XTS","digits":null,"taken":0,"outstanding":0,"due":1,"refunded":0}]}}`},
		"money that nobody has paid": {asksForPayment, func(t *testing.T, f *function) {
			f.counted(t, func(r *ledger.Receipt) { r.Unpaid, r.Money = 2, nil })
		}, one, nil, `{"books":{"money":[{"currency":"CNY","digits":2,"taken":0,"outstanding":299800,"due":0,"refunded":0}]}}`},
		"money that nobody has paid for several units": {asksForPayment, func(t *testing.T, f *function) {
			f.counted(t, func(r *ledger.Receipt) { r.Unpaid, r.UnpaidUnits, r.Money = 2, 3, nil })
		}, one, nil, `{"books":{"money":[{"currency":"CNY","digits":2,"taken":0,"outstanding":449700,"due":0,"refunded":0}]}}`},
		"all terms, and a recall": {func(c *sale.Creation) {
			asksForPayment(c)
			c.LateFor, c.LimitGroup, c.Extras = 72*time.Hour, "spirits", true
			c.Presentation = sale.Presentation{Image: "https://images.example/m.jpg", About: "53 %", Link: "https://shop.example/m"}
		}, func(t *testing.T, f *function) {
			f.Edit(sale.Edit{PayUntil: now.Add(5 * time.Hour)})
			f.Recall()
			f.over(f.Ledger())
		}, one, nil, `{` + open + `,"state":"RECALLED","paused":true,"recalling":true,"edits":2,"recalledAt":"2026-01-01T00:00:08.001Z","recallNote":"a batch is defective","limitGroup":"spirits",
			"payWithin":3600,"lateDays":3,"payUntil":"2026-01-01T05:00:08.000Z","price":149900,"currency":"CNY","extras":"allowed",
			"offer":{"price":149900,"currency":"CNY","image":"https://images.example/m.jpg","about":"53 %","link":"https://shop.example/m"}}`},
		"a group": {group, func(t *testing.T, f *function) {
			f.Open(group, func(c *sale.Creation) { c.SaleID = "size-9" })
			f.Open(func(c *sale.Creation) { c.SaleID = "shirt" })
		}, list, []httpapitest.Change{inQuery("group", "shoe")}, `{"sales":[{"saleId":"moutai"},{"saleId":"size-9"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			selling(t, func(t *testing.T, f *function) {
				if tt.is != nil {
					tt.is(t, f)
				}
				f.shows(t, event(t, tt.asks, tt.with...), tt.want)
			}, tt.sale)
		})
	}
	selling(t, func(t *testing.T, f *function) {
		refused(t, f.Ask(t, t.Context(), event(t, list, inQuery("group", "hat"))), 404, sale.GroupNotFound)
		refused(t, f.Ask(t, t.Context(), event(t, list, inQuery("group", "a#b"))), 400, sale.InvalidRequest)
		refused(t, f.Ask(t, t.Context(), event(t, one, path("saleId", "nothing"))), 404, sale.SaleNotFound)
		for _, id := range []string{"", "a/b", "moutai#0", strings.Repeat("m", 65)} {
			refused(t, f.Ask(t, t.Context(), event(t, one, path("saleId", id))), 400, sale.InvalidRequest)
		}
	})
}

func TestADrainedSaleIsListedOnlyIfAskedForAndKeepsItsBooks(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open(func(c *sale.Creation) { c.ClosesAt = testledger.Began.Add(time.Hour) })
		time.Sleep(2 * time.Hour)
		if drained, err := f.Ledger().Drain(t.Context(), f.Receipt()); err != nil || !drained {
			t.Fatal(drained, err)
		}
		for asked, want := range map[string]string{"": `[]`, "0": `[]`, "true": `[]`, "1": `[{"drained":true,"state":"CLOSED","books":{"stock":2}}]`} {
			f.shows(t, event(t, "operate-sales.json", inQuery("drained", asked)), `{"sales":`+want+`}`)
		}
	})
}

func TestASaleThatCannotBeReadHidesNoOther(t *testing.T) {
	for want, spoil := range map[string]func(f *function){
		"newer-version": func(f *function) { f.Newer("SALE#moutai", "SALE"); f.Newer("SALES", "moutai") },
		"internal":      func(f *function) { f.Tamper("SALE#moutai", "SALE", "buckets", -1e6) },
	} {
		in(t, func(t *testing.T, f *function) {
			f.Open()
			f.Open(func(c *sale.Creation) { c.SaleID = "another" })
			spoil(f)
			f.shows(t, event(t, "operate-sales.json"), `{"sales":[{"saleId":"another","state":"OPEN"},{"saleId":"moutai","error":"`+want+`","state":null}]}`)
			if r := f.Ask(t, t.Context(), event(t, "operate-sale.json")); r.StatusCode < 500 {
				t.Errorf("the sale itself is answered with %d %s", r.StatusCode, r.Body)
			}
		})
	}
}

// knowing gives a change the version of the sale now, if it takes one.
func (f *function) knowing(text string) string {
	if strings.Contains(text, `"action":"pause"`) || strings.Contains(text, `"action":"recall"`) {
		return text
	}
	s, err := f.Ledger().Sale(f.T.Context(), testledger.SaleID)
	if err != nil {
		f.T.Fatal(err)
	}
	return strings.TrimSuffix(text, "}") + `,"version":"` + s.ReadVersion().Text(s.ID) + `"}`
}

// changed asks for a change by kim, who has looked at the sale.
func (f *function) changed(t *testing.T, text string) map[string]any {
	t.Helper()
	return f.answered(t, event(t, "operate-pause.json", body(f.knowing(text))))
}

func TestEachChangeIsMadeOnceAndIsInTheTrailWithItsAuthor(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		const note = `"note":"=HYPERLINK(\"x\") <img src=x onerror=alert(1)>"`
		for i, step := range [][2]string{
			{`"action":"pause","note":"the price is wrong"`, `"paused":true`},
			{`"action":"resume"`, `"paused":false`},
			{`"action":"reschedule","opensAt":"2026-01-01T00:00:00Z","closesAt":"2030-01-01T00:00:00Z"`, `"closesAt":"2030-01-01T00:00:00.000Z"`},
			{`"action":"describe","about":"53 % <b>=1+1</b>"`, `"about":"53 % <b>=1+1</b>"`},
			{`"action":"add","stock":50`, `"seeded":150`},
			{`"action":"withdraw","stock":20`, `"seeded":130,"withdrawn":20`},
			{`"action":"extend","until":"2026-01-01T05:00:00Z"`, `"payUntil":"2026-01-01T05:00:00.000Z"`},
			{`"action":"recall",` + note, `"paused":true,"recalledAt":"2026-01-01T00:00:15.000Z"`},
		} {
			for _, applied := range []bool{true, false} {
				request := f.knowing(fmt.Sprintf(`{"id":"%d",%s}`, i+1, step[0]))
				f.shows(t, event(t, "operate-pause.json", body(request)), fmt.Sprintf(`{"saleId":"moutai","applied":%t,"changeId":"%d",%s}`, applied, i+1, step[1]))
			}
			time.Sleep(time.Second)
		}
		if f.Logged(t, "saleId") != "moutai" || f.Logged(t, "actor") != "kim" {
			t.Errorf("the line is %s", f.Log.String())
		}
		const kim, window = `"actor":"kim","verified":true`, `"opensAt":"2026-01-01T00:00:00.000Z","closesAt":"2030-01-01T00:00:00.000Z"`
		f.shows(t, event(t, "operate-trail.json"), `{"saleId":"moutai","edits":6,"more":false,"changes":[
			{"n":6,"id":"8","action":"recall","at":"2026-01-01T00:00:15.000Z",`+note+`,"paused":true,`+kim+`,`+window+`},
			{"n":5,"id":"7","action":"extend","payUntil":"2026-01-01T05:00:00.000Z"},
			{"n":null,"id":"6","action":"withdraw","at":"2026-01-01T00:00:13.000Z",`+kim+`,"units":20},
			{"n":null,"id":"5","action":"add","at":"2026-01-01T00:00:12.000Z",`+kim+`,"units":50},
			{"n":4,"id":"4","action":"describe","at":"2026-01-01T00:00:11.000Z",`+kim+`,"about":"53 % <b>=1+1</b>"},
			{"n":3},{"n":2},{"n":1,"note":"the price is wrong"}]}`)
	}, asksForPayment)
}

func TestAnOvertakenChangeIsRefusedWithWhatCameBetween(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		const resume = `{"id":"kims","action":"resume","version":"%s"}`
		f.changed(t, `{"id":"lees","action":"pause","note":"the price is wrong"}`)
		before := f.DB.Dump()
		now := f.answered(t, event(t, "operate-sale.json"))["version"]
		for what, version := range map[string]sale.ReadVersion{"old": {}, "of the future": {Edits: 2}} {
			r := f.Ask(t, t.Context(), event(t, "operate-pause.json", body(fmt.Sprintf(resume, version.Text("moutai")))))
			refused(t, r, 409, sale.ChangedMeanwhile)
			var problem, want any
			err := json.Unmarshal([]byte(r.Body), &problem)
			_ = json.Unmarshal(fmt.Appendf(nil, `{"version":%q,"template":"the sale was changed meanwhile: %%s by %%s on %%s%%s; look at it again","values":["pause","kim","2026-01-01T00:00:08Z"," (the price is wrong)"],
				"change":{"n":1,"id":"lees","action":"pause","at":"2026-01-01T00:00:08.000Z","actor":"kim","verified":true,"note":"the price is wrong","paused":true}}`, now), &want)
			if err != nil || want == nil || !has(problem, want) || f.DB.Dump() != before {
				t.Errorf("%s: got %d %s", what, r.StatusCode, r.Body)
			}
		}
		next := f.answered(t, event(t, "operate-pause.json", body(fmt.Sprintf(resume, now))))
		f.answered(t, event(t, "operate-pause.json", body(fmt.Sprintf(`{"id":"next","action":"add","stock":1,"version":"%s"}`, next["version"]))))
	})
}

func TestABodyThatIsNoChangeReachesNothing(t *testing.T) {
	const version = `,"version":"0.0.46d378e2"}`
	invalid := []string{
		``, `null`, `[]`, `"pause"`, `{}`, `{`, `{"id":"c"}`, `{"action":"pause"}`, `{"id":"","action":"pause"}`, `{"id":"a b","action":"pause"}`, `{"id":1,"action":"pause"}`,
		"{\"id\":\"c\",\"action\":\"pause\",\"note\":\"a\\u202eb\"}", `{"id":"c","action":"pause","note":"` + strings.Repeat("x", 501) + `"}`, `{"id":"c","action":"pause"` + version, `{"id":"c","action":"recall"` + version,
		`{"id":"c","action":"create","stock":1}`, `{"id":"c","action":"add"` + version, `{"id":"c","action":"add","stock":0` + version, `{"id":"c","action":"add","seedId":"d","stock":1` + version,
		`{"id":"c","action":"describe"` + version, `{"id":"c","action":"describe","image":"https://evil.example/a.jpg"` + version, `{"id":"c","action":"reschedule","opensAt":"2026-01-01T00:00:00Z"` + version,
		`{"id":"c","action":"resume","version":"0.0.54c64122"}`, `{"id":"c","action":"resume","version":"-1.0.dbd1dbdd"}`, `{"id":"c","action":"resume","version":"00.0.78603ea8"}`,
	}
	for _, more := range []string{`"actor":"vera"`, `"verified":"true"`, `"saleId":"another"`, `"at":"2026-01-01T00:00:00Z"`, `"changeId":"d"`} {
		invalid = append(invalid, `{"id":"c","action":"pause",`+more+`}`)
	}
	const order = `"orderId":"` + alicesOrder + `",`
	for _, more := range []string{order + `"expected":"PAID","unit":"sold"`, order + `"expected":"PENDING","unit":"back"`, `"orderId":"0` + alicesOrder + `","expected":"PAID","unit":"back"`, `"expected":"PAID","unit":"back"`} {
		invalid = append(invalid, `{"id":"c","action":"cancel",`+more+`}`)
	}
	for _, unversioned := range []string{`"resume"`, `"add","stock":1`, `"withdraw","stock":1`, `"describe","about":"x"`, `"reschedule","opensAt":"2026-01-01T00:00:00Z","closesAt":"2030-01-01T00:00:00Z"`} {
		invalid = append(invalid, `{"id":"c","action":`+unversioned+`}`)
	}
	in(t, func(t *testing.T, f *function) {
		calls := f.Calls(func() {
			for _, text := range invalid {
				refused(t, f.Ask(t, t.Context(), event(t, "operate-pause.json", body(text))), 400, sale.InvalidRequest)
			}
			refused(t, f.Ask(t, t.Context(), event(t, "operate-pause.json", body(`{"id":"c","action":"pause","note":"`+strings.Repeat("x", 5<<10)+`"}`))), 413, sale.BodyTooLarge)
		})
		if calls != 0 {
			t.Errorf("%d of them reach the table", calls)
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
			page := f.shows(t, event(t, "operate-trail.json"), fmt.Sprintf(`{"more":true,"edits":%d}`, len(f.trail(t))-mostChanges))
			if shown := page["changes"].([]any); len(shown) != mostChanges {
				t.Errorf("%d changes are shown", len(shown))
			}
			f.Pause()
		}
	})
}

// The window of a sale with a draw is that of the sale, and not of a call.
func TestOperatorsSeeHowFarADrawHasCome(t *testing.T) {
	const window = `{"opensAt":"2026-01-01T03:00:00.000Z","closesAt":"2026-01-03T00:00:00.000Z","state":"%s","draw":{"enterFrom":"2026-01-01T00:01:00.000Z","enterUntil":"2026-01-01T01:00:00.000Z","keepHours":2,%s}}`
	const first = `"call":1,"from":"2026-01-01T03:00:15.000Z","until":"2026-01-01T05:00:15.000Z"`
	in(t, func(t *testing.T, f *function) {
		f.Open(testledger.WithDraw)
		shows := func(state, draw string) {
			t.Helper()
			f.shows(t, event(t, "operate-sale.json"), fmt.Sprintf(window, state, draw))
		}
		shows("NOT_OPEN", `"call":0,"from":null,"open":null`)
		f.Until(testledger.EnterFrom)
		f.Enter("alice", "bob")
		f.CloseRoll()
		f.Throw()
		call := f.Call()
		f.over(f.Ledger())
		shows("OPEN", first)
		f.shows(t, event(t, "operate-trail.json"), `{"changes":[{"action":"call","actor":"draw","note":"call 1","opensAt":"2026-01-01T03:00:15.000Z","closesAt":"2026-01-01T05:00:15.000Z"}]}`)
		f.Until(call.Until)
		shows("WAITING", first)
		f.Call()
		f.over(f.Ledger())
		shows("OPEN", `"call":2,"from":"2026-01-01T05:01:30.000Z","until":"2026-01-03T00:00:00.000Z","open":true`)
		f.Edit(sale.Edit{OpensAt: testledger.DrawBegins, ClosesAt: testledger.DrawEnds.Add(time.Hour)})
		if edit := f.answered(t, event(t, "operate-trail.json"))["changes"].([]any)[0]; !has(edit, map[string]any{"opensAt": "2026-01-01T03:00:00.000Z", "closesAt": "2026-01-03T01:00:00.000Z"}) {
			t.Errorf("the rescheduling: %v", edit)
		}
	})
}
