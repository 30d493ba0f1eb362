package checks

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// boundaryFile is the permissions boundary of the roles that a deployment makes.
const boundaryFile = "infra/ops/deploy/role/boundary.json"

// request is one call to AWS as IAM sees it, with its condition keys.
type request struct {
	name, action, resource string
	keys                   map[string]string
}

// patterns are those of IAM that matches has met.
var patterns = map[string]*regexp.Regexp{}

// matches reports whether a text matches a pattern of IAM, in which * is any text and ? any character.
func matches(pattern, text string) bool {
	if patterns[pattern] == nil {
		patterns[pattern] = regexp.MustCompile("^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern)) + "$")
	}
	return patterns[pattern].MatchString(text)
}

// holds evaluates a statement's conditions by the rules of the IAM user guide, "IAM JSON
// policy elements: Condition operators"; it panics on operators that no policy here uses.
func holds(conditions map[string]map[string]any, keys map[string]string) bool {
	for operator, wanted := range conditions {
		base, ifExists := strings.CutSuffix(operator, "IfExists")
		for key, values := range wanted {
			got, given := keys[key]
			if !given && ifExists {
				continue
			}
			list, ok := values.([]any)
			if !ok {
				list = []any{values}
			}
			met := false
			for _, v := range list {
				switch base {
				case "StringEquals":
					met = met || got == v.(string)
				case "ArnEquals", "StringLike":
					met = met || matches(v.(string), got)
				default:
					panic("unknown operator " + operator)
				}
			}
			if !given || !met {
				return false
			}
		}
	}
	return true
}

// allows evaluates a request: a statement that denies it wins over all that allow it, and
// without one that allows it, it is refused.
func (p deploymentPolicy) allows(r request) bool {
	allowed := false
	for _, s := range p.Statement {
		applies := false
		for _, action := range s.Action {
			for _, resource := range s.Resource {
				applies = applies || matches(action, r.action) && matches(resource, r.resource)
			}
		}
		if applies && holds(s.Condition, r.keys) {
			if s.Effect == "Deny" {
				return false
			}
			allowed = true
		}
	}
	return allowed
}

const (
	accountID = "123456789012"
	iamRole   = "arn:aws:iam::" + accountID + ":role/"
	iamPolicy = "arn:aws:iam::" + accountID + ":policy/"
	bounds    = iamPolicy + "boundary-of-flashsale-dev"
	ownRole   = iamRole + "deployer-of-flashsale-dev"
	devRole   = iamRole + "flashsale-dev-PayRole-1"
	prodRole  = iamRole + "flashsale-prod-PayRole-1"
	region    = ":us-east-1:" + accountID + ":"
)

func bounded(by string) map[string]string { return map[string]string{"iam:PermissionsBoundary": by} }

func tagged(key, stack string) map[string]string {
	return map[string]string{key + "/application": stack}
}

// takeovers are requests with which dev's pipeline would get hold of prod or of the account. All of them must be
// refused. So must be those that it needs (needed, named), of another stack: see elsewhere.
var takeovers = []request{
	{"make a role without a boundary", "iam:CreateRole", devRole, nil},
	{"make a role with AWS's own policy as its boundary", "iam:CreateRole", devRole, bounded("arn:aws:iam::aws:policy/AdministratorAccess")},
	{"make a role with another policy as its boundary", "iam:CreateRole", devRole, bounded(iamPolicy + "flashsale-dev-wide")},
	{"write the policy of a role that has no boundary", "iam:PutRolePolicy", devRole, nil},
	{"write its own policy", "iam:PutRolePolicy", ownRole, nil},
	{"write its own policy, if it had the boundary", "iam:PutRolePolicy", ownRole, bounded(bounds)},
	{"attach a policy to itself", "iam:AttachRolePolicy", ownRole, map[string]string{"iam:PolicyARN": "arn:aws:iam::aws:policy/AdministratorAccess"}},
	{"attach a policy to a role with the boundary", "iam:AttachRolePolicy", devRole, bounded(bounds)},
	{"take the boundary from a role", "iam:DeleteRolePermissionsBoundary", devRole, bounded(bounds)},
	{"replace a role's boundary", "iam:PutRolePermissionsBoundary", devRole, bounded("arn:aws:iam::aws:policy/AdministratorAccess")},
	{"put a new version of the boundary", "iam:CreatePolicyVersion", bounds, nil},
	{"choose another version of the boundary", "iam:SetDefaultPolicyVersion", bounds, nil},
	{"delete the boundary", "iam:DeletePolicy", bounds, nil},
	{"make a policy", "iam:CreatePolicy", iamPolicy + "flashsale-dev-wide", nil},
	{"change who may assume itself", "iam:UpdateAssumeRolePolicy", ownRole, nil},
	{"change who may assume prod's role", "iam:UpdateAssumeRolePolicy", prodRole, nil},
	{"change who may assume a role of its own", "iam:UpdateAssumeRolePolicy", devRole, bounded(bounds)},
	{"write prod's role, if it had dev's boundary", "iam:PutRolePolicy", prodRole, bounded(bounds)},
	{"pass prod's deployment role to a function", "iam:PassRole", iamRole + "deployer-of-flashsale-prod", map[string]string{"iam:PassedToService": "lambda.amazonaws.com"}},
	{"pass a role to another service", "iam:PassRole", devRole, map[string]string{"iam:PassedToService": "ec2.amazonaws.com"}},
	{"assume prod's deployment role", "sts:AssumeRole", iamRole + "deployer-of-flashsale-prod", nil},
	{"make a user", "iam:CreateUser", "arn:aws:iam::" + accountID + ":user/flashsale-dev", bounded(bounds)},
	{"let another repository in", "iam:UpdateOpenIDConnectProviderThumbprint", "arn:aws:iam::" + accountID + ":oidc-provider/token.actions.githubusercontent.com", nil},
	{"move prod's alias", "lambda:UpdateAlias", "arn:aws:lambda" + region + "function:flashsale-prod-PayFunction-1", nil},
	{"open the bucket by its policy", "s3:PutBucketPolicy", "arn:aws:s3:::aws-sam-cli-managed-default-1", nil},
	{"change the bucket's stack", "cloudformation:UpdateStack", "arn:aws:cloudformation" + region + "stack/aws-sam-cli-managed-default/1", nil},
	{"sign in as a user of prod's pool", "cognito-idp:AdminInitiateAuth", "arn:aws:cognito-idp" + region + "userpool/1", tagged("aws:ResourceTag", "flashsale-prod")},
	{"tag prod's pool as its own", "cognito-idp:TagResource", "arn:aws:cognito-idp" + region + "userpool/1", map[string]string{"aws:ResourceTag/application": "flashsale-prod", "aws:RequestTag/application": "flashsale-dev"}},
	{"decrypt what prod's functions hold", "kms:Decrypt", "arn:aws:kms" + region + "key/1", tagged("aws:ResourceTag", "flashsale-prod")},
	{"open prod's key by its policy", "kms:PutKeyPolicy", "arn:aws:kms" + region + "key/1", tagged("aws:ResourceTag", "flashsale-prod")},
	{"tag prod's key as its own", "kms:TagResource", "arn:aws:kms" + region + "key/1", map[string]string{"aws:ResourceTag/application": "flashsale-prod", "aws:RequestTag/application": "flashsale-dev"}},
	{"change a pool that has no tag", "cognito-idp:UpdateUserPool", "arn:aws:cognito-idp" + region + "userpool/1", nil},
	{"tag a pool that has no tag as its own", "cognito-idp:TagResource", "arn:aws:cognito-idp" + region + "userpool/1", tagged("aws:RequestTag", "flashsale-dev")},
	{"decrypt with a key that had no tag, and that it has tagged", "kms:Decrypt", "arn:aws:kms" + region + "key/1", tagged("aws:ResourceTag", "flashsale-dev")},
	{"delete such a key", "kms:ScheduleKeyDeletion", "arn:aws:kms" + region + "key/1", tagged("aws:ResourceTag", "flashsale-dev")},
	{"open such a key by its policy", "kms:PutKeyPolicy", "arn:aws:kms" + region + "key/1", tagged("aws:ResourceTag", "flashsale-dev")},
	{"lend such a key by a grant", "kms:CreateGrant", "arn:aws:kms" + region + "key/1", tagged("aws:ResourceTag", "flashsale-dev")},
	{"tag somebody's function", "lambda:TagResource", "arn:aws:lambda" + region + "function:shop", tagged("aws:RequestTag", "flashsale-dev")},
	{"read the keys of its own refunds", "secretsmanager:GetSecretValue", "arn:aws:secretsmanager" + region + "secret:flashsale-dev-refunds-AbC123", nil},
	{"take the tags from prod's function", "lambda:UntagResource", "arn:aws:lambda" + region + "function:flashsale-prod-PayFunction-1", nil},
	{"take the tags from prod's poller", "lambda:UntagResource", "arn:aws:lambda" + region + "event-source-mapping:1", tagged("aws:ResourceTag", "flashsale-prod")},
}

// denied are the requests that stay refused if somebody attaches to the deployment role a
// policy that allows everything.
var denied = []string{"take the boundary from a role", "put a new version of the boundary", "choose another version of the boundary", "delete the boundary"}

// needed are the requests of a deployment that a boundary or a tag could get in the way of.
var needed = []request{
	{"make a role with the boundary", "iam:CreateRole", devRole, bounded(bounds)},
	{"write the policy of a role with the boundary", "iam:PutRolePolicy", devRole, bounded(bounds)},
	{"delete the policy of a role with the boundary", "iam:DeleteRolePolicy", devRole, bounded(bounds)},
	{"put the boundary on a role", "iam:PutRolePermissionsBoundary", devRole, bounded(bounds)},
	{"delete a role", "iam:DeleteRole", devRole, nil},
	{"pass a role to Lambda", "iam:PassRole", devRole, map[string]string{"iam:PassedToService": "lambda.amazonaws.com"}},
	{"pass a role to CodeDeploy", "iam:PassRole", devRole, map[string]string{"iam:PassedToService": "codedeploy.amazonaws.com"}},
	{"pass a role to the scheduler", "iam:PassRole", devRole, map[string]string{"iam:PassedToService": "scheduler.amazonaws.com"}},
	{"replace its own code", "lambda:UpdateFunctionCode", "arn:aws:lambda" + region + "function:flashsale-dev-PayFunction-1", nil},
	{"poll for its own function", "lambda:CreateEventSourceMapping", "arn:aws:lambda" + region + "event-source-mapping:1", map[string]string{"lambda:FunctionArn": "arn:aws:lambda" + region + "function:flashsale-dev-PublishFunction-1"}},
	{"update its own stack", "cloudformation:ExecuteChangeSet", "arn:aws:cloudformation" + region + "stack/flashsale-dev/1", nil},
	{"update its own front", "cloudformation:UpdateStack", "arn:aws:cloudformation" + region + "stack/flashsale-dev-Front-1/1", nil},
	{"find the bucket", "cloudformation:DescribeStacks", "arn:aws:cloudformation" + region + "stack/aws-sam-cli-managed-default/1", nil},
	{"upload its own programs", "s3:PutObject", "arn:aws:s3:::aws-sam-cli-managed-default-1/flashsale-dev/0123", nil},
	{"make a user pool with its tag", "cognito-idp:CreateUserPool", "*", tagged("aws:RequestTag", "flashsale-dev")},
	{"change its own user pool", "cognito-idp:UpdateUserPool", "arn:aws:cognito-idp" + region + "userpool/1", tagged("aws:ResourceTag", "flashsale-dev")},
	{"make a key with its tag", "kms:CreateKey", "*", tagged("aws:RequestTag", "flashsale-dev")},
	{"tag the key that it makes", "kms:TagResource", "arn:aws:kms" + region + "key/1", tagged("aws:RequestTag", "flashsale-dev")},
	{"tag a poller that it makes", "lambda:TagResource", "arn:aws:lambda" + region + "event-source-mapping:1", tagged("aws:RequestTag", "flashsale-dev")},
	{"smoke-test its own function", "lambda:InvokeFunction", "arn:aws:lambda" + region + "function:flashsale-dev-SeedFunction-1:live", nil},
	{"roll its own functions out", "codedeploy:CreateDeployment", "arn:aws:codedeploy" + region + "deploymentgroup:flashsale-dev-ServerlessDeploymentApplication-1/flashsale-dev-PayFunctionDeploymentGroup-1", nil},
	{"make its own event bus", "events:CreateEventBus", "arn:aws:events" + region + "event-bus/flashsale-dev-orders", nil},
	{"make its own budget", "budgets:ModifyBudget", "arn:aws:budgets::" + accountID + ":budget/flashsale-dev-month", nil},
	{"make its own schedule", "scheduler:CreateSchedule", "arn:aws:scheduler" + region + "schedule/default/flashsale-dev-SeedFunctionSchedule-1", nil},
	{"make the role of its own schedule", "iam:GetRole", iamRole + "flashsale-dev-SeedFunctionScheduleRole-1", nil},
	{"recount its own table", "dynamodb:Query", "arn:aws:dynamodb" + region + "table/flashsale-dev-LedgerTable-1", nil},
	{"use a restored table", "dynamodb:Query", "arn:aws:dynamodb" + region + "table/flashsale-dev-restored", nil},
	{"use a table that was restored again", "dynamodb:Query", "arn:aws:dynamodb" + region + "table/flashsale-dev-restored-2", nil},
	{"read its own signing secrets", "secretsmanager:GetSecretValue", "arn:aws:secretsmanager" + region + "secret:flashsale-dev-stripe-AbC123", nil},
}

// byName are an action on each kind of resource that has a name of CloudFormation's, which begins with the stack's,
// and what comes before that name.
var byName = map[string][2]string{
	"AWS::CloudFormation::Stack": {"cloudformation:UpdateStack", "arn:aws:cloudformation" + region + "stack/"},
	"AWS::CloudWatch::Alarm":     {"cloudwatch:DeleteAlarms", "arn:aws:cloudwatch" + region + "alarm:"},
	"AWS::DynamoDB::Table":       {"dynamodb:UpdateTable", "arn:aws:dynamodb" + region + "table/"},
	"AWS::IAM::Role":             {"iam:DeleteRole", iamRole},
	"AWS::Logs::LogGroup":        {"logs:DeleteLogGroup", "arn:aws:logs" + region + "log-group:"},
	"AWS::SNS::Topic":            {"sns:DeleteTopic", "arn:aws:sns" + region},
	"AWS::SQS::Queue":            {"sqs:DeleteQueue", "arn:aws:sqs" + region},
	"AWS::Serverless::Function":  {"lambda:DeleteFunction", "arn:aws:lambda" + region + "function:"},
}

// named are requests on every resource of the templates in byName, in the stack flashsale-dev.
func named(t *testing.T) (all []request) {
	for file, stack := range map[string]string{templateFile: "flashsale-dev-", alarmsFile: "flashsale-dev-Alarms-1-", frontFile: "flashsale-dev-Front-1-"} {
		for kind, by := range byName {
			for _, r := range parseTemplate(t, file).resources(kind) {
				name := stack + r.id + "-1"
				if given := r.at("Properties.LogGroupName").text(); given != "" {
					name = strings.Replace(given, "${AWS::StackName}", strings.TrimSuffix(stack, "-"), 1)
				}
				if kind == "AWS::CloudFormation::Stack" {
					name += "/1"
				}
				all = append(all, request{"have its " + r.id, by[0], by[1] + name, nil})
			}
		}
	}
	return all
}

// elsewhere is the same request of another stack, whose name begins with this one's: false if it names none.
func (r request) elsewhere() (other request, names bool) {
	move := func(text string) string { return strings.ReplaceAll(text, "flashsale-dev", "flashsale-dev-eu") }
	other = request{r.name + ", of the stack flashsale-dev-eu", r.action, move(r.resource), map[string]string{}}
	for key, value := range r.keys {
		other.keys[key] = move(value)
	}
	return other, other.resource != r.resource || !maps.Equal(other.keys, r.keys)
}

// everything allows everything.
const everything = `{"Statement":[{"Effect":"Allow","Action":["*"],"Resource":["*"]}]}`

func TestAPipelineTakesOverNothing(t *testing.T) {
	role := ""
	for _, file := range roleFiles {
		role += read(t, file)
	}
	deployer, careless := parsePolicies(t, role), parsePolicies(t, role+everything)
	expect := func(who string, want bool, r request, policy deploymentPolicy) {
		if got := policy.allows(r); got != want {
			t.Errorf("%s may %s (%s on %s): %t, want %t", who, r.name, r.action, r.resource, got, want)
		}
	}
	for _, r := range takeovers {
		expect("the deployment role", false, r, deployer)
		if slices.Contains(denied, r.name) {
			expect("the deployment role with another policy attached", false, r, careless)
		}
	}
	for _, r := range slices.Concat(needed, named(t)) {
		expect("the deployment role", true, r, deployer)
		if other, names := r.elsewhere(); names {
			expect("the deployment role", false, other, deployer)
		}
	}
}
