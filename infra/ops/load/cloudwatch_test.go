package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"flashsale/infra/ops/deploy/price"
)

var parts = map[string]map[string]string{
	"AWS::ApiGatewayV2::Api": {"Api": "a1"},
	"AWS::Lambda::Function":  {"BuyFunction": "shop-Buy", "AskFunction": "shop-Ask", "PublishFunction": "shop-Publish"},
	"AWS::DynamoDB::Table":   {"Ledger": "shop-Ledger"},
	"AWS::SQS::Queue":        {"Orders": "https://sqs.test/123/shop-Orders"},
	"AWS::Logs::LogGroup":    {"BuyLogs": "/aws/lambda/shop-Buy"},
	"AWS::IAM::Role":         {"R": "r"},
}

// sums is CloudWatch, which answers on pages of ten what each query asked for gets, and notes what was asked.
type sums struct {
	asked   []string
	from    time.Time
	to      time.Time
	answers bool
}

func (s *sums) GetMetricData(_ context.Context, in *cloudwatch.GetMetricDataInput, _ ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricDataOutput, error) {
	out := &cloudwatch.GetMetricDataOutput{}
	s.from, s.to, s.asked = *in.StartTime, *in.EndTime, nil
	for i, q := range in.MetricDataQueries {
		m := q.MetricStat.Metric
		line := fmt.Sprintf("%s %s/%s %s %d", *q.Id, *m.Namespace, *m.MetricName, *q.MetricStat.Stat, *q.MetricStat.Period)
		for _, d := range m.Dimensions {
			line += fmt.Sprintf(" %s=%s", *d.Name, *d.Value)
		}
		s.asked = append(s.asked, line)
		if v := float64(10 * (i + 1)); s.answers && i/10 == len(aws.ToString(in.NextToken)) {
			out.MetricDataResults = append(out.MetricDataResults, types.MetricDataResult{Id: q.Id, Values: []float64{v, v}})
		}
	}
	if in.NextToken == nil {
		out.NextToken = aws.String("2")
	}
	return out, nil
}

func TestCloudWatchsSumsBecomeTheUsage(t *testing.T) {
	asked := &sums{answers: true}
	from := time.Date(2026, 11, 11, 12, 0, 30, 0, time.UTC)
	got, how, err := meter{asked, parts, "shop"}.usage(t.Context(), from, from.Add(time.Minute))
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
	noon := from.Truncate(time.Minute)
	if !strings.Contains(how, "12:00:00 to 12:02:00") || !asked.from.Equal(noon) || !asked.to.Equal(noon.Add(2*time.Minute)) {
		t.Errorf("how: %q, asked from %v to %v", how, asked.from, asked.to)
	}
	for _, query := range []string{
		"m2 AWS/Lambda/Invocations Sum 60 FunctionName=shop-Buy", "m12 AWS/SQS/NumberOfEmptyReceives Sum 60 QueueName=shop-Orders",
		"m14 flashsale/events Sum 60 stack=shop service=publish",
	} {
		if !slices.Contains(asked.asked, query) {
			t.Errorf("CloudWatch was not asked for %s:\n%s", query, strings.Join(asked.asked, "\n"))
		}
	}
	if u, _, err := (meter{&sums{}, nil, "shop"}).usage(t.Context(), from, from); err == nil {
		t.Errorf("a stack without invocations: %+v", u)
	}
}
