package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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
	"EligibilityUrl":             {"PurchaseFunction"},
	"EligibilityTimeoutMs":       {"PurchaseFunction"},
	"EligibilityConcurrency":     {"PurchaseFunction"},
	"EligibilityFailOpen":        {"PurchaseFunction"},
	"OriginSecret":               {"PageFunction", "PayFunction", "PurchaseFunction", "QueryFunction"},
	"PageOrigin":                 {"PageFunction"},
	"SignInDomainPrefix":         {"PageFunction"},
	"ImageOrigin":                {"OperateFunction", "PageFunction", "SeedFunction"},
	"AccentColour":               {"PageFunction"},
	"StripeKeysArn":              {"PayFunction", "SeedFunction"},
	"StripeEvents":               {"PayFunction"},
	"StandardWebhooksKeysArn":    {"PayFunction"},
	"PaymentUrl":                 {"QueryFunction"},
	"PaymentLinkKeyArn":          {"QueryFunction"},
	"LogLevel":                   {"DrawFunction", "FinalizeFunction", "OperateFunction", "PageFunction", "PayFunction", "PublishFunction", "PurchaseFunction", "QueryFunction", "ReconcileFunction", "ReleaseFunction", "SeedFunction"},
	"CreateUserPool":             {"PageFunction"},
	"EventBusArn":                {"PublishFunction"},
	"CreateOperatorApi":          {"OperateFunction"},
	"OperatorRolesClaim":         {"OperateFunction"},
	"RunbookUrl":                 {"OperateFunction"},
	"OperatorOrigin":             {"OperateFunction"},
	"OperatorSignInAuthorizeUrl": {"OperateFunction"},
	"OperatorSignInTokenUrl":     {"OperateFunction"},
	"OperatorSignInClientId":     {"OperateFunction"},
	"OperatorSignInScope":        {"OperateFunction"},
	"ExistingTable":              {"DrawFunction", "FinalizeFunction", "OperateFunction", "PayFunction", "PurchaseFunction", "QueryFunction", "ReconcileFunction", "ReleaseFunction", "SeedFunction"},
	"ReleaseGraceSeconds":        {"ReleaseFunction"},
	"DrawSettleSeconds":          {"DrawFunction", "OperateFunction", "PurchaseFunction", "SeedFunction"},
	"DrawDiceSeconds":            {"DrawFunction", "OperateFunction", "PurchaseFunction", "SeedFunction"},
	"DrawGapSeconds":             {"DrawFunction", "OperateFunction", "PurchaseFunction", "SeedFunction"},
	"DrawRelays":                 {"DrawFunction"},
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

// versions returns the logical ids of the published versions of each attempt, from SAM's
// translator if it is installed, otherwise by its rule: the function's id, "Version", ten
// characters of the fingerprint.
func versions(t *testing.T, functions []demand.Function, attempts []attempt) [][]string {
	t.Helper()
	// A translation takes half a second, so translate only the first two attempts and those
	// with the same template and other fingerprints.
	var input [][]any
	var byRule [][]string
	var translatedAs []int
	for i, a := range attempts {
		overrides := a.overrides(t)
		var ids []string
		for _, f := range functions {
			fingerprint := overrides[f.FingerprintParameter]
			if len(fingerprint) != 64 {
				t.Fatalf("the fingerprint of %s is %q", f.ID, fingerprint)
			}
			ids = append(ids, f.ID+"Version"+fingerprint[:10])
		}
		byRule = append(byRule, ids)
		if i < 2 || a.template == attempts[0].template && !slices.Equal(ids, byRule[0]) {
			input, translatedAs = append(input, []any{a.template, overrides}), append(translatedAs, i)
		}
	}
	translated := translate(t, input)
	if translated == nil {
		return byRule
	}
	for n, i := range translatedAs {
		if diff := cmp.Diff(byRule[i], translated[n]); diff != "" {
			t.Errorf("the translator names versions by a different rule (-want +got):\n%s", diff)
		}
	}
	return byRule
}

// translate returns the versions that SAM's translator makes of each template with its parameters, nil if it is
// not installed.
func translate(t *testing.T, input [][]any) (translated [][]string) {
	t.Helper()
	if exec.Command("python3", "-c", "import samtranslator").Run() != nil {
		t.Log("SAM's translator is not installed: using the naming rule from its source")
		return nil
	}
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "python3", filepath.Join(root, "infra", "proof", "checks", "translate.py"), "--versions")
	c.Stdin = bytes.NewReader(text)
	var complaints strings.Builder
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &complaints)
	}
	if err := json.Unmarshal(out, &translated); err != nil {
		t.Fatal(err)
	}
	return translated
}

// SAM's own rule looks at Code, Environment, MemorySize and SnapStart alone, and at nothing but a
// fingerprint if there is one: that one is ours, and covers every property.
func TestWithoutFingerprintsEachPropertyOfAVersionPublishesAnother(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	edits := [][2]string{{"", ""}}
	for _, property := range []string{
		"KmsKeyArn: arn:aws:kms:us-east-1:123456789012:key/k", "EphemeralStorage: { Size: 1024 }", "Description: x",
		"VpcConfig: { SubnetIds: [s], SecurityGroupIds: [g] }", "Layers: ['arn:aws:lambda:us-east-1:123456789012:layer:l:1']",
	} {
		edits = append(edits, [2]string{"  Function:\n    Runtime:", "  Function:\n    " + property + "\n    Runtime:"})
	}
	edits = append(edits, [2]string{"    Tracing: Active\n", "    Tracing: PassThrough\n"}, [2]string{"    MemorySize: 512\n", "    MemorySize: 513\n"},
		[2]string{"    Architectures: [arm64]\n", "    Architectures: [x86_64]\n"}, [2]string{"    Runtime: provided.al2023\n", "    Runtime: provided.al2\n"},
		[2]string{"      Timeout: 120\n", "      Timeout: 121\n"}, [2]string{`GOGC: "400"`, `GOGC: "401"`}, [2]string{"        LogFormat: JSON\n", "        LogFormat: Text\n"},
		[2]string{"      Role: !GetAtt SeedRole.Arn\n", "      Role: !GetAtt QueryRole.Arn\n"})
	var input [][]any
	for _, e := range edits {
		if !strings.Contains(string(text), e[0]) {
			t.Fatalf("the template has no %q", e[0])
		}
		input = append(input, []any{strings.ReplaceAll(string(text), e[0], e[1]), map[string]string{}})
	}
	of := func(ids []string) string { // SeedFunction sets none of the properties of the first edits itself
		return ids[slices.IndexFunc(ids, func(id string) bool { return strings.HasPrefix(id, "SeedFunctionVersion") })]
	}
	translated := translate(t, input)
	for i := range translated {
		if same := of(translated[i]) == of(translated[0]); same != (i == 0) {
			t.Errorf("%q: %s, and before it was %s", edits[i][1], of(translated[i]), of(translated[0]))
		}
	}
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

	ids := versions(t, d.Functions, attempts)
	t.Run("row 19: versions follow changes", func(t *testing.T) {
		for i, name := range names {
			var got []string
			for n, id := range ids[i+1] {
				if id != ids[0][n] {
					got = append(got, all[n])
				}
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(want[i])), got); diff != "" {
				t.Errorf("%s is changed: new versions (-want +got):\n%s", name, diff)
			}
		}
	})
}
