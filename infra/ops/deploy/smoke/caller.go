package smoke

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"flashsale/infra/kit/client"
)

// Bounds of a caller's wait for a Retry-After.
const minWait, maxWait = 50 * time.Millisecond, 5 * time.Second

// call makes one request.
type call func(context.Context) (client.Answer, error)

// answer is the answer to a request, or the error if there was none.
type answer struct {
	client.Answer
	err error
}

// state is the state of a claim or, on a sale's page, of the sale.
func (a answer) state() string { return a.page().State }

// page decodes a sale's page; it is empty if the body is not a JSON object.
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
	if media := a.Header.Get("Content-Type"); strings.HasPrefix(media, "text/html") || strings.HasPrefix(media, "text/javascript") {
		media, _, _ = strings.Cut(media, ";")
		return fmt.Sprintf("%d %s, %d bytes", a.Status, media, len(a.Body))
	}
	return a.Answer.String()
}

// ask makes a request and repeats it while the answer allows a retry: being busy is correct
// behaviour (P5).
func ask(ctx context.Context, bound time.Duration, request call) answer {
	return until(ctx, bound, request, func(a answer) bool {
		return a.err != nil || a.Status != http.StatusServiceUnavailable && a.Status != http.StatusTooManyRequests
	})
}

// until repeats a request until an answer is fine or the time is up, and returns the last
// answer.
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
