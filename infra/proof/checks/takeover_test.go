package checks

import (
	"fmt"
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

// matches reports whether a text matches a pattern of IAM, in which * is any text.
func matches(pattern, text string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	text, ok := strings.CutPrefix(text, first)
	if !ok || !wild {
		return ok && text == ""
	}
	for i := range len(text) + 1 {
		if matches(rest, text[i:]) {
			return true
		}
	}
	return false
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

// filledIn are the policies for the stack flashsale-dev, as DEPLOYING.md fills them in.
func filledIn(text string) string { return strings.ReplaceAll(text, "flashsale-", "flashsale-dev") }

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

// takeovers are requests with which dev's pipeline would get hold of prod or of the
// account. All of them must be refused.
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
	{"write prod's role", "iam:PutRolePolicy", prodRole, bounded(iamPolicy + "boundary-of-flashsale-prod")},
	{"write prod's role, if it had dev's boundary", "iam:PutRolePolicy", prodRole, bounded(bounds)},
	{"delete prod's role", "iam:DeleteRole", prodRole, nil},
	{"pass prod's role to a function", "iam:PassRole", prodRole, map[string]string{"iam:PassedToService": "lambda.amazonaws.com"}},
	{"pass prod's deployment role to a function", "iam:PassRole", iamRole + "deployer-of-flashsale-prod", map[string]string{"iam:PassedToService": "lambda.amazonaws.com"}},
	{"pass a role to another service", "iam:PassRole", devRole, map[string]string{"iam:PassedToService": "ec2.amazonaws.com"}},
	{"assume prod's deployment role", "sts:AssumeRole", iamRole + "deployer-of-flashsale-prod", nil},
	{"make a user", "iam:CreateUser", "arn:aws:iam::" + accountID + ":user/flashsale-dev", bounded(bounds)},
	{"let another repository in", "iam:UpdateOpenIDConnectProviderThumbprint", "arn:aws:iam::" + accountID + ":oidc-provider/token.actions.githubusercontent.com", nil},
	{"replace prod's code", "lambda:UpdateFunctionCode", "arn:aws:lambda" + region + "function:flashsale-prod-PayFunction-1", nil},
	{"move prod's alias", "lambda:UpdateAlias", "arn:aws:lambda" + region + "function:flashsale-prod-PayFunction-1", nil},
	{"invoke prod's function", "lambda:InvokeFunction", "arn:aws:lambda" + region + "function:flashsale-prod-SeedFunction-1:live", nil},
	{"read prod's stream with a poller of prod's function", "lambda:CreateEventSourceMapping", "arn:aws:lambda" + region + "event-source-mapping:1", map[string]string{"lambda:FunctionArn": "arn:aws:lambda" + region + "function:flashsale-prod-PublishFunction-1"}},
	{"update prod's stack", "cloudformation:UpdateStack", "arn:aws:cloudformation" + region + "stack/flashsale-prod/1", nil},
	{"execute a change set of prod's stack", "cloudformation:ExecuteChangeSet", "arn:aws:cloudformation" + region + "stack/flashsale-prod/1", nil},
	{"put a program where prod's deployment looks for its own", "s3:PutObject", "arn:aws:s3:::aws-sam-cli-managed-default-1/flashsale-prod/0123", nil},
	{"open the bucket by its policy", "s3:PutBucketPolicy", "arn:aws:s3:::aws-sam-cli-managed-default-1", nil},
	{"change the bucket's stack", "cloudformation:UpdateStack", "arn:aws:cloudformation" + region + "stack/aws-sam-cli-managed-default/1", nil},
	{"take the protection from prod's table", "dynamodb:UpdateTable", "arn:aws:dynamodb" + region + "table/flashsale-prod-LedgerTable-1", nil},
	{"read prod's signing secrets", "secretsmanager:GetSecretValue", "arn:aws:secretsmanager" + region + "secret:flashsale-prod-stripe-1", nil},
	{"sign in as a user of prod's pool", "cognito-idp:AdminInitiateAuth", "arn:aws:cognito-idp" + region + "userpool/1", tagged("aws:ResourceTag", "flashsale-prod")},
	{"change prod's pool", "cognito-idp:UpdateUserPool", "arn:aws:cognito-idp" + region + "userpool/1", tagged("aws:ResourceTag", "flashsale-prod")},
	{"tag prod's pool as its own", "cognito-idp:TagResource", "arn:aws:cognito-idp" + region + "userpool/1", map[string]string{"aws:ResourceTag/application": "flashsale-prod", "aws:RequestTag/application": "flashsale-dev"}},
	{"decrypt what prod's functions hold", "kms:Decrypt", "arn:aws:kms" + region + "key/1", tagged("aws:ResourceTag", "flashsale-prod")},
	{"open prod's key by its policy", "kms:PutKeyPolicy", "arn:aws:kms" + region + "key/1", tagged("aws:ResourceTag", "flashsale-prod")},
	{"tag prod's key as its own", "kms:TagResource", "arn:aws:kms" + region + "key/1", map[string]string{"aws:ResourceTag/application": "flashsale-prod", "aws:RequestTag/application": "flashsale-dev"}},
	{"change a pool that has no tag", "cognito-idp:UpdateUserPool", "arn:aws:cognito-idp" + region + "userpool/1", nil},
}

// outOfBounds are requests of a function that dev's pipeline deploys, whose role has the
// boundary and a policy that allows everything. All of them must be refused.
var outOfBounds = []request{
	{"write prod's table", "dynamodb:UpdateItem", "arn:aws:dynamodb" + region + "table/flashsale-prod-LedgerTable-1", nil},
	{"delete items of its own table", "dynamodb:DeleteItem", "arn:aws:dynamodb" + region + "table/flashsale-dev-LedgerTable-1", nil},
	{"read prod's stream", "dynamodb:GetRecords", "arn:aws:dynamodb" + region + "table/flashsale-prod-LedgerTable-1/stream/1", nil},
	{"send prod's messages", "sqs:SendMessage", "arn:aws:sqs" + region + "flashsale-prod-OrderQueue", nil},
	{"forge prod's events", "events:PutEvents", "arn:aws:events" + region + "event-bus/flashsale-prod-orders", nil},
	{"read secrets", "secretsmanager:GetSecretValue", "arn:aws:secretsmanager" + region + "secret:flashsale-dev-stripe-1", nil},
	{"decrypt", "kms:Decrypt", "arn:aws:kms" + region + "key/1", nil},
	{"write a role", "iam:PutRolePolicy", devRole, bounded(bounds)},
	{"pass a role", "iam:PassRole", devRole, map[string]string{"iam:PassedToService": "lambda.amazonaws.com"}},
	{"assume a role", "sts:AssumeRole", ownRole, nil},
	{"replace code", "lambda:UpdateFunctionCode", "arn:aws:lambda" + region + "function:flashsale-dev-PayFunction-1", nil},
	{"move prod's alias", "lambda:UpdateAlias", "arn:aws:lambda" + region + "function:flashsale-prod-PayFunction-1", nil},
	{"invoke prod's function", "lambda:InvokeFunction", "arn:aws:lambda" + region + "function:flashsale-prod-SeedFunction-1:live", nil},
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
	{"let Lambda use its own key", "kms:CreateGrant", "arn:aws:kms" + region + "key/1", tagged("aws:ResourceTag", "flashsale-dev")},
	{"read its own signing secrets", "secretsmanager:GetSecretValue", "arn:aws:secretsmanager" + region + "secret:flashsale-dev-stripe-1", nil},
}

// inReach are requests that reach prod from dev in one account, because what they change has
// an id instead of a name. DEPLOYING.md names them as the reason for separate accounts.
var inReach = []request{
	{"change prod's API", "apigateway:PATCH", "arn:aws:apigateway:us-east-1::/apis/1", nil},
	{"change prod's distribution", "cloudfront:UpdateDistribution", "arn:aws:cloudfront::" + accountID + ":distribution/1", nil},
	{"change prod's web ACL", "wafv2:UpdateWebACL", "arn:aws:wafv2:us-east-1:" + accountID + ":global/webacl/flashsale-prod/1", nil},
	{"tag a key that has no tag as its own", "kms:TagResource", "arn:aws:kms" + region + "key/1", tagged("aws:RequestTag", "flashsale-dev")},
	{"change how warm prod is", "application-autoscaling:RegisterScalableTarget", "*", nil},
}

// everything allows everything.
const everything = `{"Statement":[{"Effect":"Allow","Action":["*"],"Resource":["*"]}]}`

// takenOver evaluates the policies of the deployment role and the boundary, and returns the
// requests with the wrong verdict.
func takenOver(t testing.TB, role, boundary string) (found []string) {
	deployer, limit := parsePolicies(t, filledIn(role)), parsePolicies(t, filledIn(boundary))
	careless := parsePolicies(t, filledIn(role)+everything)
	expect := func(who string, want bool, r request, policies ...deploymentPolicy) {
		got := true
		for _, p := range policies {
			got = got && p.allows(r)
		}
		verdict := map[bool]string{true: "allowed", false: "refused"}
		t.Logf("%-32s %-58s %-36s %s", who, r.name, r.action, verdict[got])
		if got != want {
			found = append(found, fmt.Sprintf("%s may not be %s to %s (%s on %s)", who, verdict[got], r.name, r.action, r.resource))
		}
	}
	for _, r := range takeovers {
		expect("the deployment role", false, r, deployer)
		for _, name := range denied {
			if r.name == name {
				expect("with another policy attached", false, r, careless)
			}
		}
	}
	for _, r := range outOfBounds {
		expect("a role that it makes", false, r, parsePolicies(t, everything), limit)
	}
	for _, r := range needed {
		expect("the deployment role", true, r, deployer)
	}
	for _, r := range inReach {
		expect("the deployment role", true, r, deployer)
	}
	return found
}

func TestAPipelineTakesOverNothing(t *testing.T) {
	var texts []string
	for _, file := range roleFiles {
		texts = append(texts, read(t, file))
	}
	role, boundary := strings.Join(texts, "\n"), read(t, boundaryFile)
	for _, found := range takenOver(t, role, boundary) {
		t.Error("row 3: ", found)
	}
	silent := unlogged{t}
	for _, change := range [][2]string{
		{`"iam:PermissionsBoundary": "arn:aws:iam::123456789012:policy/boundary-of-flashsale-"`, `"aws:RequestedRegion": "*"`},
		{`boundary-of-flashsale-`, `flashsale-*`},
		{`boundary-of-flashsale-`, `*`},
		{`"iam:DeleteRole", "iam:GetRole"`, `"iam:DeleteRole", "iam:UpdateAssumeRolePolicy", "iam:GetRole"`},
		{`"iam:DeleteRole", "iam:GetRole"`, `"iam:AttachRolePolicy", "iam:DeleteRole", "iam:GetRole"`},
		{`"iam:DeleteRole", "iam:GetRole"`, `"iam:PutRolePolicy", "iam:DeleteRole", "iam:GetRole"`},
		{`"arn:aws:iam::123456789012:role/flashsale-*"`, `"arn:aws:iam::123456789012:role/*"`},
		{`{ "Sid": "KeepTheBoundary", "Effect": "Deny",`, `{ "Sid": "KeepTheBoundary", "Effect": "Allow",`},
		{`"iam:DeleteRolePermissionsBoundary", `, ``},
		{`"iam:SetDefaultPolicyVersion", `, ``},
		{`"codedeploy.amazonaws.com", `, `"codedeploy.amazonaws.com", "ec2.amazonaws.com", `},
		{`aws-sam-cli-managed-default-*/flashsale-*`, `aws-sam-cli-managed-default-*`},
		{`"s3:GetBucketLocation"`, `"s3:GetBucketLocation", "s3:PutBucketPolicy"`},
		{`"cloudformation:DescribeStacks", "s3`, `"cloudformation:UpdateStack", "s3`},
		{`{"StringEquals": {"aws:ResourceTag/application": "flashsale-"}}`, `{"StringLike": {"aws:ResourceTag/application": "*"}}`},
		{`"Condition": {"StringEquals": {"aws:ResourceTag`, `"Condition": {"StringEqualsIfExists": {"aws:ResourceTag`},
		{`, "StringEqualsIfExists": {"aws:ResourceTag/application": "flashsale-"}`, ``},
		{`"kms:UpdateKeyDescription"],
      "Resource": ["arn:aws:kms:us-east-1:123456789012:key/*"],
      "Condition": {"StringEquals": {"aws:ResourceTag/application": "flashsale-"}}`, `"kms:UpdateKeyDescription"],
      "Resource": ["*"]`},
		{`"StringLikeIfExists": {"lambda:FunctionArn"`, `"StringLikeIfExists": {"lambda:Layer"`},
	} {
		if spoilt := strings.Replace(role, change[0], change[1], 1); spoilt == role || len(takenOver(silent, spoilt, boundary)) == 0 {
			t.Errorf("nobody notices %s instead of %s", change[1], change[0])
		}
	}
	for _, change := range [][2]string{
		{`table/flashsale-*"`, `table/*"`}, {`table/flashsale-*/stream`, `table/*/stream`}, {`"dynamodb:GetItem"`, `"dynamodb:*"`},
		{`sqs:us-east-1:123456789012:flashsale-*`, `sqs:us-east-1:123456789012:*`}, {`event-bus/flashsale-*`, `event-bus/*`},
		{`function:flashsale-*:live`, `function:*`}, {`function:flashsale-*"`, `function:*"`}, {`"lambda:GetAlias"`, `"lambda:*"`},
		{`"xray:PutTelemetryRecords"`, `"xray:PutTelemetryRecords", "iam:*"`}, {`"xray:PutTelemetryRecords"`, `"xray:PutTelemetryRecords", "sts:AssumeRole"`},
		{`"xray:PutTelemetryRecords"`, `"xray:PutTelemetryRecords", "kms:Decrypt"`},
	} {
		if spoilt := strings.Replace(boundary, change[0], change[1], 1); spoilt == boundary || len(takenOver(silent, role, spoilt)) == 0 {
			t.Errorf("nobody notices %s instead of %s in the boundary", change[1], change[0])
		}
	}
}

// unlogged is a test without its log.
type unlogged struct{ *testing.T }

func (unlogged) Logf(string, ...any) {}
