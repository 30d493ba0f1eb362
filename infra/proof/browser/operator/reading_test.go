package operator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// What one changes shows in the other's tab with the name, and a dialog that was opened on the
// older state says so before it sends.
func TestTwoOperatorsSeeEachOther(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	alice, bob := s.tab(t, "operator alice"), s.tab(t, "operator bob")
	s.look(alice, "#sale/moutai", "Moutai")
	s.look(bob, "", "Sales")
	alice.Wait("document.querySelector('.trail, section p')")
	press(alice, "add")
	alice.Type("#units", "10")
	bob.Wait("document.querySelector('.card')")
	bob.Click("button.pause")
	bob.WaitText("Certain.")
	alice.WaitText("Moutai: bob paused it.")
	alice.Wait("document.querySelector('dialog').innerText.includes('Moutai: bob paused it. The numbers here are the new ones.')")
	alice.Axe()
	alice.Screenshot("operator-moved")
	alice.Click("dialog button.main")
	if n := posts(alice, "moutai"); n != 0 || !strings.Contains(alice.Text("dialog button.main"), "add") {
		t.Errorf("%d changes are sent before the new state is seen", n)
	}
	alice.Click("dialog button.main")
	alice.WaitText("Certain. Moutai: 1,010 units in all.")
	bob.WaitText("Moutai: alice added 10 units.")
	wantChanged(t, s, "moutai", "pause", "add")

	// Between two readings of alice's page: the press looks first.
	press(alice, "resume")
	alice.Intercept(func(r browser.Request) browser.Answer { return browser.Answer{} })
	s.by(t, "carol", "moutai", true, object{"id": "c1", "action": "resume"})
	s.by(t, "carol", "moutai", true, object{"id": "c2", "action": "pause", "note": "wait for me"})
	alice.Click("dialog button.main")
	alice.WaitText("Moutai: carol paused it. “wait for me”")
	if got := s.changed("moutai"); len(got) != 4 {
		t.Errorf("the changes are %q", got)
	}
}

// Nothing that others have written becomes markup or a script.
func TestTextsOfOthersStayTexts(t *testing.T) {
	t.Parallel()
	s := open(t)
	evil := func(what string) string { return what + ` <img src=x onerror="document.title='hacked'"><b>` }
	s.add("moutai", evil("name"), object{"limitGroup": evil("group"), "recallNote": evil("recall"), "books": object{
		"asOf": instant(time.Now()), "stock": 1, "seeded": 2, "claims": 1, "pending": 0, "confirmed": 1, "paid": 0, "unpaid": 1, "released": 0, "refundsDue": 0, "oldestPendingSeconds": 0,
		"balanced": false, "findings": []string{evil("finding")}}})
	s.add("other", "", object{"error": evil("error")})
	tab := s.tab(t, "operator "+evil("actor"))
	s.look(tab, "", "Sales")
	tab.WaitText(evil("name"))
	tab.WaitText(evil("error"))
	s.by(t, evil("user"), "moutai", false, object{"id": "x1", "action": "add", "stock": 1.0, "note": evil("note")})
	s.by(t, evil("user"), "moutai", false, object{"id": evil("seed"), "action": "reschedule", "opensAt": evil("opens"), "closesAt": "x"})
	s.by(t, evil("user"), "moutai", false, object{"id": "x3", "action": evil("action")})
	tab.WaitText(evil("user"))
	tab.Click("a[href='#sale/moutai']")
	for _, what := range []string{"actor", "name", "finding", "note", "user", "group", "action", "recall"} {
		tab.WaitText(evil(what))
	}
	tab.Type("#user", evil("buyer"))
	tab.Press(browser.Enter)
	tab.WaitText(evil("buyer"))
	press(tab, "add")
	tab.Wait("document.querySelector('dialog').open")
	if n := browser.Eval[int](tab, "document.querySelectorAll('img, script:not([src]), main b b').length"); n != 0 || browser.Eval[string](tab, "document.title") == "hacked" {
		t.Errorf("%d elements were made of texts", n)
	}
	for _, place := range []string{`#sale/<img src=x>`, "#sale/..%2f..", "#sale/", "#javascript:alert(1)", "#sale/%"} {
		s.look(tab, place, "Sales")
	}
}

