package checks

import (
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// requirements are the modules that a go.mod requires directly, and its tools.
func requirements(goMod string) (all []string) {
	block := ""
	for line := range strings.Lines(goMod) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case len(words) == 2 && words[1] == "(":
			block = words[0]
		case words[0] == ")":
			block = ""
		case block == "require" && !strings.Contains(line, "// indirect"), block == "tool":
			all = append(all, words[0])
		}
	}
	return all
}

// listed are the modules in the first column of the table below a heading.
func listed(document, heading string) (all []string) {
	_, text, _ := strings.Cut(document, "\n"+heading+"\n")
	text, _, _ = strings.Cut(text, "\n#")
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range inlineQuote.FindAllStringSubmatch(cells[1], -1) {
				all = append(all, m[1])
			}
		}
	}
	return all
}

// unlisted compares a document's lists of modules with the go.mod of the product and of the lab, and with
// the packages that the functions' code imports.
func unlisted(document, goMod, labMod string, imported []string) (found []finding) {
	want := map[string][]string{}
	const deployed, others, lab = "### Modules of the functions", "### Modules of infra and of tests", "### Modules of the lab alone"
	for _, module := range requirements(goMod) {
		heading := others
		if slices.ContainsFunc(imported, func(p string) bool { return moduleOf(goMod, p) == module }) {
			heading = deployed
		}
		want[heading] = append(want[heading], module)
	}
	for _, required := range requirements(labMod) {
		if required != module && !slices.Contains(requirements(goMod), required) {
			want[lab] = append(want[lab], required)
		}
	}
	for _, heading := range []string{deployed, others, lab} {
		list := listed(document, heading)
		for _, module := range want[heading] {
			if !slices.Contains(list, module) {
				found = append(found, finding{"infra/docs/EXTENDING.md", 0, module + " is not below " + heading})
			}
		}
		for _, module := range list {
			if !slices.Contains(want[heading], module) {
				found = append(found, finding{"infra/docs/EXTENDING.md", 0, module + " does not belong below " + heading})
			}
		}
	}
	return found
}

// moduleOf returns the required module of a package, "" for none: one module's path may begin with
// another's.
func moduleOf(goMod, imported string) (module string) {
	for _, m := range requirements(goMod) {
		if under(imported, m) && len(m) > len(module) {
			module = m
		}
	}
	return module
}

func TestTheListOfDependenciesIsThatOfGoMod(t *testing.T) {
	var imported []string
	for _, s := range sources(t) {
		if !codeIn("functions", "shared")(s) || isTestSupport(s.dir()) {
			continue
		}
		for _, spec := range s.ast.Imports {
			if p, err := strconv.Unquote(spec.Path.Value); err == nil && !slices.Contains(imported, p) {
				imported = append(imported, p)
			}
		}
	}
	report(t, unlisted(read(t, "infra/docs/EXTENDING.md"), read(t, "go.mod"), read(t, "infra/lab/go.mod"), imported))
}

func TestAMissingDependencyIsNoticed(t *testing.T) {
	const goMod = "module m\n\nrequire (\n\tx.org/a v1.0.0\n\tx.org/a/b v1.0.0\n\tx.org/c v1.0.0\n)\n\nrequire (\n\tx.org/d v1.0.0 // indirect\n)\n\ntool (\n\tx.org/d/cmd\n)\n"
	const labMod = "module m/lab\n\nrequire (\n\tflashsale v0.0.0\n\tx.org/c v1.0.0\n\tx.org/e v1.0.0\n)\n\nrequire (\n\tx.org/f v1.0.0 // indirect\n)\n"
	const document = "# D\n\n### Modules of the functions\n\n| `x.org/a`, `x.org/a/b` | `y.org/z` |\n\n### Modules of infra and of tests\n\n| `x.org/c` | c |\n| `x.org/d/cmd` | d |\n\n### Modules of the lab alone\n\n| `x.org/e` | e |\n\n## E\n"
	for _, tt := range []struct {
		was, is string
		want    int
	}{
		{"", "", 0}, {"`x.org/a`, ", "", 1}, {"`x.org/a/b`", "", 1}, {"| `x.org/c` | c |\n", "", 1}, {"| `x.org/d/cmd` | d |\n", "", 1},
		{"`x.org/a`", "`x.org/a`, `x.org/c`", 1}, {"`x.org/c`", "`x.org/c`, `x.org/d`", 1},
		{"| `x.org/e` | e |\n", "", 1}, {"`x.org/e`", "`x.org/e`, `x.org/c`", 1},
	} {
		if found := unlisted(strings.Replace(document, tt.was, tt.is, 1), goMod, labMod, []string{"x.org/a", "x.org/a/b/p", "fmt"}); len(found) != tt.want {
			t.Errorf("%q for %q: %v, want %d findings", tt.is, tt.was, found, tt.want)
		}
	}
}

var (
	toolchainLine = regexp.MustCompile(`(?m)^toolchain (go1\.\d+\.[1-9]\d*)$`)
	setupGo       = regexp.MustCompile(`(?m)^( *)- uses: actions/setup-go@[0-9a-f]{40} # v(\d+)\S*\n((?: {8,}.*\n)*)`)
)

// The go line is the least version that the code needs, and a release built with it would have no later patch of
// net/http and crypto/tls. setup-go takes the toolchain line of go.mod from its version 6 on, unless GOTOOLCHAIN is
// set, which it sets itself: a second one in a job would take the go line.
func TestReleasesAreBuiltWithTheNewestPatchThatGoModNames(t *testing.T) {
	named := toolchainLine.FindStringSubmatch(read(t, "go.mod"))
	if inLab := toolchainLine.FindStringSubmatch(read(t, "infra/lab/go.mod")); named == nil || !slices.Equal(named, inLab) {
		t.Fatalf("toolchain: go.mod names %q, the lab's go.mod %q", named, inLab)
	}
	if using := runtime.Version(); os.Getenv("CI") != "" && using != named[1] {
		t.Errorf("CI builds with %s, go.mod names %s", using, named[1])
	}
	for _, name := range []string{"ci", "deploy", "nightly", "platforms", "release"} {
		name = ".github/workflows/" + name + ".yml"
		text := read(t, name)
		steps := setupGo.FindAllStringSubmatch(text, -1)
		for _, s := range steps {
			if major, _ := strconv.Atoi(s[2]); major < 6 || !strings.Contains(s[3], "go-version-file: go.mod\n") || strings.Contains(s[3], "go-version:") {
				t.Errorf("%s: a step does not install the toolchain of go.mod:\n%s", name, s[0])
			}
		}
		if strings.Contains(text, "GOTOOLCHAIN") || len(steps) == 0 || len(steps) != strings.Count(text, "setup-go") {
			t.Errorf("%s: Go may come from elsewhere", name)
		}
		_, jobs, _ := strings.Cut(text, "\njobs:\n")
		for _, job := range regexp.MustCompile(`(?m)^  \w[\w-]*:\n(?:(?:    .*)?\n)*`).FindAllString(jobs, -1) {
			if strings.Count(job, "setup-go@") > 1 {
				t.Errorf("%s: a job installs Go twice:\n%s", name, job)
			}
		}
	}
}
