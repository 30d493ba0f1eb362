// Package live drives the live view of the local stack in a browser.
package live

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"flashsale/infra/kit/wait"
	"flashsale/infra/local/launch"
	"flashsale/infra/proof/browser"
)

// view is the live view in a browser.
type view struct {
	t *testing.T
	*browser.Tab
}

// sees waits until a JavaScript expression is true, as long as a rush may take.
func (v *view) sees(what, expression string) {
	v.t.Helper()
	wait.Until(v.t, 2*time.Minute, what, func() bool { return browser.Eval[bool](v.Tab, "!!("+expression+")") })
}

func (v *view) reads(id, text string) {
	v.t.Helper()
	v.sees(id+" says "+text, fmt.Sprintf("document.getElementById(%q).textContent.includes(%q)", id, text))
}

// fits checks that nothing is cut off or scrolled sideways.
func (v *view) fits(width int64) {
	v.t.Helper()
	v.Size(width, 900)
	if got := browser.Eval[int64](v.Tab, "document.documentElement.scrollWidth"); got > width {
		v.t.Errorf("the page is %d pixels wide in a window of %d", got, width)
	}
}

// ordered checks that the panels follow their numbers from left to right and from top to bottom,
// and that both what to try and what to break begin on the first screen.
func (v *view) ordered(width int64) {
	v.t.Helper()
	v.Size(width, 900)
	browser.Eval[bool](v.Tab, "(scrollTo(0, 0), true)")
	panels := browser.Eval[[]string](v.Tab, `[...document.querySelectorAll('main > section:not([hidden])')].map((s) => ({id: s.id, ...s.getBoundingClientRect().toJSON()}))
		.filter((s) => s.id !== 'do' && s.id !== 'break').sort((a, b) => a.top - b.top || a.left - b.left).map((s) => s.id)`)
	if want := []string{"stock", "orders-box", "receipt", "events"}; !slices.Equal(panels, want) {
		v.t.Errorf("at %d pixels the panels are in the order %q, want %q", width, panels, want)
	}
	for _, id := range []string{"do", "break"} {
		if top := browser.Eval[float64](v.Tab, fmt.Sprintf("document.getElementById(%q).getBoundingClientRect().top", id)); top > 800 {
			v.t.Errorf("at %d pixels #%s begins at %v", width, id, top)
		}
	}
}

// tellsOfTheAccident checks that the first screen says what is broken.
func (v *view) tellsOfTheAccident(what string) {
	v.t.Helper()
	v.reads("accident", what)
	for _, width := range []int64{320, 390, 1280} {
		v.ordered(width)
		if bottom := browser.Eval[float64](v.Tab, "document.getElementById('accident').getBoundingClientRect().bottom"); bottom <= 0 || bottom > 500 {
			v.t.Errorf("at %d pixels the accident is told at %v", width, bottom)
		}
		v.Screenshot(fmt.Sprint("live-accident-", width))
	}
}

