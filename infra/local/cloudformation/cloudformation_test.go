package cloudformation

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const text = `
Parameters:
  Word: {Type: String, Default: hello, AllowedPattern: "[a-z]+", ConstraintDescription: must be a word}
  Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}
  Seconds: {Type: Number, Default: 35, MinValue: 1, MaxValue: 43200}
  Secret: {Type: String, Default: "", NoEcho: true, MaxLength: 8}
  Given: {Type: String, MinLength: 2}
Rules:
  Always: {Assertions: [{Assert: !Or [!Equals [!Ref AWS::Region, here], !Equals [!Ref Word, far]], AssertDescription: only here}]}
  InProduction: {RuleCondition: !Equals [!Ref Stage, prod], Assertions: [{Assert: !Not [!Equals [!Ref Secret, ""]]}]}
Conditions:
  IsDev: !Equals [!Ref Stage, dev]
  IsProd: !Equals [!Ref Stage, prod]
  Both: !And [!Condition IsDev, !Not [!Condition IsProd]]
  Either: !Or [!Condition IsProd, !Not [!Condition IsDev]]
  Loop: !Not [!Condition Loop]
Resources:
  Queue: {Type: T}
  Prod: {Type: T, Condition: IsProd}
  Other: {Type: U, Condition: Loop, Properties: {Skipped: !ImportValue x, Value: VALUE, Nothing: !Ref AWS::NoValue}}
`

func parse(t *testing.T, text string, change func(*Options)) *Template {
	t.Helper()
	o := Options{
		Parameters: map[string]string{"Given": "ok"}, Pseudo: map[string]string{"AWS::Region": "here"},
		Lookup: func(r Resource, attribute string) (string, error) {
			if attribute == "Missing" {
				return "", errors.New("nobody knows it")
			}
			return fmt.Sprint("<", r.ID, " ", attribute, ">"), nil
		},
	}
	if change != nil {
		change(&o)
	}
	read, err := Parse([]byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestFunctionsAreReplacedByTheirValues(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  any // nil if there is none
	}{
		{`plain`, "plain"},
		{`12`, "12"},
		{`True`, "true"},
		{`!Ref Word`, "hello"},
		{`!Ref Queue`, "<Queue >"},
		{`!GetAtt Queue.Arn`, "<Queue Arn>"},
		{`!Sub "${Word} ${Queue.Arn} ${AWS::Region}"`, "hello <Queue Arn> here"},
		{`!If [IsDev, yes-dev, no-dev]`, "yes-dev"},
		{`!If [IsProd, !Ref Prod, {a: [!Ref Word, !Ref AWS::NoValue]}]`, map[string]any{"a": []any{"hello"}}},
		{`!If [Both, x, y]`, "x"},
		{`!If [Either, x, !If [IsDev, z, y]]`, "z"},
		{`!If [IsDev, !Ref AWS::NoValue, x]`, nil},
		{`!Split [",", "x,y"]`, []any{"x", "y"}},
		{`!Select [1, [a, b]]`, "b"},
		{`!Join [":", [x, !Select [0, !Split [":", "p:q"]]]]`, "x:p"},
	} {
		read := parse(t, strings.Replace(text, "VALUE", tt.value, 1), nil)
		want := map[string]any{"Value": tt.want}
		if tt.want == nil {
			want = map[string]any{}
		}
		got, err := read.Values(read.OfType("U")[0].Properties, "Skipped")
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.value, err, diff)
		}
	}
}

