package operator

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/browser"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// buyer pays again and again.
const buyer = `=HYPERLINK("x");=1+1`

// buys returns the id of the order that a user has placed.
func (s *shop) buys(saleID, user string) uint64 {
	ctx := context.Background()
	bought, err := s.book.Purchase(ctx, ledger.Request{SaleID: saleID, User: user})
	if err != nil {
		panic(err)
	}
	return s.book.Confirm(ctx, []ledger.ClaimRef{{SaleID: saleID, User: user, ClaimID: bought.Claim.ID}})[0].Order.ID
}

// owes adds n refunds of a sale that are due, of 1,499.00 CNY and a cent more each, unless changed.
func (s *shop) owes(saleID string, n int, changes ...func(i int, p *sale.Payment)) {
	ctx := context.Background()
	p := sale.Payment{Provider: "stripe", Reference: "pi", SaleID: saleID, Amount: 1, Currency: "CNY"}
	var err error
	if saleID != "" {
		p.OrderID = s.buys(saleID, buyer)
		_, err = s.book.Pay(ctx, p)
	}
	for i := range n {
		p := p
		p.Reference, p.Amount = fmt.Sprintf("pi_%s_%04d", saleID, i), int64(149900+i)
		for _, change := range changes {
			change(i, &p)
		}
		_, failed := s.book.Pay(ctx, p)
		err = errors.Join(err, failed)
	}
	if err != nil {
		panic(err)
	}
}

// alike makes payments of one amount.
func alike(_ int, p *sale.Payment) { p.Amount = 149900 }

// paysBack has somebody mark refunds of a sale.
func (s *shop) paysBack(who, saleID string, payments ...string) {
	s.book.MarkRefunds(context.Background(), saleID, payments, who)
}

// done are the refunds of a sale that are marked, with by whom.
func (s *shop) done(saleID string) (marked []string) {
	all, _ := s.book.Refunds(context.Background(), saleID)
	for _, r := range all {
		if !r.RefundedAt.IsZero() {
			marked = append(marked, r.Payment+" by "+r.RefundedBy)
		}
	}
	return marked
}

// shoe adds a group of sizes.
func (s *shop) shoe(sizes ...int) {
	now := time.Now()
	for i, size := range sizes {
		s.add(fmt.Sprint("runner-", size), fmt.Sprint("Trail Runner 7, size ", size), object{"limitGroup": "runner", "seeded": 20, "shards": 1, "price": 129900, "currency": "CNY",
			"books": object{"asOf": instant(now.Add(-time.Duration(20+i) * time.Second)), "stock": 20 - 2*i, "seeded": 20, "claims": 2 * i, "pending": 0, "confirmed": 2 * i, "paid": i, "unpaid": i - i/2,
				"released": 0, "refundsDue": i % 3, "oldestPendingSeconds": 0, "balanced": true, "findings": []string{},
				"money":    []object{{"currency": "CNY", "digits": 2, "taken": i * 129900, "outstanding": i * 129900, "due": i % 3 * 129900, "refunded": 0}},
				"accepted": object{"from": instant(now.Add(-time.Hour)), "every": 2, "counts": []int{9, 4, 2, 0, 1}}}})
	}
}

// marks returns the requests so far that mark refunds.
func marks(tab *browser.Tab) int { return tab.Count("POST", "/operate/refunds") }

