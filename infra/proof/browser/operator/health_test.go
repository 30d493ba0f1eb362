package operator

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// sign is one of health.
func sign(name, level string, count int, troubles ...object) object {
	return object{"sign": name, "level": level, "count": count, "troubles": append([]object{}, troubles...)}
}

// well are the signs of a stack in which all is well.
func well() []object {
	var all []object
	for _, name := range []string{"pending", "waiting", "deadLetters", "functions", "events", "books", "others"} {
		all = append(all, sign(name, "green", 0))
	}
	return all
}

// ill are those of an accident: nothing finalizes, and the books of a sale are wrong.
func ill() []object {
	all := well()
	all[0] = sign("pending", "red", 47, object{"alarm": "OldestPendingAlarm", "page": true, "runbook": "oldestpendingalarm", "saleId": "kettle"})
	all[0]["since"] = instant(time.Now().Add(-402 * time.Second))
	all[1] = object{"sign": "waiting", "level": "unknown", "count": nil, "troubles": []object{}}
	all[2] = sign("deadLetters", "amber", 12, object{"alarm": "DeadLettersAlarm", "page": false, "runbook": "tickets-accepted-orders"})
	all[3] = sign("functions", "red", 2,
		object{"alarm": "FunctionErrorsAlarm", "page": false, "runbook": "tickets-the-functions", "says": "a function crashed", "since": instant(time.Now().Add(-5 * time.Minute))},
		object{"alarm": "FinalizeFailingAlarm", "page": true, "runbook": "finalizefailingalarm", "since": instant(time.Now().Add(-4 * time.Minute))})
	all[5] = sign("books", "red", 1, object{"alarm": "BooksWrongAlarm", "page": true, "runbook": "bookswrongalarm", "saleId": "kettle"})
	all[6] = sign("others", "amber", 1, object{"alarm": "AlarmOfALaterRelease", "page": false, "runbook": "tickets-floods", "says": "something <b>new</b>"},
		object{"alarm": "RefundsDueAlarm", "page": false, "runbook": "payments", "saleId": "moutai"})
	return all
}

func (s *shop) health(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, 200, object{"asOf": instant(time.Now()), "signs": s.signs})
}

func (s *shop) repair(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var asked object
	_ = json.Unmarshal(body, &asked)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repairs = append(s.repairs, string(body))
	done := object{"action": asked["action"], "done": true, "resent": 2, "pending": 47, "balanced": false, "moved": 9, "deleted": 1, "poison": 2, "unknown": 0}
	if asked["action"] == "redrive" {
		s.signs[2] = sign("deadLetters", "green", 0)
	}
	answer(w, 200, done)
}

func (s *shop) feels(signs []object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signs = signs
}

// pressIn presses the button in the row of an alarm.
func pressIn(tab *browser.Tab, alarm string) {
	selector := fmt.Sprintf(".rows li[data-key^=%q] [data-key=repair][aria-disabled=false]", alarm)
	tab.Wait(fmt.Sprintf("document.querySelector(%q)", selector))
	browser.Eval[bool](tab, fmt.Sprintf(`((b) => !(b.click(), b.click()))(document.querySelector(%q))`, selector)) // as impatience does
}

func TestAnIncidentIsSeenAtOnceAndWhatToPress(t *testing.T) {
	t.Parallel()
	s := market(t)
	s.feels(ill())
	tab := s.tab(t, "operator alice")
	s.look(tab, "#sale/moutai", "Feitian Moutai 53 %")
	tab.Wait(`/(6 min (4[4-9]|5\d)|([7-9]|\d\d) min \d+) s/.test(document.body?.innerText)`) // the oldest pending order counts up
	for _, says := range []string{
		"An accepted order has had no id for five minutes.", "No order gets an id: finalizing fails. The orders are safe.", "Messages failed five times, and are put aside.",
		"The books do not add up", "something <b>new</b>", "unknown",
	} {
		tab.WaitText(says)
	}
	rows := browser.Eval[[]string](tab, "[...document.querySelectorAll('.rows li')].map((r) => r.dataset.level)")
	want := []string{"red", "red", "red", "amber", "amber", "amber", "amber"}
	browser.Check(t, slices.Equal(rows, want), "the rows are %q, want the worst first", rows)
	browser.Gives(tab, "document.querySelector('.rows a[href^=http]').href", "https://wiki.example/runbook#oldestpendingalarm", "the first row links to")
	browser.Gives(tab, "document.querySelectorAll('.rows a[href=\"#refunds/sale/moutai\"]').length", 1, "rows that lead to the refunds")
	tab.Answers("POST", "/operate/repairs", browser.Answer{Lost: true})
	pressIn(tab, "OldestPendingAlarm")
	tab.WaitText("2 messages sent again, 47 pending.")
	pressIn(tab, "BooksWrongAlarm")
	tab.WaitText("Counted: the books do not balance.")
	tab.Click(".rows li[data-key^=BooksWrongAlarm] .pause")
	tab.WaitText("Certain. Kettle: paused, no unit is sold.")
	pressIn(tab, "DeadLettersAlarm")
	tab.WaitText("9 moved back, 1 deleted because their orders have ids. 2 stay: they belong to no order.")
	tab.Wait("document.querySelector('[data-key=deadLetters]').dataset.level === 'green'")
	s.mu.Lock()
	defer s.mu.Unlock()
	repairs, calls := strings.Join(s.repairs, " "), `{"action":"resend","saleId":"kettle"} {"action":"resend","saleId":"kettle"} {"action":"count","saleId":"kettle"} {"action":"redrive"}`
	browser.Check(t, repairs == calls, "the repairs are %s, want %s", repairs, calls)
}

func TestAWellStackSaysSoInOneLineAndAViewerHasNothingToPress(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	s.feels(well())
	tab := s.tab(t, "viewer dave")
	s.look(tab, "", "Sales")
	tab.Size(360, 900)
	tab.WaitText("✓ All is well")
	browser.Gives(tab, "[...document.querySelectorAll('.signs li')].filter((l) => l.offsetHeight).length", 0, "signs on a phone in which nothing is wrong")
	s.feels(ill())
	tab.WaitText("An accepted order has had no id")
	s.add("shoe", "Shoe", object{"state": "PAUSED", "paused": true})
	tab.WaitText("Shoe: Nobody can buy: it is paused.")
	browser.Gives(tab, "document.querySelectorAll('.rows button').length", 0, "buttons for a viewer")
}
