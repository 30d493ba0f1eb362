package checks

import (
	"slices"
	"strings"
	"testing"
)

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
