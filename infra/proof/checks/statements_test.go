package checks

import (
	"slices"
	"strings"
	"testing"
)

func TestStatementsAreNarrow(t *testing.T) {
	const statements = "Resources/PurchaseRole/Properties/Policies/0/PolicyDocument/Statement/"
	checkTemplate(t, []templateRule{
		{
			row:  3,
			name: "roles allow named actions, by policies of their own",
			check: func(tmpl template) (found []finding) {
				for _, role := range tmpl.resources("AWS::IAM::Role") {
					if managed := role.at("Properties", "ManagedPolicyArns"); managed.Node != nil {
						found = append(found, managed.find("%s takes over a policy that this template does not show", role.id))
					}
					for _, s := range tmpl.statements(role.id) {
						if s.at("Effect").text() != "Allow" || s.at("Action").Node == nil || s.at("Resource").Node == nil {
							found = append(found, s.find("%s: a statement allows actions by name on resources by name", role.id))
						}
						for _, action := range s.at("Action").list() {
							if strings.Contains(action.Value, "*") || !strings.Contains(action.text(), ":") {
								found = append(found, action.find("%s: action %q is not one action", role.id, action.Value))
							}
						}
					}
				}
				for _, f := range tmpl.functions() {
					if p := f.property("Policies"); p.Node != nil {
						found = append(found, p.find("%s: Policies have no effect beside Role", f.id))
					}
					trust := tmpl.at("Resources", f.property("Role").target(), "Properties", "AssumeRolePolicyDocument", "Statement")
					if len(trust.list()) != 1 || trust.at("0", "Principal", "Service").text() != "lambda.amazonaws.com" {
						found = append(found, f.find("%s: the role is not Lambda's alone", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/PurchaseRole/Properties/ManagedPolicyArns", "['arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess']"},
				{statements + "0/Action", "['dynamodb:*']"},
				{statements + "1/Action", "'*'"},
				{statements + "0/Effect", "Deny"},
				{statements + "0/Resource", ""},
				{statements + "0", "{Effect: Allow, NotAction: 'iam:*', Resource: x}"},
				{"Resources/SeedRole/Properties/AssumeRolePolicyDocument/Statement/0/Principal", "{Service: ec2.amazonaws.com}"},
				{"Resources/SeedFunction/Properties/Policies", "[AWSLambda_FullAccess]"},
			},
		},
		{
			row:   3,
			name:  "each action is allowed on the one thing that it is for, and on anything only for traces",
			check: resourcesOfStatements,
			breaks: []edit{
				{statements + "0/Resource", "'*'"},
				{statements + "0/Resource", "!GetAtt OrderQueue.Arn"},
				{statements + "1/Resource", "!GetAtt OrderDeadLetterQueue.Arn"},
				{statements + "2/Resource", "!GetAtt SeedLogGroup.Arn"},
				{statements + "2/Resource", "'*'"},
				{statements + "3/Action", "[xray:PutTraceSegments, xray:GetTraceSummaries]"},
				{"Resources/FinalizeRole/Properties/Policies/0/PolicyDocument/Statement/1/Resource", "!GetAtt OrderDeadLetterQueue.Arn"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/0/Resource", "!GetAtt LedgerTable.Arn"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/1/Resource", "'*'"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/1/Resource", "!GetAtt OtherBus.Arn"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/2/Resource", "!GetAtt OrderQueue.Arn"},
			},
		},
	})
}

func resourcesOfStatements(tmpl template) (found []finding) {
	for _, f := range tmpl.functions() {
		for _, s := range tmpl.statements(f.property("Role").target()) {
			for _, action := range s.at("Action").list() {
				for _, choice := range alternatives(s.at("Resource").own()) {
					for _, target := range choice.list() {
						if !serves(tmpl, f, action.text(), target) {
							found = append(found, target.find("%s may %s on %s", f.id, action.text(), target.Value))
						}
					}
				}
			}
		}
	}
	return found
}

// serves reports whether a function needs an action on that target.
func serves(tmpl template, f function, action string, target node) bool {
	id := target.target()
	service, _, _ := strings.Cut(action, ":")
	switch service {
	case "xray":
		return target.text() == "*" && (action == "xray:PutTraceSegments" || action == "xray:PutTelemetryRecords")
	case "dynamodb":
		if slices.Contains(streamActions, action) {
			return slices.ContainsFunc(f.events("DynamoDB"), func(e resource) bool {
				stream := e.at("Properties", "Stream").own()
				return target.Tag == "!GetAtt" && target.Tag == stream.Tag && target.Value == stream.Value
			})
		}
		return id != "" && id == f.variables()["TABLE_NAME"].target()
	case "logs":
		return id != "" && id == f.property("LoggingConfig", "LogGroup").target()
	case "events":
		buses := target.references()
		return len(buses) == 1 && slices.Contains(f.variables()["EVENT_BUS_NAME"].references(), buses[0])
	case "sqs":
		queues := []string{f.variables()["ORDER_QUEUE_URL"].target(), f.variables()["FAILURE_QUEUE_URL"].target(), f.failures().target()}
		for _, e := range f.events("SQS") {
			queues = append(queues, e.at("Properties", "Queue").target())
		}
		return id != "" && slices.Contains(queues, id)
	}
	return false
}
