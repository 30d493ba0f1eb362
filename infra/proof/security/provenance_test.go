package security

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deployable are the modules that may become part of a function; everything else
// in go.mod serves tests, tools and the local stack.
var deployable = []string{
	"github.com/aws/aws-lambda-go", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "github.com/go-json-experiment/json",
}

// deployableIn are modules that may become part of one function only.
var deployableIn = map[string][]string{
	"DrawFunction":    {"github.com/cloudflare/circl", "golang.org/x/crypto", "golang.org/x/sys"}, // the beacon's signatures
	"OperateFunction": {"golang.org/x/text"},                                                      // the languages that a browser accepts
	"PayFunction":     {"github.com/stripe/stripe-go", "github.com/standard-webhooks/standard-webhooks"},
}

// The output of `go version -m` is the function's bill of materials: this test reads it
// from the binaries.
func TestAFunctionHoldsOnlyTheModulesItNeedsAtTheSumsOfGoSum(t *testing.T) {
	root := rootOf(t)
	sums := read(t, "go.sum")
	functions, err := filepath.Glob(filepath.Join(root, ".build", "host", "*Function", "bootstrap"))
	if err != nil {
		t.Fatal(err)
	}
	if len(functions) < 5 {
		t.Fatalf("only %d functions are built: run make host", len(functions))
	}
	for _, path := range functions {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			info, err := buildinfo.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.Main.Path != "flashsale" || len(info.Deps) == 0 {
				t.Fatalf("the file is built of %s with %d modules", info.Main.Path, len(info.Deps))
			}
			for _, m := range info.Deps {
				allowed := slices.Concat(deployable, deployableIn[filepath.Base(filepath.Dir(path))])
				ours := slices.ContainsFunc(allowed, func(p string) bool { return m.Path == p || strings.HasPrefix(m.Path, p+"/") })
				switch {
				case !ours:
					t.Errorf("%s has become part of the function", m.Path)
				case m.Replace != nil:
					t.Errorf("%s is replaced by %s", m.Path, m.Replace.Path)
				case !strings.Contains(sums, m.Path+" "+m.Version+" "+m.Sum+"\n"):
					t.Errorf("%s %s is not at the sum of go.sum", m.Path, m.Version)
				}
			}
			settings := map[string]string{}
			for _, s := range info.Settings {
				settings[s.Key] = s.Value
			}
			if settings["-trimpath"] != "true" || settings["CGO_ENABLED"] != "0" {
				t.Errorf("it was built with %v", settings)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), root+"/") {
				t.Errorf("the file names the folder that it was built in")
			}
		})
	}
}
