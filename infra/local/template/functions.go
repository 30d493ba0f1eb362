package template

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// envName is Lambda's rule for the names of environment variables.
var envName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]+$`)

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
		Handler:             property("Handler").text(""),
		Runtime:             property("Runtime").text(""),
		Timeout:             time.Duration(property("Timeout").number(3, 1, 900)) * time.Second,
		MemoryMB:            property("MemorySize").number(128, 128, 32768),
		ReservedConcurrency: property("ReservedConcurrentExecutions").number(0, 1, 1<<20),
		Environment:         map[string]string{},
	}
	if f.Handler == "" || f.Runtime == "" {
		r.fail(res.key, res.id, "a function needs a Handler and a Runtime")
	}
	for _, from := range []value{global, res.props} {
		for _, v := range from.get("Environment").get("Variables").fields() {
			if !envName.MatchString(v.key) {
				r.fail(v.name, v.at, "is not a name for an environment variable")
			}
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
			f.Routes = append(f.Routes, r.route(res, event, s))
		case "SQS":
			f.Queues = append(f.Queues, r.queueSource(res, event, f, s))
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

var methods = []string{"GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "DELETE", "ANY"}

func (r *reader) route(res *resource, event field, s *Stack) Route {
	p := event.need("Properties")
	p.only(
		[]string{"ApiId", "Method", "Path", "Auth", "PayloadFormatVersion"},
		[]string{"RouteSettings", "TimeoutInMillis"})
	if id := p.need("ApiId"); id.text("") != s.API.LogicalID {
		id.fail("must name the template's %s", typeAPI)
	}
	if v := p.get("PayloadFormatVersion"); v.text("2.0") != "2.0" {
		v.fail("only payload format 2.0 runs locally")
	}
	route := Route{
		Function: res.id,
		Method:   strings.ToUpper(p.get("Method").text("ANY")),
		Path:     p.need("Path").text(""),
	}
	if !slices.Contains(methods, route.Method) {
		p.get("Method").fail("is not an HTTP method")
	}
	if !strings.HasPrefix(route.Path, "/") {
		p.get("Path").fail("must begin with /")
	}
	r.authorize(&route, p, s)
	route.Throttle = r.throttle(s, route.Method, route.Path)
	same := func(o Route) bool { return o.Method == route.Method && o.Path == route.Path }
	if slices.ContainsFunc(s.API.Routes, same) {
		p.fail("another event has the same method and path")
	}
	s.API.Routes = append(s.API.Routes, route)
	return route
}

// authorize applies SAM's rules: the event's authorizer, NONE for a public route, or
// else the API's default; the event's scopes, or else the authorizer's.
func (r *reader) authorize(route *Route, p value, s *Stack) {
	auth := p.get("Auth")
	auth.only([]string{"Authorizer", "AuthorizationScopes"}, nil)
	var defaults value
	if api := r.resources[s.API.LogicalID]; api != nil {
		defaults = api.props.get("Auth")
	} else {
		defaults = value{r: r}
	}
	name := auth.get("Authorizer").text(defaults.get("DefaultAuthorizer").text(""))
	if name == "NONE" || name == "" {
		return
	}
	if _, ok := s.API.Authorizers[name]; !ok {
		auth.get("Authorizer").fail("there is no authorizer %q", name)
		return
	}
	route.Authorizer = name
	scopes := auth.get("AuthorizationScopes")
	if scopes.absent() {
		scopes = defaults.get("Authorizers").get(name).get("AuthorizationScopes")
	}
	route.Scopes = scopes.texts()
}

func (r *reader) queueSource(res *resource, event field, f Function, s *Stack) QueueSource {
	p := event.need("Properties")
	p.only(
		[]string{"Queue", "BatchSize", "MaximumBatchingWindowInSeconds", "FunctionResponseTypes", "ScalingConfig", "Enabled"},
		[]string{"MetricsConfig", "Tags"})
	source := QueueSource{
		BatchSize: p.get("BatchSize").number(10, 1, 10000),
		Window:    time.Duration(p.get("MaximumBatchingWindowInSeconds").number(0, 0, 300)) * time.Second,
		Enabled:   p.get("Enabled").flag(true),
	}
	if source.BatchSize > 10 && source.Window < time.Second {
		p.get("BatchSize").fail("more than 10 needs MaximumBatchingWindowInSeconds of at least 1")
	}
	if scaling := p.get("ScalingConfig"); !scaling.absent() {
		source.MaximumConcurrency = scaling.get("MaximumConcurrency").number(0, 2, 1000)
	}
	source.ReportBatchItemFailures = reportsFailures(p)
	arn := p.need("Queue")
	queue := r.queueOf(arn)
	if queue == nil {
		return source
	}
	source.Queue = queue.id
	// Lambda refuses a queue that would redeliver a message while it is still being
	// processed.
	i := slices.IndexFunc(s.Queues, func(q Queue) bool { return q.LogicalID == queue.id })
	visibility := 30 * time.Second
	if text, ok := s.Queues[i].Attributes["VisibilityTimeout"]; ok {
		seconds, _ := strconv.Atoi(text)
		visibility = time.Duration(seconds) * time.Second
	}
	if visibility < f.Timeout {
		arn.fail("the visibility timeout of %s (%v) is below the timeout of %s (%v)", queue.id, visibility, res.id, f.Timeout)
	}
	return source
}

func reportsFailures(p value) bool {
	types := p.get("FunctionResponseTypes").list()
	for _, v := range types {
		if v.text("") != "ReportBatchItemFailures" {
			v.fail("must be ReportBatchItemFailures")
		}
	}
	return len(types) > 0
}

func (r *reader) schedule(res *resource, event field) Schedule {
	p := event.need("Properties")
	p.only(
		[]string{"ScheduleExpression", "ScheduleExpressionTimezone", "State", "Input", "RetryPolicy", "FlexibleTimeWindow"},
		[]string{"DeadLetterConfig", "Description", "GroupName", "KmsKeyArn", "Name", "OmitName", "PermissionsBoundary", "RoleArn"})
	if mode := p.get("FlexibleTimeWindow").get("Mode"); mode.text("OFF") != "OFF" {
		mode.fail("only OFF runs locally")
	}
	state := p.get("State")
	if text := state.text("ENABLED"); text != "ENABLED" && text != "DISABLED" {
		state.fail("must be ENABLED or DISABLED")
	}
	retry := p.get("RetryPolicy")
	retry.only([]string{"MaximumRetryAttempts", "MaximumEventAgeInSeconds"}, nil)
	return Schedule{
		Name:          res.id + event.key,
		Expression:    p.need("ScheduleExpression").text(""),
		Timezone:      p.get("ScheduleExpressionTimezone").text("UTC"),
		Enabled:       state.text("ENABLED") == "ENABLED",
		Input:         p.get("Input").text(""),
		RetryAttempts: retry.get("MaximumRetryAttempts").number(185, 0, 185),
		MaxEventAge:   time.Duration(retry.get("MaximumEventAgeInSeconds").number(86400, 60, 86400)) * time.Second,
	}
}
