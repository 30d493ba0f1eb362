package main

import (
	"encoding/json"
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
		Requests: 20, Invocations: 40 + 80 + 120, GBSeconds: 0.5 * (60 + 100 + 140) / 1000,
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
	var queries []struct {
		ID         string `json:"Id"`
		MetricStat struct {
			Metric struct {
				Namespace, MetricName string
				Dimensions            []struct{ Name, Value string }
			}
			Period int
			Stat   string
		}
	}
	if err := json.Unmarshal([]byte(words[7]), &queries); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, q := range queries {
		m := q.MetricStat.Metric
		names = append(names, fmt.Sprintf("%s %s %v %d %s", m.Namespace, m.MetricName, m.Dimensions, q.MetricStat.Period, q.MetricStat.Stat))
	}
	wantNames := []string{
		"AWS/ApiGateway Count [{ApiId a1}] 60 Sum",
		"AWS/Lambda Duration [{FunctionName shop-Ask}] 60 Sum", "AWS/Lambda Invocations [{FunctionName shop-Ask}] 60 Sum",
		"AWS/Lambda Duration [{FunctionName shop-Buy}] 60 Sum", "AWS/Lambda Invocations [{FunctionName shop-Buy}] 60 Sum",
		"AWS/Lambda Duration [{FunctionName shop-Publish}] 60 Sum", "AWS/Lambda Invocations [{FunctionName shop-Publish}] 60 Sum",
		"AWS/DynamoDB ConsumedReadCapacityUnits [{TableName shop-Ledger}] 60 Sum", "AWS/DynamoDB ConsumedWriteCapacityUnits [{TableName shop-Ledger}] 60 Sum",
		"AWS/SQS NumberOfEmptyReceives [{QueueName shop-Orders}] 60 Sum", "AWS/SQS NumberOfMessagesDeleted [{QueueName shop-Orders}] 60 Sum",
		"AWS/SQS NumberOfMessagesReceived [{QueueName shop-Orders}] 60 Sum", "AWS/SQS NumberOfMessagesSent [{QueueName shop-Orders}] 60 Sum",
		"AWS/Logs IncomingBytes [{LogGroupName /aws/lambda/shop-Buy}] 60 Sum", "flashsale events [{stack shop} {service publish}] 60 Sum",
	}
	if diff := cmp.Diff(wantNames, names); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
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
