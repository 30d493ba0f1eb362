package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"flashsale/infra/ops/awscli"
	"flashsale/infra/ops/deploy/price"
)

var almost = cmpopts.EquateApprox(0, 1e-9)

// metrics is an AWS CLI that answers each query of GetMetricData with a different value and
// records its arguments.
func metrics(t *testing.T, answer string) (awscli.CLI, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aws")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >$0.asked\ncat <<'END'\n"+answer+"\nEND\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return awscli.CLI{Program: path}, path + ".asked"
}

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
	cli, askedFile := metrics(t, `{"MetricDataResults":[`+strings.Join(results, ",")+`]}`)
	m := meter{cli, parts, "shop"}
	from := time.Date(2026, 11, 11, 12, 0, 30, 0, time.UTC)
	got, how, err := m.usage(t.Context(), from, from.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	// In order: requests; Ask's, Buy's and Publish's milliseconds and invocations; reads,
	// writes; empty receives, deleted, received, sent; log bytes; events.
	want := price.Usage{
		Requests: 20, Invocations: 60 + 100 + 140, GBSeconds: 0.5 * (40 + 80 + 120) / 1000,
		ReadUnits: 160, WriteUnits: 180, QueueCalls: 200 + 22 + 24 + 260, LogBytes: 280, Events: 300,
	}
	if diff := cmp.Diff(want, got, almost); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(how, "12:00:00 to 12:02:00") {
		t.Errorf("how: %q", how)
	}
	text, err := os.ReadFile(askedFile)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(strings.TrimSpace(string(text)), "\n")
	if diff := cmp.Diff([]string{"cloudwatch", "get-metric-data", "--start-time", "2026-11-11T12:00:00Z", "--end-time", "2026-11-11T12:02:00Z", "--metric-data-queries"}, words[:7]); diff != "" {
		t.Errorf("the CLI got (-want +got):\n%s", diff)
	}
	for _, query := range []string{
		`{"Id":"m4","MetricStat":{"Metric":{"Namespace":"AWS/Lambda","MetricName":"Invocations","Dimensions":[{"Name":"FunctionName","Value":"shop-Buy"}]},"Period":60,"Stat":"Sum"}}`,
		`"MetricName":"NumberOfEmptyReceives","Dimensions":[{"Name":"QueueName","Value":"shop-Orders"}]`,
		`"MetricName":"events","Dimensions":[{"Name":"stack","Value":"shop"},{"Name":"service","Value":"publish"}]`,
	} {
		if !strings.Contains(words[7], query) {
			t.Errorf("CloudWatch was not asked for %s:\n%s", query, words[7])
		}
	}
}

func TestMissingMetricsAreAnError(t *testing.T) {
	for name, answer := range map[string]string{"no metric": `{"MetricDataResults":[]}`, "no JSON": "hello"} {
		cli, _ := metrics(t, answer)
		m := meter{cli, parts, "shop"}
		if u, _, err := m.usage(t.Context(), time.Time{}, time.Time{}); err == nil {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

func TestEveryFunctionHasTheMemoryThatIsBilled(t *testing.T) {
	text, err := os.ReadFile("../../../template.yaml")
	if n := strings.Count(string(text), "\n    MemorySize: "); err != nil || n != 1 || !strings.Contains(string(text), fmt.Sprintf("MemorySize: %d\n", memoryMB)) {
		t.Errorf("the template names a memory size %d times, %v; want once, %d", n, err, memoryMB)
	}
}
