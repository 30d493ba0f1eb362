package rehearse

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"flashsale/infra/ops/deploy/preflight"
	"flashsale/infra/ops/deploy/price"
)

var almost = cmpopts.EquateApprox(0, 1e-9)

func TestTheLocalLogIsCountedByAWSsRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "functions.log")
	before := `PurchaseFunction | {"message":"purchase","service":"purchase","outcome":"ok","tries":1,"ms":9}` + "\n"
	during := []string{
		`PurchaseFunction | {"message":"purchase","service":"purchase","outcome":"ok","tries":1,"ms":9}`,
		`PurchaseFunction | {"message":"purchase","service":"purchase","outcome":"ok","tries":3,"ms":19}`,
		`PurchaseFunction | {"message":"purchase","service":"purchase","outcome":"ok","tries":0,"ms":0}`,
		`PurchaseFunction | {"message":"purchase","service":"purchase","outcome":"sold-out","tries":0,"ms":0}`,
		`QueryFunction | {"message":"query","service":"query","outcome":"ok","ms":1}`,
		`PageFunction | {"message":"page","service":"page","outcome":"ok","ms":3}`,
		`FinalizeFunction | {"message":"finalize","service":"finalize","outcome":"ok","messages":25,"confirmed":24,"ms":49}`,
		`ReconcileFunction | {"message":"receipt","service":"reconcile","outcome":"ok","readUnits":7.5,"resent":2,"ms":30}`,
		`ReconcileFunction | {"message":"reconcile","service":"reconcile","outcome":"ok","ms":39}`,
		`PayFunction | {"message":"pay","service":"pay","outcome":"ok","route":"POST /payments/{provider}","result":"paid","ms":9}`,
		`PayFunction | {"message":"pay","service":"pay","outcome":"ok","route":"POST /payments/{provider}","result":"repeated","ms":9}`,
		`PayFunction | {"message":"pay","service":"pay","outcome":"ok","route":"POST /payments/{provider}","result":"refund-due","reason":"released","ms":9}`,
		`PayFunction | {"message":"pay","service":"pay","outcome":"ok","route":"POST /payments/{provider}","result":"refund-due","reason":"amount","ms":9}`,
		`PayFunction | {"message":"pay","service":"pay","outcome":"ok","route":"POST /payments/{provider}","result":"ignored","ms":9}`,
		`PayFunction | {"message":"pay","service":"pay","outcome":"invalid-request","route":"POST /payments/{provider}","result":"invalid-request","ms":9}`,
		`PayFunction | {"message":"pay","service":"pay","outcome":"ok","route":"DELETE /sales/{saleId}/orders/me","result":"ok","ms":9}`,
		`ReleaseFunction | {"message":"pass","service":"release","outcome":"ok","readUnits":5,"released":40,"putBack":40,"ms":30}`,
		`ReleaseFunction | {"message":"pass","service":"release","outcome":"ok","readUnits":1,"released":2,"putBack":1,"ms":30}`,
		`ReleaseFunction | {"message":"pass","service":"release","outcome":"ok","readUnits":1,"ms":30}`,
		`ReleaseFunction | {"message":"release","service":"release","outcome":"ok","ms":39}`,
		`PublishFunction | {"message":"publish","service":"publish","outcome":"busy","records":30,"events":24,"failed":2,"ms":9}`,
		`SeedFunction | 2026/11/21 11:30:27 {"errorMessage":"invalid-request"}`,
		`PurchaseFunction | {"type":"platform","requestId":"x","status":"timeout"}`,
		`PurchaseFunction | {"message":"purchase","service":"purchase","outcome":"o`,
		``,
	}
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	memory := map[string]int{"PurchaseFunction": 1024, "QueryFunction": 512, "PageFunction": 256, "FinalizeFunction": 2048, "ReconcileFunction": 128, "PayFunction": 1024, "ReleaseFunction": 512, "PublishFunction": 512}
	l := &LocalLog{Path: path, MemoryMB: memory, Shards: 3}
	if err := l.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(before+strings.Join(during, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	got, how, err := l.Usage(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	logged := 0
	for _, line := range during[:21] {
		_, text, _ := strings.Cut(line, " | ")
		logged += len(text)
	}
	want := price.Usage{
		Requests: 6 + 7, Invocations: 8 + 7 + 1 + 1,
		GBSeconds: (10+20+1+1)*1/1e3 + 2*0.5/1e3 + 4*0.25/1e3 + 50*2/1e3 + 40*0.125/1e3 + 7*10*1/1e3 + 40*0.5/1e3 + 10*0.5/1e3,
		// Payments: paid, repeated, after the release, a wrong amount; a cancellation. Releases of
		// 40 and of 2 claims on 3 shards.
		WriteUnits: 4*(1+3) + 2*24 + 1 + (1 + 1 + 2 + 1) + 4 + (2*(40+3) + 4*3 + 1) + (2*(2+2) + 4*1 + 1),
		ReadUnits:  1 + 7.5 + 4*2 + 3 + 5 + 1 + 1,
		QueueCalls: 2 + 2*3 + 2,
		Events:     24,
		LogBytes:   float64(logged),
	}
	if diff := cmp.Diff(want, got, almost); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(how, "log") {
		t.Errorf("it does not say how the usage was measured: %q", how)
	}
}

func TestAMissingLogIsAnError(t *testing.T) {
	l := &LocalLog{Path: filepath.Join(t.TempDir(), "none")}
	if err := l.Begin(); err == nil {
		t.Error("Begin succeeded")
	}
	if _, _, err := l.Usage(t.Context(), time.Time{}, time.Time{}); err == nil {
		t.Error("Usage succeeded")
	}
}

// metrics is an AWS CLI that answers each query of GetMetricData with a different value and
// records its arguments.
func metrics(t *testing.T, answer string) (preflight.Program, string) {
	t.Helper()
	dir := t.TempDir()
	path, asked := filepath.Join(dir, "aws"), filepath.Join(dir, "asked")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + asked + "\ncat <<'END'\n" + answer + "\nEND\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return preflight.Program{Words: []string{path}}, asked
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
	c := &CloudWatch{CLI: cli, Parts: parts, Stack: "shop", MemoryMB: map[string]int{"BuyFunction": 1024, "AskFunction": 512}}
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 11, 11, 12, 0, 30, 0, time.UTC)
	got, how, err := c.Usage(t.Context(), from, from.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	// In order: requests; Ask's, Buy's and Publish's invocations and milliseconds; reads and
	// writes; empty receives, deleted, received, sent; log bytes; events.
	want := price.Usage{
		Requests: 20, Invocations: 40 + 80 + 120, GBSeconds: 0.5*60/1000 + 1.0*100/1000,
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
		"AWS/Lambda Invocations [{FunctionName shop-Ask}] 60 Sum", "AWS/Lambda Duration [{FunctionName shop-Ask}] 60 Sum",
		"AWS/Lambda Invocations [{FunctionName shop-Buy}] 60 Sum", "AWS/Lambda Duration [{FunctionName shop-Buy}] 60 Sum",
		"AWS/Lambda Invocations [{FunctionName shop-Publish}] 60 Sum", "AWS/Lambda Duration [{FunctionName shop-Publish}] 60 Sum",
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
		c := &CloudWatch{CLI: cli, Parts: parts}
		if u, _, err := c.Usage(t.Context(), time.Time{}, time.Time{}); err == nil {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`PurchaseFunction | {"message":"purchase","service":"purchase","outcome":"ok","tries":1,"ms":9}`))
	f.Add([]byte(`x | {"service":"finalize","message":"finalize","outcome":"ok","messages":-1e308,"ms":-1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, ok := parse(line)
		if !ok {
			return
		}
		var u price.Usage
		(&LocalLog{MemoryMB: map[string]int{e.function: 512}}).add(&u, e)
		if math.Signbit(u.WriteUnits) || math.Signbit(u.QueueCalls) || math.Signbit(u.GBSeconds) || math.Signbit(u.ReadUnits) {
			t.Errorf("%q counts as %+v", line, u)
		}
	})
}
