package handler

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/sale"
)

func TestEachRefusalHasItsStatusCodeAndWait(t *testing.T) {
	tests := []struct {
		name   string
		change func(*function)
		status int
		code   sale.Code
		wait   string
	}{
		{"no such sale", func(f *function) { f.sale.ID = "other" }, 404, sale.SaleNotFound, ""},
		{"a sale still being seeded", func(f *function) { f.sale.State = sale.Draft }, 404, sale.SaleNotFound, ""},
		{"not open for a minute and a half", func(f *function) { f.now = f.sale.OpensAt.Add(-90 * time.Second) }, 403, sale.NotOpen, "90"},
		{"not open for a moment", func(f *function) { f.now = f.sale.OpensAt.Add(-1) }, 403, sale.NotOpen, "1"},
		{"closed", func(f *function) { f.now = f.sale.ClosesAt }, 410, sale.Closed, ""},
		{"paused", func(f *function) { f.sale.Paused = true }, 503, sale.Paused, "1 to 3"},
		{"sold out", func(f *function) { f.stock = 0 }, 409, sale.SoldOut, ""},
		{"busy", func(f *function) { f.fault = sale.Fail(sale.Busy, errors.New("TransactionConflictException")) }, 503, sale.Busy, "1 to 3"},
		{"an unknown failure", func(f *function) { f.fault = fmt.Errorf("ValidationException: table ledger-7") }, 500, sale.Internal, ""},
		{"a panic", func(f *function) { f.panics = true }, 500, sale.Internal, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFunction(t)
			tt.change(f)
			r := f.invoke(t, t.Context(), event(t, "purchase.json"))
			refused(t, r, tt.status, tt.code)
			wait := r.Headers.RetryAfter
			if tt.wait == "1 to 3" && (wait == "1" || wait == "2" || wait == "3") {
				wait = tt.wait
			}
			if wait != tt.wait {
				t.Errorf("Retry-After %q, want %q", wait, tt.wait)
			}
			if got := f.Logged(t, "result"); got != string(tt.code) {
				t.Errorf("counted as %v, want %s", got, tt.code)
			}
			if len(f.claims) != 0 || len(f.queue.sent) != 0 {
				t.Errorf("%d claims and %d messages, want none", len(f.claims), len(f.queue.sent))
			}
		})
	}
}

func TestASaleForANewerReleaseIsBusyToBuyersAndAnErrorToOperators(t *testing.T) {
	f := newFunction(t)
	f.fault = sale.Refuse(sale.NewerVersion, "stored for version 3")
	r := f.invoke(t, t.Context(), event(t, "purchase.json"))
	refused(t, r, 503, sale.Busy)
	if r.Headers.RetryAfter == "" || strings.Contains(r.Body, "version") {
		t.Errorf("Retry-After %q, %s: want a wait and nothing about versions", r.Headers.RetryAfter, r.Body)
	}
	for name, want := range map[string]any{"outcome": "newer-version", "result": "internal", "level": "ERROR"} {
		if got := f.Logged(t, name); got != want {
			t.Errorf("logged %s = %v, want %v", name, got, want)
		}
	}
}

func TestARefusalNamesTheResourceThatKnowsMore(t *testing.T) {
	f := newFunction(t)
	f.stock = 0
	body := refused(t, f.invoke(t, t.Context(), event(t, "purchase.json")), 409, sale.SoldOut)
	if body["order"] != "/sales/moutai/orders/me" {
		t.Errorf("order %v", body["order"])
	}
}

func TestASecondOrderIsRefusedWithTheFirst(t *testing.T) {
	f := newFunction(t)
	f.invoke(t, t.Context(), event(t, "purchase.json"))
	for _, key := range []string{"", "another-key"} {
		change := func(r *events.APIGatewayV2HTTPRequest) {
			if key != "" {
				r.Headers["idempotency-key"] = key
			}
		}
		body := refused(t, f.invoke(t, t.Context(), event(t, "purchase.json", change)), 409, sale.AlreadyOrdered)
		claim, _ := body["claim"].(map[string]any)
		if claim["claimId"] != "CLAIM1" || claim["state"] != "PENDING" {
			t.Errorf("with key %q the claim is %v", key, claim)
		}
	}
	if f.stock != 1 || len(f.queue.sent) != 1 {
		t.Errorf("stock %d and %d messages, want 1 and 1", f.stock, len(f.queue.sent))
	}
}

