package security

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// modules are the folders that have a go.mod: the product's, and the lab's, which requires the product from
// its folder.
var modules = map[string]string{".": "null", "infra/lab": `[{"Old":{"Path":"flashsale"},"New":{"Path":"../.."}}]`}

// module is a go.mod as the go command reads it.
type module struct {
	Go        string
	Toolchain string
	Tool      []struct{ Path string }
	Require   []struct{ Path, Version string }
	Replace   json.RawMessage
	Retract   []json.RawMessage
}

func goMod(t *testing.T, folder string) (m module) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	command.Dir = filepath.Join(rootOf(t), folder)
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
	for folder, replaced := range modules {
		t.Run(folder, func(t *testing.T) {
			m := goMod(t, folder)
			sums := map[string]bool{}
			for line := range strings.Lines(read(t, path.Join(folder, "go.sum"))) {
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
				if r.Path != "flashsale" && !sums[r.Path+" "+r.Version+"/go.mod"] {
					t.Errorf("go.sum has no sum of %s %s", r.Path, r.Version)
				}
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, m.Replace); err != nil || compact.String() != replaced {
				t.Errorf("go.mod replaces %s, want %s: no sum covers it (%v)", &compact, replaced, err)
			}
			if !regexp.MustCompile(`^1\.\d+(\.\d+)?$`).MatchString(m.Go) || m.Go != goMod(t, ".").Go {
				t.Errorf("go.mod is for Go %q", m.Go)
			}
		})
	}
}

func TestEveryToolIsOneOfGoMod(t *testing.T) {
	m := goMod(t, ".")
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
