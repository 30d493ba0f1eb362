package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is the part of a workflow that the rules check.
type workflow struct {
	text        string
	Permissions map[string]string `yaml:"permissions"`
	Concurrency map[string]any    `yaml:"concurrency"`
	Jobs        map[string]struct {
		Uses        string            `yaml:"uses"`
		Timeout     int               `yaml:"timeout-minutes"`
		Environment any               `yaml:"environment"`
		If          string            `yaml:"if"`
		Needs       any               `yaml:"needs"`
		Permissions map[string]string `yaml:"permissions"`
		Steps       []struct {
			Uses string         `yaml:"uses"`
			Run  string         `yaml:"run"`
			With map[string]any `yaml:"with"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

func workflows(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(path)] = string(text)
	}
	return texts
}

func parseWorkflow(t *testing.T, text string) workflow {
	t.Helper()
	w := workflow{text: text}
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

var (
	pinned = regexp.MustCompile(`uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\n`)
	used   = regexp.MustCompile(`uses: [^.\s].*\n`) // not those of this repository
	inline = regexp.MustCompile(`\$\{\{`)
	runner = regexp.MustCompile(`runs-on: \S.*`)
)

// broken returns the rules that a workflow breaks.
func broken(w workflow) (found []string) {
	for _, use := range used.FindAllString(w.text, -1) {
		if !pinned.MatchString(use) {
			found = append(found, "an action is not pinned: "+strings.TrimSpace(use))
		}
	}
	if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		found = append(found, "jobs have more than read permission by default")
	}
	if w.Concurrency["group"] == nil {
		found = append(found, "runs may overlap")
	}
	if strings.Contains(w.text, "secrets.") {
		found = append(found, "a secret is used")
	}
	for name, job := range w.Jobs {
		if job.Uses == "" && job.Timeout == 0 {
			found = append(found, name+" has no short timeout")
		}
		if job.Permissions["id-token"] == "write" && (job.Environment == nil || job.Needs == nil) {
			found = append(found, name+" assumes a role without approval or without tests")
		}
		if job.Permissions["id-token"] == "write" && !strings.HasPrefix(job.If, "github.ref_protected && ") {
			found = append(found, name+" assumes a role from a branch that is not protected")
		}
		for permission, level := range job.Permissions {
			if level == "write" && permission != "id-token" {
				found = append(found, name+" may write "+permission)
			}
		}
		for _, step := range job.Steps {
			if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
				found = append(found, name+" leaves the token in its work tree")
			}
			if inline.MatchString(step.Run) {
				found = append(found, name+" puts an expression into a script: "+step.Run)
			}
		}
	}
	return found
}

func TestWorkflowsKeepTheRules(t *testing.T) {
	for name, text := range workflows(t) {
		for _, finding := range broken(parseWorkflow(t, text)) {
			t.Errorf("%s: %s", name, finding)
		}
	}
}

func TestABrokenRuleOfWorkflowsIsNoticed(t *testing.T) {
	texts := workflows(t)
	for _, change := range []struct{ file, old, new string }{
		{"ci.yml", "@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2", "@v6"},
		{"ci.yml", "@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2", "@de0fac2e4500dabe0009e67214ff5f5447ce83dd"},
		{"ci.yml", "permissions:\n  contents: read", "permissions:\n  contents: write"},
		{"ci.yml", "concurrency:\n", "concurrency-of-old:\n"},
		{"ci.yml", "    timeout-minutes: 20\n", ""},
		{"ci.yml", "persist-credentials: false", "persist-credentials: true"},
		{"ci.yml", "run: make test", "run: make test TOKEN=${{ github.token }}"},
		{"deploy.yml", "    environment: ${{ inputs.environment }}\n", ""},
		{"deploy.yml", "    needs: verify\n", ""},
		{"deploy.yml", "github.ref_protected && ", ""},
		{"deploy.yml", "id-token: write", "packages: write"},
		{"deploy.yml", "vars.AWS_ROLE_ARN", "secrets.AWS_ROLE_ARN"},
	} {
		text := strings.Replace(texts[change.file], change.old, change.new, 1)
		if text == texts[change.file] {
			t.Errorf("%s has no %q", change.file, change.old)
		} else if len(broken(parseWorkflow(t, text))) == 0 {
			t.Errorf("%s: %q instead of %q is not noticed", change.file, change.new, change.old)
		}
	}
}

func TestActionlintAcceptsTheWorkflows(t *testing.T) {
	t.Parallel()
	// Disable the optional external programs, so that the result is the same on every machine.
	lint := func(path string) (string, error) {
		c := exec.Command("go", "tool", "actionlint", "-shellcheck=", "-pyflakes=", path)
		c.Dir = root
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for name, text := range workflows(t) {
		if out, err := lint(filepath.Join(".github", "workflows", name)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		wrong := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(wrong, runner.ReplaceAll([]byte(text), []byte("runs-on: ubuntu-1")), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := lint(wrong); err == nil {
			t.Errorf("%s: a runner that does not exist is accepted\n%s", name, out)
		}
	}
}

func TestADeploymentIsTestedBeforeAndAfter(t *testing.T) {
	w := parseWorkflow(t, workflows(t)["deploy.yml"])
	if w.Jobs["verify"].Uses != "./.github/workflows/ci.yml" || w.Jobs["deploy"].Needs != "verify" {
		t.Errorf("deploy needs %v, which is %q", w.Jobs["deploy"].Needs, w.Jobs["verify"].Uses)
	}
	var runs []string
	for _, step := range w.Jobs["deploy"].Steps {
		runs = append(runs, step.Run)
	}
	deploy, smoke := slices.Index(runs, "make deploy YES=1"), slices.Index(runs, "make smoke")
	if deploy < 0 || smoke < deploy {
		t.Errorf("it runs %q, want a smoke test after the deployment", runs)
	}
}
