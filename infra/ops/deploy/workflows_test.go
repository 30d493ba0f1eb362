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

// workflows reads all workflows, by their files' names.
func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	all := map[string]workflow{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		w := workflow{text: string(text)}
		if err == nil {
			err = yaml.Unmarshal(text, &w)
		}
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = w
	}
	return all
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
	for name, w := range workflows(t) {
		for _, finding := range broken(w) {
			t.Errorf("%s: %s", name, finding)
		}
	}
}

func TestNothingIsReleasedOrDeployedUntested(t *testing.T) {
	all := workflows(t)
	release, deploy := all["release.yml"].Jobs, all["deploy.yml"].Jobs
	for what, uses := range map[string]string{"release": release["verify"].Uses, "deploy": deploy["verify"].Uses} {
		if uses != "./.github/workflows/ci.yml" {
			t.Errorf("%s verifies by %q", what, uses)
		}
	}
	if release["build"].Needs != "verify" || release["publish"].Needs != "build" || deploy["deploy"].Needs != "verify" {
		t.Errorf("publish needs %v, which needs %v; deploy needs %v", release["publish"].Needs, release["build"].Needs, deploy["deploy"].Needs)
	}
	var runs []string
	for _, step := range deploy["deploy"].Steps {
		runs = append(runs, step.Run)
	}
	if deployed, smoke := slices.Index(runs, "make deploy YES=1"), slices.Index(runs, "make smoke"); deployed < 0 || smoke < deployed {
		t.Errorf("it runs %q, want a smoke test after the deployment", runs)
	}
}
