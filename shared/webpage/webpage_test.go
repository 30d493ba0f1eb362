package webpage

import (
	"bytes"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
)

// tiny is a page of few files: page.js imports words.js, which imports nothing.
func tiny() fstest.MapFS {
	return fstest.MapFS{
		"page.html": {Data: []byte(`<html><link href="/assets/style.css"><script src="/assets/page.js"></script></html>`)},
		"page.js":   {Data: []byte("import { a } from \"./words.js\";\nimport b from './words.js';\n")},
		"words.js":  {Data: []byte("export const a = 1; // not ./style.css\n")},
		"style.css": {Data: []byte("body { color: black }\n")},
		"spare.js":  {Data: []byte("nothing refers to this\n")},
	}
}

func newPage(t *testing.T, source fs.FS) *Page {
	t.Helper()
	p, err := New(source, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A hash that somebody makes up never gets a file's text, and all that it gets may be cached.
func TestAFileIsKeptForeverUnderItsHashOnly(t *testing.T) {
	p := newPage(t, tiny())
	const ever, brief = "public, max-age=31536000, immutable", "public, max-age=10"
	for _, tt := range []struct {
		name, public, cache string
		status              int
	}{
		{"the current file", p.files["words.js"].public("words.js"), ever, 200},
		{"the file of another version", "words.0123456789abcdef.js", brief, 302},
		{"the file of any version", "words.js", brief, 200},
		{"a hash of no form", "words.x.js", brief, 404},
		{"a hash that is too long", "words.0123456789abcdef0.js", brief, 404},
		{"an unknown name", "other.0123456789abcdef.js", brief, 404},
		{"another type", strings.TrimSuffix(p.files["words.js"].public("words.js"), ".js") + ".css", brief, 404},
		{"the template", "page.0123456789abcdef.html", brief, 404},
		{"the template's plain name", "page.html", brief, 404},
		{"what nothing refers to", "spare.0123456789abcdef.js", brief, 404},
		{"nothing", "", brief, 404},
	} {
		r := p.Asset(tt.public, "")
		text := r.Body
		if r.StatusCode != tt.status || r.Headers["Cache-Control"] != tt.cache {
			t.Errorf("%s: %d, %s", tt.name, r.StatusCode, r.Headers["Cache-Control"])
		}
		switch {
		case tt.status == 200 && (text != "export const a=1" || r.Headers["Content-Type"] != "text/javascript; charset=utf-8"):
			t.Errorf("%s: %s: %s", tt.name, r.Headers["Content-Type"], text)
		case tt.status == 302 && r.Headers["Location"] != "/assets/words.js", tt.status != 302 && r.Headers["Location"] != "":
			t.Errorf("%s leads to %q", tt.name, r.Headers["Location"])
		case tt.status != 200 && len(text) > 20:
			t.Errorf("%s: %s", tt.name, text)
		}
	}
}

// While a deployment moves traffic, each request of a page may go to either version. Every
// file that a page of one refers to is answered, after one redirection at most.
func TestAPageOfOneVersionGetsItsFilesFromTheOther(t *testing.T) {
	source := tiny()
	for _, name := range []string{"style.css", "words.js"} { // so that every hash changes
		source[name] = &fstest.MapFile{Data: bytes.ReplaceAll(source[name].Data, []byte("a"), []byte("e"))}
	}
	versions := []*Page{newPage(t, tiny()), newPage(t, source)}
	files := 0
	for name, f := range versions[1].files {
		before := versions[0].files[name]
		if name == f.public(name) || before.hash == f.hash {
			t.Errorf("%s is the same in both versions", name)
		}
		for _, asked := range versions {
			for _, public := range []string{before.public(name), f.public(name)} {
				for _, next := range versions { // to which the redirection comes
					r := asked.Asset(public, "")
					if r.StatusCode == http.StatusFound {
						r = next.Asset(strings.TrimPrefix(r.Headers["Location"], "/assets/"), "")
					}
					if r.StatusCode != http.StatusOK || r.Headers["Content-Type"] != f.media {
						t.Errorf("%s: %d, %v", public, r.StatusCode, r.Headers)
					}
					files++
				}
			}
		}
	}
	if files != 3*8 {
		t.Errorf("%d answers, want 24", files)
	}
}

func TestReferencesNameTheServedFiles(t *testing.T) {
	p := newPage(t, tiny())
	page, err := p.HTML(nil, 200, "")
	for _, name := range []string{"style.css", "page.js"} {
		if public := p.files[name].public(name); err != nil || !strings.Contains(page.Body, `="/assets/`+public+`"`) {
			t.Errorf("the page does not refer to %s: %s, %v", public, page.Body, err)
		}
	}
}

func TestTheStyleIsShortenedAndFollowedByTheShops(t *testing.T) {
	source := tiny()
	source["style.css"].Data = []byte("/* all */\n* :hover, a { margin: 0;\n  content: \" a\"; }\n")
	p, err := New(source, Options{Style: "a { color: red }\n"})
	if err != nil {
		t.Fatal(err)
	}
	if text, want := p.Asset("style.css", "").Body, "* :hover,a{margin:0;content:\" a\";}a { color: red }\n"; text != want {
		t.Errorf("the style is %q, want %q", text, want)
	}
}

func TestAScriptIsShortenedAndMeansTheSame(t *testing.T) {
	for source, want := range map[string]string{
		"// one\nexport function double(number) {\n  return 2 * number; // two\n}\n":                          "export function double(e){return 2*e}",
		"export function f(a) {\n  const list = a.slice();\n  const { b } = (list ?? [])[0];\n  return b;\n}": "export function f(e){const t=e.slice();let{b:n}=(t??[])[0];return n}",
	} {
		if got, err := shorten([]byte(source)); string(got) != want || err != nil {
			t.Errorf("%q becomes %q (%v), want %q", source, got, err, want)
		}
	}
}

func TestAPageThatRefersToWhatIsNotThereDoesNotStart(t *testing.T) {
	for name, change := range map[string]func(fstest.MapFS){
		"no page":                 func(m fstest.MapFS) { delete(m, "page.html") },
		"a template that is none": func(m fstest.MapFS) { m["page.html"].Data = []byte("{{") },
		"no script":               func(m fstest.MapFS) { delete(m, "page.js") },
		"no imported module":      func(m fstest.MapFS) { delete(m, "words.js") },
		"a module that imports itself": func(m fstest.MapFS) {
			m["words.js"].Data = []byte(`import "./page.js";`)
		},
		"two modules with one name": func(m fstest.MapFS) {
			m["page.html"].Data = []byte(`<link href="/assets/modules.js"><script type="module" src="/assets/page.js">`)
			m["page.js"].Data = []byte("import { a } from \"./words.js\";\nimport { b } from \"./spare.js\";\n")
			m["spare.js"].Data = []byte("const a = 2;\nexport const b = a;\n")
		},
		"a module that imports under another name": func(m fstest.MapFS) {
			m["page.html"].Data = []byte(`<link href="/assets/modules.js"><script type="module" src="/assets/page.js">`)
			m["page.js"].Data = []byte("import { b } from \"./spare.js\";\n")
			m["spare.js"].Data = []byte("import { a as b } from \"./words.js\";\n")
		},
		"a file of another type": func(m fstest.MapFS) {
			m["page.html"].Data = []byte(`<img src="/assets/logo.png">`)
			m["logo.png"] = &fstest.MapFile{}
		},
	} {
		source := tiny()
		change(source)
		if _, err := New(source, Options{}); err == nil {
			t.Errorf("%s: it starts", name)
		}
	}
}

func TestHowPeopleSignInIsReadFromTheEnvironment(t *testing.T) {
	whole := map[string]string{
		"SIGNIN_AUTHORIZE_URL": "https://issuer.example/authorize", "SIGNIN_TOKEN_URL": "https://tokens.example:8443/token", "SIGNIN_LOGOUT_URL": "",
		"SIGNIN_CLIENT_ID": "page", "SIGNIN_SCOPE": "openid buy", "PAGE_ORIGIN": "https://shop.example",
	}
	for name, value := range whole {
		t.Setenv(name, value)
	}
	want := SignIn{Authorize: whole["SIGNIN_AUTHORIZE_URL"], Token: whole["SIGNIN_TOKEN_URL"], ClientID: "page", Scope: "openid buy", Origin: "https://shop.example"}
	if got, err := SignInFromEnv(); got != want || err != nil {
		t.Errorf("whole: got %+v (%v), want %+v", got, err, want)
	}
	for _, tt := range []struct {
		name, variable, value string
		fails                 bool
	}{
		{"none", "SIGNIN_AUTHORIZE_URL", "", false},
		{"no token endpoint", "SIGNIN_TOKEN_URL", "", true},
		{"no client", "SIGNIN_CLIENT_ID", "", true},
		{"no scope", "SIGNIN_SCOPE", "", true},
		{"no URL", "SIGNIN_TOKEN_URL", "issuer.example/token", true},
		{"a script", "SIGNIN_AUTHORIZE_URL", "javascript:alert(1)", true},
		{"a URL of the page's scheme", "SIGNIN_AUTHORIZE_URL", "//issuer.example/authorize", true},
		{"no host", "SIGNIN_LOGOUT_URL", "https:///logout", true},
		{"what would end the policy's directive", "SIGNIN_TOKEN_URL", "https://a;script-src/token", true},
		{"control characters", "SIGNIN_TOKEN_URL", "https://a\x7f/", true},
	} {
		t.Setenv(tt.variable, tt.value)
		if got, err := SignInFromEnv(); got != (SignIn{}) || (err != nil) != tt.fails {
			t.Errorf("%s: got %+v (%v)", tt.name, got, err)
		}
		t.Setenv(tt.variable, whole[tt.variable])
	}
}

// What page.js imports is one file, each script after those that it imports, and what is loaded later imports from there.
func TestTheScriptsOfAPageMayBeOneFile(t *testing.T) {
	source := tiny()
	source["page.html"].Data = []byte(`<link href="/assets/modules.js"><script type="module" src="/assets/page.js"></script>`)
	source["page.js"].Data = []byte("import { b } from \"./spare.js\";\nimport { a as c } from \"./words.js\";\nimport(\"./later.js\");\n")
	source["spare.js"].Data = []byte("import { a } from \"./words.js\";\nexport const b = a; /** @type {import(\"./page.js\").B} */\n")
	source["later.js"] = &fstest.MapFile{Data: []byte("import { a } from \"./words.js\";\nimport { d } from './own.js';\n")}
	source["own.js"] = &fstest.MapFile{Data: []byte("export const d = 1;\n")}
	p := newPage(t, source)
	modules, own := p.files["modules.js"].public("modules.js"), p.files["own.js"].public("own.js")
	for name, want := range map[string]string{
		"modules.js": "export const a=1;export const b=a",
		"page.js":    "import{b}from\"./" + modules + "\";import{a as c}from\"./" + modules + "\";import(\"./" + p.files["later.js"].public("later.js") + "\")",
		"later.js":   "import{a}from\"./" + modules + "\";import{d}from\"./" + own + "\"",
		"words.js":   "no such file\n",
	} {
		if got := p.Asset(name, "").Body; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
