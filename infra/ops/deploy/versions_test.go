package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"flashsale/infra/ops/deploy/preflight"
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

// build writes the template and a program for every function, as sam build does.
func build(t *testing.T, programs map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "template.yaml"), string(text))
	for _, f := range functions(t, filepath.Join(root, "template.yaml"), nil) {
		writeFile(t, filepath.Join(folder, f.id, "bootstrap"), programs[f.id])
	}
	return folder
}

// functions reads all functions of a template, in a stack with a user pool.
func functions(t *testing.T, path string, parameters map[string]string) []function {
	t.Helper()
	given := map[string]string{"CreateUserPool": "true", "PublishEvents": "true"}
	maps.Copy(given, parameters)
	template, err := preflight.Read(path, "us-east-1", given)
	if err != nil {
		t.Fatal(err)
	}
	all, err := functionsOf(template)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// SAM publishes a version exactly when the fingerprint changes, because it is the property
// AutoPublishCodeSha256.
func TestAVersionIsPublishedExactlyWhenItsContentsHaveChanged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(root, "template.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before := functions(t, file, nil)
	// check compares the functions whose settings a change reaches.
	check := func(change string, after []function, want []string) {
		t.Helper()
		var got []string
		for i, f := range after {
			if !bytes.Equal(f.settings, before[i].settings) {
				got = append(got, f.id)
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
			t.Errorf("%s is changed: new versions (-want +got):\n%s", change, diff)
		}
	}
	check("nothing", functions(t, file, nil), nil)
	template, err := preflight.Read(file, "us-east-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range template.Parameters {
		known[p.Name] = true
		other := "changed"
		if n, err := strconv.Atoi(p.Value); err == nil {
			other = strconv.Itoa(n + 1)
		}
		switch {
		case p.Name == "PublishEvents":
			continue
		case p.Name == "CreateUserPool":
			other = "false"
		case p.Name == "DrawSeconds":
			other = "1/2/3"
		case strings.HasSuffix(p.Name, "SignIn"):
			other = "/authorize,/token,client,openid"
		case p.Value == "false":
			other = "true"
		}
		check(p.Name, functions(t, file, map[string]string{p.Name: other}), reaches[p.Name])
	}
	for name := range reaches {
		if !known[name] {
			t.Errorf("there is no parameter %s", name)
		}
	}
	var every []string
	for _, f := range before {
		every = append(every, f.id)
	}
	for _, edit := range []struct {
		old, new  string
		functions []string
	}{
		{"MemorySize: 512", "MemorySize: 1024", every},
		{"GOGC: \"400\"", "GOGC: \"200\"", every},
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
		edited := filepath.Join(t.TempDir(), "template.yaml")
		writeFile(t, edited, strings.Replace(string(text), edit.old, edit.new, 1))
		check(fmt.Sprintf("%q", edit.new), functions(t, edited, nil), edit.functions)
	}
	one, other := build(t, nil), build(t, map[string]string{"SeedFunction": "another one"})
	for _, f := range before {
		was, err := f.fingerprint(one)
		is, failed := f.fingerprint(other)
		if err != nil || failed != nil || len(was) != 64 || (was != is) != (f.id == "SeedFunction") {
			t.Errorf("the program of SeedFunction is changed: the fingerprint of %s was %s and is %s, %v %v", f.id, was, is, err, failed)
		}
	}
}

func TestTheTemplateThatIsDeployedDiffersOnlyInItsFingerprints(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := functions(t, filepath.Join(root, "template.yaml"), nil)
	for name, text := range map[string][]byte{"as it is built": own, "of a release": packagedTemplate(own)} {
		folder := build(t, nil)
		file := filepath.Join(folder, "template.yaml")
		writeFile(t, file, string(text))
		for range 2 { // a repeat puts in the same
			if err := fingerprinted(folder, all); err != nil {
				t.Fatal(err)
			}
		}
		made, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var before, after yaml.Node
		if err := errors.Join(yaml.Unmarshal(text, &before), yaml.Unmarshal(made, &after)); err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			properties := propertiesOf(&after, f.id)
			i := slices.IndexFunc(properties.Content, func(n *yaml.Node) bool { return n.Value == codeHash })
			if want, err := f.fingerprint(folder); err != nil || i < 0 || properties.Content[i+1].Value != want {
				t.Fatalf("%s: %s has not the fingerprint %s (%v)", name, f.id, want, err)
			}
			properties.Content = slices.Delete(properties.Content, i, i+2)
		}
		want, _ := yaml.Marshal(&before)
		got, err := yaml.Marshal(&after)
		if diff := cmp.Diff(string(want), string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if err := fingerprinted(t.TempDir(), nil); err == nil {
		t.Error("a template that was not built is deployed")
	}
}
