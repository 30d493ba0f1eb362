package operator

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/spreadsheet/spreadsheettest"
	"flashsale/infra/proof/browser"
)

// refunds lists those of a sale, 50 a page, or marks some.
func (s *shop) refunds(w http.ResponseWriter, r *http.Request, actor string) {
	if r.Method == http.MethodGet {
		saleID, after, page := r.URL.Query().Get("saleId"), r.URL.Query().Get("after"), object{"asOf": instant(time.Now()), "unreadable": 0}
		some := []object{}
		if one := s.sales[saleID]; one["state"] == "DRAFT" || one["error"] != nil {
			answer(w, 404, object{"code": "sale-not-found", "status": 404, "detail": "no such sale"})
			return
		}
		for _, one := range s.due {
			if one["saleId"] != saleID || one["payment"].(string) <= after {
				continue
			}
			if some = append(some, one); len(some) == 50 {
				page["next"] = one["payment"]
				break
			}
		}
		page["saleId"], page["refunds"] = saleID, some
		answer(w, 200, page)
		return
	}
	var asked struct {
		SaleID   *string
		Payments []string
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Payments) > 100 {
		answer(w, 400, object{"code": "invalid-request", "status": 400})
		return
	}
	marks := []object{}
	for _, payment := range asked.Payments {
		mark := object{"payment": payment, "outcome": "unknown"}
		for i, one := range s.due {
			if one["payment"] != payment || asked.SaleID != nil && *asked.SaleID != one["saleId"] {
				continue
			}
			if mark["outcome"] = "already"; one["refundedAt"] == nil {
				one = maps.Clone(one)
				one["refundedAt"], one["refundedBy"] = instant(time.Now()), actor
				s.due[i], mark["outcome"] = one, "marked"
			}
			mark["refund"] = one
		}
		marks = append(marks, mark)
	}
	answer(w, 200, object{"refunds": marks})
}

// owes adds n refunds of a sale that are due.
func (s *shop) owes(saleID string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reasons := []string{"recalled", "released", "other-payment", "amount", "cancelled"}
	for i := range n {
		one := object{"payment": fmt.Sprintf("stripe#pi_%s_%04d", saleID, i), "reason": reasons[i%5], "amount": 149900 + i, "currency": "CNY", "digits": 2, "saleId": saleID,
			"orderId": fmt.Sprint(523415642750058497 + i), "user": fmt.Sprint("user-", i), "at": instant(time.Now().Add(-time.Hour))}
		if saleID == "" {
			one["reason"], one["user"] = "unknown-order", nil
		}
		s.due = append(s.due, one)
	}
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

// answerMarks makes the tab's marks get that answer; the zero answer lets one through.
func answerMarks(tab *browser.Tab, answer func(n int) browser.Answer) {
	n := 0
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Method != "POST" || r.Path != "/operate/refunds" {
			return browser.Answer{}
		}
		n++
		return answer(n)
	})
}

func TestRefundsAreFoundChosenAndMarkedOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	s.owes("moutai", 120)
	s.owes("", 1)
	tab := s.tab(t, "operator alice")
	s.look(tab, "#refunds", "Refunds")
	tab.WaitText("121 due CN¥181,450.40 · 0 done", "Show 50 more of 121")
	tab.Type("#find", "USER-11")
	tab.WaitText("All 11 due")
	tab.Click("#every")
	tab.Click("[id='r moutai stripe#pi_moutai_0110']")
	tab.WaitText("Mark 10 as refunded · CN¥15,000.46")
	answerMarks(tab, func(n int) browser.Answer {
		if n == 1 {
			return browser.Problem(503, "busy", "1")
		}
		return browser.Answer{}
	})
	tab.Click("[data-key=mark]")
	tab.WaitText("Mark 10 as refunded? CN¥15,000.46")
	if n := marks(tab); n != 0 {
		t.Errorf("%d marks before the answer", n)
	}
	tab.Press(browser.Tabulator + browser.Tabulator + browser.Enter) // no
	tab.Wait("document.activeElement.dataset.key === 'mark'")
	tab.Press(browser.Enter)
	tab.Wait("document.activeElement.dataset.key === 'asked'")
	tab.Click("[data-key=asked] button.main")
	tab.WaitText("Marking: 0 of 10 are answered. The last answer was lost, so it is sent again; each counts once.", "10 marked", "111 due CN¥166,449.94 · 10 done")
	tab.Click("#done")
	tab.WaitText("Done, marked by alice")

	viewer := s.tab(t, "viewer dave")
	s.look(viewer, "#refunds/sale/moutai", "Refunds")
	viewer.WaitText("110 due")
	if n := browser.Eval[int](viewer, "document.querySelectorAll('.refunds input, [data-key=mark], #file').length"); n != 0 {
		t.Errorf("%d ways to mark for a viewer", n)
	}
}