func hide(tab *browser.Tab, is bool) {
	browser.Eval[bool](tab, fmt.Sprintf(`(Object.defineProperty(document, "hidden", {value: %t, configurable: true}), document.dispatchEvent(new Event("visibilitychange")))`, is))
}

// The page reads every five seconds while it is seen, one request at a time, more rarely when
// there is no answer, and says how old it is.
func TestThePageReadsGentlyAndSaysHowOldItIs(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	tab := s.tab(t, "operator alice")
	tab.Clock(0)
	tab.Before("Math.random = () => 0")
	s.look(tab, "", "Sales")
	reads := func() int { return tab.Count("GET", "/operate/sales") }
	settled := func(want int) {
		t.Helper()
		tab.Wait("document.querySelector('#top p:nth-child(2)')")
		for end := time.Now().Add(5 * time.Second); reads() < want && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		}
		time.Sleep(50 * time.Millisecond)
		if n := reads(); n != want {
			t.Errorf("%d readings, want %d", n, want)
		}
	}
	settled(1)
	tab.Advance(4 * time.Second)
	tab.WaitText("Read 4 s ago")
	settled(1)
	tab.Advance(time.Second)
	settled(2)
	hide(tab, true)
	tab.Advance(5 * time.Second)
	settled(2)
	tab.Advance(time.Minute)
	settled(2)
	hide(tab, false)
	settled(3)

	refuse := make(chan struct{})
	tab.Intercept(func(r browser.Request) browser.Answer { return browser.Answer{Status: 503, Until: refuse} })
	tab.Advance(5 * time.Second)
	settled(4)
	tab.Advance(9 * time.Second) // the answer takes long: no second request
	settled(4)
	close(refuse)
	tab.WaitText("What you see is old. Trying again …")
	for i, wait := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		tab.Advance(wait / 2) // real time passes, too
		settled(4 + i)
		tab.Advance(wait / 2)
		settled(5 + i)
	}
	tab.Axe()
	tab.Screenshot("operator-stale")
	tab.Intercept(func(r browser.Request) browser.Answer { return browser.Problem(503, "busy", "120") })
	tab.Advance(40 * time.Second)
	settled(8)
	tab.Intercept(func(r browser.Request) browser.Answer { return browser.Answer{} })
	tab.Advance(time.Minute) // the longest wait of its own
	settled(8)
	tab.Advance(time.Minute)
	settled(9)
	tab.WaitText("Read 0 s ago")
}

func TestASignInComesBackToTheSamePlace(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	tab := s.tab(t, "")
	tab.Open(s.URL + "/#sale/moutai")
	tab.WaitText("Sign in to operate sales.")
	tab.Axe()
	tab.Screenshot("operator-door")
	tab.Click("button.main")
	waitHeading(tab, "Moutai")
	if at := browser.Eval[string](tab, "location.href"); at != s.URL+"/#sale/moutai" {
		t.Errorf("the operator is at %s", at)
	}
	tab.Click("#top button")
	tab.WaitText("Sign in to operate sales.")
	tab.Open(s.URL + "/signin?code=C&state=wrong")
	tab.WaitText("You are not signed in: the sign-in was not completed.")
	tab.Click("main a")
	tab.WaitText("Sign in to operate sales.")
}

// A buyer's story and a refusal are the server's texts, in the language of the page.
func TestAChinesePageTellsAStoryAndARefusalInChinese(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.add("moutai", "Moutai", nil)
	tab := s.tab(t, "operator alice")
	tab.Language("zh-CN,zh,en")
	tab.Open(s.URL + "/#sale/moutai")
	tab.WaitText("查找买家")
	tab.Type("#user", "bob")
	tab.Press(browser.Enter)
	tab.WaitText("客服可以说: 您的订单号是 523415642750058497，已付款")
	tab.WaitText("已接受：凭证 01J，分片 7 的一件")
	if n := browser.Eval[int](tab, "document.querySelectorAll('.story [lang]').length"); n != 0 {
		t.Errorf("%d texts of the story are said to be in another language", n)
	}
	s.by(t, "carol", "moutai", true, object{"id": "c1", "action": "recall", "note": "x"})
	tab.Click("button.pause")
	tab.WaitText("未执行。Moutai：暂停被拒绝：活动已被召回")
	tab.Axe()
}
