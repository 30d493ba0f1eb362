package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// limit bounds one mutant's tests: a mutant that hangs is also detected, but late.
	limit = 3 * time.Minute
	// limited runs a program with at most 6 GB of address space, if the system supports
	// it: an endless loop that appends would use up the machine's memory.
	limited = `ulimit -v 6000000 2>/dev/null; exec "$0" "$@"`
)

func TestEveryMutantIsCaught(t *testing.T) {
	if len(mutants) < 15 {
		t.Errorf("only %d mutants", len(mutants))
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*change, len(mutants))
	for i, m := range mutants {
		all[i] = &change{name: m.promise + " " + m.name, pkg: m.pkg, files: m.files}
	}
	builds := newBuilds(root, t.TempDir(), all)
	tests := map[string][]string{}
	for number, m := range mutants {
		if !slices.Contains(tests[m.pkg], m.test) {
			tests[m.pkg] = append(tests[m.pkg], m.test)
		}
		t.Run(all[number].name, func(t *testing.T) {
			t.Parallel()
			out, err := builds.run(t, number, number, m.test, mutantFlags[m.pkg]...)
			switch {
			case err == nil && bytes.Contains(out, []byte("no tests to run")):
				t.Errorf("no test matches %s", m.test)
			case err == nil:
				t.Errorf("%s of %s did not notice", m.test, m.pkg)
			}
		})
	}
	// The same programs without a mutant: a test that fails here proves nothing.
	for pkg, patterns := range tests {
		t.Run("unchanged "+pkg, func(t *testing.T) {
			t.Parallel()
			if out, err := builds.runUnchanged(t, pkg, strings.Join(patterns, "|"), unchangedFlags[pkg]...); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// mutantFlags give the longest tests as many seeds and faults as some mutants need.
var mutantFlags = map[string][]string{simulation: {"-seeds", "300"}, enumeration: {"-faults", "2"}}

// unchangedFlags make tests short that only show that they pass without a mutant.
var unchangedFlags = map[string][]string{simulation: {"-seeds", "30"}, enumeration: {"-faults", "1"}}

// change is one changed program; files are the files that differ, by path.
type change struct {
	name, pkg string
	files     func(root string) (map[string][]byte, error)
}

// builds are test binaries: one for each package, with all changes that its
// tests must catch, and one for each change that cannot be built with others. A
// change's number is its position in all.
type builds struct {
	root, dir string
	all       []*change
	pkgs      map[string]func(context.Context) (string, map[int]error) // binary, and the changes that are not in it
}

func newBuilds(root, dir string, all []*change) *builds {
	b := &builds{root, dir, all, map[string]func(context.Context) (string, map[int]error){}}
	for _, c := range all {
		if b.pkgs[c.pkg] == nil {
			n := len(b.pkgs)
			var once sync.Once
			var binary string
			var left map[int]error
			b.pkgs[c.pkg] = func(ctx context.Context) (string, map[int]error) {
				once.Do(func() { binary, left = b.combine(ctx, c.pkg, fmt.Sprint("package", n)) })
				return binary, left
			}
		}
	}
	return b
}

// runUnchanged runs tests of a package without a change: in its common binary, which every
// change leaves as it is until its number is asked for, or in one of the source as it is.
func (b *builds) runUnchanged(t *testing.T, pkg, tests string, flags ...string) ([]byte, error) {
	binary, _ := b.pkgs[pkg](t.Context())
	if binary == "" {
		var err error
		if binary, err = b.build(t.Context(), pkg, "unchanged_"+strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "_"), nil); err != nil {
			t.Fatal(err)
		}
	}
	return b.runBinary(t, binary, pkg, -1, tests, limit, flags...)
}

// run runs tests in the binary that contains change in, as change as.
func (b *builds) run(t *testing.T, in, as int, tests string, flags ...string) ([]byte, error) {
	binary, err := b.binary(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return b.runBinary(t, binary, b.all[in].pkg, as, tests, limit, flags...)
}

// testFailure matches the output of tests that failed or were ended by a crash.
var testFailure = regexp.MustCompile(`--- FAIL|panic:|fatal error:`)

// runBinary runs tests of a binary. Errors other than test failures end t.
func (b *builds) runBinary(t *testing.T, binary, pkg string, as int, tests string, limit time.Duration, flags ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	named := filepath.Join(t.TempDir(), "mutant."+strconv.Itoa(as))
	if err := os.Symlink(binary, named); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, "sh", append([]string{"-c", limited, named, "-test.run", tests, "-test.failfast", "-test.skip", slowTests}, flags...)...)
	command.Dir = filepath.Join(b.root, pkg)
	out, err := command.CombinedOutput()
	if err != nil && ctx.Err() == nil && !testFailure.Match(out) {
		t.Fatalf("the test failed for another reason: %v\n%s", err, out)
	}
	return out, err
}

// binary returns the test binary that contains that change.
func (b *builds) binary(ctx context.Context, number int) (string, error) {
	c := b.all[number]
	files, err := c.files(b.root)
	if err != nil {
		return "", err
	}
	binary, left := b.pkgs[c.pkg](ctx)
	switch err := left[number]; {
	case err == nil && binary != "":
		return binary, nil
	case err != nil && !errors.Is(err, errAlone):
		return "", err
	}
	return b.build(ctx, c.pkg, fmt.Sprint("change", number), files)
}

// combine builds all changes of a package's tests. Changes that cannot be combined or
// do not compile with the others are returned in left, with the reason.
func (b *builds) combine(ctx context.Context, pkg, name string) (binary string, left map[int]error) {
	left = map[int]error{}
	for attempt := 0; ; attempt++ {
		sources := map[string]*combined{}
		for number, c := range b.all {
			if c.pkg == pkg && left[number] == nil {
				left[number] = b.join(sources, number, c)
			}
		}
		files := map[string][]byte{}
		for path, c := range sources {
			files[path] = c.text()
			files[filepath.Join(filepath.Dir(path), "mutant_number.go")] = fmt.Appendf(nil, numberFile, c.parsed.Name.Name)
		}
		binary, err := b.build(ctx, pkg, fmt.Sprint(name, "_", attempt), files)
		if err == nil {
			return binary, left
		}
		guilty := blame(err.Error(), files)
		if len(guilty) == 0 || attempt == 5 {
			return "", left // a separate build of each will show
		}
		for _, number := range guilty {
			left[number] = fmt.Errorf("%w: %w", errAlone, err)
		}
	}
}

func (b *builds) join(sources map[string]*combined, number int, c *change) error {
	files, err := c.files(b.root)
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
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags=-e", "-ldflags=-s -w", "-o", binary, "-overlay", list, pkg)
	command.Dir = b.root
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the mutant does not build: %w\n%s", err, out)
	}
	return binary, nil
}

// files returns the mutated files by path.
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
