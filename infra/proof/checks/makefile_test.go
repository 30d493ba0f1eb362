package checks

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	makeOverride  = regexp.MustCompile(`(?m)^override (\S+) :?= *(.*)$`)
	shellVariable = regexp.MustCompile(`\$\$(?:\{([A-Z][A-Z0-9_]*)(:?[-+?]?)|([A-Z][A-Z0-9_]*))`)
	ruleOfTargets = regexp.MustCompile(`^(?:\$\(FUNCTIONS:%=build-%\): )?([A-Za-z%-]+):(?:[^=]|$)`)
)

// recipe is the commands of one target.
type recipe struct {
	target, text string
}

// recipesOf returns a Makefile's recipes, with the Makefile's own variables expanded.
func recipesOf(makefile string) (all []recipe, own map[string]string) {
	text := strings.ReplaceAll(makefile, "\\\n", " ")
	own = map[string]string{}
	for _, m := range makeOverride.FindAllStringSubmatch(text, -1) {
		own[m[1]] = m[2]
	}
	put := func(line string) string {
		for range 3 { // as deep as they are nested
			for name, value := range own {
				if strings.Contains(value, "$(shell") {
					continue // required by make itself
				}
				line = strings.ReplaceAll(line, "$("+name+")", value)
			}
		}
		return line
	}
	at := map[string]int{}
	target := ""
	for line := range strings.Lines(text) {
		if m := ruleOfTargets.FindStringSubmatch(line); m != nil {
			target = m[1]
			if _, ok := at[target]; !ok {
				at[target] = len(all)
				all = append(all, recipe{target: target})
			}
		} else if command, ok := strings.CutPrefix(line, "\t"); ok && target != "" {
			all[at[target]].text += put(command)
		} else if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
			target = ""
		}
	}
	return all, own
}

// stand is a folder with the Makefile and, in place of every program that it starts, a
// script that records its arguments.
type stand struct {
	t           *testing.T
	folder, bin string
}

// recorder is that script. `go build -o` produces a copy of the script; with -C its output is named from
// the lab's folder.
const recorder = `#!/bin/sh
printf '%s\0' "$@" "${GOOS-}" "${GOARCH-}" >>"$RECORD"
case "$1" in env) echo linux;; version) echo go version go1.99.0;; parameters) printf 'Name="%s"\n--x $(touch printed)\n' '$(touch printed)';; esac
while [ $# -gt 1 ]; do
	if [ "$1" = -o ]; then made=${2#../../}; case "$made" in .build/*) mkdir -p "${made%/*}"; cp "$0" "$made";; esac; fi
	shift
done
`

// prepared are the programs that a stand has without `make host`, which is a separate
// target.
var prepared = []string{"local", "load", "shop", "operator", "deploy"}

func newStand(t *testing.T, makefile string) *stand {
	t.Helper()
	s := &stand{t, t.TempDir(), t.TempDir()}
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go", "gofmt", "sam", "aws", "npm", "git", "apt-get"} {
		write(filepath.Join(s.bin, name), recorder, 0o755)
	}
	// A tree that was exported may have lost the mode bits of its scripts.
	for _, name := range []string{"infra/proof/checks/lint.sh", "infra/proof/checks/vulnerabilities.sh"} {
		write(filepath.Join(s.folder, name), recorder, 0o644)
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		write(filepath.Join(s.folder, "infra/local/engine", name), "{}", 0o644)
	}
	for _, name := range prepared {
		write(filepath.Join(s.folder, ".build/host", name), recorder, 0o755)
	}
	for _, name := range []string{"shell.sh", "need.sh", "tell.sh", "watch.sh", "known.awk"} {
		write(filepath.Join(s.folder, "infra/make", name), read(t, "infra/make/"+name), 0o644)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		write(filepath.Join(s.folder, name), read(t, name), 0o644)
	}
	write(filepath.Join(s.folder, ".build/engine/installed"), "", 0o644)
	write(filepath.Join(s.folder, "Makefile"), makefile, 0o644)
	return s
}

// run runs make and returns what it prints.
func (s *stand) run(environment []string, arguments ...string) (output string, err error) {
	c := exec.CommandContext(s.t.Context(), "make", append([]string{"--no-print-directory"}, arguments...)...)
	c.Dir = s.folder
	c.Env = append([]string{"PATH=" + s.bin + ":/usr/bin:/bin", "HOME=" + s.bin, "RECORD=" + filepath.Join(s.bin, "record")}, environment...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// recorded returns the arguments of all programs that make started.
func (s *stand) recorded() []string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.bin, "record"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Split(string(text), "\x00")
}

// make runs a target and returns the arguments of all programs that it started. Whether
// it succeeds does not matter: the programs do nothing.
func (s *stand) make(target string, arguments, environment []string) []string {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.bin, "record"), nil, 0o644); err != nil {
		s.t.Fatal(err)
	}
	words := []string{target}
	for _, done := range []string{"host", "operator", "deployer"} {
		if done != target {
			words = append(words, "-o", done)
		}
	}
	_, _ = s.run(environment, append(words, arguments...)...)
	return s.recorded()
}

// files returns the files in the folder, except for make's output.
func (s *stand) files() (all []string) {
	s.t.Helper()
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".build" {
			all = append(all, e.Name())
		}
	}
	return all
}