func TestRefundsAreFoundChosenAndMarkedOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	s.owes("moutai", 120)
	s.owes("", 1)
	tab := s.tab(t, "operator alice")
	s.look(tab, "#refunds", "Refunds")
	tab.WaitText("121 due CN¥181,450.40 · 0 done", "Show 50 more of 121")
	tab.Type("#find", "MOUTAI_011")
	tab.WaitText("All 10 due")
	tab.Click("#every")
	tab.Click("[id='r moutai stripe#pi_moutai_0110']")
	tab.WaitText("Mark 9 as refunded · CN¥13,501.35")
	tab.Type("#find", "9")
	tab.WaitText("All 1 due", "Mark 1 as refunded · CN¥1,500.19") // what is hidden is not marked
	browser.Eval[bool](tab, `(() => { const find = document.querySelector("#find"); find.value = "moutai_011"; return find.dispatchEvent(new Event("input")); })()`)
	tab.WaitText("Mark 9 as refunded · CN¥13,501.35")
	tab.Answers("POST", "/operate/refunds", browser.Problem(503, "busy", "1"))
	tab.Click("[data-key=mark]")
	tab.WaitText("Mark 9 as refunded? CN¥13,501.35")
	n := marks(tab)
	browser.Check(t, n == 0, "%d marks before the answer", n)
	tab.Press(browser.Tabulator + browser.Tabulator + browser.Enter) // no
	tab.Wait("document.activeElement.dataset.key === 'mark'")
	tab.Press(browser.Enter)
	tab.Wait("document.activeElement.dataset.key === 'asked'")
	tab.Click("[data-key=asked] button.main")
	tab.WaitText("Marking: 0 of 9 are answered. The last answer was lost, so it is sent again; each counts once.", "9 marked", "112 due CN¥167,949.05 · 9 done")
	tab.Click("#done")
	tab.WaitText("Done, marked by alice")
	tab.Click("[data-key='moutai stripe#pi_moutai_0111'] > button") // a wrong mark is taken back, with a note
	tab.Type("#why", "another one")
	tab.Click("[data-key=unmark] button.main")
	tab.WaitText("113 due", "8 done")

	viewer := s.tab(t, "viewer dave")
	s.look(viewer, "#refunds/sale/moutai", "Refunds")
	viewer.WaitText("112 due")
	browser.Gives(viewer, "document.querySelectorAll('.refunds input, [data-key=mark], #file').length", 0, "ways to mark for a viewer")
}

func TestASaleWithoutReadableRefundsHidesNoOther(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("draft", "Draft", object{"state": "DRAFT", "books": nil})
	s.add("moutai", "Moutai", nil)
	s.add("wine", "Wine", nil)
	s.owes("moutai", 2)
	s.owes("wine", 3)
	tab := s.tab(t, "operator alice")
	s.look(tab, "#refunds", "Refunds")
	tab.WaitText("5 due CN¥7,495.04 · 0 done")
	for _, one := range []string{"moutai", "wine"} { // a newer version has written them
		if err := s.db.Tamper(t.Context(), "T", "REFUND#"+one, "stripe#pi_"+one+"_0000", "minReader", 99); err != nil {
			t.Fatal(err)
		}
	}
	s.add("lamp", "", object{"error": "newer-version"})
	tab.Click("main p[role=status] button")
	tab.WaitText("The list is not whole: no such sale", "2 cannot be read by this version.", "stripe#pi_moutai_0001", "stripe#pi_wine_0002")
}

// A mark whose answer was lost is this one's; somebody else's is not. What is busy is asked again.
func TestALostAnswerToAMarkIsNotSomebodyElses(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	s.owes("moutai", 3)
	tab := s.tab(t, "operator alice")
	s.look(tab, "#refunds/sale/moutai", "Refunds")
	tab.WaitText("All 3 due")
	s.paysBack("carol", "moutai", "stripe#pi_moutai_0001")
	s.db.Fault = dynamotest.On("UpdateItem", "REFUND#moutai|stripe#pi_moutai_0002", func(dynamotest.Call) dynamotest.Fault {
		if marks(tab) < 3 {
			return dynamotest.Fault{Kind: dynamotest.Throttle}
		}
		return dynamotest.Fault{}
	})
	tab.Answers("POST", "/operate/refunds", browser.Answer{Lost: true})
	tab.Click("#every")
	tab.Click("[data-key=mark]")
	tab.Click("[data-key=asked] button.main")
	tab.WaitText("2 marked · 1 marked before", "by carol: do not pay it back again")
}

