package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"flashsale/infra/ops/deploy/price"
	"flashsale/infra/ops/place/placetest"
)

var parts = map[string]map[string]string{
	"AWS::ApiGatewayV2::Api": {"Api": "a1"},
	"AWS::Lambda::Function":  {"BuyFunction": "shop-Buy", "AskFunction": "shop-Ask", "PublishFunction": "shop-Publish"},
	"AWS::DynamoDB::Table":   {"Ledger": "shop-Ledger"},
	"AWS::SQS::Queue":        {"Orders": "https://sqs.test/123/shop-Orders"},
	"AWS::Logs::LogGroup":    {"BuyLogs": "/aws/lambda/shop-Buy"},
	"AWS::IAM::Role":         {"R": "r"},
}

func TestCloudWatchsSumsBecomeTheUsage(t *testing.T) {
	var results []string
	for i := range 15 {
		results = append(results, fmt.Sprintf(`{"Id":"m%d","Values":[%d,%d]}`, i, 10*(i+1), 10*(i+1)))
	}
	asked := filepath.Join(t.TempDir(), "asked")
	placetest.Program(t, "aws", "printf '%s\\n' \"$@\" >"+asked+"\necho '{\"MetricDataResults\":["+strings.Join(results, ",")+"]}'\n")
	m := meter{parts: parts, stack: "shop"}
	from := time.Date(2026, 11, 11, 12, 0, 30, 0, time.UTC)
	got, how, err := m.usage(t.Context(), from, from.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	// In order: requests; Ask's, Buy's and Publish's invocations and milliseconds; writes, reads; sent,
	// received, deleted, empty receives; log bytes; events.
	want := price.Usage{
		Requests: 20, Invocations: 40 + 60 + 80, GBSeconds: 0.5 * (100 + 120 + 140) / 1000,
		WriteUnits: 160, ReadUnits: 180, QueueCalls: 200 + 22 + 24 + 260, LogBytes: 280, Events: 300,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(how, "12:00:00 to 12:02:00") {
		t.Errorf("how: %q", how)
	}
	text, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"cloudwatch\nget-metric-data\n--start-time\n2026-11-11T12:00:00Z\n--end-time\n2026-11-11T12:02:00Z\n--metric-data-queries\n",
		`{"Id":"m2","MetricStat":{"Metric":{"Namespace":"AWS/Lambda","MetricName":"Invocations","Dimensions":[{"Name":"FunctionName","Value":"shop-Buy"}]},"Period":60,"Stat":"Sum"}}`,
		`"MetricName":"NumberOfEmptyReceives","Dimensions":[{"Name":"QueueName","Value":"shop-Orders"}]`,
		`"MetricName":"events","Dimensions":[{"Name":"stack","Value":"shop"},{"Name":"service","Value":"publish"}]`,
	} {
		if !strings.Contains(string(text), query) {
			t.Errorf("CloudWatch was not asked for %s:\n%s", query, text)
		}
	}
	if u, _, err := (meter{stack: "shop"}).usage(t.Context(), from, from); err == nil {
		t.Errorf("a stack without invocations: %+v", u)
	}
}

func TestEveryFunctionHasTheMemoryThatIsBilled(t *testing.T) {
	text, err := os.ReadFile("../../../template.yaml")
	if n := strings.Count(string(text), "\n    MemorySize: "); err != nil || n != 1 || !strings.Contains(string(text), fmt.Sprintf("MemorySize: %d\n", price.Memory)) {
		t.Errorf("the template names a memory size %d times, %v; want once, %d", n, err, price.Memory)
	}
}