func TestTheLastUnitIsSoldOnce(t *testing.T) {
	f := newFunction(t)
	accepted := 0
	for i := range 10 {
		r := f.invoke(t, t.Context(), event(t, "purchase.json", user(fmt.Sprintf("user-%d", i))))
		if r.StatusCode == 202 {
			accepted++
			continue
		}
		refused(t, r, 409, sale.SoldOut)
	}
	if accepted != 2 || len(f.queue.sent) != 2 {
		t.Errorf("%d accepted and %d sent of a stock of 2", accepted, len(f.queue.sent))
	}
}

func TestBadInputIsAnsweredAndReachesNothing(t *testing.T) {
	body := func(text string) func(*events.APIGatewayV2HTTPRequest) {
		return func(r *events.APIGatewayV2HTTPRequest) { r.Body = text }
	}
	saleID := func(id string) func(*events.APIGatewayV2HTTPRequest) {
		return func(r *events.APIGatewayV2HTTPRequest) { r.PathParameters["saleId"] = id }
	}
	tests := []struct {
		name   string
		change func(*events.APIGatewayV2HTTPRequest)
		status int
		code   sale.Code
	}{
		{"no authorizer", func(r *events.APIGatewayV2HTTPRequest) { r.RequestContext.Authorizer = nil }, 401, sale.Unauthorized},
		{"no sub", func(r *events.APIGatewayV2HTTPRequest) { delete(r.RequestContext.Authorizer.JWT.Claims, "sub") }, 401, sale.Unauthorized},
		{"a sub with a control character", user("alice\x00"), 400, sale.InvalidRequest},
		{"a sub of 129 characters", user(strings.Repeat("u", 129)), 400, sale.InvalidRequest},
		{"no path parameters", func(r *events.APIGatewayV2HTTPRequest) { r.PathParameters = nil }, 400, sale.InvalidRequest},
		{"a sale id with a separator", saleID("moutai#STOCK"), 400, sale.InvalidRequest},
		{"a sale id with a newline", saleID("moutai\n"), 400, sale.InvalidRequest},
		{"a sale id of 65 characters", saleID(strings.Repeat("s", 65)), 400, sale.InvalidRequest},
		{"a sale id in Chinese", saleID("茅台"), 400, sale.InvalidRequest},
		{"an empty idempotency key", header("idempotency-key", ""), 400, sale.InvalidRequest},
		{"an idempotency key of 65 characters", header("idempotency-key", strings.Repeat("k", 65)), 400, sale.InvalidRequest},
		{"two idempotency keys", header("idempotency-key", "a,b"), 400, sale.InvalidRequest},
		{"a body with a field", body(`{"quantity":2}`), 400, sale.InvalidRequest},
		{"a body with a field twice", body(`{"user":"alice","user":"mallory"}`), 400, sale.InvalidRequest},
		{"a body of null", body("null"), 400, sale.InvalidRequest},
		{"a body of a number", body("1"), 400, sale.InvalidRequest},
		{"a body cut off", body("{"), 400, sale.InvalidRequest},
		{"a body that is no base64", func(r *events.APIGatewayV2HTTPRequest) { r.Body, r.IsBase64Encoded = "%", true }, 400, sale.InvalidRequest},
		{"a body of invalid UTF-8", func(r *events.APIGatewayV2HTTPRequest) {
			r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte("{\xff}")), true
		}, 400, sale.InvalidRequest},
		{"a body over 1 KiB", body("{" + strings.Repeat(" ", 1024) + "}"), 413, sale.BodyTooLarge},
		{"a body of another type", header("content-type", "text/xml"), 415, sale.UnsupportedMediaType},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFunction(t)
			r := f.invoke(t, t.Context(), event(t, "purchase.json", tt.change))
			if body := refused(t, r, tt.status, tt.code); body["detail"] == nil || body["order"] != nil {
				t.Errorf("body %v, want a detail and no link made of bad input", body)
			}
			if len(f.requests) != 0 || len(f.queue.sent) != 0 {
				t.Errorf("%d requests and %d messages got through", len(f.requests), len(f.queue.sent))
			}
		})
	}
}
