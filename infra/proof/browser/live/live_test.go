// Package live drives the live view of the local stack in a browser.
package live

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"flashsale/infra/kit/wait"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
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
	noPageReachesTheEngine(t, b.Tab(t))
	stack, err := browser.Launch(root, "-demo-sale")
	if err != nil {
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
	browser.Gives(v.Tab, "document.getElementById('buyers-page').getAttribute('href')", "/s/demo", "the buyers' page is at")

	v.Click("#buy button")
	v.reads("said", "alice has a unit")
	v.sees("her order with its id", `[...document.querySelectorAll('#orders tr')].some((r) => r.cells[0].textContent === 'alice' && /^\d+$/.test(r.cells[2].textContent))`)
	v.reads("event-counts", "OrderConfirmed")
	v.reads("event-lines", "alice")
	v.Click("#rush")
	v.reads("said", "on their way")
	v.reads("state", "sold out")
	v.sees("the end of the rush", "!document.getElementById('rush').disabled")
	v.reads("verdict", "ok")
	v.reads("equation", "0 left + 100 sold = 100 units; 100 orders confirmed, 0 pending")
	v.reads("said", "The rush is over: 99 of 1,000 buyers got a unit.") // and alice the first one

	v.Click("#break-lose")
	v.reads("broken", "Broken since")
	v.reads("accident", "Answers get lost after the commit")
	v.Axe()
	for _, width := range []int64{1280, 390, 320} {
		v.Size(width, 900)
		got := browser.Eval[int64](v.Tab, "document.documentElement.scrollWidth")
		browser.Check(t, got <= width, "the page is %d pixels wide in a window of %d", got, width)
	}
	v.Click("#heal")
	v.reads("broken", "Nothing is broken")
	v.reads("verdict", "ok")
}

// The engine answers every page, so the local stack relies on the ports that it chooses.
func noPageReachesTheEngine(t *testing.T, tab *browser.Tab) {
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	tab.Open(page.URL)
	for _, sheltered := range []bool{false, true} {
		e, err := engine.Start(t.Context(), engine.Options{Binary: enginetest.Binary(t), Sheltered: sheltered})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Stop() }()
		for _, mode := range []string{"cors", "no-cors"} {
			reached := browser.Eval[bool](tab, fmt.Sprintf(`fetch(%q, {method: "POST", mode: %q}).then(() => true, () => false)`, e.Endpoint(), mode))
			if reached == sheltered {
				t.Errorf("sheltered: %t; a page reaches %s by %s: %t", sheltered, e.Endpoint(), mode, reached)
			}
		}
	}
}