func TestMarksThatAreCutShortAreNobodyElses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer browser.Answer
		times  int
		shown  string // then
		next   string // who signs in
		told   string
		marked int
	}{
		"the same person signs in again": {browser.Problem(401, "unauthorized", ""), 1, "Your sign-in has ended.", "alice", "220 marked", 220},
		"the next person signs in":       {browser.Problem(503, "busy", "2"), 99, "100 of 220 are answered. The last answer was lost", "bob", "120 were not sent any more. 100 marked", 100},
		"a batch is refused":             {browser.Problem(413, "body-too-large", ""), 1, "", "alice", "120 marked · 100 failed", 120},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			s.add("moutai", "Moutai", nil)
			s.owes("moutai", 220)
			tab := s.tab(t, "operator alice")
			s.look(tab, "#refunds/sale/moutai", "Refunds")
			tab.WaitText("All 220 due")
			tab.Answers("POST", "/operate/refunds", append([]browser.Answer{{}}, slices.Repeat([]browser.Answer{tt.answer}, tt.times)...)...)
			tab.Click("#every")
			tab.Click("[data-key=mark]")
			tab.Click("[data-key=asked] button.main")
			tab.WaitText(tt.shown)
			browser.Eval[bool](tab, fmt.Sprintf(`(sessionStorage.token = JSON.stringify({access: "operator %s", expires: Date.now() + 86400000}), dispatchEvent(new Event("online")))`, tt.next))
			tab.WaitText(tt.told)
			if done := s.done("moutai"); len(done) != tt.marked || slices.ContainsFunc(done, func(one string) bool { return !strings.HasSuffix(one, " by alice") }) {
				t.Errorf("%d are marked, want %d by alice: %v", len(done), tt.marked, done)
			}
		})
	}
}

// chooseFile gives the page a file, so many times one after the other, and notes what it saves.
func chooseFile(tab *browser.Tab, file string, times ...int) {
	browser.Eval[bool](tab, fmt.Sprintf(`(() => {
		window.saved = [];
		const create = URL.createObjectURL;
		URL.createObjectURL = (blob) => (blob.text().then((text) => saved.push(text)), create(blob));
		const given = new DataTransfer();
		given.items.add(new File(Array(%d).fill(Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))), "stripe.csv"));
		document.querySelector("#file").files = given.files;
		return document.querySelector("#file").dispatchEvent(new Event("change"));
	})()`, append(times, 1)[0], base64.StdEncoding.EncodeToString([]byte(file))))
}

func TestEachLineOfAFileIsAnswered(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	s.owes("moutai", 250, func(i int, p *sale.Payment) {
		if i == 11 {
			p.Currency, p.Amount = "KWD", 89900
		}
		if i == 13 {
			p.Provider, p.Reference = "adyen", "PSP13"
		}
	})
	s.paysBack("carol", "moutai", "stripe#pi_moutai_0007")
	tab := s.tab(t, "operator alice")
	s.look(tab, "#refunds", "Refunds")
	tab.WaitText("CSV of 249")
	lines := []string{"\ufeffpayment,amount"}
	for i := range 250 {
		lines = append(lines, fmt.Sprintf("pi_moutai_%04d,1499.00", i)) // as the provider lists them
	}
	lines[14] = "PSP13,1499.00"
	lines = append(lines, "stripe#pi_moutai_0003", "", "pi_9", `"stripe#pi_8"`)
	chooseFile(tab, strings.Join(lines, "\r\n"))
	tab.WaitText("stripe.csv, 253 lines", "1 marked before · 1 doubled · 2 unknown", "pi_9 is no refund here", "Mark 249 as refunded? CN¥", "File of 1 for the bulk refund of adyen")
	tab.Axe()
	tab.Click("[data-key=bulk-adyen]")
	tab.Wait(`saved[0] === "PSP13,cancelOrRefund\n"`)
	tab.Click("[data-key=asked] button.main")
	tab.WaitText("249 marked · 1 marked before · 1 doubled · 2 unknown", "by carol: do not pay it back again")
	tab.Axe()
	n := marks(tab)
	browser.Check(t, n == 3, "%d requests for 249 refunds, want 3: what is unknown is not sent", n)
	tab.Click("[data-key=over] button:first-child")
	tab.Wait("saved.length === 2")
	answers := browser.Eval[string](tab, "saved[1]")
	for _, want := range []string{`"'pi_moutai_0000",marked,"'stripe#pi_moutai_0000","'moutai","'20`, `"'stripe#pi_moutai_0003",doubled,`, `"'pi_9",unknown,`, `"'pi_moutai_0007",already,`} {
		browser.Check(t, strings.Contains(answers, "\r\n"+want), "the answers lack %s: %.600s", want, answers)
	}
	tab.WaitText("All are done.")
	tab.Click("#done")
	tab.Click("[data-key=csv]")
	tab.Wait("saved.length === 3")
	if got := browser.Eval[string](tab, "saved[2]"); strings.Count(got, "\r\n") != 251 || !strings.Contains(got, `,amount,CNY,1499.01,149901,"'20`) || !strings.Contains(got, `,KWD,89.9000,89900,`) || !strings.Contains(got, ",89.9000,whole,,,,,\r\n") || !strings.Contains(got, `"'=HYPERLINK(""x"");'=1+1"`) || strings.Contains(got, `,"523`) {
		t.Errorf("the list is %.900s", got)
	}
}

