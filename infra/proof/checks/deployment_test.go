package checks

import (
	"slices"
	"strings"
	"testing"
)

// frontFile is the template of the front, nested in the project's.
const frontFile = "infra/front.yaml"

func TestDeploymentOfTheTemplate(t *testing.T) {
	checkTemplate(t, []templateRule{
		{
			row:  19,
			name: "every function is published under an alias with every change, and rolled back by its alarms",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					fingerprint := strings.TrimSuffix(f.id, "Function") + "Fingerprint"
					if f.property("AutoPublishAlias").text() == "" || f.property("AutoPublishCodeSha256").target() != fingerprint {
						found = append(found, f.find("%s: a changed parameter would not reach the alias", f.id))
					}
					if tmpl.at("Globals", "Function", "DeploymentPreference", "Type").target() != "DeploymentType" {
						found = append(found, f.find("%s: nobody can choose how it is rolled out", f.id))
					}
					preference := f.property("DeploymentPreference", "Alarms")
					// CodeDeploy does not deploy while an alarm is on: AllAtOnce must
					// ignore alarms, or a broken system could not be repaired.
					if preference.at("0").text() != "HasCanary" || len(alternatives(preference)) != 2 {
						found = append(found, f.find("%s: alarms keep it from being repaired", f.id))
					}
					alarms := preference.at("1").references()
					if len(alarms) == 0 {
						found = append(found, f.find("%s: no alarm stops a deployment", f.id))
					}
					for _, id := range alarms {
						if a, _ := tmpl.resource("AWS::CloudWatch::Alarm", id); !slices.ContainsFunc(a.watches(), func(w watched) bool {
							return w.subject() == f.id+" Errors" || f.id == "SeedFunction" && w.subject() == "seed seedings internal"
						}) {
							found = append(found, f.find("%s: %s does not see it fail", f.id, id))
						}
					}
					if f.property("RecursiveLoop").text() != "Terminate" {
						found = append(found, f.find("%s may call itself forever", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Globals/Function/AutoPublishAlias", ""},
				{"Resources/SeedFunction/Properties/AutoPublishCodeSha256", ""},
				{"Resources/QueryFunction/Properties/AutoPublishCodeSha256", "!Ref PurchaseFingerprint"},
				{"Globals/Function/DeploymentPreference", "{Type: AllAtOnce}"},
				{"Globals/Function/RecursiveLoop", "Allow"},
				{"Resources/SeedFunction/Properties/DeploymentPreference", "{Enabled: false, Alarms: []}"},
				{"Globals/Function/DeploymentPreference/Alarms/1/0", "!Ref OversoldAlarm"},
				{"Globals/Function/DeploymentPreference/Alarms", "[!Ref FunctionErrorsAlarm]"},
				{"Resources/FunctionErrorsAlarm/Properties/Metrics/3/MetricStat/Metric/MetricName", "Throttles"},
			},
		},
		{
			row:  19,
			name: "a canary is among the ways to deploy, and the cheap way is the default",
			check: func(tmpl template) (found []finding) {
				p := tmpl.at("Parameters", "DeploymentType")
				canary := slices.ContainsFunc(p.at("AllowedValues").list(), func(n node) bool { return strings.HasPrefix(n.text(), "Canary") })
				if !canary || p.at("Default").text() != "AllAtOnce" {
					found = append(found, p.find("DeploymentType has no canary, or is one by default"))
				}
				return found
			},
			breaks: []edit{{"Parameters/DeploymentType/AllowedValues", "[AllAtOnce]"}, {"Parameters/DeploymentType/Default", "Canary10Percent5Minutes"}},
		},
		{
			row:   11,
			name:  "the front is off by default, cannot be walked around, and takes the parameters that the template takes",
			check: front(parseTemplate(t, read(t, frontFile)).at("Parameters")),
			breaks: []edit{
				{"Parameters/CreateFront/Default", "'true'"},
				{"Resources/Front/Condition", ""},
				{"Resources/Front/Properties/TemplateURL", "infra/back.yaml"},
				{"Rules/TheFrontCannotBeWalkedAround", ""},
				{"Rules/WithoutAFrontNobodyIsTurnedAway", ""},
				{"Parameters/PaymentRateLimit/MaxValue", ""},
				{"Parameters/FrontRequestLimit/MinValue", "1"},
				{"Resources/PurchaseFunction/Properties/Environment/Variables/ORIGIN_SECRET", ""},
			},
		},
	})
}

func TestAnAPIWithADomainAnswersNowhereElse(t *testing.T) {
	checkTemplate(t, []templateRule{{
		row:  11,
		name: "an API that has a domain of its own is shut at execute-api, and the front reaches it at the domain",
		check: func(tmpl template) (found []finding) {
			closed := tmpl.at("Resources", "Api", "Properties", "DisableExecuteApiEndpoint")
			if closed.at("0").text() != "HasApiDomain" || closed.at("1").text() != "true" {
				found = append(found, closed.find("execute-api stays open beside the domain"))
			}
			mapping, ok := tmpl.resource("AWS::ApiGatewayV2::ApiMapping", "ApiDomainMapping")
			if !ok || mapping.at("Condition").text() != "HasApiDomain" || mapping.at("Properties", "ApiId").target() != "Api" {
				found = append(found, tmpl.at("Resources").find("the domain leads nowhere"))
			}
			if origin := tmpl.at("Resources", "Front", "Properties", "Parameters", "ApiDomainName"); origin.at("1").target() != "ApiDomainName" {
				found = append(found, tmpl.at("Resources", "Front").find("the front does not reach the API at its domain"))
			}
			if refs := tmpl.at("Rules", "DomainsHaveCertificates", "Assertions").references(); !slices.Contains(refs, "ApiCertificateArn") || !slices.Contains(refs, "FrontCertificateArn") {
				found = append(found, tmpl.at("Resources").find("a domain may have no certificate"))
			}
			return found
		},
		breaks: []edit{
			{"Resources/Api/Properties/DisableExecuteApiEndpoint", ""},
			{"Resources/Api/Properties/DisableExecuteApiEndpoint/1", "false"},
			{"Resources/ApiDomainMapping", ""},
			{"Resources/Front/Properties/Parameters/ApiDomainName", "!Sub '${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}'"},
			{"Rules/DomainsHaveCertificates", ""},
		},
	}})
}

// front takes the parameters that the front declares.
func front(declared node) func(template) []finding {
	return func(tmpl template) (found []finding) {
		stack := tmpl.at("Resources", "Front")
		if stack.at("Condition").text() != "HasFront" || tmpl.at("Parameters", "CreateFront", "Default").text() != "false" {
			found = append(found, stack.find("the front is not off by default"))
		}
		if stack.at("Properties", "TemplateURL").text() != frontFile {
			found = append(found, stack.find("the front is not %s", frontFile))
		}
		given := stack.at("Properties", "Parameters")
		for key, p := range declared.pairs() {
			for _, bound := range []string{"MinValue", "MaxValue"} {
				if name := given.at(key.Value).target(); tmpl.at("Parameters", name, bound).text() != p.at(bound).text() {
					found = append(found, stack.find("%s has another %s than the front: CloudFormation refuses it in the middle of a deployment", name, bound))
				}
			}
		}
		if !slices.Contains(tmpl.at("Rules", "TheFrontCannotBeWalkedAround", "Assertions").references(), "OriginSecret") {
			found = append(found, stack.find("the front may be walked around"))
		}
		if off := tmpl.at("Rules", "WithoutAFrontNobodyIsTurnedAway"); off.at("RuleCondition").references() == nil || off.at("Assertions", "0", "Assert", "0").target() != "OriginSecret" {
			found = append(found, stack.find("switching the front off turns everybody away"))
		}
		for _, f := range tmpl.functions() {
			if len(f.events("HttpApi")) > 0 && f.variables()["ORIGIN_SECRET"].target() != "OriginSecret" {
				found = append(found, f.find("%s answers whoever walks around the front", f.id))
			}
		}
		return found
	}
}
