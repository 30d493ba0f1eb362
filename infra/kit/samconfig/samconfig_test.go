package samconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const file = `version = 0.1
[test.global.parameters]
stack_name = "shop-test"
region = "eu-west-1"
[test.build.parameters]
parallel = true
[test.deploy.parameters]
region = "us-east-1"
parameter_overrides = ["A=1"]
[prod.deploy.parameters]
stack_name = "shop"
confirm_changeset = true
parameter_overrides = "A=1 B=\"two words\" C='x'"
[ci.build.parameters]
cached = true
`

func TestAnEnvironmentIsReadFromItsSections(t *testing.T) {
	for name, want := range map[string]Environment{
		"prod": {Name: "prod", StackName: "shop", Confirms: true, Parameters: map[string]string{"A": "1", "B": "two words", "C": "x"}},
		"test": {Name: "test", StackName: "shop-test", Region: "us-east-1", Parameters: map[string]string{"A": "1"}},
	} {
		want.Known = []string{"prod", "test"}
		if got, err := Parse([]byte(file), name); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, got))
		}
	}
	for _, name := range []string{"staging", "ci"} { // ci is not deployed
		if _, err := Parse([]byte(file), name); err == nil || !strings.Contains(err.Error(), "no such environment; there are: prod, test") {
			t.Errorf("%s: %v, want that there is none, and the others", name, err)
		}
	}
}

func TestAnAmbiguousFileIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"not TOML":           "[",
		"a number":           "[e.deploy.parameters]\nparameter_overrides = 7",
		"a list of numbers":  "[e.deploy.parameters]\nparameter_overrides = [7]",
		"not a pair":         "[e.deploy.parameters]\nparameter_overrides = \"A\"",
		"a stack of numbers": "[e.deploy.parameters]\nstack_name = 7",
	} {
		if e, err := Parse([]byte(text), "e"); err == nil {
			t.Errorf("%s: %+v, want an error", name, e)
		}
	}
}

func TestOverridesAreReadAsTheSAMCLIReadsThem(t *testing.T) {
	for _, tt := range []struct {
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
	} {
		e := Environment{Parameters: map[string]string{}}
		err := e.Override(tt.text)
		if (err != nil) != (tt.want == nil) || err == nil && !cmp.Equal(tt.want, e.Parameters) {
			t.Errorf("%s: %v, %v, want %v", tt.text, e.Parameters, err, tt.want)
		}
	}
}

func TestAParameterIsOneArgumentOrIsRefused(t *testing.T) {
	e := Environment{Parameters: map[string]string{"B": `{"a":"b c"}`, "A": "", "C": "it's"}}
	arguments, err := e.Arguments()
	if diff := cmp.Diff([]string{`A=""`, `B="{\"a\":\"b c\"}"`, `C="it's"`}, arguments); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, value := range []string{`a\ b`, `a\"b`, `a\`, "x\n--no-confirm-changeset", "x\r"} {
		e := Environment{Parameters: map[string]string{"A": value}}
		if got, err := e.Arguments(); err == nil || strings.Contains(err.Error(), value) {
			t.Errorf("%q is formatted as %q (%v), want an error that does not quote it", value, got, err)
		}
	}
}

func TestWhyAFileOfParametersIsRefusedQuotesNoSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	for text, line := range map[string]string{"A=1\r\n\r\nSecret = hush": "line 3", "Secret=hush hush": "line 1", "\ufeffSecret=hush": "line 1", "Secret=hush Secret=hush": "Secret is given twice"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e := Environment{Parameters: map[string]string{}}
		if err := e.OverrideFrom(path); err == nil || !strings.Contains(err.Error(), line) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v, want %s and no secret", text, err, line)
		}
	}
}

func TestAFileWithTheParametersIsReadAsTheOneItComesFrom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "samconfig.toml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := Read(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	e.Parameters = map[string]string{"B": `{"a":"b c"}`, "Empty": ""}
	text, err := e.File(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Parse(text, "test"); err != nil || !cmp.Equal(e, got) {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(e, got))
	}
	want, _ := Parse([]byte(file), "prod")
	if got, err := Parse(text, "prod"); err != nil || !cmp.Equal(want, got) {
		t.Errorf("another environment: %v (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	if !strings.Contains(string(text), "version = 0.1\n") || !strings.Contains(string(text), "parallel = true\n") {
		t.Errorf("what sam reads besides is missing:\n%s", text)
	}
}
