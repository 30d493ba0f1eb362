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

// A testedPage is a page whose conditions are changed.
type testedPage struct {
	tests   string // of the page in a browser
	scripts []string
	// survivors are the changes of its conditions that no test can detect, with the reasons.
	survivors map[string]string
}

// pageChange is a change of one condition.
type pageChange struct {
	Name string `json:"name"`
	browser.Line
}

// TestEveryConditionOfThePagesIsNeeded changes one condition of a page's scripts after the
// other, and runs the tests of the page in a browser: one of them must fail, or the change
// be listed as a survivor. Each run takes as long as those tests, so without -page it only
// finds the conditions.
func TestEveryConditionOfThePagesIsNeeded(t *testing.T) {
	for name, p := range pages {
		t.Run(name, p.everyConditionIsNeeded)
	}
}

func (p testedPage) everyConditionIsNeeded(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var scripts []string
	for _, pattern := range p.scripts {
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
	for name := range p.survivors {
		if !slices.ContainsFunc(all, func(c pageChange) bool { return c.Name == name }) {
			t.Errorf("a listed survivor that is no change any more: %s", name)
		}
	}
	if !*changePage {
		return
	}
	binary := filepath.Join(t.TempDir(), "page.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-o", binary, p.tests)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// run returns an error if the tests fail or take longer than that.
	run := func(t *testing.T, mutant string, patience time.Duration) ([]byte, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		command := exec.CommandContext(ctx, binary, "-test.failfast")
		command.Dir = filepath.Join(root, p.tests)
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
			reason, listed := p.survivors[c.Name]
			switch {
			case err != nil && listed:
				t.Errorf("listed as a survivor (%s), but a test fails:\n%s", reason, out)
			case err == nil && !listed:
				t.Errorf("no test of %s notices: %s", p.tests, c.Name)
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

var pages = map[string]testedPage{
	"buyers": {"./infra/proof/browser/buyer", []string{"functions/page/assets/*.js", "shared/webpage/*.js"}, map[string]string{
		`shop.js: const codeOf = (status) => (status === 401 ? "unauthorized" : status === 403 ? "forbidden" : status === 429 || status > 499 ? "busy" : "HTTP " + status);: && for ||`: "a 429 is asked again whatever its code is, and no word is shown of a code that is asked again",
	}},
	"operators": {"./infra/proof/browser/operator", []string{"functions/operate/assets/*.js"}, nil},
}
