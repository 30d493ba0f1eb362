package checks

import (
	"testing"
)

// leastReason is the shortest text that may pass for a reason, in bytes.
const leastReason = 20

// excuse is a check of a linter, or a row of CHECKLIST.md, that a resource's
// Metadata says does not apply to it.
type excuse struct {
	id, reason string
	node
}

// excuses are all of a resource's: in the words of cfn_nag and checkov, which
// read them too, and under "checklist" by the number of the row.
func (r resource) excuses() (all []excuse) {
	meta := r.at("Metadata")
	for _, n := range meta.at("cfn_nag", "rules_to_suppress").list() {
		all = append(all, excuse{n.at("id").text(), n.at("reason").text(), n})
	}
	for _, n := range meta.at("checkov", "skip").list() {
		all = append(all, excuse{n.at("id").text(), n.at("comment").text(), n})
	}
	for _, n := range meta.at("checklist").list() {
		all = append(all, excuse{"row " + n.at("row").text(), n.at("reason").text(), n})
	}
	for _, n := range meta.at("cfn-lint", "config", "ignore_checks").list() {
		all = append(all, excuse{n.text(), meta.at("reason").text(), n})
	}
	return all
}

// excused reports whether the resource gives a reason for that id.
func (r resource) excused(id string) bool {
	for _, e := range r.excuses() {
		if e.id == id && len(e.reason) >= leastReason {
			return true
		}
	}
	return false
}

// all are the resources of every kind.
func (t template) all() (all []resource) {
	for key, value := range t.at("Resources").pairs() {
		all = append(all, resource{key.Value, value})
	}
	return all
}

// unless makes a rule out of what resources of a kind must have, each unless its
// Metadata says why not.
func unless(kind, id, says string, has func(template, resource) bool) func(template) []finding {
	return func(tmpl template) (found []finding) {
		for _, r := range tmpl.resources(kind) {
			if !has(tmpl, r) && !r.excused(id) {
				found = append(found, r.find("%s %s, and its Metadata gives no reason (%s)", r.id, says, id))
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
	checkTemplate(t, []templateRule{
		{
			row:  20,
			name: "every excuse has an id and a reason",
			check: func(tmpl template) (found []finding) {
				for _, r := range tmpl.all() {
					for _, e := range r.excuses() {
						if e.id == "" || len(e.reason) < leastReason {
							found = append(found, e.find("%s: %q is excused without a reason", r.id, e.id))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/LedgerTable/Metadata/checkov/skip/0/comment", "no"},
				{"Resources/OrderQueue/Metadata/cfn_nag/rules_to_suppress/0/id", ""},
				{"Resources/Api/Metadata/checklist/0/reason", ""},
				{"Resources/Front/Metadata/reason", ""},
			},
		},
		{
			row: 20, name: "a function is in a VPC, or says why not",
			check:  unless(function, "CKV_AWS_117", "is in no VPC", property("VpcConfig")),
			breaks: []edit{{"Resources/SeedFunction/Metadata/checkov", ""}},
		},
		{
			row: 20, name: "a function's code is signed, or it says why not",
			check:  unless(function, "CKV_AWS_272", "has unsigned code", property("CodeSigningConfigArn")),
			breaks: []edit{{"Resources/SeedFunction/Metadata/checkov", ""}},
		},
		{
			row: 14, name: "a function's environment has a key of its own, or says why not",
			check:  unless(function, "CKV_AWS_173", "has no KmsKeyArn", property("KmsKeyArn")),
			breaks: []edit{{"Resources/PurchaseFunction/Metadata/checkov", ""}},
		},
		{
			row: 6, name: "a table has a key of its own, or says why not",
			check:  unless("AWS::DynamoDB::Table", "CKV_AWS_119", "has no key of its own", property("SSESpecification", "KMSMasterKeyId")),
			breaks: []edit{{"Resources/LedgerTable/Metadata/checkov", ""}},
		},
		{
			row: 6, name: "a table has a time to live, or says why not",
			check:  unless("AWS::DynamoDB::Table", "row 6", "has no time to live", property("TimeToLiveSpecification")),
			breaks: []edit{{"Resources/LedgerTable/Metadata/checklist", ""}},
		},
		{
			row: 7, name: "a queue has a key of its own, or says why not",
			check:  unless("AWS::SQS::Queue", "W48", "has no key of its own", property("KmsMasterKeyId")),
			breaks: []edit{{"Resources/OrderQueue/Metadata", ""}},
		},
		{
			row: 7, name: "a queue has a dead-letter queue, or says why not",
			check:  unless("AWS::SQS::Queue", "row 7", "has no RedrivePolicy", property("RedrivePolicy")),
			breaks: []edit{{"Resources/OrderDeadLetterQueue/Metadata/checklist", ""}, {"Resources/OrderQueue/Properties/RedrivePolicy", ""}},
		},
		{
			row: 12, name: "a log group has a key of its own, or says why not",
			check:  unless("AWS::Logs::LogGroup", "W84", "has no KmsKeyId", property("KmsKeyId")),
			breaks: []edit{{"Resources/ApiLogGroup/Metadata", ""}},
		},
		{
			row: 17, name: "the alarms' topic has a key of its own, or says why not",
			check:  unless("AWS::SNS::Topic", "W47", "has no KmsMasterKeyId", property("KmsMasterKeyId")),
			breaks: []edit{{"Resources/AlarmTopic/Metadata", ""}},
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
			breaks: []edit{{"Resources/QueryRole/Metadata", ""}},
		},
	})
}
