package checks

import (
	"bufio"
	"go/ast"
	"go/build/constraint"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// machine runs the Makefile's scripts with only the named programs installed.
type machine struct {
	t   *testing.T
	bin string
}

// basics are the programs that the scripts call besides Go and Node, all of POSIX.
var basics = []string{"bash", "cat", "cp", "dirname", "grep", "mkdir", "mktemp", "mv", "rm", "sed", "sleep", "tail", "tee", "touch", "wc"}

func newMachine(t *testing.T, programs map[string]string) *machine {
	t.Helper()
	m := &machine{t, t.TempDir()}
	for _, name := range basics {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(m.bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(m.bin, name), []byte("#!/bin/bash\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *machine) command(words ...string) *exec.Cmd {
	words[0] = filepath.Join(root(m.t), words[0])
	c := exec.CommandContext(m.t.Context(), "/bin/bash", words...)
	c.Dir, c.Env = root(m.t), []string{"PATH=" + m.bin, "TMPDIR=" + m.t.TempDir()}
	return c
}

// run returns the output of a script of the repository, and whether it succeeded.
func (m *machine) run(words ...string) (output string, ok bool) {
	m.t.Helper()
	out, err := m.command(words...).CombinedOutput()
	return string(out), err == nil
}

func TestAMissingOrOldToolGetsOneLineThatSaysWhatToInstall(t *testing.T) {
	const good = "go version go1.99.1 linux/amd64"
	for _, tt := range []struct {
		name, tool string
		programs   map[string]string
		want       string // empty: no complaint
	}{
		{"no Go", "go", nil, "Go is missing; install Go 1."},
		{"an old Go", "go", map[string]string{"go": "echo go version go1.13.8 linux/amd64"}, "found go1.13.8 linux/amd64; install Go 1."},
		{"a Go that cannot fetch its successor", "go", map[string]string{"go": "echo go: download go1.26.0: no network >&2; exit 1"}, "no network); install Go 1."},
		{"a Go of a version that nobody knows", "go", map[string]string{"go": "echo go version devel"}, "install Go 1."},
		{"a new Go", "go", map[string]string{"go": "echo " + good}, ""},
		{"a Go built from its sources", "go", map[string]string{"go": "echo go version devel go1.99-abcdef linux/amd64"}, ""},
		{"no Node", "node", nil, "node is missing; install Node 20"},
		{"no npm", "node", map[string]string{"node": "echo v24.1.0"}, "npm is missing; install Node 20"},
		{"an old Node", "node", map[string]string{"node": "echo v12.22.9", "npm": "true"}, "found Node v12.22.9; install Node 20"},
		{"a new Node", "node", map[string]string{"node": "echo v24.1.0", "npm": "true"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, ok := newMachine(t, tt.programs).run("infra/make/need.sh", tt.tool)
			if tt.want == "" {
				if !ok || out != "" {
					t.Errorf("refused: %s", out)
				}
				return
			}
			if ok || !strings.Contains(out, tt.want) || strings.Count(out, "\n") != 1 {
				t.Errorf("succeeds: %v, and prints:\n%swant one line with %q", ok, out, tt.want)
			}
		})
	}
}

func TestABrowserIsFoundInstalledOrAskedFor(t *testing.T) {
	const asks = "install it (Debian: apt-get install chromium-headless-shell; macOS: brew install --cask google-chrome) or name one with CHROME_PATH"
	const installer = `[ "$1" = update ] || cp "$0" "${0%/*}/chromium-headless-shell"`
	for _, tt := range []struct {
		name, variable string
		programs       map[string]string
		ok             bool
		want           string
	}{
		{"the smallest one", "", map[string]string{"google-chrome": "true", "chromium-headless-shell": "true"}, true, "/chromium-headless-shell\n"},
		{"another one", "", map[string]string{"google-chrome": "true"}, true, "/google-chrome\n"},
		{"one that is named", "mine", map[string]string{"google-chrome": "true", "mine": "true"}, true, "/mine\n"},
		{"a name of nothing", "mine", map[string]string{"google-chrome": "true"}, false, "CHROME_PATH names no program: mine\n"},
		{"none, as root", "", map[string]string{"id": "echo 0", "apt-get": installer}, true, "/chromium-headless-shell\n"},
		{"none, and the installation fails", "", map[string]string{"id": "echo 0", "apt-get": "echo E: no network >&2; exit 100"}, false, asks},
		{"none, not as root", "", map[string]string{"id": "echo 1000", "apt-get": installer}, false, asks},
		{"none, without packages", "", map[string]string{"id": "echo 0"}, false, asks},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newMachine(t, tt.programs).command("infra/make/browser.sh")
			if c.Env = append(c.Env, "CHROME_PATH="+tt.variable); tt.variable == "" {
				c.Env = c.Env[:len(c.Env)-1]
			}
			out, err := c.CombinedOutput()
			if (err == nil) != tt.ok || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v, %s, want %s", err, out, tt.want)
			}
		})
	}
}

func TestEveryProgramIsBuiltAfterGoWasLookedFor(t *testing.T) {
	for _, target := range []string{"host", "operator", "deployer", "plan", "build-PurchaseFunction", "prove", "check", "simulate", "demo", "run", "test"} {
		s := newStand(t, read(t, "Makefile"))
		if err := os.WriteFile(filepath.Join(filepath.Dir(strings.TrimPrefix(s.env[2], "RECORD=")), "go"), []byte("#!/bin/sh\necho go version go1.13 linux/amd64\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), "make", "--no-print-directory", target)
		c.Dir, c.Env = s.folder, append(slices.Clone(s.env), "ARTIFACTS_DIR=.build")
		out, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "make: found go1.13 linux/amd64; install Go") {
			t.Errorf("make %s with an old Go: %v\n%s", target, err, out)
		}
	}
}

func TestALongBuildSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{"go": `
if [ "$1" = list ]; then printf 'a\nb\nc\n'; exit; fi
printf 'net/http\nflashsale/x\n' >&2
until [ -e "$TMPDIR/seen" ]; do sleep 0.1; done`})
	c := m.command("infra/make/tell.sh", "go", "build", "-o", "x", "./functions/...", "./infra/local")
	seen := filepath.Join(t.TempDir(), "seen")
	c.Env = append(c.Env, "TMPDIR="+filepath.Dir(seen))
	reports, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	// The last line is printed when all packages are known.
	for lines := bufio.NewScanner(reports); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "building functions infra/local, ") || !strings.HasSuffix(lines.Text(), "packages; latest: flashsale/x") {
			t.Error(lines.Text())
		}
		if strings.Contains(lines.Text(), " compiled 2 of at most 3 packages; ") {
			if err := os.WriteFile(seen, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTestsThatCompileForLongSayHowFarTheyAre(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{"go": `
printf 'ok  \tflashsale/a\n?   \tflashsale/b\t[no test files]\n'
until [ -e "$TMPDIR/seen" ]; do sleep 0.1; done
printf 'FAIL\tflashsale/c\n'
exit 1`})
	c := m.command("infra/make/watch.sh", "go", "test", "./...")
	seen := filepath.Join(t.TempDir(), "seen")
	c.Env = append(c.Env, "TMPDIR="+filepath.Dir(seen))
	var shown strings.Builder
	c.Stdout = &shown
	reports, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(reports); lines.Scan(); {
		if !regexp.MustCompile(`^go test, [0-9]+ s: [0-2] packages done$`).MatchString(lines.Text()) {
			t.Error(lines.Text())
		}
		if strings.HasSuffix(lines.Text(), " 2 packages done") {
			if err := os.WriteFile(seen, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Wait(); err == nil || !strings.HasPrefix(shown.String(), "ok  \tflashsale/a\n") || !strings.HasSuffix(shown.String(), "FAIL\tflashsale/c\n") {
		t.Errorf("%v; shown: %q", err, shown.String())
	}
}

func TestABuildThatFailsShowsTheCompilersWordsOnly(t *testing.T) {
	m := newMachine(t, map[string]string{"go": "printf 'net/http\\n# flashsale/x\\nx.go:1:2: no such thing\\n' >&2; exit 1"})
	if out, ok := m.run("infra/make/tell.sh", "go", "build", "./x"); ok || out != "# flashsale/x\nx.go:1:2: no such thing\n" {
		t.Errorf("succeeds: %v\n%s", ok, out)
	}
	if out, ok := newMachine(t, map[string]string{"npm": "echo EACCES; exit 1"}).run("infra/make/tell.sh", "npm", "ci"); ok || out != "EACCES\n" {
		t.Errorf("succeeds: %v\n%s", ok, out)
	}
}

// nodeScript is a fake Node for verify.sh: it prints the platform, then package.json's
// version, then the lock file's integrity.
func nodeScript(platform, version, integrity string) string {
	return `case "$2" in process*) echo ` + platform + `;; *package.json*) echo "` + version + `";; *) echo "` + integrity + `";; esac`
}

func TestAnEngineWithoutAKnownIntegrityNeedsTheRegistrysSignature(t *testing.T) {
	for _, tt := range []struct {
		name, integrity, npm string
		installed            string
		platform, version    string
		want                 string // empty: accepted
	}{
		{"npm compared it with the lock file", "sha512-x", "exit 1", "linux-x64", "linux-x64", "1.2.1", ""},
		{"a good signature", "", `[ "$*" = "audit signatures --loglevel=error" ]`, "darwin-arm64", "darwin-arm64", "1.2.1", ""},
		{"a bad signature", "", "echo 1 package has an invalid registry signature; exit 1", "darwin-arm64", "darwin-arm64", "1.2.1", "could not be verified"},
		{"npm passed it over", "", "true", "linux-x64", "darwin-arm64", "1.2.1", "could not install @dynoxide/darwin-arm64 1.2.1"},
		{"a machine that has none", "", "true", "linux-x64", "freebsd-x64", "", "AWS_ENDPOINT_URL_DYNAMODB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			program := filepath.Join(folder, "node_modules/@dynoxide", tt.installed, "dynoxide")
			if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(program, nil, 0o755); err != nil {
				t.Fatal(err)
			}
			m := newMachine(t, map[string]string{"node": nodeScript(tt.platform, tt.version, tt.integrity), "npm": tt.npm})
			out, ok := m.run("infra/local/engine/verify.sh", folder)
			_, err := os.Stat(program)
			if tt.want == "" {
				if !ok || err != nil {
					t.Errorf("refused (%v): %s", err, out)
				}
				return
			}
			if ok || !strings.Contains(out, tt.want) {
				t.Errorf("succeeds: %v, and prints %q; want %q", ok, out, tt.want)
			}
			if tt.installed == tt.platform && err == nil {
				t.Error("the program is still there")
			}
		})
	}
}

// printsFlags reports whether a call lets the flag package read the command line, which
// prints all flags on an error.
func printsFlags(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Parse" {
		return false
	}
	holder, ok := sel.X.(*ast.Ident)
	return ok && slices.Contains([]string{"f", "flag", "flags"}, holder.Name)
}

func TestEveryProgramSaysOnOneLineWhichArgumentIsWrong(t *testing.T) {
	checkCode(t, []codeRule{{
		name: "flags are read by package arguments",
		check: func(all []*source) (found []finding) {
			for _, s := range all {
				if s.isTest() || under(s.dir(), "infra/kit/arguments") {
					continue
				}
				ast.Inspect(s.ast, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok && printsFlags(call) {
						found = append(found, s.find(n.Pos(), "reads flags without arguments.Parse"))
					}
					return true
				})
			}
			return found
		},
		breaks: []broken{
			{"infra/x/main.go", "package main\nimport \"flag\"\nfunc main() { flag.Parse() }\n"},
			{"infra/x/main.go", "package main\nimport \"flag\"\nfunc parse(f *flag.FlagSet) error { return f.Parse(nil) }\n"},
			{"infra/ops/deploy/x.go", "package main\nfunc x(args []string) { f, _ := flags(\"x\", nil); f.Parse(args) }\n"},
		},
	}})
}

// later are features of GNU make after 3.81 and of bash after 3.2, which are macOS's.
var later = regexp.MustCompile(`(?m)\.SHELLFLAGS|\.ONESHELL|\.POSIX|\$\(file |\$\(guile |\$\(let |\$\(intcmp |^[^\t#]*[^:+?]!=|^[^\t#]*::=|^define [^\n]*=|^undefine |\.EXTRA_PREREQS|^[^\t#=]*&:|` +
	`\bmapfile\b|\breadarray\b|declare -[A-Zaglnu]*[Agln]|\$\{[A-Za-z_]+(?:,|\^|@)|\|&|&>>|\bwait -n\b|\[\[.*=~|\bEPOCH|\bcoproc\b|` +
	`\bsed -i|\bsed -r|\bgrep -P|\breadlink -f|\bmktemp -p|\bstat -c|\bdate -d|\bxargs -r|\bhead -n -|\bsort -V|\btac\b|\bnproc\b|\bsha256sum\b`)

func TestTheMakefileNeedsNothingThatMacOSLacks(t *testing.T) {
	names := []string{"Makefile"}
	for _, name := range files(t) {
		if under(name, "infra/make") || under(name, "infra/local") && strings.HasSuffix(name, ".sh") {
			names = append(names, name)
		}
	}
	if len(names) < 5 {
		t.Errorf("the scripts are missing: %q", names)
	}
	// make 3.81 ignores the flags and has another shell instead.
	const flags = "override .SHELLFLAGS := -euo pipefail -c\nifeq ($(MAKE_VERSION),3.81)\noverride SHELL := infra/make/shell.sh\nendif\n"
	for _, name := range names {
		for _, line := range strings.Split(strings.Replace(read(t, name), flags, "", 1), "\n") {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") && later.MatchString(line) {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	for _, line := range []string{
		".SHELLFLAGS := -e", ".ONESHELL:", "X != date", "X ::= y", "a b &: c", "define x =", "\t[[ $x =~ y ]]", "\tmapfile -t x", "\techo ${x,,}",
		"\tdeclare -A x", "\tsed -i s/a/b/ x", "\tgrep -P x y", "$(file >x,y)",
	} {
		if !later.MatchString(line) {
			t.Errorf("not noticed: %s", line)
		}
	}
}

// processors are Go's names of the processors with an engine.
var processors = []string{"amd64", "arm64"}

// oneProcessor reports whether a file is compiled for some processors only.
func oneProcessor(s *source) bool {
	steps := strings.Split(strings.TrimSuffix(strings.TrimSuffix(path.Base(s.path), ".go"), "_test"), "_")
	if slices.Contains(processors, steps[len(steps)-1]) {
		return true
	}
	for _, group := range s.ast.Comments {
		for _, comment := range group.List {
			rule, err := constraint.Parse(comment.Text)
			if err == nil && slices.ContainsFunc(processors, func(p string) bool { return strings.Contains(rule.String(), p) }) {
				return true
			}
		}
	}
	return false
}

// `make check` compiles everything for macOS on arm64. Because no file is for one
// processor only, that covers macOS on Intel and Linux on arm64, too.
func TestWhatCompilesForOneProcessorCompilesForAll(t *testing.T) {
	for _, packages := range []string{"./...", "-C infra/lab ./..."} {
		if !strings.Contains(read(t, "Makefile"), "\n\tCGO_ENABLED=0 GOFLAGS=-trimpath GOOS=darwin GOARCH=arm64 go vet "+packages+"\n") {
			t.Errorf("nothing compiles %s for macOS", packages)
		}
	}
	checkCode(t, []codeRule{{
		name: "no file is for one processor",
		check: func(all []*source) (found []finding) {
			for _, s := range all {
				if oneProcessor(s) {
					found = append(found, finding{s.path, 1, "is compiled for some processors only"})
				}
			}
			return found
		},
		breaks: []broken{
			{"infra/x/x_arm64.go", "package x\n"},
			{"infra/x/x_linux_amd64_test.go", "package x\n"},
			{"infra/x/x.go", "//go:build linux && !arm64\n\npackage x\n"},
		},
	}})
}
