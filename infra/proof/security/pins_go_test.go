package security

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// modules are the folders that have a go.mod: the product's, that of a generated client, and the lab's, which
// requires the product from its folder.
var modules = map[string]string{".": "null", "infra/proof/clients/ogen": "null", "infra/lab": `[{"Old":{"Path":"flashsale"},"New":{"Path":"../.."}}]`}

// module is a go.mod as the go command reads it.
type module struct {
	Go      string
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

// The go command itself refuses a module without its sum in go.sum. A replacement has none.
func TestEveryGoDependencyIsPinnedBySum(t *testing.T) {
	for folder, replaced := range modules {
		t.Run(folder, func(t *testing.T) {
			m := goMod(t, folder)
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
