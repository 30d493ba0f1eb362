package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	typeFunction = "AWS::Serverless::Function"
	typeTable    = "AWS::DynamoDB::Table"
	typeQueue    = "AWS::SQS::Queue"
	typeBus      = "AWS::Events::EventBus"
)

// unsupported refuses resources that would run something when deployed and that the local stack
// cannot run. Other types (roles, alarms, log groups, ...) are ignored: no order depends on them.
func (r *reader) unsupported() {
	for _, kind := range []string{
		"AWS::Lambda::Function", "AWS::Lambda::EventSourceMapping", "AWS::Scheduler::Schedule", "AWS::Events::Rule", "AWS::Pipes::Pipe",
		"AWS::Serverless::Api", "AWS::ApiGateway::RestApi", "AWS::Serverless::SimpleTable", "AWS::DynamoDB::GlobalTable",
	} {
		for _, res := range r.t.OfType(kind) {
			r.fail(res.ID, "line %d: %s does not run locally", res.Line, kind)
		}
	}
}

func (r *reader) tables() {
	for _, res := range r.t.OfType(typeTable) {
		var p struct {
			KeySchema            []Key
			AttributeDefinitions []Attribute
			StreamSpecification  struct{ StreamViewType string }
		}
		// Capacity, protection, backups and encryption have no local counterpart, and a time to live
		// never deletes here. Indexes would change answers.
		r.read(res, &p, "TableName", "BillingMode", "DeletionProtectionEnabled", "OnDemandThroughput",
			"PointInTimeRecoverySpecification", "SSESpecification", "Tags", "TimeToLiveSpecification", "WarmThroughput")
		r.s.Tables = append(r.s.Tables, Table{r.nameOf(res), p.KeySchema, p.AttributeDefinitions, p.StreamSpecification.StreamViewType})
	}
}

func (r *reader) queues() {
	for _, res := range r.t.OfType(typeQueue) {
		var p struct {
			MessageRetentionPeriod, VisibilityTimeout string
			RedrivePolicy                             *struct {
				Target string `json:"deadLetterTargetArn"`
				Count  int    `json:"maxReceiveCount,string"`
			}
		}
		// Encryption has no local counterpart, and whom a dead-letter queue admits is checked in
		// infra/proof/checks.
		r.read(res, &p, "QueueName", "KmsMasterKeyId", "RedriveAllowPolicy", "SqsManagedSseEnabled", "Tags")
		q := Queue{Name: r.nameOf(res), Attributes: map[string]string{
			"MessageRetentionPeriod": p.MessageRetentionPeriod, "VisibilityTimeout": p.VisibilityTimeout,
		}}
		maps.DeleteFunc(q.Attributes, func(_, value string) bool { return value == "" })
		if p.RedrivePolicy != nil {
			policy := p.RedrivePolicy
			q.Attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, policy.Target, policy.Count)
			r.s.Queues = append(r.s.Queues, q)
		} else {
			r.s.Queues = slices.Insert(r.s.Queues, 0, q)
		}
	}
}

func (r *reader) buses() {
	for _, res := range r.t.OfType(typeBus) {
		r.read(res, &struct{}{}, "Name", "Description", "Tags")
		r.s.Buses = append(r.s.Buses, r.nameOf(res))
	}
}

// asDeployed are a function's properties that concern its deployment, its permissions and its logs.
var asDeployed = []string{
	"Architectures", "AutoPublishAlias", "AutoPublishAliasAllProperties", "AutoPublishCodeSha256", "CodeUri", "DeploymentPreference", "Description", "EventInvokeConfig",
	"Handler", "KmsKeyArn", "LoggingConfig", "Policies", "PropagateTags", "RecursiveLoop", "Role", "Runtime", "Tags", "Tracing",
}

type event struct {
	Type       string
	Properties json.RawMessage
}

// functions reads the functions and their events; the API, queues and tables are known.
func (r *reader) functions() {
	for _, res := range r.t.OfType(typeFunction) {
		p := struct {
			Timeout, MemorySize, ReservedConcurrentExecutions int `json:",string"`
			Environment                                       struct{ Variables map[string]string }
			Events                                            map[string]event
		}{Timeout: 3, MemorySize: 128}
		// SAM's rule: the function's own scalars replace the global ones, maps are merged.
		r.readNode("Globals.Function", r.t.Globals(), &p, asDeployed...)
		r.read(res, &p, asDeployed...)
		f := Function{
			LogicalID: res.ID, Timeout: time.Duration(p.Timeout) * time.Second, MemoryMB: p.MemorySize,
			ReservedConcurrency: p.ReservedConcurrentExecutions, Environment: map[string]string{},
		}
		for name, value := range p.Environment.Variables {
			f.Environment[name] = r.secret(value)
		}
		for _, name := range slices.Sorted(maps.Keys(p.Events)) {
			r.event(&f, name, p.Events[name])
		}
		r.s.Functions = append(r.s.Functions, f)
	}
}

