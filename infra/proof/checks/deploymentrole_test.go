package checks

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// roleFiles are the managed policies of the deployment role.
var roleFiles = []string{"infra/ops/deploy/role/functions.json", "infra/ops/deploy/role/resources.json", "infra/ops/deploy/role/options.json"}

// mostOfAPolicy is the maximum length of a managed policy in characters, without white
// space. IAM's limit is 6,144; the rest is for future changes.
const mostOfAPolicy = 5600

// makes are the actions that CloudFormation calls with the deployment role to create
// and delete a resource of a type; a SAM type includes everything that SAM generates
// for it. Retained resources need no deletion.
var makes = map[string][]string{
	"AWS::ApiGatewayV2::ApiMapping":               {"apigateway:POST", "apigateway:DELETE"},
	"AWS::ApiGatewayV2::Api":                      {"apigateway:POST", "apigateway:PATCH", "apigateway:DELETE"},
	"AWS::ApiGatewayV2::Authorizer":               {"apigateway:POST", "apigateway:PATCH", "apigateway:DELETE"},
	"AWS::ApiGatewayV2::Integration":              {"apigateway:POST", "apigateway:PATCH", "apigateway:DELETE"},
	"AWS::ApiGatewayV2::Route":                    {"apigateway:POST", "apigateway:PATCH", "apigateway:DELETE"},
	"AWS::ApiGatewayV2::Stage":                    {"apigateway:POST", "apigateway:PATCH", "apigateway:DELETE", "logs:CreateLogDelivery"},
	"AWS::ApiGatewayV2::DomainName":               {"apigateway:POST", "apigateway:PATCH", "apigateway:DELETE"},
	"AWS::ApplicationAutoScaling::ScalableTarget": {"application-autoscaling:RegisterScalableTarget", "application-autoscaling:PutScheduledAction", "application-autoscaling:DeregisterScalableTarget"},
	"AWS::Budgets::Budget":                        {"budgets:ModifyBudget", "budgets:ViewBudget"},
	"AWS::CloudFormation::Stack":                  {"cloudformation:CreateStack", "cloudformation:UpdateStack", "cloudformation:DeleteStack", "s3:GetObject"},
	"AWS::CloudFront::CachePolicy":                {"cloudfront:CreateCachePolicy", "cloudfront:UpdateCachePolicy", "cloudfront:DeleteCachePolicy"},
	"AWS::CloudFront::Distribution":               {"cloudfront:CreateDistribution", "cloudfront:UpdateDistribution", "cloudfront:DeleteDistribution"},
	"AWS::CloudWatch::Alarm":                      {"cloudwatch:PutMetricAlarm", "cloudwatch:DeleteAlarms"},
	"AWS::CloudWatch::Dashboard":                  {"cloudwatch:PutDashboard", "cloudwatch:DeleteDashboards"},
	"AWS::Cognito::UserPool":                      {"cognito-idp:CreateUserPool", "cognito-idp:UpdateUserPool"},
	"AWS::Cognito::UserPoolClient":                {"cognito-idp:CreateUserPoolClient", "cognito-idp:UpdateUserPoolClient", "cognito-idp:DeleteUserPoolClient"},
	"AWS::Cognito::UserPoolDomain":                {"cognito-idp:CreateUserPoolDomain", "cognito-idp:UpdateUserPoolDomain", "cognito-idp:DeleteUserPoolDomain"},
	"AWS::Cognito::UserPoolGroup":                 {"cognito-idp:CreateGroup", "cognito-idp:UpdateGroup", "cognito-idp:DeleteGroup"},
	"AWS::Cognito::UserPoolResourceServer":        {"cognito-idp:CreateResourceServer", "cognito-idp:UpdateResourceServer", "cognito-idp:DeleteResourceServer"},
	"AWS::DynamoDB::Table":                        {"dynamodb:CreateTable", "dynamodb:UpdateTable", "dynamodb:UpdateContinuousBackups"},
	"AWS::Events::EventBus":                       {"events:CreateEventBus", "events:UpdateEventBus", "events:DeleteEventBus"},
	"AWS::IAM::Role":                              {"iam:CreateRole", "iam:PutRolePermissionsBoundary", "iam:PutRolePolicy", "iam:PassRole", "iam:ListRolePolicies", "iam:ListAttachedRolePolicies", "iam:DeleteRolePolicy", "iam:DeleteRole"},
	"AWS::KMS::Key":                               {"kms:CreateKey", "kms:TagResource", "kms:EnableKeyRotation", "kms:CreateGrant", "kms:Encrypt", "kms:ScheduleKeyDeletion"},
	"AWS::Lambda::Permission":                     {"lambda:AddPermission", "lambda:RemovePermission"},
	"AWS::Logs::LogGroup":                         {"logs:CreateLogGroup", "logs:PutRetentionPolicy", "logs:GetDataProtectionPolicy", "logs:DeleteLogGroup"},
	"AWS::Logs::MetricFilter":                     {"logs:PutMetricFilter", "logs:DeleteMetricFilter"},
	"AWS::SNS::Subscription":                      {"sns:Subscribe", "sns:Unsubscribe"},
	"AWS::SNS::Topic":                             {"sns:CreateTopic", "sns:SetTopicAttributes", "sns:DeleteTopic"},
	"AWS::SNS::TopicPolicy":                       {"sns:SetTopicAttributes"},
	"AWS::SQS::Queue":                             {"sqs:CreateQueue", "sqs:SetQueueAttributes", "sqs:DeleteQueue"},
	"AWS::SQS::QueuePolicy":                       {"sqs:SetQueueAttributes"},
	"AWS::Serverless::Function": {
		"lambda:CreateFunction", "lambda:UpdateFunctionCode", "lambda:UpdateFunctionConfiguration", "lambda:DeleteFunction", "lambda:PublishVersion",
		"lambda:CreateAlias", "lambda:UpdateAlias", "lambda:DeleteAlias", "lambda:AddPermission", "lambda:RemovePermission", "lambda:PutFunctionConcurrency",
		"lambda:PutFunctionEventInvokeConfig", "lambda:CreateEventSourceMapping", "lambda:DeleteEventSourceMapping", "lambda:PutFunctionRecursionConfig", "lambda:GetRuntimeManagementConfig",
		"scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule",
		"codedeploy:CreateApplication", "codedeploy:CreateDeploymentGroup", "codedeploy:CreateDeployment", "codedeploy:DeleteApplication", "s3:GetObject",
	},
	"AWS::Serverless::HttpApi":         {"apigateway:POST", "apigateway:PUT", "apigateway:PATCH", "apigateway:DELETE", "logs:CreateLogDelivery"},
	"AWS::WAFv2::LoggingConfiguration": {"wafv2:PutLoggingConfiguration", "wafv2:DeleteLoggingConfiguration", "logs:PutResourcePolicy"},
	secretReference:                    {"secretsmanager:GetSecretValue"},
	"AWS::WAFv2::WebACL":               {"wafv2:CreateWebACL", "wafv2:UpdateWebACL", "wafv2:DeleteWebACL"},
}

