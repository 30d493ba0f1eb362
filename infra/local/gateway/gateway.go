// Package gateway is an Amazon API Gateway HTTP API on one machine: it routes a
// request, verifies its token, turns it into an event of payload format 2.0,
// invokes the route's function and turns the result into the response.
//
// It implements API Gateway's documented behaviour; it does not depend on what the
// functions do, how they are run, or who signs the tokens. Its own answers have API
// Gateway's body {"message":…}. Paths are matched unchanged: a http.ServeMux would
// clean and redirect them first.
package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"flashsale/infra/local/eventsource"
)

const (
	// integrationTimeout is an HTTP API's maximum.
	integrationTimeout = 30 * time.Second
	// longestRun is Lambda's maximum function timeout.
	longestRun = 15 * time.Minute
)

// Options is the configuration besides the routes. The zero value is usable.
type Options struct {
	// APIID is "local" when empty.
	APIID string
	// CORS makes the gateway answer preflight requests; nil leaves OPTIONS to the routes.
	CORS *CORS
	// Now is time.Now when nil.
	Now func() time.Time
	// Log receives the causes of answers from 500 up, which clients do not see; nil
	// discards them.
	Log *slog.Logger
}

type gateway struct {
	routes  table
	invoker eventsource.Invoker
	o       Options
}

func New(routes []Route, invoker eventsource.Invoker, o Options) http.Handler {
	if o.APIID == "" {
		o.APIID = "local"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &gateway{routes: newTable(routes), invoker: invoker, o: o}
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	a := g.answer(w, r, id)
	if a.cause != nil {
		g.o.Log.Error("request failed", "requestId", id, "method", r.Method, "path", r.URL.Path,
			"status", a.status, "error", a.cause)
	}
	g.o.CORS.decorate(a.header, r.Header.Get("Origin"))
	a.header.Set("Apigw-Requestid", id)
	a.write(w)
}

// answer checks in API Gateway's order: route, throttle, authorizer,
// integration. So requests without a token use up the throttle, too.
func (g *gateway) answer(w http.ResponseWriter, r *http.Request, id string) answer {
	if g.o.CORS != nil && isPreflight(r) {
		return g.o.CORS.preflight(r.Header.Get("Origin"))
	}
	route, parameters, err := g.routes.match(r.Method, r.URL.EscapedPath())
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest)
	case route == nil:
		return refuse(http.StatusNotFound)
	}
	if route.bucket != nil && !route.bucket.AllowN(g.o.Now(), 1) {
		return refuse(http.StatusTooManyRequests)
	}
	var caller *authorizer
	if route.JWT != nil {
		var refused *challenge
		if caller, refused = route.JWT.authorize(r.Header["Authorization"], route.Scopes, g.o.Now()); refused != nil {
			return refused.answer(route.Scopes)
		}
	}
	body, err := readBody(w, r)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return refuse(http.StatusRequestEntityTooLarge)
	} else if err != nil {
		return refuse(http.StatusBadRequest)
	}
	payload, err := encodeEvent(g.event(r, id, route, parameters, caller, body))
	if err != nil {
		return fail(http.StatusInternalServerError, err)
	}
	if len(payload) > maxEventBytes {
		return refuse(http.StatusRequestEntityTooLarge)
	}
	return g.integrate(r.Context(), route.Function, payload)
}

// integrate invokes the function and waits as long as the client does, up to the
// integration timeout. As on Lambda, the function does not notice that the client has
// gone: it runs to its end.
func (g *gateway) integrate(ctx context.Context, function string, payload []byte) answer {
	run, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestRun)
	done := make(chan answer, 1)
	go func() {
		defer cancel()
		response, functionError, err := g.invoker.Invoke(run, function, payload)
		switch {
		case errors.Is(err, eventsource.ErrThrottled):
			done <- refuse(http.StatusServiceUnavailable) // expected under overload: not logged
		case err != nil:
			done <- fail(http.StatusServiceUnavailable, fmt.Errorf("invoke %s: %w", function, err))
		case functionError != "":
			done <- fail(http.StatusInternalServerError, fmt.Errorf("invoke %s: %s: %.500s", function, functionError, response))
		default:
			a, err := decodeResponse(response)
			if err != nil {
				a = fail(http.StatusInternalServerError, fmt.Errorf("read response of %s: %w: %.500s", function, err, response))
			}
			done <- a
		}
	}()
	patience := time.NewTimer(integrationTimeout)
	defer patience.Stop()
	select {
	case a := <-done:
		return a
	case <-patience.C:
		return fail(http.StatusServiceUnavailable, fmt.Errorf("invoke %s: no response within %v", function, integrationTimeout))
	case <-ctx.Done():
		// The client has probably gone; if not, this must not look like a success.
		return refuse(http.StatusServiceUnavailable)
	}
}