// secret returns the text, or the secret to which it is a dynamic reference.
func (r *reader) secret(text string) string {
	arn, ok := strings.CutPrefix(text, "{{resolve:secretsmanager:")
	if !ok {
		return text
	}
	secret, known := r.o.Secrets[strings.TrimSuffix(arn, "}}")]
	if !known {
		r.fail(text, "there is no such secret locally")
	}
	return secret
}

func (r *reader) event(f *Function, name string, e event) {
	where := f.LogicalID + ".Events." + name
	switch e.Type {
	case "HttpApi":
		r.route(where, f.LogicalID, e.Properties)
	case "SQS":
		f.Queues = append(f.Queues, r.queueSource(where, e.Properties))
	case "DynamoDB":
		f.Streams = append(f.Streams, r.streamSource(where, e.Properties))
	case "ScheduleV2":
		f.Schedules = append(f.Schedules, r.schedule(where, f.LogicalID+name, e.Properties))
	default:
		r.fail(where, "events of type %s do not run locally", e.Type)
	}
}

func (r *reader) queueSource(where string, properties json.RawMessage) QueueSource {
	p := struct {
		Queue                                     string
		BatchSize, MaximumBatchingWindowInSeconds int `json:",string"`
		FunctionResponseTypes                     []string
		ScalingConfig                             struct {
			MaximumConcurrency int `json:",string"`
		}
	}{BatchSize: 10}
	r.decode(where, properties, &p)
	r.reportsFailures(where, p.FunctionResponseTypes)
	source := QueueSource{
		BatchSize: p.BatchSize, Window: time.Duration(p.MaximumBatchingWindowInSeconds) * time.Second, MaximumConcurrency: p.ScalingConfig.MaximumConcurrency,
	}
	if i := slices.IndexFunc(r.s.Queues, func(q Queue) bool { return r.queueARN(q.Name) == p.Queue }); i >= 0 {
		source.Queue = r.s.Queues[i].Name
	} else {
		r.fail(where, "no queue of the template has the ARN %q", p.Queue)
	}
	return source
}

// reportsFailures refuses an event source whose function does not say which records of a batch
// failed: the pollers read no other response.
func (r *reader) reportsFailures(where string, types []string) {
	r.must(where, "FunctionResponseTypes", strings.Join(types, " "), "ReportBatchItemFailures")
}

func (r *reader) streamSource(where string, properties json.RawMessage) StreamSource {
	p := struct {
		Stream, StartingPosition string
		BatchSize                int `json:",string"`
		FunctionResponseTypes    []string
		FilterCriteria           struct{ Filters []struct{ Pattern string } }
		// Without a local counterpart: one batch runs at a time, and does not wait to fill.
		MaximumBatchingWindowInSeconds, ParallelizationFactor int `json:",string"`
	}{BatchSize: 100}
	r.decode(where, properties, &p)
	r.reportsFailures(where, p.FunctionResponseTypes)
	r.must(where, "StartingPosition", p.StartingPosition, "TRIM_HORIZON") // from the oldest record
	source := StreamSource{BatchSize: p.BatchSize}
	for _, filter := range p.FilterCriteria.Filters {
		source.Filters = append(source.Filters, filter.Pattern)
	}
	if i := slices.IndexFunc(r.s.Tables, func(t Table) bool { return t.StreamView != "" && r.streamARN(t.Name) == p.Stream }); i >= 0 {
		source.Table = r.s.Tables[i].Name
	} else {
		r.fail(where, "no table of the template has the stream %q", p.Stream)
	}
	return source
}

func (r *reader) schedule(where, name string, properties json.RawMessage) Schedule {
	p := struct {
		ScheduleExpression, ScheduleExpressionTimezone, State, Input string
		RetryPolicy                                                  struct {
			MaximumRetryAttempts, MaximumEventAgeInSeconds int `json:",string"`
		}
		// Without a local counterpart:
		DeadLetterConfig                                 struct{ Arn string }
		Description, Name, OmitName, PermissionsBoundary string
	}{ScheduleExpressionTimezone: "UTC", State: "ENABLED"}
	p.RetryPolicy.MaximumRetryAttempts, p.RetryPolicy.MaximumEventAgeInSeconds = 185, 86400
	r.decode(where, properties, &p)
	r.must(where, "ScheduleExpressionTimezone", p.ScheduleExpressionTimezone, "UTC")
	return Schedule{
		Name: name, Expression: p.ScheduleExpression, Enabled: p.State == "ENABLED", Input: p.Input,
		RetryAttempts: p.RetryPolicy.MaximumRetryAttempts, MaxEventAge: time.Duration(p.RetryPolicy.MaximumEventAgeInSeconds) * time.Second,
	}
}
