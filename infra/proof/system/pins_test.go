package system

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// deployable are the modules that may become part of a function; everything else
// in go.mod serves tests, tools and the local stack.
var deployable = []string{
	"github.com/aws/aws-lambda-go", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "github.com/go-json-experiment/json",
}

// pages are the modules of a function that serves a page, whose scripts it shortens.
var pages = []string{"github.com/tdewolff/minify/v2", "github.com/tdewolff/parse/v2"}

// deployableIn are modules that may become part of one function only.
var deployableIn = map[string][]string{
	"draw":    {"github.com/cloudflare/circl", "golang.org/x/crypto", "golang.org/x/sys"}, // the beacon's signatures
	"operate": append(pages, "golang.org/x/text"),                                         // the languages that a browser accepts
	"page":    pages,
	"pay":     {"github.com/standard-webhooks/standard-webhooks"}, // webhooks' signatures
	"refund":  {"golang.org/x/time"},                              // how often a provider is called
}

// ofTools are the SDK's services that only the command calls.
var ofTools = []string{
	"github.com/aws/aws-sdk-go-v2/service/apigateway", "github.com/aws/aws-sdk-go-v2/service/cloudformation",
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider",
}

func TestAFunctionHoldsOnlyTheModulesItNeeds(t *testing.T) {
	programs, err := filepath.Glob(filepath.Join(project, "functions", "*", "main.go"))
	if err != nil || len(programs) < 5 {
		t.Fatalf("%d functions (%v)", len(programs), err)
	}
	for _, program := range programs {
		folder := filepath.Dir(program)
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{with .Replace}} replaced{{end}}{{end}}", ".")
		list.Dir = folder
		modules, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		allowed := slices.Concat([]string{"flashsale"}, deployable, deployableIn[filepath.Base(folder)])
		for _, m := range slices.Compact(slices.Sorted(strings.FieldsSeq(string(modules)))) {
			if !slices.ContainsFunc(allowed, func(p string) bool { return m == p || strings.HasPrefix(m, p+"/") }) || slices.Contains(ofTools, m) {
				t.Errorf("%s has become part of the function %s", m, filepath.Base(folder))
			}
		}
	}
}

// unpinned matches what would run changing code: a floating version, a script straight
// from the network or from a package, or a module without its sum.
var unpinned = regexp.MustCompile(`\bgo (?:run|install) [^\n]*@(?:latest|upgrade|patch|main|master|HEAD)\b|\bgo get -u\b|\bnpm (?:install|i|update|exec)\b|\bnpx\b` +
	`|\b(?:curl|wget)\b[^\n]*\|\s*(?:sudo )?(?:ba|z)?sh\b|GOFLAGS=\S*-mod=mod|GONOSUMDB|GONOSUMCHECK|GOSUMDB=off|GOINSECURE|GOPRIVATE`)

var (
	uses   = regexp.MustCompile(`(?m)^\s*(?:-\s+)?["']?uses["']?:\s*["']?([^\s"'#]+)`)
	pinned = regexp.MustCompile(`^(?:\./.+|[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+@[0-9a-f]{40}|docker://.+@sha256:[0-9a-f]{64})$`)
	exact  = regexp.MustCompile(`^(npm:[^ ]+@)?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`) // also of a package under another name
)

// The go command itself refuses a module without its sum in go.sum.
func TestWhatIsDownloadedIsPinned(t *testing.T) {
	locks, actions := 0, 0
	err := filepath.WalkDir(project, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"node_modules", ".build", ".git", ".local"}, d.Name()) {
			return filepath.SkipDir
		}
		text := func() string { return readFile(t, path) }
		switch {
		case d.Name() == "package-lock.json":
			locks++
			checkLock(t, path, text())
		case d.Name() == "Makefile", filepath.Base(filepath.Dir(path)) == "workflows" && strings.HasSuffix(path, ".yml"):
			lines := strings.ReplaceAll(text(), "\\\n", " ")
			for _, found := range unpinned.FindAllString(lines, -1) {
				t.Errorf("%s: %s", path, found)
			}
			for line := range strings.Lines(lines) {
				if strings.Contains(line, "npm ci") && !strings.Contains(line, "--ignore-scripts") {
					t.Errorf("%s runs the scripts of packages: %s", path, line)
				}
			}
			for _, m := range uses.FindAllStringSubmatch(lines, -1) {
				if actions++; !pinned.MatchString(m[1]) {
					t.Errorf("%s uses %s, which can change under its name", path, m[1])
				}
			}
			if d.Name() != "Makefile" && (!strings.Contains(lines, "\npermissions:") || strings.Contains(lines, "pull_request_target")) {
				t.Errorf("%s does not say which permissions its token has, or runs with the repository's secrets for strangers", path)
			}
		}
		return nil
	})
	if err != nil || locks == 0 || actions == 0 {
		t.Errorf("%d lock files, %d actions, %v", locks, actions, err)
	}
}

// checkLock checks npm's lock file. For a package of another system or processor without a known
// integrity, the registry's signature is checked instead: infra/local/engine/verify.sh.
func checkLock(t *testing.T, path, text string) {
	t.Helper()
	var lock struct {
		LockfileVersion int
		Packages        map[string]struct {
			Version, Integrity, Resolved string
			HasInstallScript, Optional   bool
			OS, CPU                      []string
		}
	}
	if err := json.Unmarshal([]byte(text), &lock); err != nil || lock.LockfileVersion < 2 || len(lock.Packages) < 2 {
		t.Errorf("%s is no lock file with packages: %v", path, err)
	}
	for name, p := range lock.Packages {
		elsewhere := p.Integrity == "" && p.Optional && len(p.OS) == 1 && len(p.CPU) == 1
		if name != "" && (!strings.HasPrefix(p.Integrity, "sha512-") && !elsewhere || !exact.MatchString(p.Version) || p.HasInstallScript ||
			p.Resolved != "" && !strings.HasPrefix(p.Resolved, "https://")) {
			t.Errorf("%s: %s is not pinned by version and SHA-512, runs a script, or comes without TLS: %+v", path, name, p)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
