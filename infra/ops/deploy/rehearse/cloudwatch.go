package rehearse

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"flashsale/infra/ops/awscli"
	"flashsale/infra/ops/deploy/price"
)

// period is the finest period that all of these metrics have.
const period = time.Minute

// memoryMB is the memory of every function in template.yaml.
const memoryMB = 512

// perCall is how many messages Lambda's poller receives or deletes per call.
const perCall = 10

// CloudWatch measures a deployed stack's usage from the services' metrics. Other traffic in
// the same minutes is included.
type CloudWatch struct {
	CLI awscli.CLI
	// Parts are the stack's physical ids by type and logical id.
	Parts map[string]map[string]string
	// Stack is the stack's name, a dimension of its own metrics.
	Stack string
	// Settle is how long to wait until the metrics are complete.
	Settle time.Duration
}

// query is one metric and how its sum adds to the usage.
type query struct {
	namespace, metric string
	dimensions        []dimension
	add               func(u *price.Usage, sum float64)
}

type dimension struct{ Name, Value string }

func (c *CloudWatch) queries() []query {
	var all []query
	each := func(kind, namespace, name string, metrics map[string]func(*price.Usage, float64)) {
		for _, id := range slices.Sorted(maps.Values(c.Parts[kind])) {
			for _, metric := range slices.Sorted(maps.Keys(metrics)) {
				all = append(all, query{namespace, metric, []dimension{{name, path.Base(id)}}, metrics[metric]})
			}
		}
	}
	each("AWS::ApiGatewayV2::Api", "AWS/ApiGateway", "ApiId", map[string]func(*price.Usage, float64){
		"Count": func(u *price.Usage, sum float64) { u.Requests += sum },
	})
	for _, logical := range slices.Sorted(maps.Keys(c.Parts["AWS::Lambda::Function"])) {
		name, gb := c.Parts["AWS::Lambda::Function"][logical], memoryMB/1024.0
		all = append(all,
			query{"AWS/Lambda", "Invocations", []dimension{{"FunctionName", name}}, func(u *price.Usage, sum float64) { u.Invocations += sum }},
			query{"AWS/Lambda", "Duration", []dimension{{"FunctionName", name}}, func(u *price.Usage, sum float64) { u.GBSeconds += gb * sum / 1000 }})
	}
	each("AWS::DynamoDB::Table", "AWS/DynamoDB", "TableName", map[string]func(*price.Usage, float64){
		"ConsumedWriteCapacityUnits": func(u *price.Usage, sum float64) { u.WriteUnits += sum },
		"ConsumedReadCapacityUnits":  func(u *price.Usage, sum float64) { u.ReadUnits += sum },
	})
	// A queue's physical id is its URL. Lambda's poller receives and deletes up to ten messages
	// per call; each send is a call.
	each("AWS::SQS::Queue", "AWS/SQS", "QueueName", map[string]func(*price.Usage, float64){
		"NumberOfMessagesSent":     func(u *price.Usage, sum float64) { u.QueueCalls += sum },
		"NumberOfMessagesReceived": func(u *price.Usage, sum float64) { u.QueueCalls += sum / perCall },
		"NumberOfMessagesDeleted":  func(u *price.Usage, sum float64) { u.QueueCalls += sum / perCall },
		"NumberOfEmptyReceives":    func(u *price.Usage, sum float64) { u.QueueCalls += sum },
	})
	for _, group := range slices.Sorted(maps.Values(c.Parts["AWS::Logs::LogGroup"])) {
		all = append(all, query{"AWS/Logs", "IncomingBytes", []dimension{{"LogGroupName", group}},
			func(u *price.Usage, sum float64) { u.LogBytes += sum }})
	}
	if c.Parts["AWS::Lambda::Function"]["PublishFunction"] != "" {
		all = append(all, query{"flashsale", "events", []dimension{{"stack", c.Stack}, {"service", "publish"}},
			func(u *price.Usage, sum float64) { u.Events += sum }})
	}
	return all
}

// Usage implements Meter. It waits for Settle first.
func (c *CloudWatch) Usage(ctx context.Context, from, to time.Time) (price.Usage, string, error) {
	from, to = from.UTC().Truncate(period), to.UTC().Add(period).Truncate(period)
	how := fmt.Sprintf("measured by CloudWatch\nfor the whole stack from %s to %s", from.Format(time.TimeOnly), to.Format(time.TimeOnly))
	var u price.Usage
	select {
	case <-ctx.Done():
		return u, how, ctx.Err()
	case <-time.After(c.Settle):
	}
	queries := c.queries()
	// GetMetricData accepts 500 queries; a stack of this project has about forty.
	text, err := json.Marshal(asked(queries))
	if err != nil {
		return u, how, fmt.Errorf("read CloudWatch: %w", err)
	}
	var answer struct {
		MetricDataResults []struct {
			ID     string `json:"Id"`
			Values []float64
		}
	}
	if err := c.CLI.Read(ctx, &answer, "cloudwatch", "get-metric-data", "--start-time", from.Format(time.RFC3339),
		"--end-time", to.Format(time.RFC3339), "--metric-data-queries", string(text)); err != nil {
		return u, how, err
	}
	sums := map[string]float64{}
	for _, r := range answer.MetricDataResults {
		for _, v := range r.Values {
			sums[r.ID] += v
		}
	}
	for i, q := range queries {
		q.add(&u, sums[id(i)])
	}
	if u.Invocations == 0 {
		return u, how, fmt.Errorf("read CloudWatch: it has no invocation in that time")
	}
	return u, how, nil
}

func id(i int) string { return fmt.Sprintf("m%d", i) }

// asked converts the queries to the API's format.
func asked(queries []query) []map[string]any {
	var all []map[string]any
	for i, q := range queries {
		all = append(all, map[string]any{"Id": id(i), "MetricStat": map[string]any{
			"Metric": map[string]any{
				"Namespace": q.namespace, "MetricName": q.metric,
				"Dimensions": q.dimensions,
			},
			"Period": int(period / time.Second), "Stat": "Sum",
		}})
	}
	return all
}
