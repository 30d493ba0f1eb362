package checks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// templateRule is a rule for template.yaml, for a row of CHECKLIST.md. Each of breaks,
// applied alone, is an edit that it must refuse.
type templateRule struct {
	row    int
	name   string
	check  func(template) []finding
	breaks []edit
}

func checkTemplate(t *testing.T, rules []templateRule) {
	t.Helper()
	checkFile(t, templateFile, rules)
}

func checkFile(t *testing.T, file string, rules []templateRule) {
	t.Helper()
	text := read(t, file)
	for _, rule := range rules {
		t.Run(fmt.Sprintf("row %d: %s", rule.row, rule.name), func(t *testing.T) {
			for _, f := range rule.check(parseTemplate(t, text)) {
				f.file = file
				t.Error(f)
			}
			for _, e := range rule.breaks {
				changed := parseTemplate(t, text)
				e.apply(t, changed)
				if len(rule.check(changed)) == 0 {
					t.Errorf("the rule does not notice %s: %q", e.place, e.yaml)
				}
			}
		})
	}
}

func TestParametersAndOutputsOfTheTemplate(t *testing.T) {
	checkTemplate(t, []templateRule{
		{
			row:  18,
			name: "every parameter has a type and a description",
			check: func(tmpl template) (found []finding) {
				for key, p := range tmpl.at("Parameters").pairs() {
					if p.at("Type").text() == "" || p.at("Description").text() == "" {
						found = append(found, key.find("parameter %s lacks a type or a description", key.Value))
					}
				}
				return found
			},
			breaks: []edit{{"Parameters/LogLevel/Description", ""}, {"Parameters/LogLevel/Type", ""}},
		},
		{
			row:  1,
			name: "every parameter is used",
			check: func(tmpl template) (found []finding) {
				var used []string
				for section, value := range tmpl.pairs() {
					if section.Value != "Parameters" {
						used = append(used, value.references()...)
					}
				}
				for key := range tmpl.at("Parameters").pairs() {
					if !slices.Contains(used, key.Value) {
						found = append(found, key.find("parameter %s is not used", key.Value))
					}
				}
				return found
			},
			breaks: []edit{
				{"Parameters/Spare", "{Type: String, Description: spare}"},
				{"Resources/OrderQueue/Properties/VisibilityTimeout", "35"},
			},
		},
		{
			row:  18,
			name: "every output says what it is",
			check: func(tmpl template) (found []finding) {
				for key, o := range tmpl.at("Outputs").pairs() {
					if o.at("Description").text() == "" {
						found = append(found, key.find("output %s has no description", key.Value))
					}
				}
				return found
			},
			breaks: []edit{{"Outputs/ApiUrl/Description", ""}},
		},
	})
}

// publicRoutes are the only routes without a token.
var publicRoutes = []string{"GET /sales/{saleId}", "GET /sales/{saleId}/roll/{page}", "GET /groups/{groupId}", "GET /s/{saleId}", "GET /g/{groupId}", "GET /assets/{name}", "GET /signin", "POST /payments/{provider}"}

