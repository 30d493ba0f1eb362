package operator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// posts returns the requests so far that change the sale.
func posts(tab *browser.Tab, saleID string) int {
	return tab.Count("POST", "/operate/sales/"+saleID+"/changes")
}

// moutai returns a shop with that sale, and a tab in which an operator looks at it, and which notes what it sends.
func moutai(t *testing.T, more object) (*shop, *browser.Tab) {
	t.Helper()
	s := open(t)
	s.add("moutai", "Moutai", more)
	tab := s.tab(t, "operator alice")
	tab.Before(noteBodies)
	s.look(tab, "#sale/moutai", "Moutai")
	return s, tab
}

// wantChanged fails the test unless these are the sale's changes, as "action" or "action:note".
func wantChanged(t *testing.T, s *shop, saleID string, want ...string) {
	t.Helper()
	got := s.changed(t, saleID)
	browser.Check(t, slices.Equal(got, want), "the changes of %s are %q, want %q", saleID, got, want)
}

// press opens the dialog of an action, when the page offers it.
func press(tab *browser.Tab, action string) {
	selector := "button." + action + "[aria-disabled=false]"
	tab.Wait(fmt.Sprintf("document.querySelector(%q)", "#main "+selector))
	tab.Click("#main " + selector)
	tab.Wait("document.querySelector('dialog').open")
}

// put types into a field, of a dialog or of the page, in place of what it has.
func put(tab *browser.Tab, field, text string) {
	browser.Eval[bool](tab, fmt.Sprintf(`((f) => (f.value = %q, f.dispatchEvent(new Event("input"))))(document.querySelector("#%s"))`, text, field))
}

// Each action but the pause asks once, shows what it does in numbers, and says what is missing: nothing is sent of what is
// no number or no time, nor after a No.
func TestWhatCannotBeUndoneAsksOnceAndShowsItsEffect(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format("2006-01-02T15:04") }
	for _, tt := range []struct {
		action, field string
		wrong         []string
		missing       string // is said of each of them
		right         string
		shows         []string
		says          string
		done          string
	}{
		{"resume", "", nil, "", "", []string{"Units left 812", "After it sells now, closes in"}, "Moutai: sells again.", "resume"},
		{"reschedule", "closes", []string{"", in(-48 * time.Hour), "2035-03-25T02:30"}, "Give two times, the closing after the opening.", "2036-01-02T03:04:05", // the clocks go from 2:00 to 3:00
			[]string{"→ Jan 2, 2036, 3:04:05 AM", "After it sells now, closes in"}, "Moutai: the window is ", "reschedule"},
		{"extend", "until", []string{"", in(-2 * time.Hour), in(8 * 24 * time.Hour), "2035-03-25T02:30"}, "Give a time in the next 7 days, and no earlier one", in(72 * time.Hour),
			[]string{"Unpaid 45", "May be paid until → "}, "Moutai: unpaid orders may be paid until ", "extend"},
		{"add", "units", []string{"", "0", "-5", "2.5", "1e3", "1000000000", "２０"}, "Give a whole number of units.", "250", []string{"Units left 812 → 1,062", "Units in all 1,000 → 1,250"}, "Moutai: 1,250 units in all.", "add"},
		{"recall", "typed", []string{"", "mouta"}, "The id is not the sale’s.", "moutai",
			[]string{"Unpaid 45", "Paid 140", "Pending 3", "This cannot be taken back.", "These orders were counted "}, "Moutai: recalled.", "recall:the soles come off"},
	} {
		t.Run(tt.action, func(t *testing.T) {
			t.Parallel()
			var more object
			if tt.action == "resume" {
				more = object{"state": "PAUSED", "paused": true}
			}
			s, tab := moutai(t, more)
			tab.Zone("Europe/Berlin")
			press(tab, tt.action)
			tab.Click(".answers button[type=button]") // no
			tab.Wait("!document.querySelector('dialog').open && document.activeElement.matches('button." + tt.action + "')")
			press(tab, tt.action)
			if tt.action == "recall" {
				tab.Click("dialog button.main")
				tab.WaitText("Say why, in the note.")
				tab.Type("#why", "the soles come off")
			}
			for _, text := range tt.wrong {
				browser.Eval[string](tab, `document.querySelector("dialog [role=alert].bad").textContent = ""`)
				put(tab, tt.field, text)
				tab.Click("dialog button.main")
				tab.WaitText(tt.missing)
			}
			if tt.right != "" {
				put(tab, tt.field, tt.right)
			}
			text := strings.Join(strings.Fields(tab.Text("dialog")), " ")
			for _, want := range tt.shows {
				browser.Check(t, strings.Contains(text, want), "the dialog lacks %q: %s", want, text)
			}
			n := posts(tab, "moutai")
			browser.Check(t, n == 0, "%d changes are sent before the answer", n)
			tab.Click("dialog button.main")
			tab.WaitText("Certain. " + tt.says)
			wantChanged(t, s, "moutai", tt.done)
			tab.Wait("document.querySelector('.trail li')?.innerText.includes('alice')")
			tab.HasText("[data-tone=news]", "", "the author's own change is news")
		})
	}
}

