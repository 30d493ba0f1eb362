package checks

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// leastReason is the minimum length of a reason, in bytes.
const leastReason = 20

// excuseRow matches a row of CHECKLIST.md's table of linter rules and checklist rows
// that do not apply to certain resources.
var excuseRow = regexp.MustCompile("(?m)^\\| ((?:`[A-Za-z]+`(?:, )?)+) \\| (row \\d+|W\\d+|CKV_AWS_\\d+) \\| (.+) \\|$")

// excuses returns the reasons, by resource and rule, such as "LedgerTable CKV_AWS_119".
func excuses(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, row := range excuseRow.FindAllStringSubmatch(read(t, checklistFile), -1) {
		for id := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			all[id+" "+row[2]] = row[3]
		}
	}
	return all
}

// excused reports whether a reason is given why that rule does not apply to the
// resource.
func (t template) excused(r resource, rule string) bool {
	return len(t.excuses[r.id+" "+rule]) >= leastReason
}

// all are the resources of every kind.
func (t template) all() (all []resource) {
	for key, value := range t.at("Resources").pairs() {
		all = append(all, resource{key.Value, value})
	}
	return all
}

// unless makes a rule out of what resources of a kind must have, each unless the
// checklist says why not.
func unless(kind, id, says string, has func(template, resource) bool) func(template) []finding {
	return func(tmpl template) (found []finding) {
		for _, r := range tmpl.resources(kind) {
			if !has(tmpl, r) && !tmpl.excused(r, id) {
				found = append(found, r.find("%s %s, and the checklist gives no reason (%s)", r.id, says, id))
			}
		}
		return found
	}
}

func property(steps ...string) func(template, resource) bool {
	return func(_ template, r resource) bool { return r.at("Properties").at(steps...).Node != nil }
}

