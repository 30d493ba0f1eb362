package checks

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// roleFiles are the managed policies of the deployment role.
var roleFiles = []string{"infra/ops/deploy/role/functions.json", "infra/ops/deploy/role/roles.json", "infra/ops/deploy/role/resources.json", "infra/ops/deploy/role/options.json"}

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
	"AWS::CloudFront::Function":                   {"cloudfront:CreateFunction", "cloudfront:UpdateFunction", "cloudfront:PublishFunction", "cloudfront:DeleteFunction"},
	"AWS::CloudWatch::Alarm":                      {"cloudwatch:PutMetricAlarm", "cloudwatch:DeleteAlarms"},
	"AWS::CloudWatch::Dashboard":                  {"cloudwatch:PutDashboard", "cloudwatch:DeleteDashboards"},
	"AWS::Cognito::UserPool":                      {"cognito-idp:CreateUserPool", "cognito-idp:UpdateUserPool"},
	"AWS::Cognito::UserPoolClient":                {"cognito-idp:CreateUserPoolClient", "cognito-idp:UpdateUserPoolClient", "cognito-idp:DeleteUserPoolClient"},
	"AWS::Cognito::UserPoolDomain":                {"cognito-idp:CreateUserPoolDomain", "cognito-idp:UpdateUserPoolDomain", "cognito-idp:DeleteUserPoolDomain"},
	"AWS::Cognito::UserPoolGroup":                 {"cognito-idp:CreateGroup", "cognito-idp:UpdateGroup", "cognito-idp:DeleteGroup"},
	"AWS::Cognito::UserPoolResourceServer":        {"cognito-idp:CreateResourceServer", "cognito-idp:UpdateResourceServer", "cognito-idp:DeleteResourceServer"},
	"AWS::DynamoDB::Table":                        {"dynamodb:CreateTable", "dynamodb:UpdateTable", "dynamodb:UpdateContinuousBackups", "dynamodb:Query", "dynamodb:BatchGetItem"}, // the preflight recounts an existing one
	"AWS::Events::EventBus":                       {"events:CreateEventBus", "events:UpdateEventBus", "events:DeleteEventBus"},
	"AWS::IAM::Role":                              {"iam:CreateRole", "iam:PutRolePermissionsBoundary", "iam:PutRolePolicy", "iam:PassRole", "iam:ListRolePolicies", "iam:ListAttachedRolePolicies", "iam:DeleteRolePolicy", "iam:DeleteRole"},
	"AWS::KMS::Key":                               {"kms:CreateKey", "kms:TagResource"}, // its own policy allows the rest
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
	held := map[string]bool{}
	for _, file := range []string{templateFile, alarmsFile, frontFile} {
		for _, r := range parseTemplate(t, file).resources("") {
			held[r.at("Type").text()] = true
		}
		if strings.Contains(read(t, file), secretReference) {
			held[secretReference] = true
		}
	}
	allowed := map[string]bool{}
	for _, file := range roleFiles {
		text := read(t, file)
		if n := len(strings.Join(strings.Fields(text), "")); n > mostOfAPolicy {
			t.Errorf("%s has %d characters, want at most %d", file, n, mostOfAPolicy)
		}
		for _, s := range parsePolicies(t, text).Statement {
			if s.Effect == "Deny" {
				continue
			}
			for _, action := range s.Action {
				allowed[action] = true
				if strings.Contains(action, "*") || s.Effect != "Allow" {
					t.Errorf("%s: %s allows more than it names: %s", file, s.Sid, action)
				}
				if action == "iam:PassRole" && s.Condition["StringEquals"]["iam:PassedToService"] == nil {
					t.Errorf("%s: %s may give a role to anybody", file, s.Sid)
				}
			}
			if slices.Contains(s.Resource, "*") && !slices.Contains(anywhere, s.Sid) {
				t.Errorf("%s: %s reaches everything in the account", file, s.Sid)
			}
		}
	}
	for kind := range held {
		if makes[kind] == nil {
			t.Errorf("nobody has said what %s needs", kind)
		}
	}
	for kind, actions := range makes {
		if !held[kind] {
			t.Errorf("no template holds a %s any more", kind)
		}
		for _, action := range actions {
			if !allowed[action] {
				t.Errorf("%s needs %s", kind, action)
			}
		}
	}
}