// A No while the sale is looked at is one, and a time that nobody has touched stays as it is to the millisecond.
func TestADialogSendsWhatWasTypedOrNothing(t *testing.T) {
	t.Parallel()
	opened := instant(time.Now().Add(-time.Hour))
	_, tab := moutai(t, object{"opensAt": opened})
	gate := make(chan struct{})
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Path == "/operate/sales/moutai" {
			return browser.Answer{Until: gate}
		}
		return browser.Answer{}
	})
	press(tab, "add")
	tab.Type("#units", "250")
	tab.Click("dialog button.main")
	tab.WaitText("Looking at the sale")
	tab.Click(".answers button[type=button]")
	close(gate)
	press(tab, "reschedule")
	put(tab, "closes", "2036-01-02T03:04:05")
	tab.Click("dialog button.main")
	tab.WaitText("Certain. Moutai: the window is ")
	if sent := bodies(tab); len(sent) != 1 || !strings.Contains(sent[0], fmt.Sprintf(`"opensAt":%q,"closesAt":"2036-01-01T19:04:05.000Z"`, opened)) {
		t.Errorf("sent is %q, want only a window from %s on", sent, opened)
	}
}

func TestWhoMayOnlyLookHasNothingToPress(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	tab := s.tab(t, "viewer dave")
	for place, heading := range map[string]string{"": "Sales", "#sale/moutai": "Moutai"} {
		s.look(tab, place, heading)
		tab.WaitText("dave may look")
		browser.Gives(tab, "document.querySelectorAll('.pause, .others button, .pausing').length", 0, "%s: actions for a viewer", place)
	}
	none := s.tab(t, "buyer eve")
	s.look(none, "", "Sales")
	none.WaitText("This account has no role here. Ask for flashsale-viewer")

	// The role went between the reading and the press.
	lost := s.tab(t, "operator alice")
	s.look(lost, "#sale/moutai", "Moutai")
	lost.Answers("POST", "/changes", browser.Problem(403, "forbidden", ""))
	lost.Click("button.pause")
	lost.WaitText("Not done: this account lacks the role flashsale-operator.")
	wantChanged(t, s, "moutai")
}

// bodies returns the distinct bodies of the changes that were sent.
func bodies(tab *browser.Tab) []string {
	return browser.Eval[[]string](tab, "[...new Set(sent)]")
}

const noteBodies = `window.sent = []; const original = fetch; window.fetch = (path, o) => (o.method === "POST" && sent.push(o.body), original(path, o))`

