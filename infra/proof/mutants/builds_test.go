package mutants

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// limit bounds one mutant's tests: a mutant that hangs is also detected, but late.
	limit = 3 * time.Minute
	// limited runs a program with at most 6 GB of address space, if the system supports
	// it: an endless loop that appends would use up the machine's memory.
	limited = `ulimit -v 6000000 2>/dev/null; exec "$0" "$@"`
	// numberVariable is the environment variable with the number of the change to make.
	numberVariable = "FLASHSALE_MUTANT"
	numberFile     = "package %s\n\nimport \"os\"\n\nvar mutantNumber = os.Getenv(\"" + numberVariable + "\")\n"
	unchanged      = -1
)

// change replaces one text of a source file, which the tests of pkg must notice, or one of them.
type change struct {
	name, pkg, test string
	*source
	at       int // old's offset
	old, new string
}

type source struct {
	path string
	text []byte
	file *ast.File
}

func parse(path string) (*source, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
	return &source{path, text, file}, err
}

func (s *source) offset(p token.Pos) int { return int(p - s.file.FileStart) }

// builds are test binaries: one for each package, with all changes that its tests must
// notice, and one for each change that is not within a function or does not compile. A
// change's number is its position in all.
type builds struct {
	root, dir string
	all       []change
	common    map[string]string // binaries by package
	alone     []bool            // by number
}

func newBuilds(t *testing.T, root string, all []change) *builds {
	b := &builds{root: root, dir: t.TempDir(), all: all, common: map[string]string{}, alone: make([]bool, len(all))}
	for _, c := range all {
		b.common[c.pkg] = ""
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex // of common
	for _, pkg := range slices.Collect(maps.Keys(b.common)) {
		group.Go(func() error {
			binary, err := b.combine(pkg)
			mu.Lock()
			defer mu.Unlock()
			b.common[pkg] = binary
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return b
}

// binary returns the test binary that contains a change.
func (b *builds) binary(number int) (string, error) {
	c := b.all[number]
	if !b.alone[number] {
		return b.common[c.pkg], nil
	}
	changed := slices.Concat(c.text[:c.at], []byte(c.new), c.text[c.at+len(c.old):])
	return b.build(c.pkg, fmt.Sprint("change", number), map[string][]byte{c.path: changed})
}

// testFailure matches the output of tests that failed or were ended by a crash.
var testFailure = regexp.MustCompile(`--- FAIL|panic:|fatal error:`)

// run runs tests of a package in a binary, with one of its changes.
func (b *builds) run(t *testing.T, binary, pkg string, number int, pattern string, patience time.Duration) ([]byte, error) {
	return runTests(t, filepath.Join(b.root, pkg), fmt.Sprint(numberVariable, "=", number), patience, binary,
		"-test.run", pattern, "-test.skip", slowTests)
}

// runTests runs a test binary until a test fails. Errors other than test failures end t.
func runTests(t *testing.T, dir, variable string, patience time.Duration, binary string, arguments ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", append([]string{"-c", limited, binary, "-test.failfast"}, arguments...)...)
	command.Dir, command.Env = dir, append(os.Environ(), variable)
	out, err := command.CombinedOutput()
	if err != nil && ctx.Err() == nil && !testFailure.Match(out) {
		t.Fatalf("the test failed for another reason: %v\n%s", err, out)
	}
	return out, err
}

// build builds a package's tests with files in place of those of the same paths.
func (b *builds) build(pkg, name string, files map[string][]byte) (string, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for path, text := range files {
		overlay.Replace[path] = filepath.Join(dir, fmt.Sprint(len(overlay.Replace), "_", filepath.Base(path)))
		if err := os.WriteFile(overlay.Replace[path], text, 0o600); err != nil {
			return "", err
		}
	}
	raw, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutants.test")
	if err := os.WriteFile(list, raw, 0o600); err != nil {
		return "", err
	}
	command := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-ldflags=-s -w", "-o", binary, "-overlay", list, pkg)
	command.Dir = b.root
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not build: %w\n%s", err, out)
	}
	return binary, nil
}

// copyNumber matches the names of copies and of their places in a compiler's errors.
var copyNumber = regexp.MustCompile(`mutant(\d+)\b`)

// combine builds all changes of a package's tests, but those that need a build alone.
func (b *builds) combine(pkg string) (binary string, err error) {
	var numbers []int
	for number, c := range b.all {
		if c.pkg == pkg {
			numbers = append(numbers, number)
		}
	}
	// From the end of each file, so that what is inserted moves nothing that is still to be looked at.
	slices.SortFunc(numbers, func(m, n int) int { return cmp.Compare(b.all[n].at, b.all[m].at) })
	for attempt := range 5 {
		files := map[string][]byte{}
		for _, number := range numbers {
			b.alone[number] = b.alone[number] || !b.all[number].copyFunction(number, files)
		}
		if binary, err = b.build(pkg, fmt.Sprint(strings.ReplaceAll(pkg, "/", "_"), attempt), files); err == nil {
			return binary, nil
		}
		for _, guilty := range copyNumber.FindAllStringSubmatch(err.Error(), -1) {
			if number, err := strconv.Atoi(guilty[1]); err == nil {
				b.alone[number] = true
			}
		}
	}
	return "", err
}

// copyFunction adds a changed copy of the function that the change is in, and a call of it
// at the start of the original. It reports whether there is a function that can be called so.
func (c change) copyFunction(number int, files map[string][]byte) bool {
	for _, d := range c.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || c.at < c.offset(f.Body.Lbrace) || c.offset(f.End()) < c.at+len(c.old) {
			continue
		}
		name := fmt.Sprint(f.Name.Name, "_mutant", number)
		arguments, ok := argumentsOf(f.Type.Params)
		call := name + "(" + strings.Join(arguments, ", ") + ")"
		if f.Recv != nil {
			receiver, named := argumentsOf(f.Recv)
			call, ok = strings.Join(receiver, "")+"."+call, ok && named
		}
		if !ok {
			return false
		}
		if f.Type.Results != nil {
			call = "return " + call
		} else {
			call += "; return"
		}
		text := files[c.path]
		if text == nil {
			text = slices.Clone(c.text)
		}
		text = slices.Insert(text, c.offset(f.Body.Lbrace)+1, []byte(fmt.Sprintf(" if mutantNumber == \"%d\" { %s };", number, call))...)
		// Errors of the compiler name the copy.
		files[c.path] = fmt.Appendf(text, "\n//line mutant%d:1\n%s%s%s%s%s\n", number, c.text[c.offset(f.Pos()):c.offset(f.Name.Pos())],
			name, c.text[c.offset(f.Name.End()):c.at], c.new, c.text[c.at+len(c.old):c.offset(f.End())])
		files[filepath.Join(filepath.Dir(c.path), "mutant_number.go")] = fmt.Appendf(nil, numberFile, c.file.Name.Name)
		return true
	}
	return false
}

// argumentsOf returns parameters as the arguments of a call, if each has a name.
func argumentsOf(parameters *ast.FieldList) (arguments []string, ok bool) {
	for _, field := range parameters.List {
		dots := ""
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			dots = "..."
		}
		for _, n := range field.Names {
			arguments = append(arguments, n.Name+dots)
		}
		if len(field.Names) == 0 || slices.Contains(arguments, "_") {
			return nil, false
		}
	}
	return arguments, true
}
