package samconfig

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const file = `version = 0.1
[dev.global.parameters]
stack_name = "shop-dev"
region = "eu-west-1"
[dev.build.parameters]
parallel = true
[dev.deploy.parameters]
region = "us-east-1"
parameter_overrides = ["A=1", "B=two words"]
[prod.deploy.parameters]
stack_name = "shop"
parameter_overrides = "A=1 B=\"two words\" C='x'"
[broken.deploy.parameters]
parameter_overrides = 7
[ci.build.parameters]
cached = true
`

func TestAnEnvironmentIsReadFromItsSections(t *testing.T) {
	got, err := Parse([]byte(file), "prod")
	want := Environment{Name: "prod", StackName: "shop", Parameters: map[string]string{"A": "1", "B": "two words", "C": "x"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestTheErrorForAMissingEnvironmentListsTheOthers(t *testing.T) {
	_, err := Parse([]byte(file), "staging")
	if !errors.Is(err, ErrNoEnvironment) {
		t.Errorf("%v, want %v", err, ErrNoEnvironment)
	}
	if _, err := Parse([]byte(file), "ci"); !errors.Is(err, ErrNoEnvironment) {
		t.Errorf("an environment without deployment: %v, want %v", err, ErrNoEnvironment)
	}
}

func TestAnAmbiguousFileIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"not TOML":           "[",
		"a number":           "[e.deploy.parameters]\nparameter_overrides = 7",
		"a list of numbers":  "[e.deploy.parameters]\nparameter_overrides = [7]",
		"not a pair":         "[e.deploy.parameters]\nparameter_overrides = \"A\"",
		"two words unquoted": "[e.deploy.parameters]\nparameter_overrides = [\"B=two words\"]",
		"a stack of numbers": "[e.deploy.parameters]\nstack_name = 7",
	} {
		if e, err := Parse([]byte(text), "e"); err == nil {
			t.Errorf("%s: %+v, want an error", name, e)
		}
	}
}

func TestOverridesAreReadAsTheSAMCLIReadsThem(t *testing.T) {
	tests := []struct {
		text string
		want map[string]string // nil: refused
	}{
		{"", map[string]string{}},
		{"A=", map[string]string{"A": ""}},
		{"A= B=2", map[string]string{"A": "", "B": "2"}},
		{`A=""`, map[string]string{"A": ""}},
		{`A="x y"  B=z`, map[string]string{"A": "x y", "B": "z"}},
		{`A=x\ y`, map[string]string{"A": "x y"}},
		{`A="{\"a\":\"b c\"}"`, map[string]string{"A": `{"a":"b c"}`}},
		{`A='{"a":1}'`, map[string]string{"A": `{"a":1}`}},
		{`A="\"" B=`, map[string]string{"A": `"`, "B": ""}},
		{"A=cron(0 12 * * ? *)", nil},
		{`A="cron(0 12 * * ? *)"`, map[string]string{"A": "cron(0 12 * * ? *)"}},
		{"A=https://x.test/?a=b", map[string]string{"A": "https://x.test/?a=b"}},
		{"A", nil}, {"=1", nil}, {"A-B=1", nil}, {"A=1 A=2", nil}, {`A="x`, nil}, {`A="x"y`, nil}, {`A=x"y"`, nil}, {`A=\`, nil},
	}
	for _, tt := range tests {
		got, err := parseOverrides(tt.text)
		if (err != nil) != (tt.want == nil) {
			t.Errorf("%s: %v, %v", tt.text, got, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); err == nil && diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// `make deploy` uses each line of the output as an argument of sam.
func TestNoArgumentHasASecondLine(t *testing.T) {
	for _, value := range []string{"x\n--no-confirm-changeset", "x\r"} {
		e := Environment{Parameters: map[string]string{"A": value}}
		if arguments, err := e.Arguments(); err == nil {
			t.Errorf("%q is formatted as %q", value, arguments)
		}
	}
}

func TestArgumentsAreReadBackUnchanged(t *testing.T) {
	e := Environment{Parameters: map[string]string{"B": `{"a":"b c"}`, "A": "", "C": "it's"}}
	again := Environment{Parameters: map[string]string{}}
	arguments, err := e.Arguments()
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Override(arguments...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e.Parameters, again.Parameters); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`A=""`, `B="{\"a\":\"b c\"}"`, `C="it's"`}, arguments); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAValueThatCannotBeExpressedIsRefused(t *testing.T) {
	for _, value := range []string{`a\ b`, `a\"b`, `a\`} {
		e := Environment{Parameters: map[string]string{"A": value}}
		if got, err := e.Arguments(); err == nil {
			t.Errorf("%s is formatted as %s", value, got)
		}
	}
}
