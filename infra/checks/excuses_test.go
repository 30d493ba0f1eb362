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
			breaks: []edit{{"excuse PurchaseFunction CKV_AWS_173", ""}},
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
