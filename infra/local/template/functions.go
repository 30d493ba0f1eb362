package template

import (
	"slices"
	"strings"
	"time"
)

// function reads one function; s already holds the API, queues and tables.
func (r *reader) function(res *resource, s *Stack) Function {
	global := r.global.get("Function")
	// SAM's rule: the function's own scalar replaces the global one, maps are merged.
	property := func(name string) value {
		if own := res.props.get(name); !own.absent() {
			return own
		}
		return global.get(name)
	}
	f := Function{
		LogicalID:           res.id,
		Timeout:             time.Duration(property("Timeout").number(3)) * time.Second,
		MemoryMB:            property("MemorySize").number(128),
		ReservedConcurrency: property("ReservedConcurrentExecutions").number(0),
		Environment:         map[string]string{},
	}
	for _, from := range []value{global, res.props} {
		for _, v := range from.get("Environment").get("Variables").fields() {
			f.Environment[v.key] = r.secret(v.value, v.text(""))
		}
	}
	if r.err != nil {
		return f
	}
	for _, event := range res.props.get("Events").fields() {
		kind := event.need("Type")
		switch kind.text("") {
		case "HttpApi":
			s.API.Routes = append(s.API.Routes, r.route(res, event, s))
		case "SQS":
			f.Queues = append(f.Queues, r.queueSource(event))
		case "DynamoDB":
			f.Streams = append(f.Streams, r.streamSource(event))
		case "ScheduleV2":
			f.Schedules = append(f.Schedules, r.schedule(res, event))
		default:
			kind.fail("events of type %s do not run locally", kind.text(""))
		}
	}
	return f
}

// secret returns the text, or the secret to which it is a dynamic reference.
func (r *reader) secret(v value, text string) string {
	name, ok := strings.CutPrefix(text, "{{resolve:secretsmanager:")
	if !ok {
		return text
	}
	secret, known := r.o.Secrets[strings.TrimSuffix(name, "}}")]
	if !known {
		v.fail("there is no such secret locally: %s", text)
	}
	return secret
}

func (r *reader) route(res *resource, event field, s *Stack) Route {
	p := event.need("Properties")
	p.only([]string{"ApiId", "Method", "Path", "Auth"}, []string{"TimeoutInMillis"})
	p.must("ApiId", s.API.LogicalID)
	route := Route{Function: res.id, Method: p.need("Method").text(""), Path: p.need("Path").text("")}
	if r.err == nil {
		r.authorize(&route, p, s)
		route.Throttle = r.throttle(s, route.Method, route.Path)
	}
	return route
}

// authorize applies SAM's rules: the event's authorizer, NONE for a public route, or
// else the API's default.
func (r *reader) authorize(route *Route, p value, s *Stack) {
	auth := p.get("Auth")
	auth.only([]string{"Authorizer", "AuthorizationScopes"}, nil)
	name := auth.get("Authorizer").text(r.resources[s.API.LogicalID].props.get("Auth").get("DefaultAuthorizer").text(""))
	if name == "NONE" || name == "" {
		return
	}
	if _, ok := s.API.Authorizers[name]; !ok {
		auth.get("Authorizer").fail("there is no authorizer %q", name)
		return
	}
	route.Authorizer, route.Scopes = name, auth.get("AuthorizationScopes").texts()
}

func (r *reader) queueSource(event field) QueueSource {
	p := event.need("Properties")
	p.only(
		[]string{"Queue", "BatchSize", "MaximumBatchingWindowInSeconds", "FunctionResponseTypes", "ScalingConfig"},
		[]string{"MetricsConfig", "Tags"})
	source := QueueSource{
		BatchSize:          p.get("BatchSize").number(10),
		Window:             time.Duration(p.get("MaximumBatchingWindowInSeconds").number(0)) * time.Second,
		MaximumConcurrency: p.get("ScalingConfig").get("MaximumConcurrency").number(0),
	}
	reportsFailures(p)
	if queue := r.queueOf(p.need("Queue")); queue != nil {
		source.Queue = queue.id
	}
	return source
}

// reportsFailures refuses an event source whose function does not say which records of a batch
// failed: the pollers read no other response.
func reportsFailures(p value) {
	types := p.need("FunctionResponseTypes")
	if !slices.Equal(types.texts(), []string{"ReportBatchItemFailures"}) {
		types.fail("must be [ReportBatchItemFailures]")
	}
}

func (r *reader) schedule(res *resource, event field) Schedule {
	p := event.need("Properties")
	p.only(
		[]string{"ScheduleExpression", "ScheduleExpressionTimezone", "State", "Input", "RetryPolicy"},
		[]string{"DeadLetterConfig", "Description", "GroupName", "KmsKeyArn", "Name", "OmitName", "PermissionsBoundary", "RoleArn"})
	retry := p.get("RetryPolicy")
	retry.only([]string{"MaximumRetryAttempts", "MaximumEventAgeInSeconds"}, nil)
	return Schedule{
		Name:          res.id + event.key,
		Expression:    p.need("ScheduleExpression").text(""),
		Timezone:      p.get("ScheduleExpressionTimezone").text("UTC"),
		Enabled:       p.get("State").text("ENABLED") == "ENABLED",
		Input:         p.get("Input").text(""),
		RetryAttempts: retry.get("MaximumRetryAttempts").number(185),
		MaxEventAge:   time.Duration(retry.get("MaximumEventAgeInSeconds").number(86400)) * time.Second,
	}
}
