// Package webpagetest examines real pages, and reads the answers of package webpage.
package webpagetest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/shared/webpage"
)

// Text returns the decoded body of an answer.
func Text(t testing.TB, r webpage.Response) string {
	t.Helper()
	body := []byte(r.Body)
	var err error
	if r.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			t.Fatal(err)
		}
	}
	if r.Headers["Content-Encoding"] != "gzip" {
		return string(body)
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// forbidden is what a page's policy refuses in its HTML. A blocked part is easily overlooked.
var forbidden = regexp.MustCompile(`(?i)<script(?:>| [^>]*>)\s*[^<\s]|<style|\sstyle=|\son\w+=|https?://`)

// export is what other scripts may import of one.
var export = regexp.MustCompile(`export \w+ \w+`)

// Examine fails the test if the page whose files are given lacks a file, weighs more than
// budget bytes, compressed, or has in its HTML what its policy forbids. data are for its
// template. With the files that scripts load later, not on every page, it may have half as much again. Of the files
// whose names differ in what follows a hyphen, such as words-de.js and words-fr.js, a page loads one: the largest counts. A file with ! before its name is for pages of
// others, and is not weighed.
func Examine(t *testing.T, source fs.FS, data any, budget int, later ...string) {
	t.Helper()
	page, err := webpage.New(source, webpage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	html, err := page.HTML(data, 200, "gzip")
	if err != nil {
		t.Fatal(err)
	}
	if found := forbidden.FindAllString(Text(t, html), -1); found != nil {
		t.Errorf("the page has %q, which its policy forbids", found)
	}
	weight, added := len(html.Body)*3/4, 0
	together := page.Asset("modules.js", "gzip")
	largest := map[string]int{} // by what precedes the hyphen
	weigh := func(name string, r webpage.Response) {
		size := len(r.Body) * 3 / 4
		if slices.Contains(later, "!"+name) {
			t.Logf("%s: %d bytes", name, size)
			size = 0
		}
		kind, _, several := strings.Cut(name, "-")
		if several {
			t.Logf("%s: %d bytes", name, size)
			largest[kind], size = max(largest[kind], size), max(0, size-largest[kind])
		}
		if slices.Contains(later, name) || several && slices.Contains(later, kind+"-") {
			added += size
		} else {
			weight += size
		}
		if r.StatusCode != 200 || Text(t, r) == "" {
			t.Errorf("%s: the page does not refer to it, or it is empty", name)
		}
	}
	if together.StatusCode == 200 {
		weigh("modules.js", together)
	}
	for _, folder := range []fs.FS{source, webpage.Common} {
		files, err := fs.Glob(folder, "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			r := page.Asset(name, "gzip")
			text, err := fs.ReadFile(folder, name)
			if err != nil {
				t.Fatal(err)
			}
			exported := export.FindSubmatch(text)
			inside := r.StatusCode == 404 && exported != nil && strings.Contains(Text(t, together), string(exported[0]))
			if name != "page.html" && !inside {
				weigh(name, r)
			}
		}
	}
	t.Logf("the page weighs %d bytes, and %d that may be loaded later", weight, added)
	if weight > budget || weight+added > budget*3/2 {
		t.Errorf("the page weighs %d bytes compressed, and %d that may be loaded later, want at most %d, and %d together",
			weight, added, budget, budget*3/2)
	}
}
