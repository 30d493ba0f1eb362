package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"flashsale/infra/ops/deploy/demand"
)

// reaches lists the parameters of the template that are part of a function's published
// version. A change of any other parameter must publish nothing. The stack has a user
// pool, so the endpoints of another issuer are not part of any version, and publishes
// events, so it has every function.
var reaches = map[string][]string{
	"EligibilityUrl":          {"PurchaseFunction"},
	"EligibilityTimeoutMs":    {"PurchaseFunction"},
	"EligibilityFailOpen":     {"PurchaseFunction"},
	"OriginSecret":            {"PageFunction", "PayFunction", "PurchaseFunction", "QueryFunction"},
	"PageOrigin":              {"PageFunction"},
	"SignInDomainPrefix":      {"PageFunction"},
	"ImageOrigin":             {"OperateFunction", "PageFunction", "SeedFunction"},
	"AccentColour":            {"PageFunction"},
	"StripeKeysArn":           {"PayFunction", "SeedFunction"},
	"StripeEvents":            {"PayFunction"},
	"StandardWebhooksKeysArn": {"PayFunction"},
	"PaymentUrl":              {"QueryFunction"},
	"PaymentLinkKeyArn":       {"QueryFunction"},
	"LogLevel":                {"DrawFunction", "FinalizeFunction", "OperateFunction", "PageFunction", "PayFunction", "PublishFunction", "PurchaseFunction", "QueryFunction", "ReconcileFunction", "ReleaseFunction", "SeedFunction"},
	"CreateUserPool":          {"PageFunction"},
	"EventBusArn":             {"PublishFunction"},
	"CreateOperatorApi":       {"OperateFunction"},
	"OperatorRolesClaim":      {"OperateFunction"},
	"RunbookUrl":              {"OperateFunction"},
	"OperatorSignIn":          {"OperateFunction"},
	"ExistingTable":           {"DrawFunction", "FinalizeFunction", "OperateFunction", "PayFunction", "PurchaseFunction", "QueryFunction", "ReconcileFunction", "ReleaseFunction", "SeedFunction"},
	"ReleaseGraceSeconds":     {"ReleaseFunction"},
	"DrawSeconds":             {"DrawFunction", "OperateFunction", "PurchaseFunction", "SeedFunction"},
	"DrawRelays":              {"DrawFunction"},
}

const withEvents = "PublishEvents=true"

// attempt is one deployment: the edited template, the output of sam build, and the given
// parameters.
type attempt struct {
	template, built string
	parameters      []string
}

// overrides returns the parameters that `make deploy` gives to the SAM CLI.
func (a attempt) overrides(t *testing.T) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(file, []byte(a.template), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, complaints bytes.Buffer
	arguments := append([]string{"-env", "dev", "-built", a.built, "-template", file,
		"-config", filepath.Join(root, "infra", "samconfig.toml"), withEvents}, a.parameters...)
	if err := runParameters(t.Context(), arguments, &out, &complaints); err != nil {
		t.Fatalf("%v\n%s", err, &complaints)
	}
	all := map[string]string{}
	for line := range strings.Lines(out.String()) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		all[name] = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(value, `"`), `"`), `\"`, `"`)
	}
	return all
}

