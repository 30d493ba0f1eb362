package checks

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pollActions are Lambda's calls with a function's role to a queue that it reads for
// the function.
var pollActions = []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}

// streamActions are Lambda's calls with a function's role to a stream that it reads for
// the function.
var streamActions = []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"}

// statement is one statement of a role's own policies.
type statement struct {
	place string // in the form of an edit
	node
}

func (t template) statements(roleID string) (all []statement) {
	policies := t.at("Resources", roleID, "Properties", "Policies")
	for i, policy := range policies.list() {
		for j, s := range policy.at("PolicyDocument", "Statement").list() {
			place := "Resources/" + roleID + "/Properties/Policies/" + strconv.Itoa(i) + "/PolicyDocument/Statement/" + strconv.Itoa(j)
			all = append(all, statement{place, s})
		}
	}
	return all
}

// required is every action that the function's code, its events, its log group
// and its traces need, with the reason.
func required(t testing.TB, f function) map[string]string {
	t.Helper()
	all := map[string]string{}
	for action, at := range needsOf(t, f.folder()).actions {
		all[action] = deployed(t).position(at)
	}
	if f.property("LoggingConfig", "LogGroup").Node != nil {
		all["logs:CreateLogStream"], all["logs:PutLogEvents"] = "its log group", "its log group"
	}
	if f.property("Tracing").text() == "Active" {
		all["xray:PutTraceSegments"], all["xray:PutTelemetryRecords"] = "its traces", "its traces"
	}
	if len(f.events("SQS")) > 0 {
		for _, action := range pollActions {
			all[action] = "its SQS event"
		}
	}
	if len(f.events("DynamoDB")) > 0 {
		for _, action := range streamActions {
			all[action] = "its stream"
		}
	}
	if f.failures().Node != nil {
		all["sqs:SendMessage"] = "its failed events"
	}
	return all
}

// failures returns the queue to which Lambda sends the function's failed events with
// its role; the zero node if there is none.
func (f function) failures() node {
	for _, to := range []node{
		f.at("Properties", "EventInvokeConfig", "DestinationConfig", "OnFailure"), f.at("Properties", "DeadLetterQueue"),
	} {
		if to.at("Type").text() == "SQS" {
			return node{cmp.Or(to.at("Destination").Node, to.at("TargetArn").Node)}
		}
	}
	return node{}
}

// permissions compares the actions that a function's role allows with those it needs.
func permissions(tmpl template, f function, need map[string]string) (found []finding) {
	allowed := map[string]bool{}
	for _, s := range tmpl.statements(f.property("Role").target()) {
		for _, action := range s.at("Action").list() {
			allowed[action.text()] = true
			if need[action.text()] == "" {
				found = append(found, action.find("%s may %s and never does", f.id, action.text()))
			}
		}
	}
	for _, action := range slices.Sorted(maps.Keys(need)) {
		if !allowed[action] {
			found = append(found, f.find("%s may not %s, which is needed by %s", f.id, action, need[action]))
		}
	}
	return found
}

func TestPermissionsAreWhatTheCodeNeeds(t *testing.T) {
	text := read(t, templateFile)
	tmpl := parseTemplate(t, text)
	known := map[string]bool{
		"dynamodb:DeleteItem": true, "dynamodb:ConditionCheckItem": true, "dynamodb:Scan": true, "dynamodb:Query": true,
		"dynamodb:BatchWriteItem": true, "dynamodb:PartiQLDelete": true, "dynamodb:PartiQLSelect": true,
		"events:PutRule": true, "sqs:PurgeQueue": true, "sqs:SendMessage": true, "logs:CreateLogGroup": true, "xray:GetTraceSummaries": true,
		"kms:Decrypt": true, "lambda:InvokeFunction": true, "ec2:CreateNetworkInterface": true,
	}
	for _, f := range tmpl.functions() {
		for action := range required(t, f) {
			known[action] = true
		}
	}
	for _, f := range tmpl.functions() {
		t.Run("row 4: "+f.id+" may do exactly what its code does", func(t *testing.T) {
			need := required(t, f)
			if len(need) == 0 {
				t.Errorf("%s: the code seems to need nothing: it was not understood", f.id)
			}
			report(t, permissions(tmpl, f, need))
		})
		t.Run("row 4: "+f.id+" with one action more or one less is noticed", func(t *testing.T) {
			need := required(t, f)
			role := f.property("Role").target()
			if len(tmpl.statements(role)) == 0 {
				t.Fatalf("%s has no statements to change", f.id)
			}
			for _, s := range tmpl.statements(role) {
				for _, action := range s.at("Action").list() {
					expectNoticed(t, text, f.id, need, edit{s.place + "/Action", without(s.at("Action"), action.text())})
				}
			}
			first := tmpl.statements(role)[0]
			for action := range known {
				if need[action] == "" {
					expectNoticed(t, text, f.id, need, edit{first.place + "/Action", with(first.at("Action"), action)})
				}
			}
		})
	}
}

// with returns the YAML of a statement's actions plus one.
func with(actions node, one string) string {
	all := []string{one}
	for _, a := range actions.list() {
		all = append(all, a.text())
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// without returns the YAML of a statement's actions minus one.
func without(actions node, one string) string {
	var left []string
	for _, a := range actions.list() {
		if a.text() != one {
			left = append(left, a.text())
		}
	}
	return "[" + strings.Join(left, ", ") + "]"
}

func expectNoticed(t *testing.T, text, id string, need map[string]string, e edit) {
	t.Helper()
	changed := parseTemplate(t, text)
	e.apply(t, changed)
	r, _ := changed.resource("AWS::Serverless::Function", id)
	if len(permissions(changed, function{r, changed}, need)) == 0 {
		t.Errorf("nobody notices %s: %s", e.place, e.yaml)
	}
}
