package buyer

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// A page counts down by the shop's clock, whatever its own says.
func TestTheSaleOpensByTheShopsClock(t *testing.T) {
	for name, wrong := range map[string]time.Duration{
		"right": 0, "7 minutes fast": 7 * time.Minute, "7 minutes slow": -7 * time.Minute,
		"20 years slow": -20 * 365 * 24 * time.Hour, "40 years fast": 40 * 365 * 24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := shop.tab(t, "")
			tab.Clock(wrong)
			shop.signIn(t, tab, newID("user"))
			saleID, opens := shop.openEarly(t, tab)
			if shown := tab.Text("#countdown"); !strings.HasPrefix(shown, "00:00:") {
				t.Errorf("the countdown says %s", shown)
			}
			if disabled := browser.Eval[string](tab, "act.ariaDisabled"); disabled != "true" {
				t.Errorf("the button is not disabled")
			}
			tab.Click(button) // does nothing
			waitState(tab, "open")
			if early := time.Until(opens); early > time.Second {
				t.Errorf("opened %v early", early)
			}
			tab.Click(button)
			waitState(tab, "confirmed")
			shop.sold(t, saleID, 1)
		})
	}
}

// The page's clock is ahead of the shop's, as after a bad measurement.
func TestAnOrderThatIsTooEarlyIsSentAgainAtTheOpening(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	saleID := shop.create(t, sale{opens: 80 * time.Second}) // within the minute and a half in which the page waits
	tab.Open(shop.page(saleID))
	waitState(tab, "notOpen")
	tab.Advance(80 * time.Second)
	waitState(tab, "open")
	tab.Click(button)
	examine(t, tab, "early", "Your order was a moment early. It is sent again at the opening …")
	shop.reschedule(t, saleID, -time.Minute)
	tab.Advance(90 * time.Second)
	waitState(tab, "confirmed")
	if n := len(keys(tab)); n > 3 {
		t.Errorf("%d orders were sent", n)
	}
	shop.sold(t, saleID, 1)
}

// What a page shows at the opening it has read shortly before. Nobody is told that a sale has
// begun which was moved before that.
func TestASaleThatIsMovedIsNotAnnounced(t *testing.T) {
	for name, tt := range map[string]struct {
		left, second time.Duration // to the opening, at the first and the second read
		language     string
		says         string
	}{
		"moved under an early page":       {10 * time.Minute, 75 * time.Second, "en", "The opening was moved to "},
		"moved under a late page":         {100 * time.Second, 50 * time.Second, "en", "The opening was moved to "},
		"moved, as it is said in Chinese": {100 * time.Second, 50 * time.Second, "zh-CN", "开始时间已改为 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := shop.tab(t, newID("user"))
			tab.Clock(0)
			tab.Language(tt.language)
			tab.Before("Math.random = () => 0.5")
			noteStates(tab)
			saleID := shop.create(t, sale{opens: tt.left, closes: 10 * time.Hour})
			read := "/sales/" + saleID
			tab.Open(shop.page(saleID))
			waitState(tab, "notOpen")
			shop.reschedule(t, saleID, 5*time.Hour)
			tab.Advance(tt.left - tt.second)
			tab.Wait(fmt.Sprintf("line.textContent.startsWith(%q)", tt.says))
			tab.Advance(tt.second + time.Minute) // the old opening
			examine(t, tab, "notOpen", tab.Text(line))
			if shown := tab.Text("#countdown"); shown < "04:45:00" || shown > "05:00:00" {
				t.Errorf("the countdown says %s", shown)
			}
			wantNever(t, tab, "open")
			if n := tab.Count("GET", read); n != 2 {
				t.Errorf("%d reads until the old opening, want 2", n)
			}
			for range 5 * 60 {
				tab.Advance(time.Minute) // the new opening
			}
			waitState(tab, "open")
			if n := tab.Count("GET", read); n < 20 || n > 35 { // every ten minutes or so
				t.Errorf("%d reads until the new opening, in five hours", n)
			}
		})
	}
}

func TestASaleThatIsPutOffCountsDownAgain(t *testing.T) {
	t.Parallel()
	saleID := shop.create(t, sale{opens: 115 * time.Second})
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	tab.Before("Math.random = () => 0.9")
	tab.Open(shop.page(saleID))
	waitState(tab, "notOpen")
	tab.Advance(60 * time.Second)
	tab.Wait("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/sales/" + saleID + "')).length === 2")
	shop.reschedule(t, saleID, 5*time.Hour) // after the second read
	tab.Advance(time.Minute)
	waitState(tab, "open")
	tab.Click(button)
	waitState(tab, "notOpen")
	if shown := tab.Text("#countdown"); shown < "04:50:00" || shown > "05:00:00" {
		t.Errorf("the countdown says %s", shown)
	}
	wantKeys(t, tab, "")
	tab.WaitText("The opening was moved to ")
	if n := tab.Count("GET", "/sales/"+saleID); n != 3 {
		t.Errorf("%d reads, want 3", n)
	}
}