func TestASaleWithoutReadableRefundsHidesNoOther(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("draft", "Draft", object{"state": "DRAFT", "books": nil})
	s.add("moutai", "Moutai", nil)
	s.owes("moutai", 2)
	tab := s.tab(t, "operator alice")
	s.look(tab, "#refunds", "Refunds")
	tab.WaitText("2 due CN¥2,998.01 · 0 done")
	s.add("lamp", "", object{"error": "newer-version"})
	tab.Click("main p[role=status] button")
	tab.WaitText("The list is not whole: no such sale", "stripe#pi_moutai_0001")
}

// A mark whose answer was lost is this one's; somebody else's is not.
func TestALostAnswerToAMarkIsNotSomebodyElses(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	s.owes("moutai", 2)
	tab := s.tab(t, "operator alice")
	s.look(tab, "#refunds/sale/moutai", "Refunds")
	tab.WaitText("All 2 due")
	s.mu.Lock()
	for i, who := range []string{"alice", "carol"} { // what the lost try did, and what carol did
		s.due[i] = maps.Clone(s.due[i])
		s.due[i]["refundedAt"], s.due[i]["refundedBy"] = instant(time.Now()), who
	}
	s.mu.Unlock()
	answerMarks(tab, func(n int) browser.Answer { return browser.Answer{Lost: n == 1} })
	tab.Click("#every")
	tab.Click("[data-key=mark]")
	tab.Click("[data-key=asked] button.main")
	tab.WaitText("1 marked · 1 marked before", "by carol: do not pay it back again")
}

// chooseFile gives the page a file, and notes what it saves.
func chooseFile(tab *browser.Tab, file []byte) {
	browser.Eval[bool](tab, fmt.Sprintf(`(() => {
		window.saved = [];
		const create = URL.createObjectURL;
		URL.createObjectURL = (blob) => (blob.text().then((text) => saved.push(text)), create(blob));
		const given = new DataTransfer();
		given.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], "stripe.csv"));
		document.querySelector("#file").files = given.files;
		return document.querySelector("#file").dispatchEvent(new Event("change"));
	})()`, base64.StdEncoding.EncodeToString(file)))
}

