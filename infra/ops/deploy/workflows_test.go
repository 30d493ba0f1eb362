package main

import (
	"os"
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
	Name        string            `yaml:"name"`
	Permissions map[string]string `yaml:"permissions"`
	Jobs        map[string]struct {
		Uses        string            `yaml:"uses"`
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

var inline = regexp.MustCompile(`\$\{\{`)

// broken returns the rules that a workflow breaks. That every action is pinned is tested in
// infra/proof/system; actionlint, in CI, knows the syntax.
func broken(w workflow) (found []string) {
	if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		found = append(found, "jobs have more than read permission by default")
	}
	if strings.Contains(w.text, "secrets.") {
		found = append(found, "a secret is used")
	}
	for name, job := range w.Jobs {
		if job.Permissions["id-token"] == "write" && (job.Environment == nil || job.Needs == nil) {
			found = append(found, name+" assumes a role without approval or without tests")
		}
		if job.Permissions["id-token"] == "write" && !strings.HasPrefix(job.If, "github.ref_protected && ") {
			found = append(found, name+" assumes a role from a branch that is not protected")
		}
		publishes := w.Name == "release" && name == "publish"
		for _, step := range job.Steps {
			if publishes && (strings.HasPrefix(step.Uses, "actions/checkout@") || strings.Contains(step.Run, "make ")) {
				found = append(found, name+" runs what is in the repository with the permission to write")
			}
		}
		for permission, level := range job.Permissions {
			if level == "write" && permission != "id-token" && !publishes {
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

func TestAReleaseIsTestedBeforeItIsMade(t *testing.T) {
	w := parseWorkflow(t, workflows(t)["release.yml"])
	if w.Jobs["verify"].Uses != "./.github/workflows/ci.yml" || w.Jobs["build"].Needs != "verify" || w.Jobs["publish"].Needs != "build" {
		t.Errorf("publish needs %v, which needs %v, which is %q", w.Jobs["publish"].Needs, w.Jobs["build"].Needs, w.Jobs["verify"].Uses)
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