// The live view is what `make run` shows: somebody who has never seen the system sells it
// out, breaks it, and reads that nothing was lost.
func TestTheLiveViewShowsASaleFromItsFirstUnitToItsReceipt(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	b, err := browser.Start(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	stack, err := launch.New(launch.Built(root), t.TempDir(), "-demo-sale")
	if err != nil {
		t.Fatal(err)
	}
	stack.Command.Dir = root
	if err := stack.StartWithin(time.Minute); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Stop(time.Minute); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the stack said:\n%s", stack.Output)
		}
	})
	v := &view{t, b.Tab(t)}
	v.Size(1280, 900)
	v.Open(stack.API + "/")
	v.reads("left", "100")
	v.reads("state", "open")
	v.reads("verdict", "ok")
	v.Axe()
	if moved := browser.Eval[float64](v.Tab, `new Promise((done) => new PerformanceObserver((l) => done(l.getEntries().reduce((sum, e) => sum + e.value, 0))).observe({ type: "layout-shift", buffered: true })
		|| setTimeout(() => done(0), 1000))`); moved >= 0.1 {
		t.Errorf("the layout shifts by %v while the page is loaded, want less than 0.1", moved)
	}
	if link := browser.Eval[string](v.Tab, "document.getElementById('buyers-page').getAttribute('href')"); link != "/s/demo" {
		t.Errorf("the buyers' page is at %s", link)
	}

	v.Click("#buy button")
	v.reads("said", "alice has a unit")
	v.sees("her order with its id", `[...document.querySelectorAll('#orders tr')].some((r) => r.cells[0].textContent === 'alice' && /^\d+$/.test(r.cells[2].textContent))`)
	v.reads("event-counts", "OrderConfirmed")
	v.reads("event-lines", "alice")
	v.Click("#buy button")
	v.reads("said", "already has a unit")
	v.Click("#pause")
	v.reads("state", "paused")
	v.Click("#resume")
	v.reads("state", "open")

	v.Click("#rush")
	v.reads("said", "on their way")
	v.Screenshot("live")
	v.reads("state", "sold out")
	v.sees("empty shards", "document.querySelectorAll('.tank.empty').length === document.querySelectorAll('.tank').length")
	v.sees("sold-out answers", "document.getElementById('answers').textContent.includes('sold out')")
	v.sees("the end of the rush", "!document.getElementById('rush').disabled")
	v.reads("verdict", "ok")
	v.reads("equation", "0 left + 100 sold = 100 units; 100 orders confirmed, 0 pending")
	v.reads("said", "The rush is over: 99 of 1,000 buyers got a unit.") // and alice the first one
	if browser.Eval[bool](v.Tab, "!document.getElementById('accident').hidden") {
		t.Error("an accident is told of before there was one")
	}

	v.Click("#break-lose")
	v.reads("broken", "Broken since")
	v.tellsOfTheAccident("Answers get lost after the commit")
	v.Axe()
	v.Click("#add")
	v.reads("left", "50")
	v.sees("shards that have units again", "document.querySelectorAll('.tank.empty').length === 0")
	for i := 0; i < 50 && !browser.Eval[bool](v.Tab, "document.getElementById('broken').textContent.includes('lost')"); i++ {
		browser.Eval[bool](v.Tab, fmt.Sprintf("(document.getElementById('user').value = 'bob-%d', true)", i))
		v.Click("#buy button")
		v.reads("said", fmt.Sprintf("bob-%d", i))
	}
	v.reads("broken", "lost")
	v.Click("#break-crash")
	v.reads("said", "The database crashes")
	v.reads("broken", "Nothing is broken")
	v.sees("the database works again", "document.getElementById('problem').hidden")
	v.Click("#break-kill")
	v.reads("broken", "Broken since")
	v.Click("#heal")
	v.reads("broken", "Nothing is broken")
	v.reads("verdict", "ok")
	v.Click("#break-bus")
	v.reads("broken", "Broken since")
	browser.Eval[bool](v.Tab, "(document.getElementById('user').value = 'carol', true)")
	v.Click("#buy button")
	v.reads("said", "carol has a unit")
	v.reads("broken", "publish-failed")
	v.Click("#heal")
	v.reads("event-lines", "carol")
	v.reads("verdict", "ok")
	v.Click("#recount")
	v.reads("said", "counted again")
	v.reads("verdict", "ok")
	v.Axe()
	v.fits(1280)
	for _, width := range []int64{900, 390, 320} {
		v.fits(width)
		v.ordered(width)
	}

	v.Size(1280, 900)
	v.Click("#break-unconfirmed")
	v.reads("broken", "Broken since")
	browser.Eval[bool](v.Tab, "(document.getElementById('user').value = 'eve', true)")
	v.Click("#buy button")
	v.reads("said", "eve has a unit")
	v.reads("broken", "error")
	v.sees("her order pending", "Number(document.getElementById('pending').textContent) > 0")
}