// hostile runs commands if a shell or make interprets it.
const hostile = "-x'; touch a; '\"; touch b; \"$(touch c)$$(touch d)`touch e` ${HOME} $HOME\n\ttouch f\n#*\\ " +
	"$(shell touch g)$$(shell touch h)${shell touch i} & touch j | touch k > l; --m\\\""

// misused returns the variables of a target whose value reaches no program unchanged,
// and the files that were created in the process.
func misused(t *testing.T, makefile string, r recipe, all, own []string) (found []string) {
	s := newStand(t, makefile)
	before := s.files()
	var known, wanted []string
	for _, m := range shellVariable.FindAllStringSubmatch(r.text, -1) {
		name := m[1] + m[3]
		if slices.Contains(all, name) {
			known = append(known, name)
		}
		if m[2] != ":+" && slices.Contains(all, name) && !slices.Contains(wanted, name) {
			wanted = append(wanted, name)
		}
	}
	assign := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, name+"="+hostile+name)
		}
		return all
	}
	gets := func(arguments []string, name string) bool {
		return slices.ContainsFunc(arguments, func(a string) bool { return strings.Contains(a, hostile+name) })
	}
	target := strings.Replace(r.target, "%", "Purchase", 1)
	given, inherited := s.make(target, assign(known...), nil), s.make(target, nil, assign(slices.Concat(all, own)...))
	for _, name := range wanted {
		// A default of another variable is tested alone.
		if (!gets(given, name) || !gets(inherited, name)) && !gets(s.make(target, assign(name), nil), name) {
			found = append(found, "no program gets "+name+" as it was given")
		}
	}
	if diff := cmp.Diff(before, s.files()); diff != "" {
		found = append(found, "files were made (-want +got):\n"+diff)
	}
	return found
}

func TestAVariableThatATargetDoesNotKnowIsAnError(t *testing.T) {
	s := newStand(t, read(t, "Makefile"))
	for command, unknown := range map[string]string{
		"refunds CSV=1": "CSV", "pause SALE=a STOCK=5": "STOCK", "add SALE=a ID=b": "ID", "smoke SLAE=a": "SLAE", "pause SALE=a BUILD=b": "BUILD", "CSV=1": "CSV",
		"orders SALE=a CSV=1": "", "pause SALE=a NOTE=b ID=c ENV=dev TABLE=t QUEUE=q": "", "smoke TOKEN=a": "", "refunds orders SALE=a CSV=1": "",
		"events DYNAMODB_PORT=1": "", "refunds AWS_REGION=a": "", "build-SeedFunction ARTIFACTS_DIR=a": "",
	} {
		out, err := s.run(nil, append([]string{"-n", "-o", "operator"}, strings.Fields(command)...)...)
		if unknown == "" && err != nil || unknown != "" && (err == nil || !strings.Contains(out, " does not know "+unknown+": ")) {
			t.Errorf("make %s: %v, %s", command, err, out)
		}
	}
}

func TestNoValueGivenToMakeIsRun(t *testing.T) {
	makefile := read(t, "Makefile")
	recipes, internal := recipesOf(makefile)
	var all, own []string
	for name := range internal {
		if !strings.HasPrefix(name, ".") {
			own = append(own, name)
		}
	}
	for _, r := range recipes {
		for _, m := range shellVariable.FindAllStringSubmatch(r.text, -1) {
			if name := m[1] + m[3]; name != "PWD" && !strings.HasPrefix(name, "AWS_") && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	// A pattern without matches would test nothing.
	for _, name := range []string{"SALE", "BUYER", "TABLE", "URL", "TOKENS", "PARAMETERS", "ENV", "DATA", "API_PORT", "ARTIFACTS_DIR", "MUTATED"} {
		if !slices.Contains(all, name) {
			t.Errorf("no recipe uses %s", name)
		}
	}
	for _, r := range recipes {
		t.Run(r.target, func(t *testing.T) {
			t.Parallel()
			for _, found := range misused(t, makefile, r, all, own) {
				t.Errorf("make %s: %s", r.target, found)
			}
		})
	}
	t.Run("what is pasted is noticed", func(t *testing.T) {
		t.Parallel()
		for _, change := range [][2]string{
			{`-user "$${BUYER-}"`, `-user "$(BUYER)"`},
			{`-user "$${BUYER-}"`, `-user $${BUYER-}`},
			{`-user "$${BUYER-}"`, `-user "$$(eval echo $$BUYER)"`},
			{"override $v := $$(value $v)", "override $v := $$($v)"},
		} {
			broken := strings.Replace(makefile, change[0], change[1], 1)
			recipes, _ := recipesOf(broken)
			i := slices.IndexFunc(recipes, func(r recipe) bool { return r.target == "buyer" })
			recipes[i].text += "$$BUYER"
			if broken == makefile || len(misused(t, broken, recipes[i], all, own)) == 0 {
				t.Errorf("%s instead of %s is not noticed", change[1], change[0])
			}
		}
	})
	t.Run("a target's name", func(t *testing.T) {
		t.Parallel()
		s := newStand(t, makefile)
		before := s.files()
		s.make("build-x;touch a;Function", []string{"ARTIFACTS_DIR=.build"}, nil)
		if diff := cmp.Diff(before, s.files()); diff != "" {
			t.Errorf("files were made (-want +got):\n%s", diff)
		}
	})
}
