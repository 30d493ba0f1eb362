package security

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestEveryNodePackageIsPinnedByIntegrity(t *testing.T) {
	locks := 0
	for _, name := range found(t, "package-lock.json") {
		locks++
		for _, problem := range lockProblems(read(t, name)) {
			t.Errorf("%s: %s", name, problem)
		}
	}
	for _, name := range found(t, "package.json") {
		var p struct{ Dependencies, DevDependencies, OptionalDependencies map[string]string }
		if err := json.Unmarshal([]byte(read(t, name)), &p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, all := range []map[string]string{p.Dependencies, p.DevDependencies, p.OptionalDependencies} {
			for dependency, version := range all {
				if !exact.MatchString(version) {
					t.Errorf("%s: %s %s is no exact version", name, dependency, version)
				}
			}
		}
	}
	if locks == 0 {
		t.Error("there is no package-lock.json")
	}
	for _, broken := range []string{
		`{"lockfileVersion":3,"packages":{"":{},"node_modules/x":{"version":"1.0.0"}}}`,
		`{"lockfileVersion":3,"packages":{"":{},"node_modules/x":{"version":"1.0.0","optional":true}}}`,
		`{"lockfileVersion":3,"packages":{"":{},"node_modules/x":{"version":"1.0.0","optional":true,"os":["linux"],"cpu":["x64"],"integrity":"sha1-x"}}}`,
		`{"lockfileVersion":3,"packages":{"":{},"node_modules/x":{"version":"^1.0.0","optional":true,"os":["linux"],"cpu":["x64"]}}}`,
		`{"lockfileVersion":3,"packages":{"":{},"node_modules/x":{"version":"1.0.0","integrity":"sha1-x"}}}`,
		`{"lockfileVersion":3,"packages":{"":{},"node_modules/x":{"version":"^1.0.0","integrity":"sha512-x"}}}`,
		`{"lockfileVersion":3,"packages":{"":{},"node_modules/x":{"version":"1.0.0","integrity":"sha512-x","resolved":"http://x"}}}`,
		`{"lockfileVersion":3,"packages":{"":{},"node_modules/x":{"version":"1.0.0","integrity":"sha512-x","hasInstallScript":true}}}`,
		`{"lockfileVersion":1,"packages":{"":{},"node_modules/x":{"version":"1.0.0","integrity":"sha512-x"}}}`,
		`{"lockfileVersion":3}`,
	} {
		if len(lockProblems(broken)) == 0 {
			t.Errorf("not noticed: %s", broken)
		}
	}
}

var exact = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func lockProblems(text string) (problems []string) {
	var lock struct {
		LockfileVersion int
		Packages        map[string]struct {
			Version, Integrity, Resolved string
			HasInstallScript, Optional   bool
			OS, CPU                      []string
		}
	}
	if err := json.Unmarshal([]byte(text), &lock); err != nil {
		return []string{err.Error()}
	}
	if lock.LockfileVersion < 2 || len(lock.Packages) < 2 {
		return []string{"is no lock file with packages"}
	}
	for name, p := range lock.Packages {
		switch {
		case name == "": // the project itself
		// For a package of another system or processor without a known integrity, the
		// registry's signature is checked instead: infra/local/engine/verify.sh.
		case !strings.HasPrefix(p.Integrity, "sha512-") && !(p.Integrity == "" && p.Optional && len(p.OS) == 1 && len(p.CPU) == 1):
			problems = append(problems, name+" has no SHA-512")
		case !exact.MatchString(p.Version):
			problems = append(problems, fmt.Sprintf("%s %s is no exact version", name, p.Version))
		case p.Resolved != "" && !strings.HasPrefix(p.Resolved, "https://"):
			problems = append(problems, name+" comes without TLS")
		case p.HasInstallScript:
			problems = append(problems, name+" runs a script when it is installed")
		}
	}
	return problems
}
