package operator

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// purchases are of an hour in which there was a rush from its 30th minute on.
func (s *shop) purchases(w http.ResponseWriter, _ *http.Request) {
	accepted, refused := make([]int, 60), make([]int, 60)
	copy(accepted[30:], []int{100, 50, 0, 1})
	copy(refused[30:], []int{900, 6_000, 3_000, 200, 90, 7})
	answer(w, 200, object{"asOf": instant(time.Now()), "from": instant(time.Now().Truncate(time.Minute).Add(-time.Hour)), "every": 60, "accepted": accepted, "refused": refused, "busy": make([]int, 60)})
}

func TestASaleIsShownOverTimeByItsCountAndByTheStacksMetrics(t *testing.T) {
	t.Parallel()
	s := market(t)
	books := s.made["moutai"]["books"].(object)
	books["accepted"] = object{"from": instant(time.Now().Add(-time.Hour)), "every": 2, "counts": []int{30, 15, 0, 1}}
	tab := s.tab(t, "viewer dave")
	tab.Clock(0)
	lost := false
	tab.Intercept(func(r browser.Request) browser.Answer {
		return browser.Answer{Lost: lost && r.Path == "/operate/purchases"}
	})
	s.look(tab, "", "Sales")
	tab.HasCount("GET", "/operate/purchases", 0) // before a sale is looked at
	s.look(tab, "#sale/moutai", "Feitian Moutai 53 %")
	tab.WaitText("30 at most in 2 s. As counted", "Accepted 151, at most 100 a minute, at", "Refused 10,197, at most 6,000 a minute", "Busy or failed none.", "All sales of this stack together")
	heights := browser.Eval[[]string](tab, "[...document.querySelectorAll('[data-line=accepted] i')].slice(29, 35).map((i) => i.dataset.h)")
	want := []string{"0", "20", "10", "0", "1", "0"}
	browser.Check(t, slices.Equal(heights, want), "the bars of the accepted are %q, want %q", heights, want)
	lost = true
	tab.Advance(61 * time.Second)
	tab.WaitText("How purchases are answered is not known")
	if !strings.Contains(tab.Text("[data-key=all]"), "Read 1 min") {
		t.Errorf("old figures say %q, want how old they are", tab.Text("[data-key=all]"))
	}
}
