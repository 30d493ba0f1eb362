package checks

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	makeAssignment = regexp.MustCompile(`(?m)^(?:override )?([A-Z_]+)\s*[:?]?=\s*(.*)$`)
	makeTarget     = regexp.MustCompile(`(?m)^(?:\$\(FUNCTIONS:%=build-%\): )?([A-Za-z%][A-Za-z0-9%_-]*):(?:[^=]|$)`)
)

// assignment is the words of a Makefile variable.
func assignment(makefile, name string) []string {
	for _, m := range makeAssignment.FindAllStringSubmatch(makefile, -1) {
		if m[1] == name {
			return strings.Fields(m[2])
		}
	}
	return nil
}

// targetsOf returns the targets of a Makefile, with pattern rules unexpanded.
func targetsOf(makefile string) map[string]bool {
	all := map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(makefile, -1) {
		all[m[1]] = true
	}
	return all
}

// quote is a code span or block of a document.
type quote struct {
	line int
	text string
}

var inlineQuote = regexp.MustCompile("`([^`]+)`")

// quotesOf are a Markdown document's inline quotes and the lines of its fenced
// blocks.
func quotesOf(markdown string) (all []quote) {
	fenced := false
	for i, line := range strings.Split(markdown, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			all = append(all, quote{i + 1, line})
			continue
		}
		for _, m := range inlineQuote.FindAllStringSubmatch(line, -1) {
			all = append(all, quote{i + 1, m[1]})
		}
	}
	return all
}

// makeCall is a make command at the start of a line or after another command.
var makeCall = regexp.MustCompile(`(?:^|[;&|(]|\$)\s*make +([a-z][A-Za-z0-9_-]*)`)

func unknownTargets(name, markdown, makefile string) (found []finding) {
	targets := targetsOf(makefile)
	for _, q := range quotesOf(markdown) {
		for _, m := range makeCall.FindAllStringSubmatch(q.text, -1) {
			if !targets[m[1]] {
				found = append(found, finding{name, q.line, "the Makefile has no target " + m[1]})
			}
		}
	}
	return found
}

var (
	testName   = regexp.MustCompile(`^Test\w+$`)
	testInCode = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
)

// testsOf are the names of all tests.
func testsOf(all []*source) map[string]bool {
	names := map[string]bool{}
	for _, s := range all {
		for _, m := range testInCode.FindAllStringSubmatch(s.text, -1) {
			names[m[1]] = true
		}
	}
	return names
}

// unknownTests finds tests that a document names, such as the threat model for each attack,
// but that do not exist.
func unknownTests(name, markdown string, tests map[string]bool) (found []finding) {
	for _, q := range quotesOf(markdown) {
		if testName.MatchString(q.text) && !tests[q.text] {
			found = append(found, finding{name, q.line, "there is no test " + q.text})
		}
	}
	return found
}

var (
	plainPath     = regexp.MustCompile(`^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)*/?$`)
	filePrefix    = regexp.MustCompile(`^(?:fileb?://|@)`)
	fileExtension = regexp.MustCompile(`\.(go|md|yaml|json)$`)
)

// repository tells which paths exist; the check of the documents is tested on a fake
// one.
type repository struct {
	all     []string // every file
	ignored []string // what version control ignores at the root: it exists only after a build
}

func (r repository) ignores(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return slices.ContainsFunc(r.ignored, func(pattern string) bool {
		ok, err := path.Match(pattern, first)
		return ok && err == nil
	})
}

var tokenFile = regexp.MustCompile(`\b(?:OUT|TOKENS)=([^\s;&|]+)`)

// exposedTokens finds files of access tokens that version control does not ignore: they
// might be committed, and the preflight of prod stops at them.
func (r repository) exposedTokens(name, markdown string) (found []finding) {
	for _, q := range quotesOf(markdown) {
		for _, m := range tokenFile.FindAllStringSubmatch(q.text, -1) {
			if !r.ignores(m[1]) {
				found = append(found, finding{name, q.line, "the tokens in " + m[1] + " are not ignored by git"})
			}
		}
	}
	return found
}

// missingPaths finds words in quotes that look like a path of the repository but do not
// exist: those with a file's extension, and those that begin with a folder at the root
// or next to the document.
func (r repository) missingPaths(name, markdown string) (found []finding) {
	for _, q := range quotesOf(markdown) {
		for word := range strings.FieldsSeq(q.text) {
			word = strings.TrimSuffix(filePrefix.ReplaceAllString(strings.TrimRight(word, ".,;:)"), ""), "/...")
			word = strings.Trim(strings.TrimPrefix(word, "./"), `"'`)
			if plainPath.MatchString(word) && !r.exists(path.Dir(name), word) {
				found = append(found, finding{name, q.line, word + " does not exist"})
			}
		}
	}
	return found
}