func TestWhatCannotBeEvaluatedSaysWhy(t *testing.T) {
	for value, reason := range map[string]string{
		`!ImportValue x`:        "!ImportValue cannot be evaluated",
		`!Ref Nowhere`:          `"Nowhere"`,
		`!Ref Prod`:             "whose condition is met",
		`!GetAtt Queue.Missing`: "nobody knows it",
		`!Sub "${Nope}"`:        `"Nope"`,
		`!If [Unheard, a, b]`:   `no condition "Unheard"`,
		`!If [IsDev, a]`:        "!If cannot be evaluated",
		`!Select [7, [a]]`:      "wrong arguments",
		`!Join [a, b]`:          "wrong arguments",
	} {
		read := parse(t, strings.Replace(text, "VALUE", value, 1), nil)
		if _, err := read.Values(read.OfType("U")[0].Properties, "Skipped"); err == nil || !strings.Contains(err.Error(), "line 20: ") || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want its line and %q", value, err, reason)
		}
	}
	for name, broken := range map[string]string{
		"no YAML": "a: [", "nothing": "", "a list": "[a]", "a list as a parameter": "Parameters: {A: {Type: CommaDelimitedList}}", "a resource without a type": "Resources: {A: {}}",
		"a condition that is none":       "Conditions: {C: !Ref X}\nResources: {A: {Type: T, Condition: C}}",
		"a condition that is not there":  "Resources: {A: {Type: T, Condition: C}}",
		"a rule without assertions":      "Rules: {R: {Assert: x}}",
		"a rule with an empty assertion": "Rules: {R: {Assertions: [{AssertDescription: x}]}}",
		"a rule that cannot be read":     "Rules: {R: {Assertions: [{Assert: !Contains [[a], b]}]}}",
	} {
		if _, err := Parse([]byte(broken), Options{}); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestOnlyResourcesWhoseConditionIsMetExist(t *testing.T) {
	if got := len(parse(t, text, nil).OfType("T")); got != 1 {
		t.Errorf("%d in dev, want 1", got)
	}
	if got := len(parse(t, text, func(o *Options) { o.Parameters["Stage"] = "prod" }).OfType("T")); got != 2 {
		t.Errorf("%d in prod, want 2", got)
	}
}

func TestParametersAreCheckedAsCloudFormationDoes(t *testing.T) {
	for _, tt := range []struct{ name, value, problem string }{
		{"Word", "world", ""},
		{"Word", "no word", "it must be a word"},
		{"Stage", "test", "it is not one of the allowed values"},
		{"Seconds", "43200", ""},
		{"Seconds", "0", "it is below 1"},
		{"Seconds", "43201", "it is above 43200"},
		{"Seconds", "soon", "it is not a whole number"},
		{"Seconds", "00", "it is not a whole number"},
		{"Secret", "too long a secret", "it is too long"},
		{"Given", "x", "it is too short"},
		{"Unheard", "x", "the template has no such parameter"},
	} {
		read := parse(t, text, func(o *Options) { o.Parameters[tt.name] = tt.value })
		for _, p := range read.Parameters {
			want := ""
			if p.Name == tt.name {
				want = tt.problem
			}
			if p.Problem != want || p.Missing || p.Secret && p.Value != "" || p.Name == tt.name && !p.Secret && p.Value != tt.value {
				t.Errorf("%s=%s: read as %+v, want the problem %q", tt.name, tt.value, p, want)
			}
		}
	}
	for _, p := range parse(t, text, func(o *Options) { o.Parameters = nil }).Parameters {
		if p.Missing != (p.Name == "Given") {
			t.Errorf("not given: %+v", p)
		}
	}
}

func TestRulesThatTheParametersBreakAreNamed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   []string
	}{
		{"both hold", nil, nil},
		{"one of several ways to hold is enough", func(o *Options) { o.Parameters["Word"], o.Pseudo = "far", map[string]string{"AWS::Region": "there"} }, nil},
		{"a rule with a description, and one without", func(o *Options) {
			o.Parameters["Stage"], o.Pseudo = "prod", map[string]string{"AWS::Region": "there"}
		}, []string{"only here", "InProduction"}},
		{"a secret that the stack keeps is not checked", func(o *Options) { o.Parameters["Stage"], o.Keep = "prod", true }, nil},
	} {
		if diff := cmp.Diff(tt.want, parse(t, text, tt.change).Broken); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