// build writes a program for every function, as sam build does.
func build(t *testing.T, functions []demand.Function, programs map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for _, f := range functions {
		if err := os.MkdirAll(filepath.Join(folder, f.ID), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, f.ID, "bootstrap"), []byte(programs[f.ID]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// fingerprintsOf returns the fingerprint of each function in each attempt: SAM publishes a version exactly when
// it changes, because it is the property AutoPublishCodeSha256.
func fingerprintsOf(t *testing.T, functions []demand.Function, attempts []attempt) (all [][]string) {
	t.Helper()
	for _, a := range attempts {
		overrides := a.overrides(t)
		var of []string
		for _, f := range functions {
			if of = append(of, overrides[f.FingerprintParameter]); len(of[len(of)-1]) != 64 {
				t.Fatalf("the fingerprint of %s is %q", f.ID, of[len(of)-1])
			}
		}
		all = append(all, of)
	}
	return all
}

// changed returns a different valid value of a parameter.
func changed(p *yaml.Node, value string) string {
	var about struct {
		Type          string   `yaml:"Type"`
		AllowedValues []string `yaml:"AllowedValues"`
	}
	if err := p.Decode(&about); err != nil {
		return "changed"
	}
	for _, other := range about.AllowedValues {
		if other != value {
			return other
		}
	}
	if n, err := strconv.Atoi(value); err == nil && about.Type == "Number" {
		return strconv.Itoa(n + 1)
	}
	return "changed"
}

func TestAVersionIsPublishedExactlyWhenItsContentsHaveChanged(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Parameters map[string]yaml.Node `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	e := environment(t, "dev")
	if err := e.Override(withEvents); err != nil {
		t.Fatal(err)
	}
	d, err := demand.Parse(text, e.Region, e.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	var all, fingerprints []string
	programs := map[string]string{}
	for _, f := range d.Functions {
		all = append(all, f.ID)
		fingerprints = append(fingerprints, f.FingerprintParameter)
		programs[f.ID] = "the program of " + f.ID
	}
	built := build(t, d.Functions, programs)

	// Each case names the change and the functions that get a new version.
	names := []string{"nothing at all"}
	attempts := []attempt{{string(text), built, nil}, {string(text), built, nil}}
	want := [][]string{nil}
	try := func(name string, a attempt, functions ...string) {
		names, attempts, want = append(names, name), append(attempts, a), append(want, functions)
	}
	for _, p := range d.Parameters {
		if !slices.Contains(fingerprints, p.Name) && p.Name != "PublishEvents" {
			node := document.Parameters[p.Name]
			override := p.Name + "=" + changed(&node, p.Value)
			try(override, attempt{string(text), built, []string{override}}, reaches[p.Name]...)
		}
	}
	for name := range reaches {
		if _, ok := document.Parameters[name]; !ok {
			t.Errorf("there is no parameter %s", name)
		}
	}
	programs["SeedFunction"] = "another one"
	try("the program of SeedFunction", attempt{string(text), build(t, d.Functions, programs), nil}, "SeedFunction")
	for _, edit := range []struct {
		old, new  string
		functions []string
	}{
		{"MemorySize: 512", "MemorySize: 1024", all},
		{"GOGC: \"400\"", "GOGC: \"200\"", all},
		{"Timeout: 9\n", "Timeout: 8\n", []string{"FinalizeFunction"}},
		{"Role: !GetAtt SeedRole.Arn", "Role: !GetAtt QueryRole.Arn", []string{"SeedFunction"}},
		{"QueueName: !Sub ${AWS::StackName}-OrderQueue", "QueueName: !Sub ${AWS::StackName}-Orders", []string{"PurchaseFunction", "ReconcileFunction"}},
		{"MaximumRetryAttempts: 2", "MaximumRetryAttempts: 1", nil},
		{"# ---- the HTTP API ----", "# ---- another comment ----", nil},
		{"          PAYMENT_URL: !Ref PaymentUrl\n", "          PAYMENT_URL: x\n", []string{"QueryFunction"}},
	} {
		if n := strings.Count(string(text), edit.old); n != 1 {
			t.Fatalf("%q occurs %d times in the template", edit.old, n)
		}
		try(fmt.Sprintf("%q", edit.new), attempt{strings.Replace(string(text), edit.old, edit.new, 1), built, nil}, edit.functions...)
	}

	made := fingerprintsOf(t, d.Functions, attempts)
	for i, name := range names {
		var got []string
		for n, fingerprint := range made[i+1] {
			if fingerprint != made[0][n] {
				got = append(got, all[n])
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(want[i])), got); diff != "" {
			t.Errorf("%s is changed: new versions (-want +got):\n%s", name, diff)
		}
	}
}
