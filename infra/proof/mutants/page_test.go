package mutants

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

var changePage = flag.Bool("page", false, "change each condition of the page's scripts in turn; `make mutate` does")

const pageTests = "./infra/proof/browser/buyer"

var pageScripts = []string{"functions/page/assets/*.js", "shared/webpage/*.js"}

// pageChange is a change of one condition.
type pageChange struct {
	Name string `json:"name"`
	browser.Line
}

// TestEveryConditionOfThePageIsNeeded changes one condition of the page's scripts after the
// other, and runs the tests of the page in a browser: one of them must fail, or the change
// be listed in pageSurvivors. Each run takes as long as those tests, so without -page it only
// finds the conditions.
func TestEveryConditionOfThePageIsNeeded(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var scripts []string
	for _, pattern := range pageScripts {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no scripts (%v)", pattern, err)
		}
		scripts = append(scripts, found...)
	}
	typescript := filepath.Join(browser.Folder(root), "node_modules", "typescript")
	list := exec.CommandContext(t.Context(), "node", append([]string{"conditions.cjs", typescript}, scripts...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list the conditions: %v", err)
	}
	var all []pageChange
	if err := json.Unmarshal(out, &all); err != nil || len(all) < 100 {
		t.Fatalf("%d conditions (%v)", len(all), err)
	}
	for name := range pageSurvivors {
		if !slices.ContainsFunc(all, func(c pageChange) bool { return c.Name == name }) {
			t.Errorf("a listed survivor that is no change any more: %s", name)
		}
	}
	if !*changePage {
		return
	}
	binary := filepath.Join(t.TempDir(), "page.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-o", binary, pageTests)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// run returns an error if the tests fail or take longer than that.
	run := func(t *testing.T, mutant string, patience time.Duration) ([]byte, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		command := exec.CommandContext(ctx, binary, "-test.failfast")
		command.Dir = filepath.Join(root, pageTests)
		command.Env = append(os.Environ(), browser.MutantVariable+"="+mutant)
		out, err := command.CombinedOutput()
		if err != nil && ctx.Err() == nil && !testFailure.Match(out) {
			t.Fatalf("the tests end for another reason: %v\n%s", err, out)
		}
		return out, err
	}
	const unchanged = 10 * time.Minute
	start := time.Now()
	if out, err := run(t, "", unchanged); err != nil {
		t.Fatalf("the tests fail without a change: %v\n%s", err, out)
	}
	patience := time.Minute + 3*time.Since(start)
	noticed, lived := 0, 0
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			mutant, err := json.Marshal(c.Line)
			if err != nil {
				t.Fatal(err)
			}
			out, err := run(t, string(mutant), patience)
			reason, listed := pageSurvivors[c.Name]
			switch {
			case err != nil && listed:
				t.Errorf("listed as a survivor (%s), but a test fails:\n%s", reason, out)
			case err == nil && !listed:
				t.Errorf("no test of %s notices: %s", pageTests, c.Name)
			}
			if err == nil {
				lived++
			} else {
				noticed++
			}
		})
	}
	t.Logf("%d changes are noticed, %d are not", noticed, lived)
}

// pageSurvivors are the changes of the page's conditions that no test can detect, with the
// reasons.
var pageSurvivors = map[string]string{
	`shop.js: const codeOf = (status) => (status === 401 ? "unauthorized" : status === 403 ? "forbidden" : status === 429 || status > 499 ? "busy" : "HTTP " + status);: && for ||`: "a 429 is asked again whatever its code is, and no word is shown of a code that is asked again",
}