// A list of all sales is given to the page of one, after whose reading payments came.
func TestAListMarksWhatIsDueInItsSaleAloneAndSaysHowMuchThatIs(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	s.add("wine", "Wine", nil)
	s.owes("wine", 1)
	tab := s.tab(t, "operator alice")
	s.look(tab, "#refunds/sale/moutai", "Refunds")
	tab.WaitText("0 due")
	s.owes("moutai", 5, alike, func(i int, p *sale.Payment) {
		if i == 4 {
			p.Currency = "EUR"
		}
	})
	const titles = "payment_intent_id,reporting_category,gross,currency\n"
	for _, tt := range []struct {
		file  string
		times int
		told  string
	}{
		{"PK\x03\x04\n1,2\n", 1, "packed or a workbook"}, {"# nothing\n", 1, "names no payment that was paid back"},
		{"PSP Reference,Status,Amount\npi_moutai_0000,Settled,1499.00\n", 1, "without its columns type, gross debit (gc), gross currency: it marks nothing"},
		{strings.Repeat("x", 1<<10), 33 << 10, "longer than 32 MB"},
	} {
		chooseFile(tab, tt.file, tt.times)
		tab.Wait(fmt.Sprintf("document.querySelector('#file').validationMessage.includes(%q)", tt.told))
	}
	tab.Answers("POST", "/operate/refunds/list", browser.Answer{Lost: true})
	chooseFile(tab, titles+"pi_wine_0000,refund,1499.00,cny\npi_moutai_0000,refund,1499.00,cny\npi_moutai_0001,refund,749.50,cny\npi_moutai_0002,charge,1499.00,cny\npi_moutai_0003,refund,,cny\npi_moutai_0004,refund,1499.00,eur\n")
	tab.WaitText("stripe.csv, 5 lines", "1 rows of other kinds mark nothing", "1 in part · 1 without an amount · 1 unknown", "pi_moutai_0001 749.50 CNY was paid back", "Mark 2 as refunded? CN¥1,499.00 + €1,499.00")
	s.paysBack("carol", "moutai", "stripe#pi_moutai_0004") // in the same second
	tab.Click("[data-key=asked] button.main")
	tab.WaitText("1 marked · 1 marked before · 1 in part · 1 without an amount · 1 unknown", "by carol: do not pay it back again", "2 due CN¥2,998.00 · 2 done")
	if done := s.done("wine"); len(done) != 0 || marks(tab) != 1 {
		t.Errorf("of another sale %q are marked, in %d requests", done, marks(tab))
	}
	tab.Click("[data-key=over] button:last-child")
	chooseFile(tab, "pi_wine_0000\n"+strings.Repeat(" ", 1<<10)+strings.Repeat("x", 900)+"\n", 3000)
	tab.WaitText("stripe.csv, 6,000 lines", "5,998 doubled · 2 unknown", "pi_wine_0000 is no refund here")
	browser.Check(t, marks(tab) == 1, "what is unknown was sent")
}

