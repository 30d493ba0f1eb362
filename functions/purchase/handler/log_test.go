package handler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry/telemetrytest"
)

// verdict is a user check with the same answer for everybody.
type verdict struct {
	admitted bool
	err      error
	asked    int
}

func (v *verdict) IsEligible(context.Context, string, string, time.Time) (bool, error) {
	v.asked++
	return v.admitted, v.err
}

func TestEveryOutcomeLeavesItsLine(t *testing.T) {
	unreachable := errors.New("check user: ask service: connection refused")
	check := func(admitted bool, err error) func(*function) {
		return func(f *function) { f.handler.Checking(&verdict{admitted: admitted, err: err}) }
	}
	held := func(f *function) {
		f.claims["alice"] = &sale.Claim{SaleID: "moutai", User: "alice", ID: "CLAIM1", RequestKey: "k1", AcceptedAt: f.now}
	}
	const counted, plain = "Count by service, result", "Count by service"
	type fields map[string]any
	tests := []struct {
		name    string
		prepare func(*function)
		change  func(*events.APIGatewayV2HTTPRequest)
		outcome sale.Code
		want    fields // in addition to what every line has
		metrics []string
	}{
		{"accepted", nil, nil, "", fields{"tries": 1.0}, nil},
		{"accepted again", held, header("idempotency-key", "k1"), "", fields{"tries": 0.0}, nil},
		{"accepted again and sent again", func(f *function) { held(f); f.now = f.now.Add(time.Minute) }, header("idempotency-key", "k1"), "",
			fields{"tries": 0.0, "resent": 1.0}, []string{"resent"}},
		{"accepted, not sent", func(f *function) { f.queue.fault = errors.New("sqs: down") }, nil, "",
			fields{"tries": 1.0, "unsent": 1.0, "sendError": "sqs: down"}, []string{"unsent"}},
		{"accepted after a check", check(true, nil), nil, "", fields{"tries": 1.0, "checkMs": 0.0}, nil},
		{"accepted without a check", check(true, unreachable), nil, "",
			fields{"tries": 1.0, "checkMs": 0.0, "unchecked": 1.0, "checkError": unreachable.Error()}, []string{"unchecked"}},
		{"not eligible", check(false, nil), nil, sale.NotEligible,
			fields{"tries": 0.0, "checkMs": 0.0, "error": "not-eligible: the user may not buy in this sale"}, nil},
		{"busy for want of a check", check(false, unreachable), nil, sale.Busy,
			fields{"tries": 0.0, "checkMs": 0.0, "unchecked": 1.0, "level": "WARN", "error": "busy: " + unreachable.Error()}, []string{"unchecked"}},
		{"already ordered", held, nil, sale.AlreadyOrdered, fields{"tries": 0.0, "error": "already-ordered"}, nil},
		{"no such sale", func(f *function) { f.sale.ID = "other" }, nil, sale.SaleNotFound, fields{"tries": 0.0, "error": "sale-not-found: no such sale"}, nil},
		{"not open", func(f *function) { f.now = f.sale.OpensAt.Add(-1) }, nil, sale.NotOpen,
			fields{"tries": 0.0, "error": "sale-not-open: the sale has not opened yet"}, nil},
		{"closed", func(f *function) { f.now = f.sale.ClosesAt }, nil, sale.Closed, fields{"tries": 0.0, "error": "sale-closed: the sale is closed"}, nil},
		{"paused", func(f *function) { f.sale.Paused = true }, nil, sale.Paused, fields{"tries": 0.0, "error": "sale-paused: the sale is paused"}, nil},
		{"sold out", func(f *function) { f.stock = 0 }, nil, sale.SoldOut, fields{"tries": 1.0, "error": "sold-out: every unit has been sold"}, nil},
		{"busy", func(f *function) { f.fault = sale.Fail(sale.Busy, errors.New("throttled")) }, nil, sale.Busy,
			fields{"tries": 0.0, "level": "WARN", "error": "busy: throttled"}, nil},
		{"internal", func(f *function) { f.fault = fmt.Errorf("strange\n\x1b[31m") }, nil, sale.Internal,
			fields{"tries": 0.0, "level": "ERROR", "error": "strange\n\x1b[31m"}, nil},
		{"a panic", func(f *function) { f.panics = true }, nil, sale.Internal,
			fields{"level": "ERROR", "error": "panic: table ledger-7 is on fire"}, nil},
		{"nobody", nil, func(r *events.APIGatewayV2HTTPRequest) { r.RequestContext.Authorizer = nil }, sale.Unauthorized,
			fields{"user": nil, "saleId": nil, "error": "unauthorized: the request carries no verified user"}, nil},
		{"an impossible sale", nil, func(r *events.APIGatewayV2HTTPRequest) { r.PathParameters["saleId"] = "a\n{}" }, sale.InvalidRequest,
			fields{"user": nil, "saleId": nil, "error": "invalid-request: a sale id is 1 to 64 characters of A-Z, a-z, 0-9, _ and -"}, nil},
		{"a body too large", nil, func(r *events.APIGatewayV2HTTPRequest) { r.Body = string(make([]byte, 2000)) }, sale.BodyTooLarge,
			fields{"user": nil, "saleId": nil, "error": "body-too-large: the body must not be longer than 1024 bytes"}, nil},
		{"a body of another type", nil, header("content-type", "text/xml"), sale.UnsupportedMediaType,
			fields{"user": nil, "saleId": nil, "error": "unsupported-media-type: the content type must be application/json"}, nil},
		{"around the front", behind("another-secret-than-the-one-they-have"), nil, sale.Forbidden,
			fields{"user": nil, "saleId": nil, "error": "forbidden: requests are taken at the public address only"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFunction(t)
			if tt.prepare != nil {
				tt.prepare(f)
			}
			changes := []func(*events.APIGatewayV2HTTPRequest){telemetrytest.Confide}
			if tt.change != nil {
				changes = append(changes, tt.change)
			}
			f.invoke(t, t.Context(), event(t, "purchase.json", changes...))
			line, err := telemetrytest.Parse(f.Log.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			outcome, result := string(tt.outcome), string(tt.outcome)
			if tt.outcome == "" {
				outcome, result = "ok", "accepted"
			}
			want := map[string]any{
				"level": "INFO", "message": "purchase", "service": "purchase", "coldStart": true, "user": "alice", "saleId": "moutai",
				"outcome": outcome, "result": result, "purchases": 1.0,
			}
			maps.Copy(want, tt.want)
			maps.DeleteFunc(want, func(_ string, value any) bool { return value == nil })
			if diff := cmp.Diff(want, line.Fields); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
			metrics := map[string]string{"purchases": counted}
			for _, name := range tt.metrics {
				metrics[name] = plain
			}
			if diff := cmp.Diff(metrics, line.Metrics); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			if told := telemetrytest.Told(f.Log.Bytes()); told != nil {
				t.Errorf("the log tells %q", told)
			}
		})
	}
}

// behind makes a function that accepts requests from one origin only.
func behind(secret string) func(*function) {
	return func(f *function) {
		origin, err := httpapi.NewOrigin(secret)
		if err != nil {
			panic(err)
		}
		f.handler.Behind(origin)
	}
}

func TestARequestAroundTheFrontReachesNothing(t *testing.T) {
	const secret = "sesame-sesame-sesame-sesame-sesame"
	for given, code := range map[string]sale.Code{"": sale.Forbidden, "sesame": sale.Forbidden, secret: ""} {
		f := newFunction(t)
		behind(secret)(f)
		r := f.invoke(t, t.Context(), event(t, "purchase.json", header("X-Origin-Verify", given)))
		if code == "" {
			isAccepted(t, r)
			continue
		}
		if body := refused(t, r, 403, code); body["order"] != nil || len(f.requests) != 0 || len(f.claims) != 0 {
			t.Errorf("body %v, %d requests, %d claims", body, len(f.requests), len(f.claims))
		}
	}
}
