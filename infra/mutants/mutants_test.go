package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// limit bounds one mutant: a mutant that hangs is caught, too, but slowly.
const limit = 3 * time.Minute

func TestEveryMutantIsCaught(t *testing.T) {
	if len(mutants) < 15 {
		t.Errorf("only %d mutants", len(mutants))
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	builds := newBuilds(root, t.TempDir())
	first := map[string]int{} // by package
	tests := map[string]string{}
	for number, m := range mutants {
		top, _, _ := strings.Cut(m.test, "/")
		if tests[m.pkg] == "" {
			first[m.pkg], tests[m.pkg] = number, top
		} else {
			tests[m.pkg] += "|" + top
		}
		t.Run(m.promise+" "+m.name, func(t *testing.T) {
			t.Parallel()
			out, err := builds.run(t, number, number, m.test)
			switch {
			case err == nil && bytes.Contains(out, []byte("no tests to run")):
				t.Errorf("no test matches %s", m.test)
			case err == nil:
				t.Errorf("%s of %s did not notice", m.test, m.pkg)
			}
		})
	}
	// The same programs without a mutant: what fails there proves nothing.
	for pkg, number := range first {
		t.Run("unchanged "+pkg, func(t *testing.T) {
			t.Parallel()
			if out, err := builds.run(t, number, -1, tests[pkg]); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// run runs tests in the binary that one mutant is in, as that or another mutant,
// or as none of them (-1). Whatever is no failure of a test ends t.
func (b *builds) run(t *testing.T, in, as int, tests string) ([]byte, error) {
	binary, err := b.binary(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, binary, "-test.run", tests, "-test.failfast")
	command.Dir = filepath.Join(b.root, mutants[in].pkg)
	command.Env = append(os.Environ(), mutantVariable+"="+strconv.Itoa(as))
	out, err := command.CombinedOutput()
	if err != nil && ctx.Err() == nil && !bytes.Contains(out, []byte("--- FAIL")) && !bytes.Contains(out, []byte("panic:")) {
		t.Fatalf("the test failed for another reason: %v\n%s", err, out)
	}
	return out, err
}

// builds are the test binaries: one for each package, with all mutants that its
// tests must catch, and one for each mutant that cannot be built with others.
type builds struct {
	root, dir string
	pkgs      map[string]func(context.Context) (string, map[int]error) // binary, and who is not in it
}

func newBuilds(root, dir string) *builds {
	b := &builds{root, dir, map[string]func(context.Context) (string, map[int]error){}}
	for _, m := range mutants {
		if b.pkgs[m.pkg] == nil {
			n := len(b.pkgs)
			var once sync.Once
			var binary string
			var left map[int]error
			b.pkgs[m.pkg] = func(ctx context.Context) (string, map[int]error) {
				once.Do(func() { binary, left = b.combine(ctx, m.pkg, fmt.Sprint("package", n)) })
				return binary, left
			}
		}
	}
	return b
}

// binary is the test binary that can be that mutant.
func (b *builds) binary(ctx context.Context, number int) (string, error) {
	m := mutants[number]
	files, err := m.files(b.root)
	if err != nil {
		return "", err
	}
	binary, left := b.pkgs[m.pkg](ctx)
	switch err := left[number]; {
	case err == nil && binary != "":
		return binary, nil
	case err != nil && !errors.Is(err, errAlone):
		return "", err
	}
	return b.build(ctx, m.pkg, fmt.Sprint("mutant", number), files)
}

// combine builds all mutants of a package's tests. Those that do not fit are
// left with the reason; if what fits does not build, there is no binary, and a
// build of each by itself tells who is to blame.
func (b *builds) combine(ctx context.Context, pkg, name string) (binary string, left map[int]error) {
	left = map[int]error{}
	sources := map[string]*combined{}
	for number, m := range mutants {
		if m.pkg == pkg {
			left[number] = b.join(sources, number, m)
		}
	}
	files := map[string][]byte{}
	for path, c := range sources {
		files[path] = c.text()
		files[filepath.Join(filepath.Dir(path), "mutant_number.go")] = fmt.Appendf(nil, numberFile, c.parsed.Name.Name)
	}
	binary, err := b.build(ctx, pkg, name, files)
	if err != nil {
		return "", left
	}
	return binary, left
}

func (b *builds) join(sources map[string]*combined, number int, m mutant) error {
	files, err := m.files(b.root)
	if err != nil {
		return err
	}
	for path, text := range files {
		if sources[path] == nil {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if sources[path], err = newCombined(raw); err != nil {
				return err
			}
		}
		if err := sources[path].add(number, text); err != nil {
			return err
		}
	}
	return nil
}

func (b *builds) build(ctx context.Context, pkg, name string, files map[string][]byte) (string, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	list, err := overlay(dir, files)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "mutants.test")
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", binary, "-overlay", list, pkg)
	command.Dir = b.root
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the mutant does not build: %w\n%s", err, out)
	}
	return binary, nil
}

// files are the mutated files by their paths.
func (m mutant) files(root string) (map[string][]byte, error) {
	text := map[string]string{}
	for _, e := range m.edits {
		path := filepath.Join(root, e.file)
		if text[path] == "" {
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			text[path] = string(raw)
		}
		if n := strings.Count(text[path], e.old); n != 1 {
			return nil, fmt.Errorf("%s: the edit fits %d times, want once:\n%s", e.file, n, e.old)
		}
		text[path] = strings.Replace(text[path], e.old, e.new, 1)
	}
	files := map[string][]byte{}
	for path, mutated := range text {
		files[path] = []byte(mutated)
	}
	return files, nil
}
