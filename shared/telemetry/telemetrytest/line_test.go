package telemetrytest_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/clock"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

func TestARealLineIsTakenApart(t *testing.T) {
	t.Setenv("AWS_LAMBDA_LOG_LEVEL", "")
	var log bytes.Buffer
	_, cancel, e := telemetry.New(&log, "purchase", clock.Wall).Begin(t.Context())
	defer cancel()
	e.Text("saleId", "moutai")
	e.CountBy("purchases", "result", "accepted")
	e.Metric("unsent", telemetry.Count, 1)
	e.End("purchase", "", nil)
	got, err := telemetrytest.Parse(log.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want := telemetrytest.Line{
		Fields: map[string]any{
			"level": "INFO", "message": "purchase", "service": "purchase", "coldStart": true, "saleId": "moutai",
			"outcome": "ok", "result": "accepted", "purchases": 1.0, "unsent": 1.0,
		},
		Metrics: map[string]string{"purchases": "Count by service, result", "unsent": "Count by service"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestALineThatLacksSomethingIsRefused(t *testing.T) {
	const rest = `"level":"INFO","timestamp":"2026-11-11T12:00:00Z","message":"m","service":"s","coldStart":true,"version":"` + sale.Release + `","outcome":"ok","ms":1,"dynamodbMs":0,"sqsMs":0`
	aws := func(dimensions, metrics string) string {
		return `,"result":"ok","user":"alice","n":1,"_aws":{"Timestamp":1,"CloudWatchMetrics":[{"Namespace":"flashsale","Dimensions":[[` +
			dimensions + `]],"Metrics":[` + metrics + `]}]}`
	}
	const n = `{"Name":"n","Unit":"Count"}`
	for name, log := range map[string]string{
		"no line":                   ``,
		"no end":                    `{` + rest + `}`,
		"two lines":                 `{` + rest + `}` + "\n" + `{` + rest + `}` + "\n",
		"a member twice":            `{"n":1,"n":2,` + rest + `}` + "\n",
		"no level":                  `{` + strings.Replace(rest, `"level":"INFO",`, ``, 1) + `}` + "\n",
		"an unknown level":          `{` + strings.Replace(rest, `INFO`, `LOUD`, 1) + `}` + "\n",
		"no version":                `{` + strings.Replace(rest, `"version":"`+sale.Release+`",`, ``, 1) + `}` + "\n",
		"no service":                `{` + strings.Replace(rest, `"service":"s",`, ``, 1) + `}` + "\n",
		"no outcome":                `{` + strings.Replace(rest, `"outcome":"ok"`, `"outcome":""`, 1) + `}` + "\n",
		"a time that is none":       `{` + strings.Replace(rest, `2026-11-11T12:00:00Z`, `noon`, 1) + `}` + "\n",
		"no time in DynamoDB":       `{` + strings.Replace(rest, `"dynamodbMs":0,`, ``, 1) + `}` + "\n",
		"a negative time":           `{` + strings.Replace(rest, `"ms":1`, `"ms":-1`, 1) + `}` + "\n",
		"a user as dimension":       `{` + rest + aws(`"service","user"`, n) + `}` + "\n",
		"a dimension that is not":   `{` + rest + aws(`"service","shard"`, n) + `}` + "\n",
		"a metric that is not":      `{` + rest + aws(`"service"`, `{"Name":"m2","Unit":"Count"}`) + `}` + "\n",
		"a metric that is a text":   `{` + rest + aws(`"service"`, `{"Name":"user","Unit":"Count"}`) + `}` + "\n",
		"a metric twice":            `{` + rest + aws(`"service"`, n+`,`+n) + `}` + "\n",
		"a directive of nothing":    `{` + rest + aws(`"service"`, ``) + `}` + "\n",
		"a metric in another place": `{` + rest + strings.Replace(aws(`"service"`, n), `"flashsale"`, `"other"`, 1) + `}` + "\n",
	} {
		if line, err := telemetrytest.Parse([]byte(log)); err == nil {
			t.Errorf("%s: accepted as %+v", name, line)
		}
	}
	if _, err := telemetrytest.Parse([]byte(`{` + rest + aws(`"service","result"`, n) + `}` + "\n")); err != nil {
		t.Errorf("a good line: %v", err)
	}
}

func TestWhatIsConfidedIsFound(t *testing.T) {
	r := events.APIGatewayV2HTTPRequest{}
	r.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": "alice"}},
	}
	telemetrytest.Confide(&r)
	if r.RequestContext.Authorizer.JWT.Claims["sub"] != "alice" {
		t.Error("the user was changed")
	}
	for _, value := range r.Headers {
		if len(telemetrytest.Told([]byte(value))) != 1 {
			t.Errorf("header %q is not found", value)
		}
	}
	for name, value := range r.RequestContext.Authorizer.JWT.Claims {
		if want := map[bool]int{true: 0, false: 1}[name == "sub"]; len(telemetrytest.Told([]byte(value))) != want {
			t.Errorf("claim %s is found %t", name, want == 0)
		}
	}
}
