package checks

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	markdownLink = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^(#+) (.*)$`)
	fencedBlock  = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	codeSpan     = regexp.MustCompile("`[^`]+`")
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// prose is a document without its fenced blocks.
func prose(markdown string) string { return fencedBlock.ReplaceAllString(markdown, "") }

// anchors are the headings of a document as GitHub makes link targets of them.
func anchors(markdown string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(prose(markdown), -1) {
		all = append(all, strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[2]), ""), " ", "-"))
	}
	return all
}

// linksOf are the targets of a document's links to this repository, from its root.
func linksOf(name, markdown string) (all []string) {
	for _, m := range markdownLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(prose(markdown), "code"), -1) {
		file, anchor, anchored := strings.Cut(m[1], "#")
		if strings.Contains(m[1], "://") {
			continue
		}
		target := name
		if file != "" {
			target = path.Join(path.Dir(name), file)
		}
		if anchored {
			target += "#" + anchor
		}
		all = append(all, target)
	}
	return all
}

// deadLinks are the links of a document that lead to no file, folder or heading.
func deadLinks(repo repository, name, markdown string, text func(string) string) (found []finding) {
	for _, link := range linksOf(name, markdown) {
		file, anchor, anchored := strings.Cut(link, "#")
		switch {
		case !repo.matches(file):
			found = append(found, finding{name, 0, "links to " + link + ", which does not exist"})
		case anchored && !slices.Contains(anchors(text(file)), anchor):
			found = append(found, finding{name, 0, fmt.Sprintf("links to %s, but %s has only the headings %v", link, file, anchors(text(file)))})
		}
	}
	return found
}

// published are the repository's files with those that GitHub reads, which files leaves
// out with every other dot folder.
func published(t *testing.T) []string {
	t.Helper()
	forge := os.DirFS(root(t))
	all := files(t)
	for _, pattern := range []string{".github/*.*", ".github/workflows/*"} {
		found, err := fs.Glob(forge, pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		all = append(all, found...)
	}
	return all
}

// documentsOf are the repository's Markdown files.
func documentsOf(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !strings.HasSuffix(name, ".md") })
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	repo := repository{all: published(t)}
	for _, name := range documentsOf(repo.all) {
		report(t, deadLinks(repo, name, read(t, name), func(file string) string { return read(t, file) }))
	}
}

func TestADeadLinkIsNoticed(t *testing.T) {
	repo := repository{all: []string{"README.md", "infra/docs/HTTP.md", "shared/sale/sale.go"}}
	text := func(string) string { return "# The API\n\n## Error codes: which?\n```\n# no heading\n```\n" }
	for markdown, want := range map[string]int{
		"[a](HTTP.md) [b](../../README.md#the-api) [c](#error-codes-which) [d](../../shared/sale) [e](https://example.com/x)": 0,
		"`[a](none.md)`\n```\n[b](none.md)\n```\n": 0,
		"[a](none.md)":            1,
		"[a](README.md)":          1,
		"[a](HTTP.md#no-heading)": 1,
		"[a](#errors)":            1,
	} {
		if found := deadLinks(repo, "infra/docs/HTTP.md", markdown, text); len(found) != want {
			t.Errorf("%s: %v, want %d findings", markdown, found, want)
		}
	}
}

