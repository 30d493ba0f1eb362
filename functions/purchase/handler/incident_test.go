package handler

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/shared/sale"
)

// TestTheIncidentAgain runs a crowd with a check that takes 10 to 30 seconds from the
// opening on, as in the incident, where it outlived a lock and 100 bottles were sold
// more than once.
func TestTheIncidentAgain(t *testing.T) {
	const users, environments, stock = 300, 20, 100
	const outage = 20 * time.Second
	for name, failOpen := range map[string]bool{"nobody is let in unchecked": false, "everybody is let in": true} {
		t.Run(name, func(t *testing.T) {
			at(t, stock, func(h *hall) {
				opened := time.Now()
				h.office.takes(func(n int) time.Duration {
					if time.Since(opened) < outage {
						return time.Duration(10+n*7%21) * time.Second
					}
					return 20 * time.Millisecond
				})
				type environment struct {
					lambda.Handler
					free chan struct{} // one request at a time
				}
				all := make([]environment, environments)
				for i := range all {
					all[i] = environment{h.environment(failOpen), make(chan struct{}, 1)}
				}
				var crowd sync.WaitGroup
				var mu sync.Mutex
				got, early, tries := map[sale.Code]int{}, 0, 0
				lastSold := time.Duration(0)
				for i := range users {
					purchase, e := event(h.T, "purchase.json", user(fmt.Sprint("user-", i))), all[i%environments]
					crowd.Go(func() {
						for {
							e.free <- struct{}{}
							a := h.buy(e, purchase)
							<-e.free
							mu.Lock()
							tries++
							switch {
							case a.took > time.Second:
								h.T.Errorf("user %d waited %s for %+v", i, a.took, a)
							case a.status == 202 && time.Since(opened) < outage:
								early++
							case a.code == sale.Busy && (a.status != 503 || a.wait < time.Second || a.wait > 3*time.Second):
								h.T.Errorf("user %d: %+v", i, a)
							}
							if a.status == 202 {
								lastSold = time.Since(opened)
							}
							if a.code != sale.Busy {
								got[a.code]++
								mu.Unlock()
								return
							}
							mu.Unlock()
							time.Sleep(a.wait)
						}
					})
				}
				time.Sleep(outage)
				asked := h.office.count()
				crowd.Wait()

				if got[""] != stock || got[sale.SoldOut] != users-stock || len(got) != 2 {
					h.T.Errorf("%v, want %d accepted and %d sold out", got, stock, users-stock)
				}
				if r := h.Receipt(); !r.Balanced || r.Stock != 0 || r.Claims != stock || h.queue.sent != stock {
					h.T.Errorf("receipt %+v and %d messages", r, h.queue.sent)
				}
				// Five failures open a breaker; then the shortest pauses between probes
				// are 0.75, 1.5 and from then on 3 seconds.
				if most := environments * (5 + 8); asked > most {
					h.T.Errorf("%d calls while the office was slow, want at most %d", asked, most)
				}
				if failOpen {
					if early != stock {
						h.T.Errorf("%d sold while the office was slow, want all", early)
					}
					return
				}
				// The longest pause and the longest wait, twice.
				if early != 0 || lastSold > outage+2*(5+3)*time.Second {
					h.T.Errorf("%d sold while the office was slow, the last unit after %s", early, lastSold)
				}
				for name, n := range h.office.about {
					if n > 20 {
						h.T.Errorf("%d calls about %s", n, name)
					}
				}
				h.T.Logf("%d requests, %d calls in the outage and %d in all, the last unit sold after %s", tries, asked, h.office.count(), lastSold)
			})
		})
	}
}