func TestWhatIsLeftOutHasAReason(t *testing.T) {
	const function = "AWS::Serverless::Function"
	front := parseTemplate(t, read(t, frontFile))
	checkTemplate(t, []templateRule{
		{
			row:  20,
			name: "every excuse is for a resource that there is, and gives a reason",
			check: func(tmpl template) (found []finding) {
				for excuse, reason := range tmpl.excuses {
					id, _, _ := strings.Cut(excuse, " ")
					if tmpl.at("Resources", id).Node == nil && front.at("Resources", id).Node == nil || len(reason) < leastReason {
						found = append(found, finding{checklistFile, 1, excuse + " is excused without a reason, or is not there"})
					}
				}
				for _, r := range slices.Concat(tmpl.all(), front.all()) {
					meta := r.at("Metadata")
					if len(meta.at("cfn-lint", "config", "ignore_checks").list()) > 0 && len(meta.at("reason").text()) < leastReason {
						found = append(found, r.find("%s ignores a rule of cfn-lint without a reason", r.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/SeedLogGroup", ""},
				{"Resources/Front/Metadata/reason", ""},
			},
		},
		{
			row: 20, name: "a function is in a VPC, or says why not",
			check:  unless(function, "CKV_AWS_117", "is in no VPC", property("VpcConfig")),
			breaks: []edit{{"excuse SeedFunction CKV_AWS_117", ""}},
		},
		{
			row: 20, name: "a function's code is signed, or it says why not",
			check:  unless(function, "CKV_AWS_272", "has unsigned code", property("CodeSigningConfigArn")),
			breaks: []edit{{"excuse SeedFunction CKV_AWS_272", ""}},
		},
		{
			row: 14, name: "a function's environment has a key of its own, or says why not",
			check:  unless(function, "CKV_AWS_173", "has no KmsKeyArn", property("KmsKeyArn")),
			breaks: []edit{{"excuse SeedFunction CKV_AWS_173", ""}, {"Resources/PayFunction/Properties/KmsKeyArn", ""}},
		},
		{
			row: 15, name: "an environment that may hold a secret has the key, and only who has kms:Decrypt reads it",
			check: secretsKey,
			breaks: []edit{
				{"Resources/PageFunction/Properties/KmsKeyArn", ""},
				{"Resources/PayFunction/Properties/KmsKeyArn", "!If [HasOriginSecret, !GetAtt SecretsKey.Arn, !Ref AWS::NoValue]"},
				{"Resources/PayFunction/Properties/KmsKeyArn/1", "!GetAtt OtherKey.Arn"},
				{"Resources/SeedFunction/Properties/Environment/Variables/ORIGIN_SECRET", "!Ref OriginSecret"},
				{"Resources/SeedFunction/Properties/Environment/Variables/KEY", "!Sub '{{resolve:secretsmanager:${StripeKeysArn}}}'"},
				{"Resources/SecretsKey/Condition", "HasStripe"},
				{"Resources/SecretsKey/Properties/EnableKeyRotation", "false"},
				{"Resources/SecretsKey/Properties/KeyPolicy/Statement/0/Principal", "{AWS: '*'}"},
				{"Resources/QueryFunction/Properties/KmsKeyArn/0", "HasOriginSecret"},
				{"Conditions/HasPaySecrets/0", "!Condition HasEvents"},
				{"Conditions/HasPaySecrets/2", "!Condition HasStripe"},
				{"Conditions/HasQuerySecrets/1", "!Condition HasStripe"},
				{"Conditions/HasSecrets/1", "!Condition HasStripe"},
				{"Conditions/HasOriginSecret", "!Equals [!Ref OriginSecret, '']"},
			},
		},
		{
			row: 6, name: "a table has a key of its own, or says why not",
			check:  unless("AWS::DynamoDB::Table", "CKV_AWS_119", "has no key of its own", property("SSESpecification", "KMSMasterKeyId")),
			breaks: []edit{{"excuse LedgerTable CKV_AWS_119", ""}},
		},
		{
			row: 6, name: "a table has a time to live, or says why not",
			check:  unless("AWS::DynamoDB::Table", "row 6", "has no time to live", property("TimeToLiveSpecification")),
			breaks: []edit{{"excuse LedgerTable row 6", ""}},
		},
		{
			row: 7, name: "a queue has a key of its own, or says why not",
			check:  unless("AWS::SQS::Queue", "W48", "has no key of its own", property("KmsMasterKeyId")),
			breaks: []edit{{"excuse OrderQueue W48", ""}},
		},
		{
			row: 7, name: "a queue has a dead-letter queue, or says why not",
			check:  unless("AWS::SQS::Queue", "row 7", "has no RedrivePolicy", property("RedrivePolicy")),
			breaks: []edit{{"excuse OrderDeadLetterQueue row 7", ""}, {"Resources/OrderQueue/Properties/RedrivePolicy", ""}},
		},
		{
			row: 12, name: "a log group has a key of its own, or says why not",
			check:  unless("AWS::Logs::LogGroup", "W84", "has no KmsKeyId", property("KmsKeyId")),
			breaks: []edit{{"excuse ApiLogGroup W84", ""}},
		},
		{
			row: 17, name: "the alarms' topic has a key of its own, or says why not",
			check:  unless("AWS::SNS::Topic", "W47", "has no KmsMasterKeyId", property("KmsMasterKeyId")),
			breaks: []edit{{"excuse PageTopic W47", ""}},
		},
		{
			row: 3, name: "a role that allows something on everything says why",
			check: unless("AWS::IAM::Role", "W11", "allows something on *", func(tmpl template, r resource) bool {
				for _, s := range tmpl.statements(r.id) {
					for _, on := range s.at("Resource").list() {
						if on.text() == "*" {
							return false
						}
					}
				}
				return true
			}),
			breaks: []edit{{"excuse QueryRole W11", ""}},
		},
	})
}

// parametersOf returns the parameters of a condition that must not be empty, of which one
// is enough, sorted.
func (t template) parametersOf(condition string) (all []string) {
	n := t.at("Conditions", condition)
	switch {
	case n.Node == nil:
	case n.Tag == "!Not":
		all = n.at("0").references()
	case n.Tag == "!Or":
		for _, one := range n.list() {
			all = append(all, t.parametersOf(one.Value)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// secretsKey checks that a function has the key whenever its environment holds a secret,
// and only then.
func secretsKey(tmpl template) (found []finding) {
	key, ok := tmpl.resource("AWS::KMS::Key", "SecretsKey")
	p := key.at("Properties")
	statements := p.at("KeyPolicy", "Statement").list()
	if !ok || p.at("EnableKeyRotation").text() != "true" ||
		len(statements) != 1 || statements[0].at("Principal", "AWS").Value != "arn:${AWS::Partition}:iam::${AWS::AccountId}:root" {
		return append(found, tmpl.find("SecretsKey is not there, never rotated, or for others than this account's policies"))
	}
	for _, f := range tmpl.functions() {
		var held []string
		for _, v := range f.variables() {
			for _, choice := range alternatives(v) {
				if strings.Contains(choice.Value, secretReference) || choice.target() == "OriginSecret" {
					held = append(held, choice.references()...)
				}
			}
		}
		slices.Sort(held)
		k := f.property("KmsKeyArn")
		if condition := k.at("0").text(); !slices.Equal(held, tmpl.parametersOf(condition)) || len(held) > 0 && (k.at("1").target() != "SecretsKey" || k.at("2").target() != "AWS::NoValue") {
			found = append(found, k.find("%s holds the secrets %q and has the key if one of %q is given", f.id, held, tmpl.parametersOf(condition)))
		}
		for _, parameter := range held {
			if !slices.Contains(tmpl.parametersOf(key.at("Condition").text()), parameter) {
				found = append(found, key.find("SecretsKey is not there if only %s is given", parameter))
			}
		}
	}
	return found
}
