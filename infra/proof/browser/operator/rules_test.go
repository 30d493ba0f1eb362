package operator

import (
	"flag"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

var broken = flag.Bool("broken", false, "also check that each rule's broken page is noticed")

// rules are what the page must do, each with a broken page that its check must notice.
var rules = map[string]struct {
	file, old, new string
	holds          func(t *testing.T, s *shop, tab *browser.Tab) bool
}{
	"a repeat has the same id": {"operate.js", `token(), body, o.stop.signal)`, `token(), { ...body, id: crypto.randomUUID() }, o.stop.signal)`, func(t *testing.T, s *shop, tab *browser.Tab) bool {
		n := 0
		answerChanges(tab, func() browser.Answer {
			n++
			return browser.Answer{Lost: n == 1}
		})
		s.look(tab, "#sale/moutai", "Moutai")
		tab.Click("button.pause")
		tab.WaitText("Certain.")
		return len(s.changed("moutai")) == 1
	}},
	"a repeat carries what its author had seen": {"operate.js", `token(), body, o.stop.signal)`, `token(), { ...body, seen: sale?.seen }, o.stop.signal)`, func(t *testing.T, s *shop, tab *browser.Tab) bool {
		var isUp atomic.Bool
		answerChanges(tab, func() browser.Answer {
			if !isUp.Load() {
				return browser.Answer{Status: 503, Body: "{}"}
			}
			return browser.Answer{}
		})
		s.look(tab, "#sale/moutai", "Moutai")
		press(tab, "reschedule")
		tab.Click("dialog button.main")
		tab.WaitText("not certain: no final answer yet")
		s.by(t, "carol", "moutai", true, object{"id": "c1", "action": "pause"})
		tab.WaitText("carol") // the page has read the sale again
		isUp.Store(true)
		tab.Wait("document.body.innerText.includes('came too late') || document.body.innerText.includes('Certain.')")
		return len(s.changed("moutai")) == 1
	}},
	"nobody's change is made in another one's name": {"operate.js", `if (o.sub !== me.actor) drop(`, `if (!o.sub) drop(`, func(t *testing.T, s *shop, tab *browser.Tab) bool {
		answerChanges(tab, func() browser.Answer { return browser.Answer{Status: 503, Body: "{}"} })
		s.look(tab, "#sale/moutai", "Moutai")
		press(tab, "recall")
		tab.Type("#why", "the soles come off")
		tab.Type("#typed", "moutai")
		tab.Click("dialog button.main")
		tab.WaitText("not certain: no final answer yet")
		browser.Eval[bool](tab, `(sessionStorage.token = JSON.stringify({access: "operator bob", expires: Date.now() + 86400000}), true)`)
		tab.Open(s.URL + "/?#sale/moutai") // as after a sign-in
		tab.Intercept(func(browser.Request) browser.Answer { return browser.Answer{} })
		tab.Wait("document.body.innerText.includes('is not sent again: somebody else had asked for it') || document.body.innerText.includes('Certain.')")
		return len(s.changed("moutai")) == 0
	}},
	"a viewer has no actions": {"operate.js", `me.role === "operator"`, `me.role !== ""`, func(t *testing.T, s *shop, tab *browser.Tab) bool {
		tab.Before(`sessionStorage.token = JSON.stringify({access: "viewer dave", expires: Date.now() + 86400000})`)
		s.look(tab, "#sale/moutai", "Moutai")
		return browser.Eval[int](tab, "document.querySelectorAll('.actions').length") == 0
	}},
	"texts become text": {"elements.js", `if (child) e.append(child);`, `if (typeof child === "string") e.innerHTML += child; else if (child) e.append(child);`, func(t *testing.T, s *shop, tab *browser.Tab) bool {
		s.add("evil", "<u>x</u>", nil)
		s.look(tab, "", "Sales")
		tab.Wait("document.querySelectorAll('.card').length === 2")
		return browser.Eval[int](tab, "document.querySelectorAll('u').length") == 0
	}},
	"a press looks at the sale first": {"operate.js", `if (stampOf(sale) === asked.stamp) {`, `if (sale) {`, func(t *testing.T, s *shop, tab *browser.Tab) bool {
		s.look(tab, "#sale/moutai", "Moutai")
		press(tab, "add")
		tab.Type("#units", "5")
		s.by(t, "carol", "moutai", true, object{"id": "c1", "action": "pause"})
		tab.Click("dialog button.main")
		tab.Wait("document.body.innerText.includes('carol paused it') || document.body.innerText.includes('Certain.')")
		return posts(tab, "moutai") == 0
	}},
	"a pause waits for nothing": {"operate.js", `if (other?.body.action === body.action) return;`, `if (other) return;`, func(t *testing.T, s *shop, tab *browser.Tab) bool {
		gate := make(chan struct{})
		defer close(gate)
		n := 0
		answerChanges(tab, func() browser.Answer {
			if n++; n == 1 {
				return browser.Answer{Until: gate}
			}
			return browser.Answer{}
		})
		s.look(tab, "#sale/moutai", "Moutai")
		press(tab, "add")
		tab.Type("#units", "5")
		tab.Click("dialog button.main")
		tab.WaitText("sending it, not certain yet")
		tab.Click("button.pause")
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end) && len(s.changed("moutai")) == 0; time.Sleep(20 * time.Millisecond) {
		}
		return len(s.changed("moutai")) == 1
	}},
}

func TestThePagesRules(t *testing.T) {
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, isBroken := range []bool{false, true} {
				if isBroken && !*broken {
					return
				}
				s := open(t)
				s.add("moutai", "Moutai", nil)
				tab := s.tab(t, "operator alice")
				if isBroken {
					tab.Change(rule.file, rule.old, rule.new)
				}
				if rule.holds(t, s, tab) == isBroken {
					t.Errorf("broken page: %t; the rule holds: %t", isBroken, !isBroken)
				}
			}
		})
	}
}
