package scheduled

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"flashsale/shared/clock"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

func TestAFailureIsNamedAfterItsCodeAndSaysNothingOfTheInside(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func() error
		want messages.InvokeResponse_Error
	}{
		"a refusal": {func() error { return sale.Refuse(sale.SaleNotFound, "no such sale") },
			messages.InvokeResponse_Error{Type: "sale-not-found", Message: "sale-not-found: no such sale"}},
		"one of several": {func() error { return errors.Join(errors.New("ledger-7"), sale.Refuse(sale.InvalidRequest, "no")) },
			messages.InvokeResponse_Error{Type: "invalid-request", Message: "invalid-request: no"}},
		"a busy table":    {func() error { return sale.Fail(sale.Busy, errors.New("ledger-7")) }, messages.InvokeResponse_Error{Type: "busy", Message: "busy"}},
		"a foreign error": {func() error { return errors.New("ledger-7") }, messages.InvokeResponse_Error{Type: "internal", Message: "internal"}},
		"a panic":         {func() error { panic("ledger-7") }, messages.InvokeResponse_Error{Type: "internal", Message: "internal"}},
	} {
		var log bytes.Buffer
		counted := sale.Code("")
		err := Run(t.Context(), telemetry.New(&log, "seed", clock.Wall), "seeds", func(context.Context, *telemetry.Event) error { return tt.do() },
			func(event *telemetry.Event, code sale.Code) {
				counted = code
				event.Int("sales", 2)
			})
		if got, ok := errors.AsType[messages.InvokeResponse_Error](err); !ok || got.Type != tt.want.Type || got.Message != tt.want.Message || string(counted) != got.Type {
			t.Errorf("%s: got %v, counted as %s", name, err, counted)
		}
		line, err := telemetrytest.Parse(log.Bytes())
		if err != nil || line.Fields["message"] != "seeds" || line.Fields["sales"] != 2.0 || line.Fields["outcome"] != tt.want.Type || line.Fields["error"] == nil {
			t.Errorf("%s: %v (%v)", name, line.Fields, err)
		}
	}
}

func TestARequestIsReadStrictly(t *testing.T) {
	for _, request := range []string{
		``, `null`, `[]`, `"moutai"`, `{`, `{"saleId":null}`, `{"saleId":""}`, `{"saleId":"a#b"}`, `{"saleId":5}`, `{"saleID":"moutai"}`,
		`{"saleid":"moutai"}`, `{"sale":"moutai"}`, `{"saleId":"moutai","saleId":"other"}`, `{"saleId":"moutai","at":"now"}`, `{} {}`,
		`{"saleId":"moutai","seeded":-1,"balanced":true}`, `{"saleId":"moutai","users":["alice"],"released":5}`, `{"saleId":"moutai","grace":-604800}`,
		`{"saleId":"moutai","__proto__":{"drained":true}}`, `{"saleId":"` + strings.Repeat("a", 1<<20) + `"}`, strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		`{"saleId":"moutai"}x`, `{"action":"resend"}`, `{"saleId":"moutai","action":"pause"}`, `{"saleId":"moutai","Action":"resend"}`, `{"version":"0","id":"7","detail-type":"Scheduled Event","source":"aws.events","detail":{}}`,
	} {
		if id, action, err := saleOf([]byte(request), "resend"); sale.CodeOf(err) != sale.InvalidRequest || id+action != "" {
			t.Errorf("%s: %q, %q, %v", request, id, action, err)
		}
	}
	for request, want := range map[string]string{`{}`: " ", `{"saleId":"moutai"}`: "moutai ", `{"action":"resend","saleId":"moutai"}`: "moutai resend"} {
		if id, action, err := saleOf([]byte(request), "resend"); id+" "+action != want || err != nil {
			t.Errorf("%s: %q, %q, %v", request, id, action, err)
		}
	}
	if _, _, err := saleOf([]byte(`{"saleId":"moutai","action":"resend"}`)); sale.CodeOf(err) != sale.InvalidRequest {
		t.Errorf("an action that the function does not know: %v", err)
	}
}
