package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Tab is one page in a profile of its own. Its methods end the test when they fail.
type Tab struct {
	tb      testing.TB
	browser *Browser
	ctx     context.Context

	intercept sync.Once

	mu       sync.Mutex
	requests []Request
	problems []string
	decide   func(Request) Answer
}

// Request is a request that a page made.
type Request struct {
	Method, URL string
	Path        string // with the query; "" for another origin's
	Header      map[string]string
}

// Tab opens an empty tab with a new profile. When the test ends, an exception, a console
// error or a violation of the content security policy fails it; Forgive names expected ones.
func (b *Browser) Tab(tb testing.TB) *Tab {
	tb.Helper()
	t := &Tab{tb: tb, browser: b}
	var cancel context.CancelFunc
	t.ctx, cancel = chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("%s\nrequests: %s", t.state(), t.Calls())
		}
		cancel()
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, problem := range t.problems {
			tb.Errorf("the page has a problem: %s", problem)
		}
	})
	t.must("open a tab", chromedp.Listen(t.ctx, t.hear))
	t.Size(800, 900)
	t.Language("en-US,en")
	return t
}

func (t *Tab) must(what string, err error) {
	t.tb.Helper()
	if err != nil {
		t.tb.Fatalf("%s: %v", what, err)
	}
}

func (t *Tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	t.tb.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, limit)
	defer cancel()
	err := chromedp.Do(ctx, steps...)
	for err != nil && strings.Contains(err.Error(), "Could not find node") { // it was the document's before, which has just gone
		err = chromedp.Do(ctx, steps...)
	}
	t.must(what, err)
}

// send sends one command of the protocol.
func send[P, R any](t *Tab, command cdp.Command[P, R], parameters P) R {
	t.tb.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, limit)
	defer cancel()
	result, err := chromedp.Call(ctx, command, parameters)
	t.must(command.Method, err)
	return result
}

// hear notes what the page does. It runs in the loop that reads the browser's messages.
func (t *Tab) hear(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if strings.HasPrefix(e.Request.URL, "http") {
			t.requests = append(t.requests, requestOf(e.Request))
		}
	case *runtime.EventExceptionThrown:
		t.problems = append(t.problems, exception(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			for _, argument := range e.Args {
				t.problems = append(t.problems, "console: "+argument.Description+string(argument.Value))
			}
		}
	case *log.EventEntryAdded:
		// An answer such as 409 is an entry of the source "network", and expected.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			t.problems = append(t.problems, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
		}
	}
}

func exception(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

func requestOf(r *network.Request) Request {
	q := Request{Method: r.Method, URL: r.URL, Header: map[string]string{}}
	if rest, ok := strings.CutPrefix(r.URL, "http://"); ok {
		if _, path, ok := strings.Cut(rest, "/"); ok {
			q.Path = "/" + path
		}
	}
	var headers map[string]string
	if encoded, err := json.Marshal(r.Headers); err == nil && json.Unmarshal(encoded, &headers) == nil {
		for name, value := range headers {
			q.Header[strings.ToLower(name)] = value
		}
	}
	return q
}

// Forgive removes the problems so far that contain the text, of which there must be one.
func (t *Tab) Forgive(text string) {
	t.tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.problems)
	t.problems = slices.DeleteFunc(t.problems, func(problem string) bool { return strings.Contains(problem, text) })
	if len(t.problems) == before {
		t.tb.Errorf("no problem contains %q: %q", text, t.problems)
	}
}

// Requests returns the requests so far, redirections included.
func (t *Tab) Requests() []Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.requests)
}

// Calls returns the requests so far as "GET /path", without those of files.
func (t *Tab) Calls() []string {
	var calls []string
	for _, r := range t.Requests() {
		if !strings.HasPrefix(r.Path, "/assets/") {
			calls = append(calls, r.Method+" "+r.Path)
		}
	}
	return calls
}

// Count returns how many requests so far had the method and the path.
func (t *Tab) Count(method, path string) (n int) {
	for _, r := range t.Requests() {
		if r.Method == method && r.Path == path {
			n++
		}
	}
	return n
}

// Open navigates to an address and waits for its load event.
func (t *Tab) Open(address string) {
	t.tb.Helper()
	t.do("open "+address, chromedp.Navigate(address))
}

// Reload reloads the page and waits for its load event.
func (t *Tab) Reload() {
	t.tb.Helper()
	t.do("reload", chromedp.Reload())
}

