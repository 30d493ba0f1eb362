package load

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"flashsale/infra/kit/rush"
	"flashsale/infra/ops/deploy/price"
)

// settle is how long the metrics take to be complete.
const settle = 3 * time.Minute

// period is the finest period that all of these metrics have.
const period = time.Minute

// perCall is how many messages Lambda's poller receives or deletes per call.
const perCall = 10

// meter measures a deployed stack's usage from the services' metrics. Other traffic in the
// same minutes is included.
type meter struct {
	cloudWatch interface {
		GetMetricData(context.Context, *cloudwatch.GetMetricDataInput, ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricDataOutput, error)
	}
	// parts are the stack's physical ids by type and logical id, and stack is its name, a
	// dimension of its own metrics.
	parts map[string]map[string]string
	stack string
}

// metric is one metric of CloudWatch, and how its sum adds to the usage.
type metric struct {
	types.Metric
	add func(u *price.Usage, sum float64)
}

// metricOf is the metric of that name, with its dimensions' names and values.
func metricOf(namespace, name string, add func(u *price.Usage, sum float64), dimensions ...string) metric {
	m := metric{types.Metric{Namespace: &namespace, MetricName: &name}, add}
	for pair := range slices.Chunk(dimensions, 2) {
		m.Dimensions = append(m.Dimensions, types.Dimension{Name: &pair[0], Value: &pair[1]})
	}
	return m
}

// billed are the metrics of each part of a stack.
var billed = []struct {
	kind, namespace, dimension, name string
	add                              func(u *price.Usage, sum float64)
}{
	{"AWS::ApiGatewayV2::Api", "AWS/ApiGateway", "ApiId", "Count", func(u *price.Usage, sum float64) { u.Requests += sum }},
	{"AWS::Lambda::Function", "AWS/Lambda", "FunctionName", "Invocations", func(u *price.Usage, sum float64) { u.Invocations += sum }},
	{"AWS::Lambda::Function", "AWS/Lambda", "FunctionName", "Duration", func(u *price.Usage, sum float64) {
		u.GBSeconds += price.Memory / 1024.0 * sum / 1000
	}},
	{"AWS::DynamoDB::Table", "AWS/DynamoDB", "TableName", "ConsumedWriteCapacityUnits", func(u *price.Usage, sum float64) { u.WriteUnits += sum }},
	{"AWS::DynamoDB::Table", "AWS/DynamoDB", "TableName", "ConsumedReadCapacityUnits", func(u *price.Usage, sum float64) { u.ReadUnits += sum }},
	{"AWS::SQS::Queue", "AWS/SQS", "QueueName", "NumberOfMessagesSent", func(u *price.Usage, sum float64) { u.QueueCalls += sum }},
	{"AWS::SQS::Queue", "AWS/SQS", "QueueName", "NumberOfMessagesReceived", func(u *price.Usage, sum float64) { u.QueueCalls += sum / perCall }},
	{"AWS::SQS::Queue", "AWS/SQS", "QueueName", "NumberOfMessagesDeleted", func(u *price.Usage, sum float64) { u.QueueCalls += sum / perCall }},
	{"AWS::SQS::Queue", "AWS/SQS", "QueueName", "NumberOfEmptyReceives", func(u *price.Usage, sum float64) { u.QueueCalls += sum }},
	{"AWS::Logs::LogGroup", "AWS/Logs", "LogGroupName", "IncomingBytes", func(u *price.Usage, sum float64) { u.LogBytes += sum }},
}

func (m meter) metrics() (all []metric) {
	for _, b := range billed {
		for _, id := range slices.Sorted(maps.Values(m.parts[b.kind])) {
			if b.kind == "AWS::SQS::Queue" {
				id = path.Base(id) // a queue's id is its URL
			}
			all = append(all, metricOf(b.namespace, b.name, b.add, b.dimension, id))
		}
	}
	if m.parts["AWS::Lambda::Function"]["PublishFunction"] != "" {
		all = append(all, metricOf("flashsale", "events", func(u *price.Usage, sum float64) { u.Events += sum }, "stack", m.stack, "service", "publish"))
	}
	return all
}

// usage returns the usage between two instants, and how it was measured.
func (m meter) usage(ctx context.Context, from, to time.Time) (price.Usage, string, error) {
	from, to = from.UTC().Truncate(period), to.UTC().Add(period).Truncate(period)
	how := fmt.Sprintf("measured by CloudWatch\nfor the whole stack from %s to %s", from.Format(time.TimeOnly), to.Format(time.TimeOnly))
	var u price.Usage
	metrics := m.metrics()
	// GetMetricData accepts 500 queries; a stack of this project has about forty.
	asked := &cloudwatch.GetMetricDataInput{StartTime: &from, EndTime: &to}
	for i := range metrics {
		asked.MetricDataQueries = append(asked.MetricDataQueries, types.MetricDataQuery{Id: aws.String(id(i)), MetricStat: &types.MetricStat{
			Metric: &metrics[i].Metric, Period: aws.Int32(int32(period / time.Second)), Stat: aws.String("Sum"),
		}})
	}
	sums := map[string]float64{}
	for pages := cloudwatch.NewGetMetricDataPaginator(m.cloudWatch, asked); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return u, how, err
		}
		for _, r := range page.MetricDataResults {
			for _, v := range r.Values {
				sums[aws.ToString(r.Id)] += v
			}
		}
	}
	for i, one := range metrics {
		one.add(&u, sums[id(i)])
	}
	if u.Invocations == 0 {
		return u, how, fmt.Errorf("read CloudWatch: it has no invocation in that time")
	}
	return u, how, nil
}

func id(i int) string { return fmt.Sprintf("m%d", i) }

// printBill prints what a sale of that many orders cost between two instants.
func (t trial) printBill(ctx context.Context, out io.Writer, from, to time.Time, orders int64) error {
	if t.system.Local {
		fmt.Fprintf(out, "\n%d orders; what they cost is counted on AWS only (`flashsale plan` computes it)\n", orders)
		return nil
	}
	if !rush.WaitUntil(ctx, time.Now().Add(settle)) {
		return ctx.Err()
	}
	parts, err := t.at.Parts(ctx)
	if err != nil {
		return err
	}
	usage, how, err := meter{cloudwatch.NewFromConfig(t.at.AWS), parts, t.at.Stack}.usage(ctx, from, to)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\ncost of %d orders at the on-demand prices of %s for %s, without free tier; %s\n", orders, price.Region, price.Architecture, how)
	price.Print(out, price.Bill(usage), orders)
	return nil
}
