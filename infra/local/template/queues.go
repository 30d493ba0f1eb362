package template

import (
	"encoding/json"
	"strconv"
	"time"
)

// queueNumbers are the attributes that CreateQueue accepts as written in the template.
var queueNumbers = []string{"MessageRetentionPeriod", "VisibilityTimeout"}

func (r *reader) queues() []Queue {
	var out []Queue
	placed := map[string]bool{}
	var place func(res *resource)
	place = func(res *resource) {
		if placed[res.id] || r.err != nil {
			return
		}
		placed[res.id] = true
		q, deadLetters := r.queue(res)
		if deadLetters != nil {
			place(deadLetters)
		}
		out = append(out, q)
	}
	for _, res := range r.ofType(typeQueue) {
		place(res)
	}
	return out
}

// queue returns a queue and, if it has one, its dead-letter queue.
func (r *reader) queue(res *resource) (Queue, *resource) {
	p := res.props
	// Encryption has no local counterpart, and whom a dead-letter queue admits is checked in
	// infra/proof/checks.
	p.only(append([]string{"QueueName", "RedrivePolicy"}, queueNumbers...), []string{"KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "RedriveAllowPolicy", "SqsManagedSseEnabled", "Tags"})
	q := Queue{LogicalID: res.id, Name: r.queueName(res), Attributes: map[string]string{}}
	for _, name := range queueNumbers {
		if v := p.get(name); !v.absent() {
			q.Attributes[name] = strconv.Itoa(v.number(0))
		}
	}
	policy := p.get("RedrivePolicy")
	if policy.absent() {
		return q, nil
	}
	policy.only([]string{"deadLetterTargetArn", "maxReceiveCount"}, nil)
	target := policy.need("deadLetterTargetArn")
	deadLetters := r.queueOf(target)
	// A struct of a string and a number always marshals.
	text, _ := json.Marshal(struct {
		Target string `json:"deadLetterTargetArn"`
		Count  int    `json:"maxReceiveCount"`
	}{target.text(""), policy.need("maxReceiveCount").number(1)})
	q.Attributes["RedrivePolicy"] = string(text)
	return q, deadLetters
}

func (r *reader) streamSource(event field) StreamSource {
	p := event.need("Properties")
	p.only(
		[]string{
			"Stream", "StartingPosition", "BatchSize", "MaximumBatchingWindowInSeconds", "ParallelizationFactor", "FunctionResponseTypes", "FilterCriteria",
		},
		[]string{"MetricsConfig", "Tags"})
	source := StreamSource{
		BatchSize: p.get("BatchSize").number(100),
		Window:    time.Duration(p.get("MaximumBatchingWindowInSeconds").number(0)) * time.Second,
		Parallel:  p.get("ParallelizationFactor").number(1),
	}
	reportsFailures(p)
	p.must("StartingPosition", "TRIM_HORIZON") // from the oldest record
	criteria := p.get("FilterCriteria")
	criteria.only([]string{"Filters"}, nil)
	for _, f := range criteria.get("Filters").list() {
		f.only([]string{"Pattern"}, nil)
		source.Filters = append(source.Filters, f.need("Pattern").text(""))
	}
	if table := r.streamOf(p.need("Stream")); table != nil {
		source.Table = table.id
	}
	return source
}

// streamOf returns the table whose stream v's ARN names.
func (r *reader) streamOf(v value) *resource {
	arn := v.text("")
	if r.err != nil {
		return nil
	}
	for _, res := range r.ofType(typeTable) {
		if r.streamARN(res) == arn && !res.props.get("StreamSpecification").absent() {
			return res
		}
	}
	v.fail("no table of this template has the stream %q", arn)
	return nil
}

func (r *reader) buses() []Bus {
	var out []Bus
	for _, res := range r.ofType(typeBus) {
		res.props.only([]string{"Name"}, []string{"DeadLetterConfig", "Description", "KmsKeyIdentifier", "LogConfig", "Policy", "Tags"})
		out = append(out, Bus{LogicalID: res.id, Name: r.busName(res)})
	}
	return out
}

func (r *reader) tables() []Table {
	var out []Table
	for _, res := range r.ofType(typeTable) {
		out = append(out, r.table(res))
	}
	return out
}

func (r *reader) table(res *resource) Table {
	p := res.props
	// Capacity, protection, backups and encryption have no local counterpart,
	// and a time to live never deletes here. Indexes would change answers.
	p.only(
		[]string{"TableName", "AttributeDefinitions", "KeySchema", "StreamSpecification"},
		[]string{
			"BillingMode", "ContributorInsightsSpecification", "DeletionProtectionEnabled", "OnDemandThroughput",
			"PointInTimeRecoverySpecification", "ProvisionedThroughput", "ResourcePolicy", "SSESpecification",
			"TableClass", "Tags", "TimeToLiveSpecification", "WarmThroughput",
		})
	t := Table{LogicalID: res.id, Name: r.tableName(res)}
	for _, v := range p.need("AttributeDefinitions").list() {
		t.AttributeDefinitions = append(t.AttributeDefinitions, Attribute{Name: v.need("AttributeName").text(""), Type: v.need("AttributeType").text("")})
	}
	for _, v := range p.need("KeySchema").list() {
		t.KeySchema = append(t.KeySchema, Key{Name: v.need("AttributeName").text(""), Type: v.need("KeyType").text("")})
	}
	if stream := p.get("StreamSpecification"); !stream.absent() {
		stream.only([]string{"StreamViewType"}, []string{"ResourcePolicy"})
		t.StreamView = stream.need("StreamViewType").text("")
	}
	return t
}
