package smoke

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"flashsale/infra/client"
)

// A caller waits as long as it is told to, within these bounds.
const minWait, maxWait = 50 * time.Millisecond, 5 * time.Second

// call makes one request.
type call func(context.Context) (client.Answer, error)

// answer is what came back, or the error because of which nothing did.
type answer struct {
	client.Answer
	err error
}

// state is that of a claim or, on its page, of a sale.
func (a answer) state() string { return a.page().State }

// page is what a sale's page says. What is no JSON object stays empty.
func (a answer) page() (p struct{ SaleID, State string }) {
	_ = json.Unmarshal(a.Body, &p)
	return p
}

func (a answer) String() string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case a.Code != "":
		return fmt.Sprintf("%d %s", a.Status, a.Code)
	case a.state() != "":
		return strings.TrimSpace(fmt.Sprintf("%d %s %s", a.Status, a.state(), a.Claim.OrderID))
	}
	return a.Answer.String()
}

// ask makes a request, and the same one again while it is only put off: a busy
// system is no wrong one (P5).
func ask(ctx context.Context, bound time.Duration, request call) answer {
	return until(ctx, bound, request, func(a answer) bool {
		return a.err != nil || a.Status != http.StatusServiceUnavailable && a.Status != http.StatusTooManyRequests
	})
}

// until repeats a request until an answer is fine or the bound is over, and
// returns the last answer.
func until(ctx context.Context, bound time.Duration, request call, fine func(answer) bool) (a answer) {
	end := time.Now().Add(bound)
	for {
		a.Answer, a.err = request(ctx)
		pause := min(max(a.RetryAfter, minWait), maxWait)
		if fine(a) || ctx.Err() != nil || time.Now().Add(pause).After(end) {
			return a
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