func TestAGroupIsPausedAndRecalledUnderOneIDAndEachSaleAnswers(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.shoe(9, 10, 11)
	s.add("moutai", "Moutai", nil)
	tab := s.tab(t, "operator alice")
	tab.Before(noteBodies)
	s.look(tab, "", "Sales")
	tab.Wait("document.querySelectorAll('.card').length === 2")
	browser.Gives(tab, "[...document.querySelectorAll('.sizes a')].map((a) => a.innerText.split(' ').pop()).join()", "9,10,11", "the sizes are in the order")
	tab.Click("a[href='#group/runner']")
	waitHeading(tab, "runner")
	tab.WaitText("CN¥3,897.00")
	tab.Wait("document.querySelector('.funnel').innerText.replace(/\\s+/g, ' ').includes('Expired or cancelled 1')") // its unit is kept
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Method == "POST" && strings.Contains(r.Path, "runner-10") && strings.HasSuffix(r.Path, "/changes") {
			return browser.Problem(409, "conflicting-request", "")
		}
		return browser.Answer{}
	})
	tab.Type("#note", "the price is wrong")
	tab.Click("button.pause")
	tab.WaitText("Certain. Trail Runner 7, size 9: paused", "Certain. Trail Runner 7, size 11: paused", "Not done. Trail Runner 7, size 10: pausing was refused", "Pause all 1")
	tab.Intercept(func(browser.Request) browser.Answer { return browser.Answer{} })
	sent := bodies(tab)
	browser.Check(t, len(sent) == 1, "the changes are %q, want one body for all", sent)
	tab.Click("p.others button.recall")
	tab.Click("#take-runner-10")
	tab.WaitText("Recall 2 of 3?")
	tab.Type("#why", "the soles come off")
	tab.Type("#typed", "runne")
	tab.Click(".recalling button.main")
	tab.WaitText("The id is not the group’s.")
	tab.Type("#typed", "r")
	browser.Eval[string](tab, "document.querySelector('#typed').value = 'runner'")
	tab.Click(".recalling button.main")
	tab.WaitText("Certain. Trail Runner 7, size 9: recalled.", "Certain. Trail Runner 7, size 11: recalled.")
	wantChanged(t, s, "runner-9", "pause:the price is wrong", "recall:the soles come off")
	wantChanged(t, s, "runner-10")
	wantChanged(t, s, "runner-11", "pause:the price is wrong", "recall:the soles come off")
	wantChanged(t, s, "moutai")
	sent = bodies(tab)
	browser.Check(t, len(sent) == 2, "the changes are %q, want one body for each", sent)
}

// sends does what RefundFunction does with the only sending: it asks for refunds in turn, which end so, and is halted.
func (s *shop) sends(t *testing.T, saleID string, ends ...func(sale.Sent) sale.Sent) {
	t.Helper()
	all, err := s.book.Sendings(t.Context())
	due, failed := s.book.Refunds(t.Context(), saleID)
	if err := errors.Join(err, failed); err != nil || len(all) != 1 {
		t.Fatalf("the sendings are %+v (%v), want one", all, err)
	}
	was := all[0]
	now := was
	now.Taken, now.Amounts, now.Left, now.NextAt = 3, map[string]int64{"CNY": 449703}, 1, time.Now().Add(time.Minute)
	now.Halted = map[string]sale.Halt{"stripe": {Code: "401", Words: "Invalid API Key", At: time.Now()}}
	for i, end := range ends {
		taken, _, err := s.book.TakeRefund(t.Context(), due[i+1], &was, "live") // the first cannot be sent
		_, failed := s.book.NoteSent(t.Context(), taken, end(taken.Sent), nil)
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
	}
	if saved, err := s.book.SaveSending(t.Context(), was, now); !saved || err != nil {
		t.Fatal(saved, err)
	}
}

