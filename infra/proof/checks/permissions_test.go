package checks

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// pollActions are Lambda's calls with a function's role to a queue that it reads for
// the function.
var pollActions = []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}

// streamActions are Lambda's calls with a function's role to a stream that it reads for
// the function.
var streamActions = []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"}

// statements are those of a role's own policies.
func (t template) statements(roleID string) (all []node) {
	for _, policy := range t.at("Resources", roleID, "Properties.Policies").list() {
		all = append(all, policy.at("PolicyDocument.Statement").list()...)
	}
	return all
}

// required is every action that the function's code, its events, its log group
// and its traces need, with the reason.
func required(t *testing.T, f function) map[string]string {
	t.Helper()
	all := map[string]string{}
	for call := range tableCalls(t, f) {
		action, _, _ := strings.Cut(call, " ")
		all[action] = "the ledger"
	}
	maps.Copy(all, needsOf(t, f.folder()).actions)
	for _, part := range []struct {
		reason  string
		there   bool
		actions []string
	}{
		{"its log group", f.property("LoggingConfig.LogGroup").Node != nil, []string{"logs:CreateLogStream", "logs:PutLogEvents"}},
		{"its traces", f.property("Tracing").text() == "Active", []string{"xray:PutTraceSegments", "xray:PutTelemetryRecords"}},
		{"its SQS event", len(f.events("SQS")) > 0, pollActions},
		{"its stream", len(f.events("DynamoDB")) > 0, streamActions},
		{"its failed events", f.failures().Node != nil, []string{"sqs:SendMessage"}},
	} {
		for _, action := range part.actions {
			if part.there {
				all[action] = part.reason
			}
		}
	}
	return all
}

func TestPermissionsAreWhatTheCodeNeeds(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	for _, f := range tmpl.functions() {
		need, allowed := required(t, f), map[string]bool{}
		for _, s := range tmpl.statements(f.property("Role").target()) {
			for _, action := range s.at("Action").list() {
				allowed[action.text()] = true
				if need[action.text()] == "" {
					action.errorf(t, "%s may %s and never does", f.id, action.text())
				}
			}
		}
		for _, action := range slices.Sorted(maps.Keys(need)) {
			if !allowed[action] {
				f.errorf(t, "%s may not %s, which is needed by %s", f.id, action, need[action])
			}
		}
	}
}

// sample returns an ARN of what a statement of the template allows something on, in the
// stack flashsale-dev.
func sample(action string, resource node) string {
	if resource.text() == "*" {
		return "*"
	}
	names := map[string]string{
		"dynamodb": "table/flashsale-dev-LedgerTable-1", "sqs": "flashsale-dev-OrderQueue", "events": "event-bus/flashsale-dev-orders",
		"logs": "log-group:flashsale-dev-PayLogGroup-1:*", "lambda": "function:flashsale-dev-PayFunction-1",
		"secretsmanager": "secret:flashsale-dev-refunds-AbC123",
	}
	service, _, _ := strings.Cut(action, ":")
	if action == "lambda:InvokeFunction" {
		names[service] = "function:flashsale-dev-" + strings.TrimSuffix(resource.target(), ".Alias") + "-1:live"
	}
	if slices.Contains(streamActions, action) {
		names[service] += "/stream/2026-11-11T12:00:00.000"
	}
	return "arn:aws:" + service + region + names[service]
}

// SAM makes a role for each schedule: it invokes the alias, and sends what fails to a queue.
var scheduleRequests = []request{
	{"", "lambda:InvokeFunction", "arn:aws:lambda" + region + "function:flashsale-dev-SeedFunction-1:live", nil},
	{"", "sqs:SendMessage", "arn:aws:sqs" + region + "flashsale-dev-ScheduleDeadLetterQueue-1", nil},
}

func TestTheBoundaryLeavesEveryRoleWhatItNeedsAndNoActionMore(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	boundary := parsePolicies(t, read(t, boundaryFile))
	requests := slices.Clone(scheduleRequests)
	for _, role := range tmpl.resources("AWS::IAM::Role") {
		for _, s := range tmpl.statements(role.id) {
			for _, action := range s.at("Action").texts() {
				for _, resource := range alternatives(s.at("Resource")) {
					requests = append(requests, request{role.id, action, sample(action, resource), nil})
				}
			}
		}
	}
	needed := map[string]bool{}
	for _, r := range requests {
		if needed[r.action] = true; !boundary.allows(r) {
			t.Errorf("%s may not %s on %s beside the boundary", r.name, r.action, r.resource)
		}
		if other, names := r.elsewhere(); names && boundary.allows(other) {
			t.Errorf("the boundary lets %s %s on %s", r.name, r.action, other.resource)
		}
	}
	for _, s := range boundary.Statement {
		for _, action := range s.Action {
			if !needed[action] {
				t.Errorf("the boundary allows %s, which no role needs", action)
			}
		}
	}
}

func TestEveryRoleHasTheBoundaryAlsoThoseThatSAMMakes(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	bounded := func(n node) {
		for place, want := range map[string]string{"0": "HasBoundary", "1": "!Ref PermissionsBoundaryArn", "2": "!Ref AWS::NoValue"} {
			n.at("PermissionsBoundary").expect(t, place, want)
		}
	}
	for _, role := range tmpl.resources("AWS::IAM::Role") {
		bounded(role.at("Properties"))
	}
	for _, f := range tmpl.functions() {
		for _, e := range f.events("ScheduleV2") {
			bounded(e.node)
		}
	}
}
