#!/bin/bash
# A POST that is answered 503 or 429 with Retry-After: 3 and a problem, and 202 when it is repeated, by five Go clients that try again.
#
# One would guess: who tries again by itself waits as long as the answer says, treats 429 and 503 alike, leaves a POST alone unless it is told that
# it may be repeated (RFC 9110, 9.2.2), and shows what the last answer was.
# It is so:
# - go-retryablehttp and failsafe-go wait, the former longer than its RetryWaitMax, and repeat every POST. When all tries are
#   answered 503, they give an error and no answer: the problem, with its code, is gone.
# - heimdall and rehttp (told the two statuses) pay no heed to Retry-After and repeat every POST. heimdall does after a 503, and not after a 429.
# - resty v2 repeats nothing that has an answer without a condition of one's own. With one, it pays no heed to Retry-After, and the problem of the
#   first try stays in what SetError was given: an order that is accepted has the code "busy".
#
# Needs Go 1.25 or newer, and the module proxy; what is sent stays on this machine.
set -euo pipefail
work=$(mktemp -d) && trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT && cd "$work"
cat >go.mod <<'MOD'
module finding

go 1.25

require (
	github.com/PuerkitoBio/rehttp v1.4.0
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/go-resty/resty/v2 v2.17.2
	github.com/gojek/heimdall/v7 v7.0.3
	github.com/hashicorp/go-retryablehttp v0.7.8
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/PuerkitoBio/rehttp"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/go-resty/resty/v2"
	"github.com/gojek/heimdall/v7"
	"github.com/gojek/heimdall/v7/httpclient"
	"github.com/hashicorp/go-retryablehttp"
)

// do sends the request and tells the code in the answer.
func do(client interface {
	Do(*http.Request) (*http.Response, error)
}) func(url string) string {
	return func(url string) string {
		request, _ := http.NewRequest("POST", url, strings.NewReader("{}"))
		response, err := client.Do(request)
		if err != nil {
			return "an error, no answer"
		}
		body, _ := io.ReadAll(response.Body)
		return fmt.Sprint(response.StatusCode, " ", string(body))
	}
}

func main() {
	var mu sync.Mutex
	times := map[string][]time.Time{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		io.ReadAll(r.Body)
		times[r.URL.Path] = append(times[r.URL.Path], time.Now())
		status, busy := 503, 1
		fmt.Sscan(r.URL.Query().Get("status"), &status)
		fmt.Sscan(r.URL.Query().Get("busy"), &busy)
		if len(times[r.URL.Path]) > busy {
			w.WriteHeader(202)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(status)
		io.WriteString(w, `{"code":"busy"}`)
	}))
	retryable := retryablehttp.NewClient()
	retryable.Logger, retryable.RetryMax, retryable.RetryWaitMin, retryable.RetryWaitMax = nil, 1, time.Millisecond, time.Second
	viaResty := func(client *resty.Client) func(string) string {
		return func(url string) string {
			var problem struct{ Code string }
			response, err := client.R().SetBody([]byte("{}")).SetError(&problem).Post(url)
			if err != nil {
				return "an error, no answer"
			}
			return fmt.Sprint(response.StatusCode(), " and in SetError's value ", problem.Code)
		}
	}
	names := []string{"retryablehttp", "failsafe", "heimdall", "rehttp", "resty", "resty with a condition"}
	clients := []func(string) string{
		do(retryable.StandardClient()),
		do(&http.Client{Transport: failsafehttp.NewRoundTripper(nil, failsafehttp.NewRetryPolicyBuilder().WithMaxRetries(1).Build())}),
		do(httpclient.NewClient(httpclient.WithRetryCount(1), httpclient.WithRetrier(heimdall.NewRetrier(heimdall.NewConstantBackoff(time.Millisecond, 0))))),
		do(&http.Client{Transport: rehttp.NewTransport(nil, rehttp.RetryAll(rehttp.RetryMaxRetries(1), rehttp.RetryStatuses(429, 503)), rehttp.ConstDelay(time.Millisecond))}),
		viaResty(resty.New().SetRetryCount(1)),
		viaResty(resty.New().SetRetryCount(1).AddRetryCondition(func(r *resty.Response, _ error) bool { return r.StatusCode() > 428 })),
	}
	var all sync.WaitGroup
	lines := make([]string, 3*len(names))
	for i, name := range names {
		for k, query := range []string{"status=503", "status=429", "status=503&busy=2"} {
			all.Go(func() {
				path := fmt.Sprintf("/%d/%d", i, k)
				said := clients[i](server.URL + path + "?" + query)
				mu.Lock()
				defer mu.Unlock()
				repeated := "not repeated"
				if t := times[path]; len(t) > 1 {
					repeated = "repeated at once"
					if t[1].Sub(t[0]) > 2900*time.Millisecond {
						repeated = "repeated after 3 s"
					}
				}
				lines[3*i+k] = fmt.Sprint(name, ", ", query, ": ", repeated, ", ", said)
			})
		}
	}
	all.Wait()
	fmt.Println(strings.Join(lines, "\n"))
}
GO
go mod tidy >/dev/null 2>&1
go list -m github.com/PuerkitoBio/rehttp github.com/failsafe-go/failsafe-go github.com/go-resty/resty/v2 github.com/gojek/heimdall/v7 github.com/hashicorp/go-retryablehttp
go run . 2>&1 | tee said
diff said - <<'SEEN'
retryablehttp, status=503: repeated after 3 s, 202 
retryablehttp, status=429: repeated after 3 s, 202 
retryablehttp, status=503&busy=2: repeated after 3 s, an error, no answer
failsafe, status=503: repeated after 3 s, 202 
failsafe, status=429: repeated after 3 s, 202 
failsafe, status=503&busy=2: repeated after 3 s, an error, no answer
heimdall, status=503: repeated at once, 202 
heimdall, status=429: not repeated, 429 {"code":"busy"}
heimdall, status=503&busy=2: repeated at once, 503 {"code":"busy"}
rehttp, status=503: repeated at once, 202 
rehttp, status=429: repeated at once, 202 
rehttp, status=503&busy=2: repeated at once, 503 {"code":"busy"}
resty, status=503: not repeated, 503 and in SetError's value busy
resty, status=429: not repeated, 429 and in SetError's value busy
resty, status=503&busy=2: not repeated, 503 and in SetError's value busy
resty with a condition, status=503: repeated at once, 202 and in SetError's value busy
resty with a condition, status=429: repeated at once, 202 and in SetError's value busy
resty with a condition, status=503&busy=2: repeated at once, 503 and in SetError's value busy
SEEN
