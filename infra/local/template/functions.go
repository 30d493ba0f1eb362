package template

import (
	"regexp"
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