// The answer to the press is lost: it is sent again as it was, and begins once.
func TestASendingIsPressedOnceFollowedAndStopped(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.function.Sends = true
	s.add("moutai", "Moutai", nil)
	s.add("wine", "Wine", nil)
	s.owes("wine", 1)
	s.owes("moutai", 5, func(i int, p *sale.Payment) {
		if i == 4 {
			p.Provider = "standard-webhooks"
		}
	})
	tab := s.tab(t, "cashier kim")
	tab.Before(noteBodies)
	s.look(tab, "#refunds", "Refunds")
	tab.WaitText("kim may give money back", "6 due", "Give back 5 payments, CN¥7,495.06", "All 6 due")
	browser.Gives(tab, "document.querySelectorAll('[data-key=mark], #file').length", 0, "ways to mark for a cashier")
	tab.Click("[id='r wine stripe#pi_wine_0000']")
	tab.WaitText("Give back 1 payment, CN¥1,499.00")
	tab.Open(s.URL + "/#refunds/sale/moutai")
	tab.WaitText("Give back 4 payments, CN¥5,996.06")
	tab.Answers("POST", "/operate/sendings", browser.Answer{Lost: true}, browser.Problem(400, "invalid-request", ""))
	tab.Click("[data-key=give]")
	tab.WaitText("Not sent: 1 payment, CN¥1,499.04: the stack cannot ask this provider")
	tab.Axe()
	tab.Type("#given", "the soles")
	tab.Click("[data-key=press] button.main")
	tab.WaitText("It is sent again under the same id, so it begins once.", "Not certain: press again, or look below. invalid-request")
	tab.Click("[data-key=press] button.main")
	tab.WaitText("0 of 4 sent", "CN¥5,996.06", "goes on", "Begun by kim", "the soles", "Read the list again")
	sent := bodies(tab)
	browser.Check(t, len(sent) == 1 && strings.HasPrefix(sent[0], `{"sums":{"CNY":599606},"id":"`), "the presses are %q, want one body with the sums", sent)

	refused := func(t sale.Sent) sale.Sent {
		return t.Refused(sale.SendingRule{}, "card_gone", "The card <b>was</b> closed.")
	}
	s.sends(t, "moutai", refused, func(t sale.Sent) sale.Sent { return t.Accepted("re_1") }, func(t sale.Sent) sale.Sent { return t })
	tab.WaitText("3 of 4 sent · CN¥4,497.03 / CN¥5,996.06 · 1 to be looked at again", "Nothing more is sent to stripe until the next press: 401: Invalid API Key")
	tab.Click("main p[role=status] button")
	tab.WaitText("5 due", "1 accepted · 1 unknown · 1 refused", "Give back 3 payments", "stripe has refused it: card_gone: The card <b>was</b> closed.", "All 4 due")

	operator := s.tab(t, "operator alice")
	operator.Language("zh-CN,zh")
	s.look(operator, "#refunds/sale/moutai", "退款")
	operator.WaitText("由系统退还", "下次发起之前不再向 stripe 发送：", "1 笔已接受 · 1 笔未知 · 1 笔被拒绝", "stripe 已拒绝：", "没有确定的答复：可能已退还")
	browser.Gives(operator, "document.querySelectorAll('[data-key=give]').length", 0, "ways to begin for an operator")
	operator.Click("#every")
	operator.Click("[data-key=mark]")
	operator.Click("[data-key=asked] button.main")
	operator.WaitText("已标记 3 笔 · 系统已发送 1 笔", "已发送至支付平台，结果由其告知：请勿退款")
	viewer := s.tab(t, "viewer dave")
	s.look(viewer, "#refunds/sale/moutai", "Refunds")
	viewer.WaitText("3 of 4 sent")
	browser.Gives(viewer, "document.querySelectorAll('[data-key=give], button.stop').length", 0, "ways to begin or stop for a viewer")
	operator.Click("button.stop")
	operator.WaitText("由 alice 停止")
	tab.WaitText("stopped by alice")
	tab.Axe()

	both := s.tab(t, "operator+cashier lee")
	s.look(both, "#refunds/sale/wine", "Refunds")
	both.WaitText("Give back 1 payment")
	both.Click("#done")
	both.Click("#every")
	both.Click("[data-key=mark]")
	both.Click("[data-key=asked] button.main")
	both.Click("[data-key='wine stripe#pi_wine_0000'] > button")
	both.Type("#why", "another one")
	both.Click("[data-key=unmark] button.main")
	both.WaitText("1 due")
	browser.Gives(both, "document.querySelectorAll('[data-key=give]').length", 0, "ways to give back what is due only since the list was read")
	both.Click("main p[role=status] button")
	both.WaitText("Give back 1 payment")
}