func TestEachLineOfAFileIsAnswered(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	s.owes("moutai", 250)
	s.mu.Lock()
	s.due[7]["refundedAt"], s.due[7]["refundedBy"], s.due[9]["user"] = instant(time.Now()), "carol", "=HYPERLINK(\"x\");=1+1"
	s.due[11]["currency"], s.due[11]["digits"], s.due[11]["amount"] = "KWD", 3, 89900
	s.mu.Unlock()
	tab := s.tab(t, "operator alice")
	s.look(tab, "#refunds", "Refunds")
	tab.WaitText("CSV of 249")
	lines := []string{"\ufeffpayment,amount"}
	for _, one := range s.due {
		lines = append(lines, strings.TrimPrefix(fmt.Sprint(one["payment"]), "stripe#")+",1499.00") // as the provider lists them
	}
	lines = append(lines, "stripe#pi_moutai_0003", "", "pi_9", `"stripe#pi_8"`)
	chooseFile(tab, []byte(strings.Join(lines, "\r\n")))
	tab.WaitText("stripe.csv, 253 lines", "Mark 252 as refunded?")
	tab.Click("[data-key=asked] button.main")
	tab.WaitText("249 marked · 1 marked before · 1 doubled · 2 unknown", "by carol: do not pay it back again", "pi_9 is no refund")
	tab.Axe()
	if n := marks(tab); n != 4 {
		t.Errorf("%d requests for 252 lines, want 3 of the sale and one of those that are unknown", n)
	}
	tab.Click("[data-key=over] button:first-child")
	tab.Wait("saved.length === 1")
	answers := browser.Eval[string](tab, "saved[0]")
	for _, want := range []string{`"'pi_moutai_0000",marked,"'stripe#pi_moutai_0000","'moutai","'20`, `"'stripe#pi_moutai_0003",doubled,`, `"'pi_9",unknown,`, `"'pi_moutai_0007",already,`} {
		if !strings.Contains(answers, "\r\n"+want) {
			t.Errorf("the answers lack %s: %.600s", want, answers)
		}
	}
	tab.WaitText("All are done.")
	tab.Click("#done")
	tab.Click("[data-key=csv]")
	tab.Wait("saved.length === 2")
	if got := browser.Eval[string](tab, "saved[1]"); strings.Count(got, "\r\n") != 251 || !strings.Contains(got, `,released,CNY,1499.01,149901,"'20`) || !strings.Contains(got, `,KWD,89.9000,89900,`) || !strings.Contains(got, `"'=HYPERLINK(""x"");'=1+1"`) || strings.Contains(got, `,"523`) {
		t.Errorf("the list is %.900s", got)
	}
}

func TestAProvidersListMarksWhatWasPaidBackWholeAndNothingElse(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	tab := s.tab(t, "operator alice")
	for i, list := range spreadsheettest.RefundLists("1499.00", "749.50", [5]string{"pi_moutai_0000", "pi_moutai_0001", "pi_moutai_0002", "pi_moutai_0003", "pi_moutai_0004"}) {
		s.owes("moutai", 5)
		s.mu.Lock()
		s.due = s.due[len(s.due)-5:]
		for _, one := range s.due {
			one["amount"] = 149900
		}
		s.mu.Unlock()
		s.look(tab, fmt.Sprint("?", i, "#refunds"), "Refunds")
		tab.WaitText("5 due CN¥7,495.00 · 0 done")
		chooseFile(tab, []byte("PK\x03\x04\n1,2\n"))
		tab.Wait("document.querySelector('#file').validationMessage.includes('not be packed')")
		chooseFile(tab, list.File)
		asked, told, left := "Mark 1 as refunded? CN¥1,499.00", "1 marked", "4 due CN¥5,996.00 · 1 done"
		if list.Says {
			asked, told, left = "Mark 2 as refunded? CN¥2,998.00", "2 marked · 1 in part", "3 due CN¥4,497.00 · 2 done"
		}
		tab.WaitText(asked)
		tab.Click("[data-key=asked] button.main")
		tab.WaitText(told, left)
		if list.Says {
			tab.WaitText("rows of other kinds mark nothing")
		}
		s.mu.Lock()
		for j, one := range s.due {
			if marked, want := one["refundedAt"] != nil, j == 0 || list.Says && j == 4; marked != want {
				t.Errorf("%s: %v is marked: %v, want %v", list.Name, one["payment"], marked, want)
			}
		}
		s.mu.Unlock()
		tab.Click("[data-key=over] button:last-child")
	}
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
	if got := browser.Eval[string](tab, "[...document.querySelectorAll('.sizes a')].map((a) => a.innerText.split(' ').pop()).join()"); got != "9,10,11" {
		t.Errorf("the sizes are in the order %s", got)
	}
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
	if sent := bodies(tab); len(sent) != 1 {
		t.Errorf("the changes are %q, want one body for all", sent)
	}
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
	if sent := bodies(tab); len(sent) != 2 {
		t.Errorf("the changes are %q, want one body for each", sent)
	}
}
