package security

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// modules are the folders that have a go.mod: the product's, and the lab's, which requires the product from
// its folder.
var modules = map[string]string{".": "null", "infra/lab": `[{"Old":{"Path":"flashsale"},"New":{"Path":"../.."}}]`}

// module is a go.mod as the go command reads it.
type module struct {
	Go      string
	Require []struct{ Path, Version string }
	Replace json.RawMessage
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
