package live

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/client"
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

func TestARecountIsMadeOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.run()()
		if status, _ := w.post("recount", `{"sale":"moutai"}`); status != 409 {
			t.Errorf("nobody looks at the sale: %d", status)
		}
		w.Open(20, 4)
		look := func() *receipt {
			s := w.read(w.Ctx, "moutai")
			w.complete(&s)
			synctest.Wait()
			return s.Receipt
		}
		look()
		look() // it has not changed, so it is counted
		first := look()
		if status, says := w.post("recount", `{"sale":"moutai"}`); status != 200 {
			t.Errorf("%d %s", status, says)
		}
		look()
		if again := look(); first == nil || again == first || !again.Balanced {
			t.Errorf("receipts %+v and %+v", first, again)
		}
	})
}

func TestABuyerWhoLearnsOfTheUnitByAlreadyOrderedGotIt(t *testing.T) {
	c := &crowd{winners: map[string]bool{}}
	c.count(client.Accepted, "a")
	c.count(client.Accepted, "a") // the same Idempotency-Key
	c.count(client.AlreadyOrdered, "a")
	c.count(client.AlreadyOrdered, "b") // whose 202 was lost
	c.count(client.SoldOut, "")
	if w := c.view(); w.Winners != 2 || w.AlreadyOrdered != 2 || w.SoldOut != 1 || w.Answered != 5 {
		t.Errorf("%+v, want 2 winners, 2 repeats, 1 sold out, 5 answered", w)
	}
}