// Click clicks into the middle of the element that the selector finds.
func (t *Tab) Click(selector string) {
	t.tb.Helper()
	t.do("click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// Type writes into the field that the selector finds.
func (t *Tab) Type(selector, text string) {
	t.tb.Helper()
	t.do("type into "+selector, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Press sends keys to the element with the focus: Tabulator, Enter, Space, or text.
func (t *Tab) Press(keys string) {
	t.tb.Helper()
	t.do("press a key", chromedp.KeyEvent(keys))
}

// Keys for Press.
const (
	Tabulator = kb.Tab
	Enter     = kb.Enter
	Space     = " "
)

// Eval returns the value of a JavaScript expression, after its promise if it is one.
func Eval[T any](t *Tab, expression string) T {
	t.tb.Helper()
	value, err := evaluate[T](t, expression)
	t.must("evaluate "+expression, err)
	return value
}

func evaluate[T any](t *Tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(t.ctx, limit)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Text returns what a person reads in the element that the selector finds, "" if it is not
// shown.
func (t *Tab) Text(selector string) string {
	t.tb.Helper()
	return Eval[string](t, fmt.Sprintf("((e) => e && e.checkVisibility() ? e.innerText : '')(document.querySelector(%q))", selector))
}

// Check expects what is so; the text says what is not.
func Check(tb testing.TB, isSo bool, format string, args ...any) {
	tb.Helper()
	if !isSo {
		tb.Errorf(format, args...)
	}
}

// HasText expects what a person reads in the element that the selector finds; what and args say of what.
func (t *Tab) HasText(selector, want, what string, args ...any) {
	t.tb.Helper()
	same(t, t.Text(selector), want, fmt.Sprintf(what, args...))
}

// HasCount expects how many requests so far had the method and the path.
func (t *Tab) HasCount(method, path string, want int) {
	t.tb.Helper()
	same(t, t.Count(method, path), want, method+" "+path)
}

// Gives expects the value of a JavaScript expression; what and args say of what.
func Gives[T comparable](t *Tab, expression string, want T, what string, args ...any) {
	t.tb.Helper()
	same(t, Eval[T](t, expression), want, fmt.Sprintf(what, args...))
}

func same[T comparable](t *Tab, got, want T, what string) {
	t.tb.Helper()
	if got != want {
		t.tb.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// Wait waits until a JavaScript expression is true, on this page or on one that follows.
func (t *Tab) Wait(expression string) {
	t.tb.Helper()
	var err error
	pause := 5 * time.Millisecond
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(pause) {
		pause = min(pause*3/2, 100*time.Millisecond) // each look costs the browser some milliseconds
		var is bool
		// An evaluation fails while the page navigates.
		if is, err = evaluate[bool](t, "!!("+expression+")"); err == nil && is {
			return
		}
	}
	t.tb.Fatalf("still not so after %v: %s (%v)\n%s", limit, expression, err, t.state())
}

// WaitText waits until a person has read each text in turn, anywhere on the page.
func (t *Tab) WaitText(texts ...string) {
	t.tb.Helper()
	for _, text := range texts {
		t.Wait(fmt.Sprintf("document.body && document.body.innerText.includes(%s)", quote(text)))
	}
}

// state describes the page for a failed test.
func (t *Tab) state() string {
	text, err := evaluate[string](t, "location.href + '\\n' + document.body.innerText")
	if err != nil {
		return fmt.Sprintf("the page cannot be read: %v", err)
	}
	return "the page says:\n" + text
}

func quote(text string) string {
	encoded, _ := json.Marshal(text)
	return string(encoded)
}

// Before runs a script before those of every page that is opened afterwards.
func (t *Tab) Before(script string) {
	t.tb.Helper()
	send(t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

// Size sets the size of the window in CSS pixels.
func (t *Tab) Size(width, height int64) {
	t.tb.Helper()
	t.do("set the size", chromedp.EmulateViewport(width, height))
}

// Language sets the person's languages, such as "zh-CN,zh".
func (t *Tab) Language(list string) {
	t.tb.Helper()
	send(t, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
		UserAgent: Eval[string](t, "navigator.userAgent"), AcceptLanguage: list,
	})
}

// Zone sets the person's time zone, such as Asia/Shanghai.
func (t *Tab) Zone(name string) {
	t.tb.Helper()
	send(t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
}

// Prefer sets a media feature such as prefers-color-scheme to a value such as dark.
func (t *Tab) Prefer(feature, value string) {
	t.tb.Helper()
	send(t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: feature, Value: value}},
	})
}

// Translate writes another text in place of each on the page that has letters, as a browser does that translates.
func (t *Tab) Translate() {
	t.tb.Helper()
	Eval[any](t, `(() => {
		const texts = [], walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) texts.push(walker.currentNode);
		for (const text of texts) {
			if (/\p{L}/u.test(text.data) && !text.parentElement.closest("[translate=no], script, style, font")) text.replaceWith(Object.assign(document.createElement("font"), { textContent: "~" + text.data }));
		}
		for (const e of document.querySelectorAll("[aria-label]")) e.ariaLabel = "~" + e.ariaLabel;
		for (const e of document.querySelectorAll("img")) e.alt = "~" + e.alt.replace("~", "");
	})()`)
}
