package checks

import (
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

// run returns the output of a script of the repository, and whether it succeeded.
func (m *machine) run(script, argument string) (output string, ok bool) {
	m.t.Helper()
	c := exec.CommandContext(m.t.Context(), "/bin/bash", filepath.Join(root(m.t), script), argument)
	c.Dir, c.Env = root(m.t), []string{"PATH=" + m.bin, "TMPDIR=" + m.t.TempDir()}
	out, err := c.CombinedOutput()
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

func TestEveryProgramIsBuiltAfterGoWasLookedFor(t *testing.T) {
	for _, target := range []string{"host", "operator", "deployer", "plan", "build-PurchaseFunction", "prove", "check", "simulate", "demo", "run", "test"} {
		s := newStand(t, read(t, "Makefile"))
		if err := os.WriteFile(filepath.Join(s.bin, "go"), []byte("#!/bin/sh\necho go version go1.13 linux/amd64\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := s.run([]string{"ARTIFACTS_DIR=.build"}, target)
		if err == nil || !strings.Contains(out, "make: found go1.13 linux/amd64; install Go") {
			t.Errorf("make %s with an old Go: %v\n%s", target, err, out)
		}
	}
}

func TestNobodyWhoMustStopASaleWaitsForACompiler(t *testing.T) {
	for name, compiled := range map[string]bool{"with a program, older than its sources": true, "without one": false} {
		s := newStand(t, read(t, "Makefile"))
		program := filepath.Join(s.folder, ".build/host/operator")
		if err := os.MkdirAll(filepath.Join(s.folder, "shared"), 0o755); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		err := os.Chtimes(program, old, old)
		if !compiled {
			err = os.Remove(program)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.run(nil, "pause", "SALE=moutai")
		started := s.recorded()
		if built := slices.Contains(started, "build"); err != nil || built == compiled || !strings.Contains(strings.Join(started, " "), "pause -sale moutai") {
			t.Errorf("%s: built %t, %v: %q\n%s", name, built, err, started, out)
		}
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