// The README is the way in: it leads to every other document, once.
func TestTheReadmeLinksEachDocumentOnce(t *testing.T) {
	readme := linksOf("README.md", read(t, "README.md"))
	for _, name := range documentsOf(published(t)) {
		if name == "README.md" {
			continue
		}
		n := 0
		for _, link := range readme {
			if file, _, _ := strings.Cut(link, "#"); file == name {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the README links to %s %d times, want once", name, n)
		}
	}
}

// uncharted are the folders that the map does not name: those of infra and shared, and
// those of every group whose folders the map lists.
func uncharted(all []string, markdown string) (missing []string) {
	_, chart, _ := strings.Cut(markdown, "\n## Where things are")
	chart, _, _ = strings.Cut(chart, "\n## ")
	charted, listed, group := map[string]bool{"infra/docs": true}, map[string]bool{}, ""
	for line := range strings.Lines(chart) {
		names, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if !strings.HasPrefix(line, " ") {
			group = strings.TrimSuffix(names, "/")
			charted[group] = true
			continue
		}
		listed[group] = true
		for _, name := range strings.Fields(names) {
			charted[group+"/"+name] = true
		}
	}
	for _, name := range all {
		steps := strings.Split(path.Dir(name), "/")
		if len(steps) < 2 || steps[0] != "infra" && steps[0] != "shared" {
			continue
		}
		folder := steps[0] + "/" + steps[1]
		if len(steps) > 2 && listed[folder] {
			folder += "/" + steps[2]
		}
		if !charted[folder] && !slices.Contains(missing, folder) {
			missing = append(missing, folder)
		}
	}
	return missing
}

func TestTheMapNamesEveryFolder(t *testing.T) {
	const name = "infra/docs/EXTENDING.md"
	if missing := uncharted(files(t), read(t, name)); len(missing) > 0 {
		t.Errorf("the map in %s does not name %v", name, missing)
	}
	all := []string{"infra/a/a.go", "infra/a/x/b.go", "infra/b/x/b.go", "infra/b/y/z/b.go", "infra/docs/c.md", "infra/d.yaml", "shared/e/e.go", "shared/f/f.go"}
	const incomplete = "`shared/f`\n## Where things are\nshared/    the\n  e g      rules\ninfra/b  the\n  x      others\n## More\ninfra/a\n"
	if got := uncharted(all, incomplete); !slices.Equal(got, []string{"infra/a", "infra/b/y", "shared/f"}) {
		t.Errorf("of a map that lacks three folders is said: %v", got)
	}
}

var (
	step       = regexp.MustCompile(`(?m)^\d+\. .*(?:\n +.*)*`)
	identifier = regexp.MustCompile("`([A-Za-z]\\w*)`")
)

// misnamed are the steps of a walk through the code that lead to no file, or name a function
// that the file does not declare.
func misnamed(name, markdown string, text func(string) string) (found []finding) {
	_, walk, _ := strings.Cut(markdown, "\n## One purchase, file by file\n")
	walk, _, _ = strings.Cut(walk, "\n## ")
	steps := step.FindAllString(walk, -1)
	if len(steps) == 0 {
		return []finding{{name, 0, "has no steps"}}
	}
	for _, s := range steps {
		files := linksOf(name, s)
		if len(files) != 1 {
			found = append(found, finding{name, 0, "leads to no file, or to several: " + s})
			continue
		}
		for _, m := range identifier.FindAllStringSubmatch(s, -1) {
			if !regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?` + m[1] + `\(`).MatchString(text(files[0])) {
				found = append(found, finding{name, 0, files[0] + " has no function " + m[1]})
			}
		}
	}
	return found
}

func TestTheWalkThroughAPurchaseNamesWhatTheCodeHas(t *testing.T) {
	const name = "infra/docs/EXTENDING.md"
	report(t, misnamed(name, read(t, name), func(file string) string { return read(t, file) }))
	text := func(string) string { return "func main() {}\n\nfunc (l *Ledger) look(x int) {}\n" }
	const walk = "# E\n\n## One purchase, file by file\n\n1. [a](a.go): `main` calls\n   `look`.\n2. [b](b.go): `main` returns.\n\n## F\n\n1. `none`\n"
	for _, tt := range []struct {
		was, is string
		want    int
	}{
		{"A", "A", 0}, {"look", "loop", 1}, {"main", "mane", 2}, {"[b](b.go)", "b", 1}, {"[b](b.go)", "[b](b.go) [c](c.go)", 1}, {"## One", "## A", 1},
	} {
		if found := misnamed(name, strings.ReplaceAll(walk, tt.was, tt.is), text); len(found) != tt.want {
			t.Errorf("%q for %q: %v, want %d findings", tt.is, tt.was, found, tt.want)
		}
	}
}

var figure = regexp.MustCompile(`\d+(?:[.,]\d+)*`)

// The README quotes figures; the document of figures has the commands that printed them.
func TestTheReadmesFiguresAreThoseOfTheDocument(t *testing.T) {
	_, table, found := strings.Cut(read(t, "README.md"), "## Five figures")
	table, _, _ = strings.Cut(table, "\n## ")
	_, figures, foundToo := strings.Cut(read(t, "infra/docs/FIGURES.md"), "# Figures")
	if !found || !foundToo {
		t.Fatal("a heading is missing")
	}
	known := strings.ReplaceAll(figures, ",", "")
	rows := 0
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !figure.MatchString(cells[2]) {
			continue
		}
		rows++
		for _, f := range figure.FindAllString(cells[2], -1) {
			if !regexp.MustCompile(`(?:^|[^\d.])` + regexp.QuoteMeta(strings.ReplaceAll(f, ",", "")) + `(?:[^\d.]|\.\D|$)`).MatchString(known) {
				t.Errorf("%s: the figure %s is not in FIGURES.md", strings.TrimSpace(cells[1]), f)
			}
		}
	}
	if rows != 5 {
		t.Errorf("%d figures, want 5", rows)
	}
}