func (r repository) exists(beside, word string) bool {
	if r.ignores(word) {
		return true
	}
	first, _, nested := strings.Cut(word, "/")
	isFile := fileExtension.MatchString(word)
	if !isFile && (!nested || !r.matches(first) && !r.matches(path.Join(beside, first))) {
		return true // not a path of this repository
	}
	if r.matches(word) || r.matches(path.Join(beside, word)) {
		return true
	}
	// A bare file name may be in any folder.
	return !nested && slices.ContainsFunc(r.all, func(file string) bool {
		ok, err := path.Match(word, path.Base(file))
		return ok && err == nil
	})
}

// matches reports whether a path, which may contain *, is a file or a folder.
func (r repository) matches(pattern string) bool {
	pattern = path.Clean(pattern)
	depth := strings.Count(pattern, "/") + 1
	return slices.ContainsFunc(r.all, func(file string) bool {
		parts := strings.Split(file, "/")
		if len(parts) < depth {
			return false
		}
		ok, err := path.Match(pattern, strings.Join(parts[:depth], "/"))
		return ok && err == nil
	})
}

var (
	numbered = regexp.MustCompile(`^(\d+)\. `)
	listItem = regexp.MustCompile(`^ *(\d+\.|[-*]) `)
)

// swallowed are the items of a list that CommonMark reads as a part of the paragraph above: only a list
// that begins with 1 needs no blank line before it.
func swallowed(name, text string) (found []finding) {
	first, fenced := "", false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced, first = !fenced, ""
			continue
		}
		if m := numbered.FindStringSubmatch(line); m != nil && m[1] != "1" && !fenced && first != "" && !listItem.MatchString(first) {
			found = append(found, finding{name, i + 1, "no blank line before item " + m[1]})
		}
		if strings.TrimSpace(line) == "" {
			first = ""
		} else if first == "" {
			first = line
		}
	}
	return found
}

func TestDocumentsNameWhatExists(t *testing.T) {
	repo := repository{all: published(t)}
	for line := range strings.FieldsSeq(read(t, ".gitignore")) {
		repo.ignored = append(repo.ignored, strings.Trim(line, "/"))
	}
	makefile, tests := read(t, "Makefile"), testsOf(sources(t))
	for _, name := range documentsOf(repo.all) {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			report(t, unknownTargets(name, string(text), makefile))
			report(t, unknownTests(name, string(text), tests))
			report(t, repo.missingPaths(name, string(text)))
			report(t, swallowed(name, string(text)))
			report(t, repo.exposedTokens(name, string(text)))
		})
	}
}

func TestDocumentsThatNameWhatDoesNotExistAreNoticed(t *testing.T) {
	const makefile = "RUN := x\nrun: host ## run\n\t@exec x\ntest:\n"
	repo := repository{
		all:     []string{"README.md", "shared/sale/sale.go", "infra/local/NOTES.md", "infra/local/sqs/queue.go", "events/seed-add.json"},
		ignored: []string{".build", "tokens*"},
	}
	tests := []struct {
		text string
		want int
	}{
		{"`make run`, then `make test PORT=1`", 0},
		{"```\nmake run && make tset\n```", 1},
		{"we make things; `make: nothing`", 0},
		{"`make walk`", 1},
		{"`TestThatIs`, `TestThatIs/in/parts` and TestThatIsNot", 0},
		{"`TestThatIsNot`", 1},
		{"`make run OUT=.build/tokens`, `make run TOKENS=tokens.txt`", 0},
		{"`make run N=5 OUT=my.txt` and `TOKENS=infra/tokens make run`", 2},
		{"`shared/sale`, `shared/sale/sale.go`, `./shared/...`, `events/*.json`, `sale.go`, `.build/x.go`", 0},
		{"`shared/sail`", 1},
		{"`shared/sale/sail.go`", 1},
		{"`docs/guide.md`", 1},
		{"`guide.md`", 1},
		{"`events/buy-*.json`", 1},
		{"`go test ./infra/sqs`", 1},
		{"`--payload file://events/seed-sub.json`", 1},
		{"`--payload fileb://events/seed-sub.json -d @events/seed-add.json`", 1},
		{"`sqs/queue.go` and `sqs`", 0},
		{"`application/json`, `net/http`, `/sales/{saleId}/orders`, `https://example.com/a.json`", 0},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			found := append(unknownTargets("infra/local/NOTES.md", tt.text, makefile), repo.missingPaths("infra/local/NOTES.md", tt.text)...)
			found = append(found, unknownTests("infra/local/NOTES.md", tt.text, map[string]bool{"TestThatIs": true})...)
			found = append(found, repo.exposedTokens("infra/local/NOTES.md", tt.text)...)
			if len(found) != tt.want {
				t.Errorf("found %v, want %d findings", found, tt.want)
			}
		})
	}
}
