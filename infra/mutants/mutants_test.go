package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// limit bounds one mutant: a mutant that hangs is caught, too, but slowly.
const limit = 3 * time.Minute

func TestEveryMutantIsCaught(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(mutants) < 15 {
		t.Errorf("only %d mutants", len(mutants))
	}
	for _, m := range mutants {
		t.Run(m.promise+" "+m.name, func(t *testing.T) {
			t.Parallel()
			overlay := m.overlay(t, root)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			// Built apart from running: a mutant that does not compile proves nothing.
			if out, err := m.goTest(ctx, root, overlay, "^$"); err != nil {
				t.Fatalf("the mutant does not build: %v\n%s", err, out)
			}
			out, err := m.goTest(ctx, root, overlay, m.test)
			switch {
			case err == nil && bytes.Contains(out, []byte("no tests to run")):
				t.Errorf("no test matches %s", m.test)
			case err == nil:
				t.Errorf("%s of %s did not notice", m.test, m.pkg)
			case !bytes.Contains(out, []byte("--- FAIL")) && !bytes.Contains(out, []byte("panic:")):
				t.Errorf("the test failed for another reason: %v\n%s", err, out)
			}
		})
	}
}

// overlay writes the mutated files and the list that go test replaces them by.
func (m mutant) overlay(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	text := map[string]string{}
	for _, e := range m.edits {
		path := filepath.Join(root, e.file)
		if text[path] == "" {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text[path] = string(raw)
		}
		if n := strings.Count(text[path], e.old); n != 1 {
			t.Fatalf("%s: the edit fits %d times, want once:\n%s", e.file, n, e.old)
		}
		text[path] = strings.Replace(text[path], e.old, e.new, 1)
	}
	var list struct{ Replace map[string]string }
	list.Replace = map[string]string{}
	for path, mutated := range text {
		copied := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(copied, []byte(mutated), 0o600); err != nil {
			t.Fatal(err)
		}
		list.Replace[path] = copied
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (m mutant) goTest(ctx context.Context, root, overlay, run string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", "test", "-count=1", "-overlay", overlay, "-run", run, m.pkg)
	command.Dir = root
	return command.CombinedOutput()
}
