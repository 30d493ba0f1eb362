package template

import (
	"strings"
	"testing"
)

const ruled = `
Parameters:
  Front: {Type: String, Default: "false"}
  Secret: {Type: String, Default: ""}
Rules:
  FrontHasASecret:
    RuleCondition: !Equals [!Ref Front, "true"]
    Assertions:
      - Assert: !Not [!Equals [!Ref Secret, ""]]
        AssertDescription: a front needs a Secret
      - Assert: !Or [!Equals [!Ref AWS::Region, us-east-1], !Equals [!Ref Secret, far]]
Resources:
  Q: {Type: AWS::SQS::Queue}
`

func TestParametersThatDoNotGoTogetherAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, front, secret, region, refusal string
	}{
		{"a rule whose condition does not hold asks for nothing", "false", "", "eu-west-1", ""},
		{"a rule whose assertions hold lets the template boot", "true", "x", "us-east-1", ""},
		{"any of several ways to hold is enough", "true", "far", "eu-west-1", ""},
		{"an assertion that does not hold says why", "true", "", "us-east-1", "a front needs a Secret"},
		{"an assertion without a description is refused all the same", "true", "x", "eu-west-1", "do not go together"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Region: c.region, Parameters: map[string]string{"Front": c.front, "Secret": c.secret}}
			if c.refusal == "" {
				parse(t, ruled, o)
				return
			}
			if e := refused(t, ruled, o); !strings.Contains(e.Reason, c.refusal) || e.At != "Rules.FrontHasASecret" || e.Line == 0 {
				t.Errorf("refused with %v, want %q at the rule", e, c.refusal)
			}
		})
	}
}

func TestARuleThatCannotBeReadIsRefused(t *testing.T) {
	for _, c := range []struct{ was, is, refusal string }{
		{"RuleCondition:", "Condition:", "does not run locally"},
		{"AssertDescription: a front needs a Secret", "Describe: x", "does not run locally"},
		{`!Not [!Equals [!Ref Secret, ""]]`, `!Contains [[a], !Ref Secret]`, "not a condition"},
		{"Assertions:", "Assert:", "does not run locally"},
	} {
		t.Run(c.is, func(t *testing.T) {
			text := strings.Replace(ruled, c.was, c.is, 1)
			e := refused(t, text, Options{Parameters: map[string]string{"Front": "true", "Secret": "x"}})
			if !strings.Contains(e.Reason, c.refusal) {
				t.Errorf("refused with %v, want %q", e, c.refusal)
			}
		})
	}
}
