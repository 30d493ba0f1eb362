package live

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
	"flashsale/infra/local/faults"
)

const ownOrigin = "http://127.0.0.1:3000"

// post sends an action as the page does, after changes.
func (w *world) post(name, body string, change func(*http.Request)) (int, string) {
	r := httptest.NewRequest(http.MethodPost, Prefix+name, strings.NewReader(body))
	r.Host = "127.0.0.1:3000"
	r.Header.Set("Origin", ownOrigin)
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	answer := httptest.NewRecorder()
	w.Handler().ServeHTTP(answer, r)
	return answer.Code, answer.Body.String()
}

func TestOnlyThePageItselfActs(t *testing.T) {
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	const body = `{"accident":"kill"}`
	for _, tt := range []struct {
		name, body string
		change     func(*http.Request)
		want       int
	}{
		{"the page", body, nil, 200},
		{"the page, with a character set", body, header("Content-Type", "application/json; charset=utf-8"), 200},
		{"no origin", body, func(r *http.Request) { r.Header.Del("Origin") }, 403},
		{"another site", body, header("Origin", "https://evil.example"), 403},
		{"another port", body, header("Origin", "http://127.0.0.1:8080"), 403},
		{"the same host by another name", body, header("Origin", "http://localhost:3000"), 403},
		{"a page without an origin of its own", body, header("Origin", "null"), 403},
		{"two origins", body, header("Origin", ownOrigin, "https://evil.example"), 403},
		{"a form", body, header("Content-Type", "text/plain"), 415},
		{"an encoded form", "accident=kill", header("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"no type", body, func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
		{"two types", body, header("Content-Type", "application/json, text/plain"), 415},
		{"a GET", "", func(r *http.Request) { r.Method = http.MethodGet }, 405},
		{"no body", "", nil, 400},
		{"no JSON", "{", nil, 400},
		{"an unknown member", `{"accident":"kill","faults":"error=1"}`, nil, 400},
		{"another type of member", `{"accident":7}`, nil, 400},
		{"a large body", `{"user":"` + strings.Repeat("x", maxRequest) + `"}`, nil, 400},
		{"an unknown accident", `{"accident":"fire"}`, nil, 400},
		{"no accident", `{}`, nil, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			status, says := w.post("break", tt.body, tt.change)
			if status != tt.want {
				t.Errorf("%d %s, want %d", status, says, tt.want)
			}
			if broken := len(w.stub.injections) > 0; broken != (tt.want == 200) {
				t.Errorf("the system is broken: %v", broken)
			}
		})
	}
}

func TestThePageMayUseItsOwnFilesOnly(t *testing.T) {
	w := newWorld(t)
	for path, kind := range map[string]string{"/": "text/html", Prefix + "live.js": "text/javascript", Prefix + "live.css": "text/css", Prefix + "icon.svg": "image/svg+xml"} {
		answer := httptest.NewRecorder()
		w.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		h := answer.Header()
		if answer.Code != 200 || !strings.HasPrefix(h.Get("Content-Type"), kind) || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none';") ||
			h.Get("X-Content-Type-Options") != "nosniff" || strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: %d %v", path, answer.Code, h)
		}
		for _, no := range []string{"innerHTML", " style=", " onclick=", "<script>", "<style", "eval("} {
			if strings.Contains(answer.Body.String(), no) {
				t.Errorf("%s has %s", path, no)
			}
		}
	}
	answer := httptest.NewRecorder()
	w.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/other", nil))
	if answer.Code != http.StatusNotFound {
		t.Errorf("/other: %d", answer.Code)
	}
}

