package checks

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// policiesOf returns the statements of the policies of a kind that are attached to that
// resource.
func (t template) policiesOf(kind, attached, id string) (all []node) {
	for _, p := range t.resources(kind) {
		if slices.ContainsFunc(p.at("Properties", attached).list(), func(n node) bool { return n.target() == id }) {
			all = append(all, p.at("Properties", "PolicyDocument", "Statement").list()...)
		}
	}
	return all
}

// tlsOnly reports whether a statement refuses calls without TLS.
func tlsOnly(s node, action string) bool {
	return s.at("Effect").text() == "Deny" && s.at("Principal").text() == "*" && s.at("Action").text() == action &&
		s.at("Condition", "Bool", "aws:SecureTransport").text() == "false"
}

func TestPoliciesOfQueuesAndTopics(t *testing.T) {
	checkTemplate(t, []templateRule{
		{
			row:  7,
			name: "every queue refuses whoever calls in the clear, and its policy allows nobody",
			check: func(tmpl template) (found []finding) {
				for _, q := range tmpl.resources("AWS::SQS::Queue") {
					all := tmpl.policiesOf("AWS::SQS::QueuePolicy", "Queues", q.id)
					if len(all) != 1 || !tlsOnly(all[0], "sqs:*") || all[0].at("Resource").target() != q.id {
						found = append(found, q.find("%s may be called in the clear", q.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/OrderQueuePolicy", ""},
				{"Resources/OrderQueuePolicy/Properties/PolicyDocument/Statement/0/Effect", "Allow"},
				{"Resources/OrderQueuePolicy/Properties/PolicyDocument/Statement/0/Action", "sqs:SendMessage"},
				{"Resources/OrderQueuePolicy/Properties/PolicyDocument/Statement/0/Condition", ""},
				{"Resources/ScheduleDeadLetterQueuePolicy/Properties/PolicyDocument/Statement/0/Resource", "!GetAtt OrderQueue.Arn"},
			},
		},
		{
			row:   7,
			name:  "a dead-letter queue admits exactly the queues that redrive to it, any other queue none",
			check: admissions,
			breaks: []edit{
				{"Resources/OrderDeadLetterQueue/Properties/RedriveAllowPolicy", ""},
				{"Resources/OrderDeadLetterQueue/Properties/RedriveAllowPolicy/redrivePermission", "allowAll"},
				{"Resources/OrderDeadLetterQueue/Properties/RedriveAllowPolicy/sourceQueueArns/0", "!Sub 'arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${AWS::StackName}-Orders'"},
				{"Resources/OrderQueue/Properties/RedriveAllowPolicy", ""},
				{"Resources/OrderQueue/Properties/QueueName", ""},
			},
		},
		{
			row:  17,
			name: "the alarms' topic tells the address of a parameter",
			check: func(tmpl template) (found []finding) {
				for _, topic := range tmpl.resources("AWS::SNS::Topic") {
					if !slices.ContainsFunc(tmpl.resources("AWS::SNS::Subscription"), func(r resource) bool {
						return r.at("Properties", "TopicArn").target() == topic.id && r.at("Properties", "Endpoint").target() == "AlarmEmail"
					}) {
						found = append(found, topic.find("%s tells nobody", topic.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/PageSubscription", ""},
				{"Resources/TicketSubscription/Properties/Endpoint", "ops@shop.example"},
			},
		},
		{
			row:  17,
			name: "a budget is off by default, and tells the address of the alarms, or the topic, at each of its levels",
			check: func(tmpl template) (found []finding) {
				for _, b := range tmpl.resources("AWS::Budgets::Budget") {
					levels := b.at("Properties", "NotificationsWithSubscribers").list()
					if b.at("Condition").text() != "HasBudget" || tmpl.at("Parameters", "MonthlyBudget", "Default").text() != "0" || len(levels) == 0 {
						found = append(found, b.find("%s is there by default, or never tells anybody", b.id))
					}
					for _, l := range levels {
						to := alternatives(l.at("Subscribers", "0"))
						if len(to) != 2 || to[0].at("Address").target() != "AlarmEmail" || to[1].at("Address").target() != "TicketTopicArn" {
							found = append(found, l.find("%s tells nobody of a level", b.id))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/Budget/Condition", ""},
				{"Parameters/MonthlyBudget/Default", "100"},
				{"Resources/Budget/Properties/NotificationsWithSubscribers/2/Subscribers", "[]"},
				{"Resources/Budget/Properties/NotificationsWithSubscribers/0/Subscribers/0/2/Address", "!Ref PageTopicArn"},
			},
		},
		{
			row:  17,
			name: "the alarms' topic takes alarms of this account, over TLS, and nothing else",
			check: func(tmpl template) (found []finding) {
				for _, topic := range tmpl.resources("AWS::SNS::Topic") {
					all := tmpl.policiesOf("AWS::SNS::TopicPolicy", "Topics", topic.id)
					if len(all) != 2 || !tlsOnly(all[1], "sns:Publish") ||
						all[0].at("Principal", "Service").text() != "cloudwatch.amazonaws.com" || all[0].at("Action").text() != "sns:Publish" ||
						all[0].at("Condition", "StringEquals", "aws:SourceAccount").target() != "AWS::AccountId" {
						found = append(found, topic.find("%s takes more than alarms, or none", topic.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/PageTopicPolicy", ""},
				{"Resources/PageTopicPolicy/Properties/PolicyDocument/Statement/0/Condition", ""},
				{"Resources/TicketTopicPolicy/Properties/PolicyDocument/Statement/0/Action", "sns:*"},
				{"Resources/TicketTopicPolicy/Properties/PolicyDocument/Statement/1", ""},
			},
		},
	})
}

func admissions(tmpl template) (found []finding) {
	for _, q := range tmpl.resources("AWS::SQS::Queue") {
		var sources []string
		for _, other := range tmpl.resources("AWS::SQS::Queue") {
			if other.at("Properties", "RedrivePolicy", "deadLetterTargetArn").target() != q.id {
				continue
			}
			name := other.at("Properties", "QueueName")
			if name.Node == nil {
				found = append(found, other.find("%s has no name by which %s could admit it", other.id, q.id))
				continue
			}
			sources = append(sources, "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:"+name.Value)
		}
		policy := q.at("Properties", "RedriveAllowPolicy")
		want := "denyAll"
		if len(sources) > 0 {
			want = "byQueue"
		}
		var admitted []string
		for _, n := range policy.at("sourceQueueArns").list() {
			admitted = append(admitted, n.Value)
		}
		if policy.at("redrivePermission").text() != want || !slices.Equal(admitted, sources) {
			found = append(found, q.find("%s admits %q, want %s %q", q.id, admitted, want, sources))
		}
	}
	return found
}

// names are the properties that give a resource a fixed name: CloudFormation cannot
// replace it then.
var names = []string{
	"FunctionName", "RoleName", "TableName", "QueueName", "TopicName", "LogGroupName", "AlarmName", "DashboardName", "UserPoolName", "ClientName",
}

func TestNamesAndTagsOfTheTemplate(t *testing.T) {
	tagged := []string{"AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::SNS::Topic", "AWS::CloudFormation::Stack"}
	checkTemplate(t, []templateRule{
		{
			row:  18,
			name: "nothing has a name of its own, unless it says why",
			check: func(tmpl template) (found []finding) {
				for _, r := range tmpl.all() {
					for _, name := range names {
						// A metric's dimension of that name is not a property of the
						// resource.
						if v := r.at("Properties", name); v.Node != nil && !tmpl.excused(r, "W28") {
							found = append(found, v.find("%s has a name of its own (W28)", r.id))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/LedgerTable/Properties/TableName", "ledger"},
				{"excuse OrderQueue W28", ""},
			},
		},
		{
			row:  18,
			name: "what costs money carries the application's tag, and so does what SAM makes",
			check: func(tmpl template) (found []finding) {
				function := tmpl.at("Globals", "Function")
				if function.at("Tags", "application").Node == nil || function.at("PropagateTags").text() != "true" {
					found = append(found, tmpl.find("functions carry no tag"))
				}
				for _, a := range tmpl.resources("AWS::Serverless::HttpApi") {
					if a.at("Properties", "Tags", "application").Node == nil || a.at("Properties", "PropagateTags").text() != "true" {
						found = append(found, a.find("%s carries no tag", a.id))
					}
				}
				for _, kind := range tagged {
					for _, r := range tmpl.resources(kind) {
						if r.at("Properties", "Tags", "0", "Key").text() != "application" {
							found = append(found, r.find("%s carries no tag", r.id))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{"Globals/Function/Tags", ""},
				{"Globals/Function/PropagateTags", "false"},
				{"Resources/Api/Properties/Tags", ""},
				{"Resources/LedgerTable/Properties/Tags", ""},
				{"Resources/OrderQueue/Properties/Tags", ""},
			},
		},
		{
			row:   18,
			name:  "every parameter is bounded, and a secret one is never shown",
			check: parameters,
			breaks: []edit{
				{"Parameters/LogLevel/AllowedValues", ""},
				{"Parameters/EligibilityUrl/AllowedPattern", ""},
				{"Parameters/EligibilityUrl/AllowedPattern", "^(https?://.+)?$"},
				{"Parameters/JwtIssuer/AllowedPattern", "^(https?://.+)?$"},
				{"Parameters/PurchaseRateLimit/MinValue", ""},
				{"Parameters/OriginSecret/NoEcho", ""},
				{"Outputs/Secret", "{Description: the secret, Value: !Ref OriginSecret}"},
			},
		},
	})
}

// free are the parameters whose values are defined elsewhere.
var free = []string{"JwtAudience", "OperatorAudience"}

func parameters(tmpl template) (found []finding) {
	for key, p := range tmpl.at("Parameters").pairs() {
		bounded := false
		for _, bound := range []string{"AllowedValues", "AllowedPattern", "MinValue", "MinLength"} {
			bounded = bounded || p.at(bound).Node != nil
		}
		if !bounded && !slices.Contains(free, key.Value) {
			found = append(found, key.find("%s takes anything", key.Value))
		}
		if pattern, err := regexp.Compile(p.at("AllowedPattern").text()); strings.HasSuffix(key.Value, "Url") || strings.HasSuffix(key.Value, "Issuer") {
			if err != nil || pattern.MatchString("http://x.example/") || !pattern.MatchString("https://x.example/") {
				found = append(found, key.find("%s takes what is not https", key.Value))
			}
		}
		if strings.Contains(key.Value, "Secret") {
			if p.at("NoEcho").text() != "true" {
				found = append(found, key.find("%s is shown", key.Value))
			}
			if slices.Contains(tmpl.at("Outputs").references(), key.Value) || slices.Contains(tmpl.at("Metadata").references(), key.Value) {
				found = append(found, key.find("%s is given out", key.Value))
			}
		}
	}
	return found
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
	}
	service, _, _ := strings.Cut(action, ":")
	if slices.Contains(streamActions, action) {
		names[service] += "/stream/2026-11-11T12:00:00.000"
	}
	return "arn:aws:" + service + region + names[service]
}

func TestTheBoundaryLeavesEveryRoleWhatItNeeds(t *testing.T) {
	text := read(t, boundaryFile)
	// SAM makes a role for each schedule: it invokes the alias, and sends what fails to a queue.
	schedules := []request{
		{"", "lambda:InvokeFunction", "arn:aws:lambda" + region + "function:flashsale-dev-SeedFunction-1:live", nil},
		{"", "sqs:SendMessage", "arn:aws:sqs" + region + "flashsale-dev-ScheduleDeadLetterQueue-1", nil},
	}
	tooNarrow := func(tmpl template, text string) (found []finding) {
		boundary := parsePolicies(t, filledIn(text))
		for _, role := range tmpl.resources("AWS::IAM::Role") {
			for _, s := range tmpl.statements(role.id) {
				for _, action := range s.at("Action").list() {
					for _, resource := range alternatives(s.at("Resource")) {
						if r := (request{"", action.text(), sample(action.text(), resource), nil}); !boundary.allows(r) {
							found = append(found, s.find("%s may not %s on %s beside the boundary", role.id, r.action, r.resource))
						}
					}
				}
			}
		}
		for _, r := range schedules {
			if !boundary.allows(r) {
				found = append(found, tmpl.find("a schedule may not %s on %s beside the boundary", r.action, r.resource))
			}
		}
		return found
	}
	checkTemplate(t, []templateRule{
		{
			row:   3,
			name:  "the boundary allows what the template's roles allow",
			check: func(tmpl template) []finding { return tooNarrow(tmpl, text) },
			breaks: []edit{
				{"Resources/PurchaseRole/Properties/Policies/0/PolicyDocument/Statement/0/Action", "[dynamodb:DeleteItem]"},
				{"Resources/RolloutRole/Properties/Policies/0/PolicyDocument/Statement/0/Action", "[lambda:DeleteAlias]"},
			},
		},
		{
			row:  3,
			name: "every role has the boundary, if there is one, also those that SAM makes",
			check: func(tmpl template) (found []finding) {
				expect := func(n node, who string) {
					if n.at("0").text() != "HasBoundary" || n.at("1").target() != "PermissionsBoundaryArn" || n.at("2").target() != "AWS::NoValue" {
						found = append(found, n.find("%s is made without the boundary", who))
					}
				}
				for _, role := range tmpl.resources("AWS::IAM::Role") {
					expect(role.at("Properties", "PermissionsBoundary"), role.id)
				}
				for _, f := range tmpl.functions() {
					for _, e := range f.events("ScheduleV2") {
						expect(e.at("Properties", "PermissionsBoundary"), f.id+"'s schedule")
					}
					if f.property("Role").Node == nil || tmpl.at("Globals", "Function", "DeploymentPreference", "Role").target() != "RolloutRole" {
						found = append(found, f.find("SAM makes a role for %s", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/PayRole/Properties/PermissionsBoundary", ""},
				{"Resources/RolloutRole/Properties/PermissionsBoundary", "!Ref PermissionsBoundaryArn"},
				{"Resources/SeedFunction/Properties/Events/Seeding/Properties/PermissionsBoundary", ""},
				{"Globals/Function/DeploymentPreference/Role", ""},
				{"Resources/PayFunction/Properties/Role", ""},
			},
		},
	})
	tmpl := parseTemplate(t, read(t, templateFile))
	for _, s := range parsePolicies(t, text).Statement {
		for _, action := range s.Action {
			spoilt := strings.Replace(text, `"`+action+`"`, `"none:none"`, 1)
			if spoilt == text || len(tooNarrow(tmpl, spoilt)) == 0 {
				t.Errorf("the boundary allows %s, which no role needs", action)
			}
		}
	}
}

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
func required(t *testing.T, f function) map[string]string {
	t.Helper()
	all := map[string]string{}
	for call := range tableCalls(t, f) {
		action, _, _ := strings.Cut(call, " ")
		all[action] = "the ledger"
	}
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