func TestTheClockIsMeasuredAgainAfterASleep(t *testing.T) {
	t.Parallel()
	saleID := shop.create(t, sale{opens: 5 * time.Hour, closes: 6 * time.Hour})
	tab := shop.tab(t, "")
	tab.Clock(0)
	tab.Open(shop.page(saleID))
	waitState(tab, "notOpen")
	read := "/sales/" + saleID
	browser.Eval[bool](tab, "document.dispatchEvent(new Event('visibilitychange'))")
	if n := tab.Count("GET", read); n != 1 {
		t.Errorf("%d reads after a look elsewhere, want 1", n)
	}
	tab.Sleep(10 * time.Minute)
	tab.Wait("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('" + read + "')).length === 2")
	browser.Eval[bool](tab, "document.dispatchEvent(new Event('visibilitychange'))")
	if n := tab.Count("GET", read); n != 2 {
		t.Errorf("%d reads after a sleep, want 2", n)
	}
}

// An answer may wait long before the shop reads its clock, as in a cold start, and be quick after that.
func TestThePagesClockIsNotAheadAfterASlowAnswer(t *testing.T) {
	t.Parallel()
	const slow = 20 * time.Second
	tab, saleID := shop.tab(t, ""), newID("sale")
	tab.Clock(0)
	asked, cold := make(chan time.Time, 1), make(chan struct{})
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Path != "/sales/"+saleID {
			return browser.Answer{}
		}
		now := time.Now().Add(slow).UTC()
		asked <- now
		return browser.Answer{Status: 200, Until: cold, Body: `{"name":"S","state":"NOT_OPEN","opensAt":"` + now.Add(time.Hour).Format(time.RFC3339Nano) +
			`","closesAt":"` + now.Add(2*time.Hour).Format(time.RFC3339Nano) + `","now":"` + now.Format(time.RFC3339Nano) + `","remaining":1}`}
	})
	tab.Open(shop.page(saleID))
	opens := (<-asked).Add(time.Hour)
	tab.Advance(slow)
	close(cold)
	waitState(tab, "notOpen")
	// What is shown may be a second old, so it may be more than what is left.
	shown := browser.Eval[[]any](tab, "[countdown.textContent, Date.now()]")
	left := opens.Sub(time.UnixMilli(int64(shown[1].(float64)))).Truncate(time.Second)
	least := time.Time{}.Add(left).Format(time.TimeOnly)
	if shown[0].(string) < least {
		t.Errorf("the countdown says %v, and at least %s is left", shown[0], least)
	}
}

// The display never goes back, though a `now` from a cache is early; and the best one counts.
func TestTheCountdownNeverJumpsBack(t *testing.T) {
	t.Parallel()
	opens := time.Now().Add(10 * time.Minute)
	ahead := []time.Duration{-20 * time.Second, 0, -20 * time.Second}
	tab := shop.tab(t, "")
	tab.Clock(0)
	reads := make(chan struct{}, 10)
	saleID := newID("sale")
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Path != "/sales/"+saleID {
			return browser.Answer{}
		}
		stale := ahead[len(reads)%len(ahead)]
		reads <- struct{}{}
		return browser.Answer{Status: 200, Body: `{"name":"S","state":"NOT_OPEN","opensAt":"` + opens.UTC().Format(time.RFC3339Nano) +
			`","closesAt":"` + opens.Add(time.Hour).UTC().Format(time.RFC3339Nano) + `","now":"` + time.Now().Add(stale).UTC().Format(time.RFC3339Nano) + `","remaining":1}`}
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "notOpen")
	last := "99:99:99"
	for n := 2; n <= 3; n++ {
		tab.Sleep(2 * time.Second)
		tab.Wait("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/sales/" + saleID + "')).length === " + strconv.Itoa(n))
		tab.Advance(time.Second)
		if shown := tab.Text("#countdown"); shown > last {
			t.Errorf("the countdown went from %s to %s", last, shown)
		} else {
			last = shown
		}
	}
	if last < "00:09:00" || last > "00:09:59" {
		t.Errorf("the countdown says %s", last)
	}
}
