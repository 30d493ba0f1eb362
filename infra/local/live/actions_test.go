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

// post sends an action as the page does.
func (w *world) post(name, body string) (int, string) {
	answer := httptest.NewRecorder()
	w.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, Prefix+name, strings.NewReader(body)))
	return answer.Code, answer.Body.String()
}

func TestWhatTheViewDoesNotUnderstandBreaksNothing(t *testing.T) {
	w := newWorld(t)
	for _, body := range []string{"", "{", `{"accident":7}`, `{"user":"` + strings.Repeat("x", maxRequest) + `"}`, `{"accident":"fire"}`, `{}`} {
		if status, says := w.post("break", body); status != 400 || len(w.stub.injections) > 0 {
			t.Errorf("%.50s: %d %s, and %d accidents", body, status, says, len(w.stub.injections))
		}
	}
}

func TestThePageMayUseItsOwnFilesOnly(t *testing.T) {
	w := newWorld(t)
	for path, kind := range map[string]string{"/": "text/html", Prefix + "live.js": "text/javascript", Prefix + "live.css": "text/css", Prefix + "icon.svg": "image/svg+xml"} {
		answer := httptest.NewRecorder()
		w.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if h := answer.Header(); answer.Code != 200 || !strings.HasPrefix(h.Get("Content-Type"), kind) || h.Get("Content-Security-Policy") != policy {
			t.Errorf("%s: %d %v", path, answer.Code, h)
		}
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
		if status, says := w.post("buy", `{"sale":"moutai","user":" ann "}`); status != 200 || !strings.Contains(says, tt.want) || w.stub.bought != 1 {
			t.Errorf("%s: %d %s", tt.code, status, says)
		}
	}
	w := newWorld(t)
	for _, user := range []string{"", "  ", strings.Repeat("x", 256)} {
		if status, _ := w.post("buy", fmt.Sprintf(`{"user":%q}`, user)); status != 400 || w.stub.bought != 0 {
			t.Errorf("%q: %d", user, status)
		}
	}
}

func TestTheSaleIsChangedAsOperatorsDo(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"pause", "resume", "add"} {
		if status, says := w.post(name, `{"sale":"moutai"}`); status != 200 {
			t.Errorf("%s: %d %s", name, status, says)
		}
	}
	if w.stub.asked[0] != `{"action":"pause","saleId":"moutai"}` || w.stub.asked[1] != `{"action":"resume","saleId":"moutai"}` ||
		!strings.Contains(w.stub.asked[2], `"saleId":"moutai","seedId":"live-`) || !strings.Contains(w.stub.asked[2], `"stock":50`) {
		t.Errorf("SeedFunction is asked %q", w.stub.asked)
	}
	w.stub.refuses = true
	if status, says := w.post("pause", `{"sale":"none"}`); status != 409 || !strings.Contains(says, "sale-not-found") {
		t.Errorf("%d %s", status, says)
	}
}

func TestEveryAccidentCanHappenUntilItIsHealed(t *testing.T) {
	w := newWorld(t)
	for _, a := range accidents {
		if c, err := faults.Parse(a.injection.Faults); err != nil || c.Duplicate+c.Delay+c.Reorder > 0 {
			t.Errorf("%s: %v", a.ID, err) // the queue's own faults are set at its start
		}
		if status, says := w.post("break", fmt.Sprintf(`{"accident":%q}`, a.ID)); status != 200 {
			t.Errorf("%s: %d %s", a.ID, status, says)
		}
		s := snapshot{}
		w.complete(&s)
		if (s.Broken == nil) != a.once() || s.Broken != nil && (s.Broken.ID != a.ID || s.Broken.Met["calls"] == 0) {
			t.Errorf("%s is shown as %+v", a.ID, s.Broken)
		}
	}
	w.post("heal", `{}`)
	s := snapshot{}
	if w.complete(&s); s.Broken != nil || len(w.stub.injections) != len(accidents)+1 || !cmp.Equal(w.stub.injections[len(accidents)], Injection{}) {
		t.Errorf("healed with %+v, shown as %+v", w.stub.injections, s.Broken)
	}
}

func TestOneCrowdRushesAtATimeAndComesToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.run()()
		if status, says := w.post("rush", `{"sale":"moutai"}`); status != 200 {
			t.Fatalf("%d %s", status, says)
		}
		if status, _ := w.post("rush", `{"sale":"moutai"}`); status != 409 {
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
		if status, _ := w.post("rush", `{"sale":"moutai"}`); status != 200 {
			t.Errorf("the next crowd: %d", status)
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
		if status, _ := w.post("recount", `{"sale":"moutai"}`); status != 409 {
			t.Errorf("nobody looks at the sale: %d", status)
		}
		w.Open(20, 4)
		defer w.leave(w.join("moutai"))
		receipt := func() *receipt {
			time.Sleep(10 * time.Second)
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.sales["moutai"].receipt
		}
		first := receipt()
		if status, says := w.post("recount", `{"sale":"moutai"}`); status != 200 {
			t.Errorf("%d %s", status, says)
		}
		if again := receipt(); first == nil || again == first || !again.Balanced {
			t.Errorf("receipts %+v and %+v", first, again)
		}
	})
}

func TestABuyerWhoLearnsOfTheUnitByAlreadyOrderedGotIt(t *testing.T) {
	c := &crowd{winners: map[string]bool{}}
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
