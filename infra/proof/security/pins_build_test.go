package security

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unpinned matches what would run changing code: a floating version, or a script
// straight from the network.
var unpinned = []*regexp.Regexp{
	regexp.MustCompile(`\bgo (?:run|install) [^\n]*@(?:latest|upgrade|patch|main|master|HEAD)\b`),
	regexp.MustCompile(`\bgo get -u\b`),
	regexp.MustCompile(`\bnpm (?:install|i|update|exec)\b`),
	regexp.MustCompile(`\bnpx\b`),
	regexp.MustCompile(`\b(?:curl|wget)\b[^\n]*\|\s*(?:sudo )?(?:ba|z)?sh\b`),
	regexp.MustCompile(`GOFLAGS=\S*-mod=mod|GONOSUMDB|GONOSUMCHECK|GOSUMDB=off|GOINSECURE|GOPRIVATE`),
}

func TestTheBuildRunsNothingThatFloats(t *testing.T) {
	check := func(text string) (found []string) {
		for _, pattern := range unpinned {
			found = append(found, pattern.FindAllString(text, -1)...)
		}
		for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
			if strings.Contains(line, "npm ci") && !strings.Contains(line, "--ignore-scripts") {
				found = append(found, line)
			}
		}
		return found
	}
	names := append([]string{"Makefile"}, workflows(t)...)
	for _, name := range names {
		for _, found := range check(read(t, name)) {
			t.Errorf("%s: %s", name, strings.TrimSpace(found))
		}
	}
	for _, broken := range []string{
		"go install example.com/x@latest\n", "\tgo run example.com/x@main -v\n", "go get -u ./...\n", "npm install\n", "npx serverless\n",
		"curl -sSf https://example.com/x.sh | sh\n", "GOFLAGS=-mod=mod go build\n", "export GOSUMDB=off\n", "npm ci --no-audit\n",
	} {
		if len(check(broken)) == 0 {
			t.Errorf("not noticed: %s", broken)
		}
	}
}

// workflows are the files of GitHub Actions, if there are any.
func workflows(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{".github/workflows/*.yml", ".github/workflows/*.yaml", ".github/actions/*/action.y*ml"} {
		all, err := filepath.Glob(filepath.Join(rootOf(t), filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range all {
			name, err := filepath.Rel(rootOf(t), path)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names
}

var (
	uses   = regexp.MustCompile(`(?m)^\s*(?:-\s+)?["']?uses["']?:\s*["']?([^\s"'#]+)`)
	pinned = regexp.MustCompile(`^(?:\./.+|[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+@[0-9a-f]{40}|docker://.+@sha256:[0-9a-f]{64})$`)
)

func floatingActions(text string) (floating []string) {
	for _, m := range uses.FindAllStringSubmatch(text, -1) {
		if !pinned.MatchString(m[1]) {
			floating = append(floating, m[1])
		}
	}
	return floating
}

func TestEveryActionIsPinnedByCommit(t *testing.T) {
	for _, name := range workflows(t) {
		text := read(t, name)
		for _, action := range floatingActions(text) {
			t.Errorf("%s uses %s, which can change under its name", name, action)
		}
		if strings.HasPrefix(name, ".github/workflows/") && !regexp.MustCompile(`(?m)^permissions:`).MatchString(text) {
			t.Errorf("%s does not say which permissions its token has", name)
		}
		if regexp.MustCompile(`(?m)^\s*["']?pull_request_target["']?\s*:`).MatchString(text) {
			t.Errorf("%s runs with the repository's secrets for strangers", name)
		}
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for text, want := range map[string]int{
		"- uses: actions/checkout@v4\n":                            1,
		"- uses: 'actions/checkout@main'\n":                        1,
		"  uses: a/b/.github/workflows/c.yml@" + commit[:7] + "\n": 1,
		"- uses: docker://alpine:3\n":                              1,
		"- uses: actions/checkout@" + commit + " # v4\n":           0,
		"- uses: ./.github/actions/x\n":                            0,
	} {
		if got := floatingActions(text); len(got) != want {
			t.Errorf("%q: found %q, want %d", text, got, want)
		}
	}
}