func TestAPurchaseIsMadeForTheNamedBuyer(t *testing.T) {
	for _, tt := range []struct {
		status int
		code   string
		want   string
	}{
		{202, "", "ann has a unit"}, {409, "already-ordered", "ann already has a unit"}, {409, "sold-out", "sold out"},
		{503, "busy", "trying again is safe"}, {403, "sale-not-open", "403 sale-not-open"},
	} {
		w := newWorld(t)
		w.stub.status, w.stub.code = tt.status, tt.code
		if status, says := w.post("buy", `{"sale":"moutai","user":" ann "}`, nil); status != 200 || !strings.Contains(says, tt.want) || w.stub.bought != 1 {
			t.Errorf("%s: %d %s", tt.code, status, says)
		}
	}
	w := newWorld(t)
	for _, user := range []string{"", "  ", strings.Repeat("x", 256)} {
		if status, _ := w.post("buy", fmt.Sprintf(`{"user":%q}`, user), nil); status != 400 || w.stub.bought != 0 {
			t.Errorf("%q: %d", user, status)
		}
	}
}

func TestTheSaleIsChangedAsOperatorsDo(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"pause", "resume", "add"} {
		if status, says := w.post(name, `{"sale":"moutai"}`, nil); status != 200 {
			t.Errorf("%s: %d %s", name, status, says)
		}
	}
	if w.stub.asked[0] != `{"action":"pause","saleId":"moutai"}` || w.stub.asked[1] != `{"action":"resume","saleId":"moutai"}` ||
		!strings.Contains(w.stub.asked[2], `"saleId":"moutai","seedId":"live-`) || !strings.Contains(w.stub.asked[2], `"stock":50`) {
		t.Errorf("SeedFunction is asked %q", w.stub.asked)
	}
	w.stub.refuses = true
	if status, says := w.post("pause", `{"sale":"none"}`, nil); status != 409 || !strings.Contains(says, "sale-not-found") {
		t.Errorf("%d %s", status, says)
	}
}

func TestEveryAccidentCanHappenAndIsExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range accidents {
		if c, err := faults.Parse(a.injection.Faults); err != nil || c.Duplicate+c.Delay+c.Reorder > 0 {
			t.Errorf("%s: %v", a.ID, err) // the queue's own faults are set at its start
		}
		if seen[a.ID] || a.Name == "" || strings.Count(a.Expect, ".") != 1 {
			t.Errorf("%s is not explained in one sentence: %s", a.ID, a.Expect)
		}
		seen[a.ID] = true
	}
	w := newWorld(t)
	for _, a := range accidents {
		if status, says := w.post("break", fmt.Sprintf(`{"accident":%q}`, a.ID), nil); status != 200 || !strings.Contains(says, "expect") && !strings.HasPrefix(says, `{"says":"`) {
			t.Errorf("%s: %d %s", a.ID, status, says)
		}
		s := snapshot{}
		w.complete(&s)
		if (s.Broken == nil) != a.once() || s.Broken != nil && (s.Broken.ID != a.ID || s.Broken.Met["calls"] == 0) {
			t.Errorf("%s is shown as %+v", a.ID, s.Broken)
		}
	}
	w.post("heal", `{}`, nil)
	s := snapshot{}
	if w.complete(&s); s.Broken != nil || len(w.stub.injections) != len(accidents)+1 || !cmp.Equal(w.stub.injections[len(accidents)], Injection{}) {
		t.Errorf("healed with %+v, shown as %+v", w.stub.injections, s.Broken)
	}
}

func TestOneCrowdRushesAtATimeAndComesToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.run()()
		if status, says := w.post("rush", `{"sale":"moutai"}`, nil); status != 200 {
			t.Fatalf("%d %s", status, says)
		}
		if status, _ := w.post("rush", `{"sale":"moutai"}`, nil); status != 409 {
			t.Errorf("a second crowd: %d", status)
		}
		time.Sleep(arrival / 2)
		if got := w.crowd.view(); !got.Running || got.SignedIn != crowdSize || got.Answered == 0 || got.Answered > got.Clicks/3 {
			t.Errorf("halfway, more and more buyers should come: %+v", got)
		}
		time.Sleep(arrival)
		got := w.crowd.view()
		if got.Running || got.Problem != "" || got.Answered != got.Clicks || got.SoldOut != got.Clicks || w.stub.purchases() != got.Clicks {
			t.Errorf("at the end: %+v", got)
		}
		if status, _ := w.post("rush", `{"sale":"moutai"}`, nil); status != 200 {
			t.Errorf("the next crowd: %d", status)
		}
	})
}

func TestARushWithoutAnswersEndsWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.run()()
		w.stub.status, w.stub.code = 503, "sale-paused"
		w.post("rush", `{"sale":"moutai"}`, nil)
		time.Sleep(rushTime + time.Second)
		if got := w.crowd.view(); got.Running || got.GaveUp != got.Clicks {
			t.Errorf("%+v", got)
		}
	})
}

func TestPurchasesAreMeasuredWhileSomebodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.View.now = time.Now
		took := 10 * time.Millisecond
		api := w.Observe(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(took)
			if r.URL.Path == "/sales/lost/orders" {
				rw.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			rw.WriteHeader(http.StatusConflict)
			fmt.Fprint(rw, `{"code":"sold-out"}`)
		}))
		send := func(method, path string) {
			t.Helper()
			answer := httptest.NewRecorder()
			if api.ServeHTTP(answer, httptest.NewRequest(method, path, nil)); answer.Code < 400 {
				t.Errorf("%s %s: %d", method, path, answer.Code)
			}
		}
		send("POST", "/sales/x/orders")
		one := w.join("")
		for range 99 {
			send("POST", "/sales/x/orders")
		}
		took = time.Second
		send("POST", "/sales/lost/orders")
		send("GET", "/sales/x/orders/me")
		send("GET", "/sales/x")
		want := purchases{100, map[string]int{"sold-out": 99, "status 503": 1}, 10, 10}
		if diff := cmp.Diff(want, w.meter.since(time.Now().Add(-window))); diff != "" {
			t.Errorf("measured (-want +got):\n%s", diff)
		}
		time.Sleep(2 * window)
		if got := w.meter.since(time.Now().Add(-window)); got.Count != 0 {
			t.Errorf("%d are not forgotten", got.Count)
		}
		w.leave(one)
	})
}

func TestARecountIsMadeOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.run()()
		if status, _ := w.post("recount", `{"sale":"moutai"}`, nil); status != 409 {
			t.Errorf("nobody looks at the sale: %d", status)
		}
		w.Open(20, 4)
		defer w.leave(w.join("moutai"))
		time.Sleep(10 * time.Second)
		receipt := func() *receipt {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.sales["moutai"].receipt
		}
		first := receipt()
		before := make(chan struct{})
		w.mu.Lock()
		w.counting = before // a recount is being made
		w.mu.Unlock()
		time.AfterFunc(2*time.Second, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.counting = nil
			close(before)
		})
		if status, says := w.post("recount", `{"sale":"moutai"}`, nil); status != 200 {
			t.Errorf("%d %s", status, says)
		}
		time.Sleep(10 * time.Second)
		if again := receipt(); first == nil || again == first || !again.Balanced {
			t.Errorf("receipts %+v and %+v", first, again)
		}
	})
}

func TestABuyerWhoLearnsOfTheUnitByAlreadyOrderedGotIt(t *testing.T) {
	c := &crowd{answers: map[client.Outcome]int{}, winners: map[string]bool{}}
	click := func(v client.Outcome, claim string) {
		c.count(rush.Result{Outcome: v, Reply: client.Answer{Claim: client.Claim{ClaimID: claim}}})
	}
	click(client.Accepted, "a")
	click(client.Accepted, "a") // the same Idempotency-Key
	click(client.AlreadyOrdered, "a")
	click(client.AlreadyOrdered, "b") // whose 202 was lost
	click(client.SoldOut, "")
	if w := c.view(); w.Winners != 2 || w.AlreadyOrdered != 2 || w.SoldOut != 1 || w.Answered != 5 {
		t.Errorf("%+v, want 2 winners, 2 repeats, 1 sold out, 5 answered", w)
	}
}
