package buyer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// A page that is opened shortly before the opening needs no second read. One that is opened
// a little earlier has its second read in between, at a time of its own.
func TestALatePageReadsTheSaleAtMostTwice(t *testing.T) {
	for name, tt := range map[string]struct {
		random string
		left   time.Duration   // to the opening, when the page is opened
		stay   []time.Duration // and how many reads there are after it
		reads  []int
	}{
		"in time for none": {"0.5", 9 * time.Second, []time.Duration{10 * time.Second}, []int{1}},
		"first":            {"0.999", 100 * time.Second, []time.Duration{15 * time.Second, 7 * time.Second, 80 * time.Second}, []int{1, 2, 2}},
		"last":             {"0", 100 * time.Second, []time.Duration{70 * time.Second, 12 * time.Second, 20 * time.Second}, []int{1, 2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab, saleID := shop.tab(t, newID("user")), newID("sale")
			tab.Clock(0)
			tab.Before("Math.random = () => " + tt.random)
			begun := time.Now().UTC()
			tab.Intercept(func(r browser.Request) browser.Answer {
				if r.Path != "/sales/"+saleID {
					return browser.Answer{}
				}
				opens := begun.Add(tt.left)
				return browser.Answer{Status: 200, Body: fmt.Sprintf(`{"name":"S","state":"NOT_OPEN","opensAt":%q,"closesAt":%q,"now":%q,"remaining":1}`,
					opens.Format(time.RFC3339Nano), opens.Add(time.Hour).Format(time.RFC3339Nano), begun.Format(time.RFC3339Nano))}
			})
			tab.Open(shop.page(saleID))
			waitState(tab, "notOpen")
			for i, stay := range tt.stay {
				tab.Advance(stay)
				if n := tab.Count("GET", "/sales/"+saleID); n != tt.reads[i] {
					t.Errorf("%d reads after %v, want %d", n, tt.stay[:i+1], tt.reads[i])
				}
			}
			waitState(tab, "open")
		})
	}
}

// A pending claim is asked for less and less often, and only while the page is seen.
func TestAPendingOrderIsAskedForEverMoreRarely(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	saleID := shop.create(t, sale{})
	pending := browser.Answer{Status: 200, Body: `{"claimId":"C","state":"PENDING"}`}
	tab.Intercept(func(r browser.Request) browser.Answer {
		switch {
		case r.Method == http.MethodPost:
			return browser.Answer{Status: 202, Header: map[string]string{"Retry-After": "2"}, Body: pending.Body}
		case strings.HasSuffix(r.Path, "/me"):
			return pending
		}
		return browser.Answer{}
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "accepted")
	tab.WaitText("You have already ordered")
	asked := func() int { return tab.Count("GET", "/sales/"+saleID+"/orders/me") }
	for range 3 * 60 * 2 {
		tab.Advance(500 * time.Millisecond)
	}
	if n := asked(); n < 4 || n > 12 {
		t.Errorf("asked %d times in three minutes, want 4 to 12", n)
	}
	tab.Offline(true) // an answer that is lost does not end it
	tab.Advance(2 * time.Minute)
	tab.Offline(false)
	before := asked()
	for range 40 {
		tab.Advance(5 * time.Second)
		time.Sleep(5 * time.Millisecond)
	}
	if asked() == before {
		t.Error("the page no longer asks")
	}
}

// An order of a state to come is asked for only as long as the shop says when.
func TestAnOrderInAStateToComeIsNotPolled(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	saleID := shop.create(t, sale{})
	tab.Intercept(func(r browser.Request) browser.Answer {
		if strings.HasSuffix(r.Path, "/me") {
			return browser.Answer{Status: 200, Body: `{"claimId":"C","state":"SHIPPED"}`}
		}
		return browser.Answer{}
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "held")
	for range 10 {
		tab.Advance(time.Minute)
	}
	if n := tab.Count("GET", "/sales/"+saleID+"/orders/me"); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
}
