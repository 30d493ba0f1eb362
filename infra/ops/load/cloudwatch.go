package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	"flashsale/infra/kit/rush"
	"flashsale/infra/ops/awscli"
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
	cli awscli.CLI
	// parts are the stack's physical ids by type and logical id, and stack is its name, a
	// dimension of its own metrics.
	parts map[string]map[string]string
	stack string
}

// metric is one metric of CloudWatch, and how its sum adds to the usage.
type metric struct {
	Namespace, MetricName string
	Dimensions            []dimension
	add                   func(u *price.Usage, sum float64)
}

type dimension struct{ Name, Value string }

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
			all = append(all, metric{b.namespace, b.name, []dimension{{b.dimension, id}}, b.add})
		}
	}
	if m.parts["AWS::Lambda::Function"]["PublishFunction"] != "" {
		all = append(all, metric{"flashsale", "events", []dimension{{"stack", m.stack}, {"service", "publish"}},
			func(u *price.Usage, sum float64) { u.Events += sum }})
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
	var queries []map[string]any
	for i, asked := range metrics {
		queries = append(queries, map[string]any{"Id": id(i), "MetricStat": map[string]any{"Metric": asked, "Period": int(period / time.Second), "Stat": "Sum"}})
	}
	text, err := json.Marshal(queries)
	if err != nil {
		return u, how, fmt.Errorf("read CloudWatch: %w", err)
	}
	var answer struct {
		MetricDataResults []struct {
			ID     string `json:"Id"`
			Values []float64
		}
	}
	if err := m.cli.Read(ctx, &answer, "cloudwatch", "get-metric-data", "--start-time", from.Format(time.RFC3339),
		"--end-time", to.Format(time.RFC3339), "--metric-data-queries", string(text)); err != nil {
		return u, how, err
	}
	sums := map[string]float64{}
	for _, r := range answer.MetricDataResults {
		for _, v := range r.Values {
			sums[r.ID] += v
		}
	}
	for i, counted := range metrics {
		counted.add(&u, sums[id(i)])
	}
	if u.Invocations == 0 {
		return u, how, fmt.Errorf("read CloudWatch: it has no invocation in that time")
	}
	return u, how, nil
}

func id(i int) string { return fmt.Sprintf("m%d", i) }

// printBill prints what a sale of that many orders cost between two instants.
func (t target) printBill(ctx context.Context, out io.Writer, from, to time.Time, orders int64) error {
	if t.system.Local {
		fmt.Fprintf(out, "\n%d orders; what they cost is counted on AWS only (`flashsale plan` computes it)\n", orders)
		return nil
	}
	if !rush.WaitUntil(ctx, time.Now().Add(settle)) {
		return ctx.Err()
	}
	usage, how, err := t.meter.usage(ctx, from, to)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\ncost of %d orders at the on-demand prices of %s for %s, without free tier; %s\n", orders, price.Region, price.Architecture, how)
	price.Print(out, price.Bill(usage), orders)
	return nil
}