// secretReference is how a template refers to a secret, which CloudFormation reads with
// the permissions of whoever deploys.
const secretReference = "{{resolve:secretsmanager:"

// anywhere are the statements of actions that cannot be restricted to a resource, or
// whose resource has no name before it is created.
var anywhere = []string{"Pollers", "LogDelivery", "Warming", "NewUserPool", "NewKey", "SignInDomain", "Preflight"}

type deploymentPolicy struct {
	Statement []struct {
		Sid, Effect      string
		Action, Resource []string
		Condition        map[string]map[string]any
	}
}

// wrong returns the findings on a deployment role for resources of those types.
func (p deploymentPolicy) wrong(types []string) (found []string) {
	allowed := map[string]bool{}
	for _, s := range p.Statement {
		if s.Effect == "Deny" {
			continue
		}
		for _, action := range s.Action {
			allowed[action] = true
			if strings.Contains(action, "*") || s.Effect != "Allow" {
				found = append(found, s.Sid+" allows more than it names: "+action)
			}
			if action == "iam:PassRole" && s.Condition["StringEquals"]["iam:PassedToService"] == nil {
				found = append(found, s.Sid+" may give a role to anybody")
			}
		}
		for _, resource := range s.Resource {
			if resource == "*" && !slices.Contains(anywhere, s.Sid) {
				found = append(found, s.Sid+" reaches everything in the account")
			}
		}
	}
	for _, kind := range types {
		if makes[kind] == nil {
			found = append(found, "nobody has said what "+kind+" needs")
		}
		for _, action := range makes[kind] {
			if !allowed[action] {
				found = append(found, kind+" needs "+action)
			}
		}
	}
	return found
}

// parsePolicies reads policies that stand one after the other as one.
func parsePolicies(t testing.TB, text string) (whole deploymentPolicy) {
	t.Helper()
	for all := json.NewDecoder(strings.NewReader(text)); all.More(); {
		var p deploymentPolicy
		if err := all.Decode(&p); err != nil {
			t.Fatal(err)
		}
		whole.Statement = append(whole.Statement, p.Statement...)
	}
	return whole
}

func TestTheDeploymentRoleMayMakeWhatTheTemplatesHoldAndNoMore(t *testing.T) {
	var types []string
	for _, file := range []string{templateFile, alarmsFile, frontFile} {
		for _, r := range parseTemplate(t, read(t, file)).all() {
			types = append(types, r.at("Type").text())
		}
		if strings.Contains(read(t, file), secretReference) {
			types = append(types, secretReference)
		}
	}
	slices.Sort(types)
	types = slices.Compact(types)
	var texts []string
	for _, file := range roleFiles {
		text := read(t, file)
		texts = append(texts, text)
		if n := len(strings.Join(strings.Fields(text), "")); n > mostOfAPolicy {
			t.Errorf("row 3: %s has %d characters, want at most %d", file, n, mostOfAPolicy)
		}
	}
	text := strings.Join(texts, "\n")
	judge := func(text string, types []string) []string { return parsePolicies(t, text).wrong(types) }
	for _, found := range judge(text, types) {
		t.Errorf("row 3: infra/ops/deploy/role: %s", found)
	}
	for kind := range makes {
		if !slices.Contains(types, kind) {
			t.Errorf("no template holds a %s any more", kind)
		}
	}
	for _, change := range [][2]string{
		{`"sqs:CreateQueue"`, `"sqs:GetQueueUrl"`}, {`"sqs:CreateQueue"`, `"sqs:*"`}, {`"iam:PassedToService"`, `"iam:Passed"`},
		{`"secretsmanager:GetSecretValue"`, `"secretsmanager:ListSecrets"`}, {`["arn:aws:sqs:us-east-1:123456789012:flashsale-*"]`, `["*"]`},
	} {
		spoilt := strings.Replace(text, change[0], change[1], 1)
		if spoilt == text || len(judge(spoilt, types)) == 0 {
			t.Errorf("nobody notices %s instead of %s", change[1], change[0])
		}
	}
	if len(judge(text, append(types, "AWS::EC2::Instance"))) == 0 {
		t.Error("nobody notices a type that the role cannot make")
	}
}
