package checks

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// API Gateway waits 30 s for an integration; after that a function's answer is lost. A call to the table, to the
// queue and to the eligibility service may take a second each.
const leastHTTPTimeout, mostHTTPTimeout = 3, 29

func TestEveryFunctionCanStartAndAnswer(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	for _, f := range tmpl.functions() {
		for place, want := range map[string]string{
			"Handler": "bootstrap", "Runtime": "provided.al2023", "Architectures.0": "arm64", "RecursiveLoop": "Terminate", "LoggingConfig.LogFormat": "JSON",
		} {
			if got := f.property(place).text(); got != want {
				f.errorf(t, "%s: %s is %q, want %q", f.id, place, got, want)
			}
		}
		timeout, ok := tmpl.number(f.property("Timeout"))
		if isHTTP := len(f.events("HttpApi")) > 0; !ok || isHTTP && (timeout < leastHTTPTimeout || timeout > mostHTTPTimeout) {
			f.errorf(t, "%s: Timeout is %d, want %d to %d behind the API", f.id, timeout, leastHTTPTimeout, mostHTTPTimeout)
		}
		memory, _ := tmpl.number(f.property("MemorySize"))
		limit, err := strconv.Atoi(strings.TrimSuffix(f.variables()["GOMEMLIMIT"].text(), "MiB"))
		if err != nil || limit <= 0 || 10*limit > 9*memory {
			f.errorf(t, "%s: GOMEMLIMIT is %d MiB of %d, want a tenth less than all", f.id, limit, memory)
		}
	}
}

func TestEveryFunctionHasARoleAndALogOfItsOwn(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	user := map[string]string{}
	for _, f := range tmpl.functions() {
		for property, kind := range map[string]string{"Role": "AWS::IAM::Role", "LoggingConfig.LogGroup": "AWS::Logs::LogGroup"} {
			id := f.property(property).target()
			if _, ok := tmpl.resource(kind, id); !ok || user[id] != "" {
				f.errorf(t, "%s: %s is %q, which is none of this template or that of %q", f.id, property, id, user[id])
			}
			user[id] = f.id
		}
	}
	for _, group := range tmpl.resources("AWS::Logs::LogGroup") {
		if group.at("Properties.RetentionInDays").Node == nil {
			group.errorf(t, "%s keeps its lines without end", group.id)
		}
	}
}

func TestAFunctionIsGivenExactlyTheVariablesThatItsCodeReads(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	for _, f := range tmpl.functions() {
		given, code := f.variables(), needsOf(t, f.folder()).variables
		for name, at := range code {
			if given[name].Node == nil {
				f.errorf(t, "%s is not given %s, which %s reads", f.id, name, at)
			}
		}
		for name, value := range given {
			if _, reads := code[name]; !reads && name != "GOGC" && name != "GOMEMLIMIT" {
				value.errorf(t, "%s is given %s and never reads it", f.id, name)
			}
		}
	}
}

// CodeDeploy does not deploy while an alarm is on: AllAtOnce must ignore alarms, or a broken system could not be
// repaired.
func TestEveryChangeOfAFunctionReachesItsAliasAndIsRolledBackByItsErrors(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	for _, f := range tmpl.functions() {
		if f.property("AutoPublishAlias").text() == "" {
			f.errorf(t, "%s has no alias", f.id)
		}
		alarms := f.property("DeploymentPreference.Alarms")
		ids := alarms.at("1").references()
		if alarms.at("0").text() != "HasCanary" || len(ids) == 0 {
			f.errorf(t, "%s: its alarms keep it from being repaired, or there is none", f.id)
		}
		seen, code := map[string]bool{f.id + " Errors": f.id == "SeedFunction"}, needsOf(t, f.folder())
		for metric, dimension := range code.metrics { // what another scheduled function cannot do is an error
			if dimension == "result" && (f.id == "SeedFunction" || len(f.events("ScheduleV2")) == 0) {
				seen[code.service+" "+metric+" internal"] = false
			}
		}
		for _, id := range ids {
			a := resource{id, tmpl.at("Resources", id)}
			periods, _ := tmpl.number(a.at("Properties.EvaluationPeriods"))
			if timeout, _ := tmpl.number(f.property("Timeout")); 60*periods < timeout+120 { // Lambda files an error under the minute of its invocation
				a.errorf(t, "%s looks back %d minutes, and %s may take %d s", id, periods, f.id, timeout)
			}
			for _, w := range a.watches() {
				seen[w.subject()] = true
			}
		}
		for failure, is := range seen {
			if !is {
				f.errorf(t, "%s: none of %q sees %s", f.id, ids, failure)
			}
		}
	}
}

// secretReference is how a template refers to a secret, which CloudFormation reads with
// the permissions of whoever deploys.
const secretReference = "{{resolve:secretsmanager:"

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

// Who may only read the account sees a function's configuration, but lacks kms:Decrypt.
func TestAnEnvironmentThatHoldsASecretHasTheStacksKeyAndNoOtherHas(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	key, _ := tmpl.resource("AWS::KMS::Key", "SecretsKey")
	key.expect(t, "Properties.EnableKeyRotation", "true")
	statements := key.at("Properties.KeyPolicy.Statement")
	statements.expect(t, "0.Principal.AWS", "!Sub arn:${AWS::Partition}:iam::${AWS::AccountId}:root")
	statements.expect(t, "1.Condition.ArnEquals.aws:PrincipalArn", "!Sub arn:${AWS::Partition}:iam::${AWS::AccountId}:role/deployer-of-${AWS::StackName}")
	statements.expect(t, "2.Effect", "")
	for _, f := range tmpl.functions() {
		var held []string
		for _, v := range f.variables() {
			for _, choice := range alternatives(v) {
				if choice.Node != nil && strings.Contains(choice.Value, secretReference) || choice.target() == "OriginSecret" {
					held = append(held, choice.references()...)
				}
			}
		}
		slices.Sort(held)
		k := f.property("KmsKeyArn")
		condition := k.at("0").text()
		if !slices.Equal(held, tmpl.parametersOf(condition)) || len(held) > 0 && (k.at("1").target() != "SecretsKey" || k.at("2").target() != "AWS::NoValue") {
			f.errorf(t, "%s holds the secrets %q and has the key if one of %q is given", f.id, held, tmpl.parametersOf(condition))
		}
		for _, parameter := range held {
			if !slices.Contains(tmpl.parametersOf(key.at("Condition").text()), parameter) {
				key.errorf(t, "SecretsKey is not there if only %s is given", parameter)
			}
		}
		if len(f.events("HttpApi")) > 0 && f.variables()["ORIGIN_SECRET"].target() != "OriginSecret" {
			f.errorf(t, "%s answers whoever walks around the front", f.id)
		}
	}
}
