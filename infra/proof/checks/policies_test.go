package checks

import (
	"regexp"
	"slices"
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
var free = []string{"JwtAudience"}

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