// A change whose answer is lost, or that is told to come back, is sent again under its id until
// the answer is final, and the page says which is the case.
func TestALostAnswerIsAskedForAgainUnderTheSameID(t *testing.T) {
	t.Parallel()
	s, tab := moutai(t, nil)
	gate := make(chan struct{})
	tab.Answers("POST", "/changes", browser.Answer{Lost: true}, browser.Problem(429, "too-many-requests", "1"), browser.Answer{Status: 502, Body: "<html>"}, browser.Answer{Until: gate})
	browser.Eval[bool](tab, `((b) => !(b.click(), b.click()))(document.querySelector("button.pause"))`) // as impatience does
	tab.WaitText("Moutai: pausing … not certain: no final answer yet. It is sent again (try 4) under the same id, so it counts once.")
	tab.Axe()
	got := tab.Text("#main")
	browser.Check(t, !strings.Contains(got, "Certain."), "it is said to be certain before it is")
	close(gate)
	tab.WaitText("Certain. Moutai: paused, no unit is sold.")
	wantChanged(t, s, "moutai", "pause")
	for i := 1; i <= 2; i++ { // of others each change is news once
		s.by(t, "carol", "moutai", true, object{"id": fmt.Sprint("c", i), "action": "add", "stock": float64(i)})
		browser.Eval[bool](tab, `dispatchEvent(new Event("online"))`)
		tab.WaitText(fmt.Sprintf("carol added %d unit", i))
		browser.Gives(tab, "document.querySelectorAll('#main [data-tone=news]').length", i, "pieces of news of carol's additions")
	}
	var body struct{ ID string }
	sent := bodies(tab)
	browser.Check(t, len(sent) == 1 && json.Unmarshal([]byte(sent[0]), &body) == nil && len(body.ID) == 36, "the changes that were sent are %q, want one", sent)
}

// A resumption that is being repeated must not undo the pause that came after it.
func TestAPauseEndsTheRepeatsOfWhatCameBefore(t *testing.T) {
	t.Parallel()
	s, tab := moutai(t, nil)
	tab.Answers("POST", "/changes", slices.Repeat([]browser.Answer{{Status: 503, Body: "{}"}}, 99)...)
	press(tab, "add")
	tab.Type("#units", "5")
	tab.Click("dialog button.main")
	tab.WaitText("adding units … not certain")
	tab.Click("button.recall")
	browser.Check(t, !browser.Eval[bool](tab, "document.querySelector('dialog').open"), "another change begins before the one before is certain")
	tab.Click("button.pause")
	tab.WaitText("Moutai: adding units is not sent again, because of your next change. It may have been done: look at the trail.")
	tab.Intercept(func(browser.Request) browser.Answer { return browser.Answer{} })
	tab.WaitText("Certain. Moutai: paused")
	before := posts(tab, "moutai")
	time.Sleep(3 * time.Second)
	n := posts(tab, "moutai")
	browser.Check(t, n == before, "%d more requests", n-before)
	wantChanged(t, s, "moutai", "pause")
}

// An uncertain change must not outlive its moment: what its author had seen goes with each repeat.
func TestAnOvertakenChangeIsRefusedAndAskedAgain(t *testing.T) {
	t.Parallel()
	s, tab := moutai(t, object{"state": "PAUSED", "paused": true})
	tab.Answers("POST", "/changes", browser.Answer{Status: 503, Body: "{}"})
	press(tab, "resume")
	tab.Type("#why", "it is mended")
	s.by(t, "carol", "moutai", true, object{"id": "c0", "action": "pause", "note": "x"})
	tab.WaitText("I have seen it")
	tab.Click("dialog button.main")
	tab.Click("dialog button.main")
	tab.WaitText("resuming … not certain")
	s.by(t, "carol", "moutai", true, object{"id": "c1", "action": "pause", "note": "the price is wrong, wait for me"})
	tab.WaitText("Not done. Moutai: resuming came too late, because the sale was changed meanwhile. carol paused it (", "“the price is wrong, wait for me”")
	tab.Wait("document.querySelector('dialog').open && document.querySelector('#why').value === 'it is mended'")
	wantChanged(t, s, "moutai", "pause:x", "pause:the price is wrong, wait for me")
	sent := bodies(tab)
	browser.Check(t, len(sent) == 1, "the repeats are %q, want the same", sent)
	tab.Click("dialog button.main")
	tab.WaitText("Certain. Moutai: sells again.")
	wantChanged(t, s, "moutai", "pause:x", "pause:the price is wrong, wait for me", "resume:it is mended")
	var ids []string
	for _, body := range bodies(tab) {
		var b struct{ ID string }
		if err := json.Unmarshal([]byte(body), &b); err != nil {
			t.Error(err)
		}
		ids = append(ids, b.ID)
	}
	browser.Check(t, len(ids) == 2 && ids[0] != ids[1], "the ids are %q, want two", ids)
}

