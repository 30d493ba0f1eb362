package handler

import (
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/telemetry/telemetrytest"
)

func group(id string) httpapitest.Change {
	return func(r *events.APIGatewayV2HTTPRequest) {
		r.RouteKey, r.PathParameters = "GET /g/{groupId}", map[string]string{"groupId": id}
	}
}

func TestEveryRequestLeavesALineWithoutPersons(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change httpapitest.Change
		want   map[string]any
	}{
		{"a sale", func(*events.APIGatewayV2HTTPRequest) {}, map[string]any{"route": "GET /s/{saleId}", "saleId": "moutai", "outcome": "ok", "result": "ok"}},
		{"a malformed id", func(r *events.APIGatewayV2HTTPRequest) { r.PathParameters["saleId"] = "<b>" },
			map[string]any{"route": "GET /s/{saleId}", "saleId": "", "outcome": "ok", "result": "ok"}},
		{"a group", group("trail-runner"), map[string]any{"route": "GET /g/{groupId}", "groupId": "trail-runner", "outcome": "ok", "result": "ok"}},
		{"a malformed id of a group", group("<b>"), map[string]any{"route": "GET /g/{groupId}", "groupId": "", "outcome": "ok", "result": "ok"}},
		{"the callback, whose query holds the code", func(r *events.APIGatewayV2HTTPRequest) {
			r.RouteKey, r.RawQueryString, r.QueryStringParameters = "GET /signin", "code=secret-code", map[string]string{"code": "secret-code"}
		}, map[string]any{"route": "GET /signin", "outcome": "ok", "result": "ok"}},
		{"an unknown route", func(r *events.APIGatewayV2HTTPRequest) { r.RouteKey = "GET /\n" },
			map[string]any{"route": "GET /\n", "outcome": "internal", "result": "internal", "level": "ERROR", "error": `no such route: "GET /\n"`}},
	} {
		f := newFunction(t)
		f.get(t, httpapitest.Event(t, "page-sale.json", telemetrytest.Confide, tt.change))
		line, err := telemetrytest.Parse(f.Log.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]any{"message": "page", "service": "page", "coldStart": true, "pages": 1.0} {
			tt.want[name] = value
		}
		if _, given := tt.want["level"]; !given {
			tt.want["level"] = "INFO"
		}
		if diff := line.Diff(tt.want, map[string]string{"pages": "Count by service, result"}); diff != "" {
			t.Errorf("%s: line (-want +got):\n%s", tt.name, diff)
		}
		if told := telemetrytest.Told(f.Log.Bytes()); told != nil {
			t.Errorf("%s: the log tells %q", tt.name, told)
		}
	}
}
