package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is the part of a workflow that the rules check.
type workflow struct {
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

// That every action is pinned is tested in infra/proof/system; actionlint, in CI, knows the syntax.
func TestWorkflowsKeepTheRules(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", ".github", "workflows", "*.yml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	all := map[string]workflow{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		var w workflow
		if err == nil {
			err = yaml.Unmarshal(text, &w)
		}
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Base(path)
		all[file] = w
		wrong := func(is bool, says string) {
			if is {
				t.Errorf("%s %s", file, says)
			}
		}
		wrong(len(w.Permissions) != 1 || w.Permissions["contents"] != "read", "gives its jobs more than read permission by default")
		wrong(strings.Contains(string(text), "secrets."), "uses a secret")
		for name, job := range w.Jobs {
			publishes := file == "release.yml" && name == "publish"
			for permission, level := range job.Permissions {
				wrong(level == "write" && permission != "id-token" && !publishes, name+": may write "+permission)
			}
			if job.Permissions["id-token"] == "write" {
				wrong(job.Environment == nil || job.Needs == nil, name+": assumes a role without approval or without tests")
				wrong(!strings.HasPrefix(job.If, "github.ref_protected && "), name+": assumes a role from a branch that is not protected")
			}
			for _, step := range job.Steps {
				checkout := strings.HasPrefix(step.Uses, "actions/checkout@")
				wrong(publishes && (checkout || strings.Contains(step.Run, "make ")), name+": runs what is in the repository with the permission to write")
				wrong(checkout && step.With["persist-credentials"] != false, name+": leaves the token in its work tree")
				wrong(strings.Contains(step.Run, "${{"), name+": puts an expression into a script: "+step.Run)
			}
		}
	}
	release, deploy := all["release.yml"].Jobs, all["deploy.yml"].Jobs
	const tests = "./.github/workflows/ci.yml"
	if release["verify"].Uses != tests || release["build"].Needs != "verify" || release["publish"].Needs != "build" || deploy["verify"].Uses != tests || deploy["deploy"].Needs != "verify" {
		t.Errorf("a release or a deployment does not wait for the tests: %+v, %+v", release, deploy)
	}
	var runs strings.Builder
	for _, step := range deploy["deploy"].Steps {
		runs.WriteString(step.Run + "\n")
	}
	if _, after, deployed := strings.Cut(runs.String(), "flashsale stack deploy "); !deployed || !strings.Contains(after, "flashsale stack smoke ") {
		t.Errorf("it runs %q, want a smoke test after the deployment", &runs)
	}
}
