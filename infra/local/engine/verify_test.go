package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// script runs a script of the repository on a machine on which these programs stand before the others.
func script(t *testing.T, name, argument string, programs map[string]string) (output string, ok bool) {
	t.Helper()
	bin := t.TempDir()
	for program, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/bash\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "/bin/bash", name, argument)
	c.Dir, c.Env = "../../..", []string{"PATH=" + bin + ":/usr/bin:/bin", "TMPDIR=" + t.TempDir()}
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

func TestAnEngineWithoutAKnownIntegrityNeedsTheRegistrysSignature(t *testing.T) {
	for _, tt := range []struct {
		name, integrity, npm string
		platform, version    string
		loads                string // does libsql?
		want                 string // empty: accepted
	}{
		{"npm compared it with the lock file", "sha512-x", "exit 1", "linux-x64", "1.2.1", "true", ""},
		{"a good signature", "", `[ "$*" = "audit signatures --loglevel=error" ]`, "linux-x64", "1.2.1", "true", ""},
		{"a bad signature", "", "echo 1 package has an invalid registry signature; exit 1", "linux-x64", "1.2.1", "true", "could not be verified"},
		{"npm passed SQLite over", "sha512-x", "true", "linux-x64", "1.2.1", "echo Error: no libsql >&2; exit 1", "could not install libsql for this machine: Error: no libsql"},
		{"npm passed it over", "", "true", "darwin-arm64", "1.2.1", "true", "could not install @dynoxide/darwin-arm64 1.2.1"},
		{"a machine that has none", "", "true", "freebsd-x64", "", "true", "AWS_ENDPOINT_URL_DYNAMODB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			program := filepath.Join(folder, "node_modules/@dynoxide/linux-x64/dynoxide")
			if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(program, nil, 0o755); err != nil {
				t.Fatal(err)
			}
			// It is asked for the platform, for package.json's version and for the lock file's integrity.
			node := `[ "$1" != -e ] || { ` + tt.loads + `; exit; }; case "$2" in process*) echo ` + tt.platform + `;; *package.json*) echo "` + tt.version + `";; *) echo "` + tt.integrity + `";; esac`
			out, ok := script(t, "infra/local/engine/verify.sh", folder, map[string]string{"node": node, "npm": tt.npm})
			_, err := os.Stat(program)
			if ok != (tt.want == "") || !strings.Contains(out, tt.want) {
				t.Errorf("succeeds: %v, and prints %q; want %q", ok, out, tt.want)
			}
			if kept := err == nil; kept == (tt.name == "a bad signature") {
				t.Errorf("the program is still there: %t", kept)
			}
		})
	}
}

func TestAnOldToolGetsOneLineThatSaysWhatToInstall(t *testing.T) {
	for _, tt := range []struct {
		tool     string
		programs map[string]string
		want     string // empty: accepted
	}{
		{"go", map[string]string{"go": "echo go version go1.13.8 linux/amd64"}, "found go1.13.8 linux/amd64; install Go 1."},
		{"go", map[string]string{"go": "echo go: download go1.26.0: no network >&2; exit 1"}, "no network); install Go 1."},
		{"go", map[string]string{"go": "echo go version devel"}, "install Go 1."},
		{"go", map[string]string{"go": "echo go version devel go1.99-abcdef linux/amd64"}, ""},
		{"node", map[string]string{"node": "echo v12.22.9", "npm": "true"}, "found Node v12.22.9; install Node 20"},
		{"node", map[string]string{"node": "echo v24.1.0", "npm": "true"}, ""},
	} {
		out, ok := script(t, "infra/make/need.sh", tt.tool, tt.programs)
		if ok != (tt.want == "") || !strings.Contains(out, tt.want) || tt.want != "" && strings.Count(out, "\n") != 1 {
			t.Errorf("%v: succeeds: %v, and prints:\n%swant one line with %q", tt.programs, ok, out, tt.want)
		}
	}
}