func TestRoutesOfTheTemplate(t *testing.T) {
	checkTemplate(t, []templateRule{
		{
			row:   11,
			name:  "every API has a default authorizer that it defines",
			check: defaultAuthorizers,
			breaks: []edit{
				{"Resources/Api/Properties/Auth/DefaultAuthorizer", ""},
				{"Resources/Api/Properties/Auth/DefaultAuthorizer", "Other"},
				{"Resources/Api/Properties/Auth/Authorizers/Jwt/JwtConfiguration/audience", ""},
			},
		},
		{
			row:  11,
			name: "only the sale, the roll of its draw, the buyer's page and the webhooks are public, and every other route has the default authorizer",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					for _, e := range f.events("HttpApi") {
						p := e.at("Properties")
						route := p.at("Method").text() + " " + p.at("Path").text()
						if _, ok := tmpl.resource("AWS::Serverless::HttpApi", p.at("ApiId").target()); !ok {
							found = append(found, e.find("%s is not on an API of this template, and so has no authorizer", route))
						}
						switch authorizer := p.at("Auth", "Authorizer"); {
						case slices.Contains(publicRoutes, route):
							if authorizer.text() != "NONE" {
								found = append(found, e.find("%s is public and must say NONE", route))
							}
						case authorizer.Node != nil && authorizer.text() != tmpl.at("Resources", p.at("ApiId").target(), "Properties", "Auth", "DefaultAuthorizer").text():
							found = append(found, authorizer.find("%s: Authorizer is %q, want the default", route, authorizer.Value))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/PurchaseFunction/Properties/Events/Purchase/Properties/Auth", "{Authorizer: NONE}"},
				{"Resources/PurchaseFunction/Properties/Events/Purchase/Properties/Auth/Authorizer", "Other"},
				{"Resources/PurchaseFunction/Properties/Events/Purchase/Properties/ApiId", ""},
				{"Resources/QueryFunction/Properties/Events/Sale/Properties/Auth", ""},
				{"Resources/PageFunction/Properties/Events/Page/Properties/Auth", ""},
				{"Resources/QueryFunction/Properties/Events/Sale/Properties/Path", "/orders/{orderId}"},
			},
		},
	})
}

func defaultAuthorizers(tmpl template) (found []finding) {
	for _, api := range tmpl.resources("AWS::Serverless::HttpApi") {
		auth := api.at("Properties", "Auth")
		name := auth.at("DefaultAuthorizer").text()
		jwt := auth.at("Authorizers").at(name, "JwtConfiguration")
		if name == "" || jwt.at("issuer").Node == nil || len(jwt.at("audience").list()) == 0 {
			found = append(found, api.find("%s has no default authorizer with an issuer and an audience", api.id))
		}
	}
	return found
}

func TestTableOfTheTemplate(t *testing.T) {
	const table = "Resources/LedgerTable/"
	wanted := map[string]string{
		"DeletionPolicy":                       "Retain",
		"UpdateReplacePolicy":                  "Retain",
		"Properties/BillingMode":               "PAY_PER_REQUEST",
		"Properties/DeletionProtectionEnabled": "true",
		"Properties/PointInTimeRecoverySpecification/PointInTimeRecoveryEnabled": "true",
		"Properties/KeySchema/0/AttributeName":                                   "pk",
		"Properties/KeySchema/0/KeyType":                                         "HASH",
		"Properties/KeySchema/1/AttributeName":                                   "sk",
		"Properties/KeySchema/1/KeyType":                                         "RANGE",
		"Properties/AttributeDefinitions/0/AttributeName":                        "pk",
		"Properties/AttributeDefinitions/0/AttributeType":                        "S",
		"Properties/AttributeDefinitions/1/AttributeName":                        "sk",
		"Properties/AttributeDefinitions/1/AttributeType":                        "S",
	}
	var breaks []edit
	for place := range wanted {
		breaks = append(breaks, edit{table + place, "Other"})
	}
	checkTemplate(t, []templateRule{{
		row:  6,
		name: "every table is on demand, recoverable, kept when the stack goes, and keyed by pk and sk",
		check: func(tmpl template) (found []finding) {
			for _, r := range tmpl.resources("AWS::DynamoDB::Table") {
				for place, want := range wanted {
					if got := r.at(strings.Split(place, "/")...); got.text() != want {
						found = append(found, r.find("%s: %s is %q, want %s", r.id, place, got.text(), want))
					}
				}
			}
			return found
		},
		breaks: breaks,
	}})
}

// existing is what stands for each reference to the stack's own table if there is an
// existing one.
var existing = map[string]string{
	"!Ref LedgerTable":              "!Ref ExistingTable",
	"!GetAtt LedgerTable.Arn":       "!Sub arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${ExistingTable}",
	"!GetAtt LedgerTable.StreamArn": "!Sub ${ExistingTableStreamArn}",
}

// ownTables returns the references below a node to the stack's own table, each of which
// must be a choice between it and the existing one.
func ownTables(n node) (found []finding, choices int) {
	spelt := func(n node) string { return n.Tag + " " + n.Value }
	switch {
	case n.Node == nil:
	case n.Tag == "!If" && n.at("0").text() == "HasOwnTable":
		if want := existing[spelt(n.at("1"))]; want == "" || spelt(n.at("2")) != want {
			found = append(found, n.find("%s is %s with an existing table, want %s", spelt(n.at("1")), spelt(n.at("2")), want))
		}
		return found, 1
	case existing[spelt(n)] != "":
		found = append(found, n.find("%s is not there with an existing table", spelt(n)))
	default:
		for _, c := range n.Content {
			more, count := ownTables(node{c})
			found, choices = append(found, more...), choices+count
		}
	}
	return found, choices
}

func TestAnExistingTableTakesThePlaceOfTheStacksOwn(t *testing.T) {
	const statement = "Resources/PurchaseRole/Properties/Policies/0/PolicyDocument/Statement/0/Resource"
	checkTemplate(t, []templateRule{{
		row:  6,
		name: "whatever uses the table uses an existing one instead, by its name and its stream, and the stack then creates none",
		check: func(tmpl template) (found []finding) {
			found, choices := ownTables(node{tmpl.Node})
			table, _ := tmpl.resource("AWS::DynamoDB::Table", "LedgerTable")
			own := tmpl.at("Conditions", "HasOwnTable")
			if table.at("Condition").text() != "HasOwnTable" || own.Node == nil || own.Tag != "!Equals" || own.at("0").target() != "ExistingTable" || own.at("1").Value != "" {
				found = append(found, table.find("the table is created beside an existing one"))
			}
			rule := tmpl.at("Rules", "AnExistingTableHasAStream")
			if !slices.Equal(rule.at("RuleCondition").references(), []string{"PublishEvents", "ExistingTable"}) || !slices.Contains(rule.at("Assertions").references(), "ExistingTableStreamArn") {
				found = append(found, tmpl.find("order events of an existing table may have no stream"))
			}
			if least := 2 * len(tmpl.functions()); choices < least {
				found = append(found, tmpl.find("%d references to the table, want at least %d", choices, least))
			}
			return found
		},
		breaks: []edit{
			{"Resources/LedgerTable/Condition", ""},
			{"Resources/SeedFunction/Properties/Environment/Variables/TABLE_NAME", "!Ref LedgerTable"},
			{"Resources/SeedFunction/Properties/Environment/Variables/TABLE_NAME/2", "!Ref ExistingTableStreamArn"},
			{statement, "!GetAtt LedgerTable.Arn"},
			{statement + "/2", "'*'"},
			{statement + "/2", "!Sub arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/*"},
			{"Resources/PublishFunction/Properties/Events/Stream/Properties/Stream", "!GetAtt LedgerTable.StreamArn"},
			{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/0/Resource/2", "!Ref ExistingTable"},
			{"Resources/Alarms/Properties/Parameters/LedgerTable", "!Ref LedgerTable"},
			{"Outputs/TableName/Value", "!Ref LedgerTable"},
			{"Conditions/HasOwnTable", "!Equals [!Ref ExistingTable, none]"},
			{"Rules/AnExistingTableHasAStream", ""},
		},
	}})
}
