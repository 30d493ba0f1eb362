package deploy

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"flashsale/infra/ops/deploy/packaged"
	"flashsale/infra/ops/deploy/preflight"
	"flashsale/infra/ops/target/targettest"
)

// root is the repository's top folder, absolute: tests change theirs.
var root, _ = filepath.Abs("../../..")

// build writes the template and a program for every function, as sam build does.
func build(t *testing.T, programs map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	targettest.File(t, filepath.Join(folder, "template.yaml"), own(t, "template.yaml"))
	for _, f := range functions(t, filepath.Join(root, "template.yaml"), nil) {
		targettest.File(t, filepath.Join(folder, f.id, "bootstrap"), programs[f.id])
	}
	return folder
}

// functions reads all functions of a template, in a stack with a user pool.
func functions(t *testing.T, path string, parameters map[string]string) []function {
	t.Helper()
	given := map[string]string{"CreateUserPool": "true", "PublishEvents": "true", "RefundKeysArn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:refunds-AbC123"}
	maps.Copy(given, parameters)
	template, err := preflight.Read(path, "us-east-1", given)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range template.Parameters {
		if p.Problem != "" {
			t.Fatalf("%s=%q: %s", p.Name, p.Value, p.Problem)
		}
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
	text := own(t, "template.yaml")
	before := functions(t, file, nil)
	const every, ofTable = "Draw Finalize Operate Page Pay Publish Purchase Query Reconcile Refund Release Seed", "Draw Finalize Operate Page Pay Purchase Query Reconcile Refund Release Seed"
	for _, c := range []struct{ was, is, want string }{ // of a parameter its name and value, or else a part of the template
		{"ExistingTable", "restored", ofTable},
		{"OriginSecret", "0123456789abcdef0123456789abcdef", "Page Pay Purchase Query"},
		{"EligibilityUrl", "https://shop.example/check", "Purchase"},
		{"EventBusArn", "arn:aws:events:us-east-1:123456789012:event-bus/orders", "Publish"},
		{"StripeKeysArn", "arn:aws:secretsmanager:us-east-1:123456789012:secret:s", "Operate Pay Seed"},
		{"AlarmEmail", "ops@example.com", ""},
		{"PurchaseReservedConcurrency", "9", ""},
		{"PurchaseProvisionedConcurrency", "9", ""},
		{"SeedScheduleExpression", "rate(1 day)", ""},
		{"PurchaseRate", "9", ""},
		{"DeploymentType", "AllAtOnce", ""},
		{"MemorySize: 512", "MemorySize: 1024", every},
		{"GOGC: \"400\"", "GOGC: \"200\"", every},
		{"Timeout: 9\n", "Timeout: 8\n", "Finalize"},
		{"Role: !GetAtt SeedRole.Arn", "Role: !GetAtt QueryRole.Arn", "Seed"},
		{"QueueName: !Sub ${AWS::StackName}-OrderQueue", "QueueName: !Sub ${AWS::StackName}-Orders", "Operate Purchase Reconcile"},
		{"MaximumRetryAttempts: 2", "MaximumRetryAttempts: 1", ""},
		{"# ---- the HTTP API ----", "# ---- another comment ----", ""},
	} {
		path, parameters := file, map[string]string{c.was: c.is}
		if strings.ContainsAny(c.was, ": ") {
			if n := strings.Count(text, c.was); n != 1 {
				t.Fatalf("%q occurs %d times in the template", c.was, n)
			}
			path, parameters = filepath.Join(t.TempDir(), "template.yaml"), nil
			targettest.File(t, path, strings.Replace(text, c.was, c.is, 1))
		}
		var got []string
		for i, f := range functions(t, path, parameters) {
			if !bytes.Equal(f.settings, before[i].settings) {
				got = append(got, strings.TrimSuffix(f.id, "Function"))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s, now %s: new versions of %q, want %q", c.was, c.is, got, c.want)
		}
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
	built := []byte(own(t, "template.yaml"))
	all := functions(t, filepath.Join(root, "template.yaml"), nil)
	print := regexp.MustCompile(`\n *` + codeHash + `: "?(\w+)"?\n`)
	for name, text := range map[string][]byte{"as it is built": built, "of a release": packaged.Template(built)} {
		folder := build(t, nil)
		file := filepath.Join(folder, "template.yaml")
		targettest.File(t, file, string(text))
		if err := errors.Join(fingerprinted(folder, all), fingerprinted(folder, all)); err != nil { // a repeat puts in the same
			t.Fatal(err)
		}
		made, _ := os.ReadFile(file)
		want, got := map[string]bool{}, map[string]bool{}
		for _, f := range all {
			fingerprint, _ := f.fingerprint(folder)
			want[fingerprint] = true
		}
		for _, found := range print.FindAllSubmatch(made, -1) {
			got[string(found[1])] = true
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) != len(all) {
			t.Errorf("%s: fingerprints (-want +got):\n%s", name, diff)
		}
		var document yaml.Node
		err := yaml.Unmarshal(text, &document)
		before, failed := yaml.Marshal(&document)
		if diff := cmp.Diff(string(before), print.ReplaceAllString(string(made), "\n")); err != nil || failed != nil || diff != "" {
			t.Errorf("%s: %v %v (-want +got):\n%s", name, err, failed, diff)
		}
	}
	if err := fingerprinted(t.TempDir(), nil); err == nil {
		t.Error("a template that was not built is deployed")
	}
}

func TestAPackagedTemplateDiffersOnlyInWhereItsFilesAre(t *testing.T) {
	text := string(packaged.Template([]byte(own(t, "template.yaml"))))
	all := functions(t, filepath.Join(root, "template.yaml"), nil)
	want := map[string]int{"CodeUri": len(all), "CodeUri: .\n": 0, "BuildMethod": 0, ": infra/": 0}
	for _, f := range all {
		want["\n      CodeUri: "+f.id+".zip\n"] = 1
	}
	for word, want := range want {
		if got := strings.Count(text, word); got != want {
			t.Errorf("it has %q %d times, want %d", word, got, want)
		}
	}
	if string(packaged.Template([]byte(text))) != text {
		t.Error("that of a release is changed once more")
	}
}