// The operator's sign-in has ended, and somebody else signs in on the same tab.
func TestNobodysChangeIsMadeInAnotherOnesName(t *testing.T) {
	t.Parallel()
	s, tab := moutai(t, nil)
	tab.Answers("POST", "/changes", browser.Problem(401, "unauthorized", ""))
	press(tab, "recall")
	tab.Type("#why", "the soles come off")
	tab.Type("#typed", "moutai")
	tab.Click("dialog button.main")
	tab.WaitText("not certain. Sign in again: then it is sent again under the same id.", "Your sign-in has ended. Sign in again: you come back to this place.")
	tab.Axe()
	browser.Eval[bool](tab, `(sessionStorage.token = JSON.stringify({access: "operator bob", expires: Date.now() + 86400000}), true)`)
	tab.Open(s.URL + "/?#sale/moutai") // as after a sign-in
	tab.Intercept(func(browser.Request) browser.Answer { return browser.Answer{} })
	tab.WaitText("is not sent again: somebody else had asked for it")
	wantChanged(t, s, "moutai")
}

// A colleague adds a size between the opening of a form and the press, and recalls another one.
func TestAnActOnAGroupIsOfTheSalesThatWereThereWhenItWasBegun(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.shoe(8, 9, 10)
	s.add("runner-draft", "Trail Runner 7, size draft", object{"state": "DRAFT", "limitGroup": "runner", "books": nil})
	tab := s.tab(t, "operator alice")
	s.look(tab, "#group/runner", "runner")
	adds := func(size int) {
		t.Helper()
		s.shoe(size)
		browser.Eval[bool](tab, `dispatchEvent(new Event("online"))`) // reads at once
		tab.WaitText(fmt.Sprint("size ", size))
	}
	adds(11)
	tab.WaitText("Pause 3 of 4")
	tab.Click("a[href='#']") // who comes back sees what is there
	tab.WaitText("Pause all 4")
	tab.Click("a[href='#group/runner']")
	waitHeading(tab, "runner")
	adds(12)
	tab.WaitText("Pause 4 of 5")
	browser.Eval[any](tab, `void new MutationObserver((_, o) => { // an impatient second press
		const b = document.querySelector("button.pause");
		if (b?.innerText === "Pause all 1") o.disconnect(), b.click();
	}).observe(document, { subtree: true, childList: true, characterData: true })`)
	tab.Click("button.pause")
	tab.WaitText("Certain. Trail Runner 7, size 8: paused", "Certain. Trail Runner 7, size 9: paused", "Certain. Trail Runner 7, size 10: paused", "Certain. Trail Runner 7, size 11: paused", "Pause all 1")
	tab.Wait("document.querySelector('button.pause[aria-disabled=false]')")
	wantChanged(t, s, "runner-12")

	tab.Click("p.others button.recall")
	tab.WaitText("Recall 5 of 5?")
	browser.Gives(tab, "document.querySelectorAll('.sizes input').length", 5, "of 6 sales may be chosen: nothing of a draft is sold")
	adds(13)
	tab.WaitText("Recall 5 of 6?")
	s.by(t, "carol", "runner-9", true, object{"id": "c", "action": "recall", "note": "x"})
	browser.Eval[bool](tab, `dispatchEvent(new Event("online"))`)
	tab.WaitText("Recall 4 of 5?")
	tab.Type("#why", "the soles come off")
	tab.Type("#typed", "runner")
	tab.Click(".recalling button.main")
	tab.WaitText("Certain. Trail Runner 7, size 8: recalled.", "Certain. Trail Runner 7, size 10: recalled.", "Certain. Trail Runner 7, size 12: recalled.")
	wantChanged(t, s, "runner-8", "pause", "recall:the soles come off")
	wantChanged(t, s, "runner-9", "pause", "recall:x")
	wantChanged(t, s, "runner-13")
}
