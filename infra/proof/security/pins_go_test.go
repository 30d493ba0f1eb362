package security

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// module is go.mod as the go command reads it.
type module struct {
	Go        string
	Toolchain string
	Tool      []struct{ Path string }
	Require   []struct{ Path, Version string }
	Replace   []json.RawMessage
	Retract   []json.RawMessage
}

func goMod(t *testing.T) (m module) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	command.Dir = rootOf(t)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEveryGoDependencyIsPinnedBySum(t *testing.T) {
	m := goMod(t)
	sums := map[string]bool{}
	for line := range strings.Lines(read(t, "go.sum")) {
		parts := strings.Fields(line)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "h1:") {
			t.Errorf("go.sum has the line %q", line)
			continue
		}
		sums[parts[0]+" "+parts[1]] = true
	}
	if len(m.Require) < 10 {
		t.Errorf("go.mod requires only %d modules", len(m.Require))
	}
	for _, r := range m.Require {
		if !sums[r.Path+" "+r.Version+"/go.mod"] {
			t.Errorf("go.sum has no sum of %s %s", r.Path, r.Version)
		}
	}
	if len(m.Replace) > 0 {
		t.Errorf("go.mod replaces modules, which no sum covers: %s", m.Replace)
	}
	if !regexp.MustCompile(`^1\.\d+(\.\d+)?$`).MatchString(m.Go) {
		t.Errorf("go.mod is for Go %q", m.Go)
	}
}

func TestEveryToolIsOneOfGoMod(t *testing.T) {
	m := goMod(t)
	var tools []string
	for _, tool := range m.Tool {
		tools = append(tools, tool.Path)
		owned := slices.ContainsFunc(m.Require, func(r struct{ Path, Version string }) bool {
			return tool.Path == r.Path || strings.HasPrefix(tool.Path, r.Path+"/")
		})
		if !owned {
			t.Errorf("the tool %s has no version in go.mod", tool.Path)
		}
	}
	called := regexp.MustCompile(`\bgo tool ([a-z][a-z0-9-]*)`).FindAllStringSubmatch(read(t, "Makefile"), -1)
	if len(called) == 0 {
		t.Error("the Makefile calls no tool")
	}
	for _, call := range called {
		// These are part of Go itself.
		if slices.Contains([]string{"pprof", "cover", "trace", "covdata"}, call[1]) {
			continue
		}
		if !slices.ContainsFunc(tools, func(path string) bool { return strings.HasSuffix(path, "/"+call[1]) }) {
			t.Errorf("the Makefile calls go tool %s, which go.mod does not pin", call[1])
		}
	}
}
