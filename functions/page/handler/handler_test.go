package handler

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/functions/page/assets"
	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
)

func TestASaleIDThatIsNotValidIsLeftOutOfThePage(t *testing.T) {
	for id, want := range map[string]int{
		"moutai": 200, strings.Repeat("x", 64): 200,
		"": 404, strings.Repeat("x", 65): 404, "茅台": 404, `"><script>alert(1)</script>`: 404, "a b": 404, "../signin": 404,
	} {
		r, text := newFunction(t).get(t, salePage(t, id, ""))
		shown := id
		if want == 404 {
			shown = ""
		}
		if r.StatusCode != want || !strings.Contains(text, `data-sale="`+shown+`" data-group=""`) || r.Headers["Content-Type"] != "text/html; charset=utf-8" {
			t.Errorf("%q: %d %s, %v; want %d and the page", id, r.StatusCode, text, r.Headers, want)
		}
		r, text = newFunction(t).get(t, httpapitest.Event(t, "page-sale.json", group(id)))
		if r.StatusCode != want || !strings.Contains(text, `data-sale="" data-group="`+shown+`"`) {
			t.Errorf("group %q: %d %s; want %d and the page", id, r.StatusCode, text, want)
		}
	}
}

func TestEveryAnswerForbidsWhatThePageDoesNotNeed(t *testing.T) {
	f := newFunction(t)
	for name, request := range map[string][]byte{
		"the page": salePage(t, "moutai", "gzip"), "an unknown sale": salePage(t, "", "gzip"), "a file": asset(t, f.public(t, "page.js")), "no file": asset(t, "x"),
		"an error": httpapitest.Event(t, "page-sale.json", func(r *events.APIGatewayV2HTTPRequest) { r.RouteKey = "GET /" }),
	} {
		r, _ := f.get(t, request)
		want := map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' https://issuer.example; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer", "Vary": "Accept-Encoding",
		}
		for header, value := range want {
			if r.Headers[header] != value {
				t.Errorf("%s: %s is %q, want %q", name, header, r.Headers[header], value)
			}
		}
	}
}

// public is the name under which a file is served now.
func (f *function) public(t *testing.T, name string) string {
	t.Helper()
	served, ok := f.handler.files[name]
	if !ok {
		t.Fatalf("%s is not served", name)
	}
	return served.public(name)
}

// A hash that somebody makes up never gets a file's text, and all that it gets may be cached.
func TestAFileIsKeptForeverUnderItsHashOnly(t *testing.T) {
	f := newFunction(t)
	const ever, brief = "public, max-age=31536000, immutable", "public, max-age=10"
	for _, tt := range []struct {
		name, public, cache string
		status              int
	}{
		{"the current file", f.public(t, "words.js"), ever, 200},
		{"the file of another version", "words.0123456789abcdef.js", brief, 302},
		{"the file of any version", "words.js", brief, 200},
		{"a hash of no form", "words.x.js", brief, 404},
		{"a hash that is too long", "words.0123456789abcdef0.js", brief, 404},
		{"an unknown name", "other.0123456789abcdef.js", brief, 404},
		{"another type", strings.TrimSuffix(f.public(t, "words.js"), ".js") + ".css", brief, 404},
		{"the template", "page.0123456789abcdef.html", brief, 404},
		{"the template's plain name", "page.html", brief, 404},
		{"what nothing refers to", "spare.0123456789abcdef.js", brief, 404},
		{"nothing", "", brief, 404},
		{"dots", "...", brief, 404},
	} {
		r, text := f.get(t, asset(t, tt.public))
		if r.StatusCode != tt.status || r.Headers["Cache-Control"] != tt.cache {
			t.Errorf("%s: %d, %s", tt.name, r.StatusCode, r.Headers["Cache-Control"])
		}
		switch {
		case tt.status == 200 && (text != string(tiny()["words.js"].Data) || r.Headers["Content-Type"] != "text/javascript; charset=utf-8"):
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
	versions := []*function{newFunction(t), newFunction(t)}
	source := tiny()
	for _, name := range []string{"style.css", "words.js"} { // so that every hash changes
		source[name] = &fstest.MapFile{Data: append([]byte("/* new */ "), source[name].Data...)}
	}
	h, err := New(source, signIn, Look{}, versions[1].handler.log)
	if err != nil {
		t.Fatal(err)
	}
	*versions[1].handler = *h
	files := 0
	for name, f := range h.files {
		if name == f.public(name) || versions[0].handler.files[name].hash == f.hash {
			t.Errorf("%s is the same in both versions", name)
		}
		for _, asked := range versions {
			for _, public := range []string{versions[0].public(t, name), versions[1].public(t, name)} {
				for _, next := range versions { // to which the redirection comes
					r, _ := asked.get(t, asset(t, public))
					if r.StatusCode == http.StatusFound {
						r, _ = next.get(t, asset(t, strings.TrimPrefix(r.Headers["Location"], "/assets/")))
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
	f := newFunction(t)
	_, page := f.get(t, salePage(t, "moutai", ""))
	for _, name := range []string{"style.css", "page.js"} {
		if !strings.Contains(page, `="/assets/`+f.public(t, name)+`"`) {
			t.Errorf("the page does not refer to %s: %s", f.public(t, name), page)
		}
	}
	_, script := f.get(t, asset(t, f.public(t, "page.js")))
	words := f.public(t, "words.js")
	if want := "import { a } from \"./" + words + "\";\nimport b from './" + words + "';\n"; script != want {
		t.Errorf("the script is %q, want %q", script, want)
	}
}

func TestAFileThatChangesGetsAnotherNameAndSoDoWhoReferToIt(t *testing.T) {
	source := tiny()
	_, before, err := build(source, Look{})
	if err != nil {
		t.Fatal(err)
	}
	source["words.js"].Data = []byte("export const a = 2;\n")
	_, after, err := build(source, Look{})
	if err != nil {
		t.Fatal(err)
	}
	for name, changed := range map[string]bool{"words.js": true, "page.js": true, "style.css": false} {
		if (before[name].hash != after[name].hash) != changed || len(after[name].hash) != hashLength {
			t.Errorf("%s is %s and then %s", name, before[name].public(name), after[name].public(name))
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
		"a file of another type": func(m fstest.MapFS) {
			m["page.html"].Data = []byte(`<img src="/assets/logo.png">`)
			m["logo.png"] = &fstest.MapFile{}
		},
	} {
		source := tiny()
		change(source)
		if _, err := New(source, SignIn{}, Look{}, nil); err == nil {
			t.Errorf("%s: it starts", name)
		}
	}
}

func TestAnswersAreCompressedForWhoAcceptsThat(t *testing.T) {
	for accept, want := range map[string]bool{
		"gzip": true, "gzip, deflate, br": true, "br;q=1, GZIP ; q=0.5": true, "deflate,gzip;q=1.000": true,
		"": false, "identity": false, "br, deflate": false, "gzip;q=0": false, "gzip; q=0.000": false, "xgzip": false,
	} {
		f := newFunction(t)
		r, text := f.get(t, salePage(t, "moutai", accept))
		if zipped := r.Headers["Content-Encoding"] == "gzip"; zipped != want || r.IsBase64Encoded != want || !strings.Contains(text, "moutai") {
			t.Errorf("%q: %v, base64 %t, %s", accept, r.Headers, r.IsBase64Encoded, text)
		}
		file := httpapitest.Event(t, "page-sale.json", func(r *events.APIGatewayV2HTTPRequest) {
			r.RouteKey, r.PathParameters, r.Headers["accept-encoding"] = "GET /assets/{name}", map[string]string{"name": f.public(t, "words.js")}, accept
		})
		if r, text := f.get(t, file); (r.Headers["Content-Encoding"] == "gzip") != want || text != string(tiny()["words.js"].Data) {
			t.Errorf("%q: %v, %s", accept, r.Headers, text)
		}
	}
}

func TestARequestAroundTheFrontIsRefused(t *testing.T) {
	const secret = "sesame-sesame-sesame-sesame-sesame"
	origin, err := httpapi.NewOrigin(secret)
	if err != nil {
		t.Fatal(err)
	}
	f := newFunction(t)
	f.handler.Behind(origin)
	r, text := f.get(t, salePage(t, "moutai", ""))
	if r.StatusCode != http.StatusForbidden || !strings.Contains(text, `"code":"forbidden"`) || r.Headers["Cache-Control"] != "no-store" || f.Logged(t, "outcome") != "forbidden" {
		t.Errorf("%d %s, %v", r.StatusCode, text, r.Headers)
	}
	r, text = f.get(t, httpapitest.Event(t, "page-sale.json", func(r *events.APIGatewayV2HTTPRequest) { r.Headers["x-origin-verify"] = secret }))
	if r.StatusCode != http.StatusOK || !strings.Contains(text, "moutai") || f.Logged(t, "outcome") != "ok" {
		t.Errorf("with the secret: %d %s", r.StatusCode, text)
	}
}

func TestAPageThatCannotBeMadeIsAnInternalError(t *testing.T) {
	source := tiny()
	source["page.html"].Data = []byte("{{.Nothing}}")
	f := newFunction(t)
	h, err := New(source, SignIn{}, Look{}, f.handler.log)
	if err != nil {
		t.Fatal(err)
	}
	*f.handler = *h
	r, text := f.get(t, salePage(t, "moutai", "gzip"))
	if r.StatusCode != 500 || !strings.Contains(text, `"code":"internal"`) || f.Logged(t, "outcome") != "internal" || f.Logged(t, "level") != "ERROR" {
		t.Errorf("%d %s", r.StatusCode, text)
	}
	f.handler.page = nil
	if r, _ := f.get(t, salePage(t, "moutai", "")); r.StatusCode != 500 || !strings.HasPrefix(f.Logged(t, "error").(string), "panic: ") {
		t.Errorf("a panic: %d, %v", r.StatusCode, f.Logged(t, "error"))
	}
}

// budget is what all the files of the page may weigh, compressed, in bytes.
const budget = 18 << 10

func TestTheRealPageIsSmallAndWhole(t *testing.T) {
	f := newFunction(t)
	h, err := New(assets.Files, signIn, Look{}, f.handler.log)
	if err != nil {
		t.Fatal(err)
	}
	*f.handler = *h
	r, page := f.get(t, salePage(t, "moutai", "gzip"))
	weight := len(r.Body) * 3 / 4
	for name, served := range h.files {
		weight += len(served.gzipped)
		if len(served.text) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	if weight > budget {
		t.Errorf("the page weighs %d bytes compressed, want at most %d", weight, budget)
	}
	for _, want := range []string{`data-sale="moutai"`, `data-authorize="https://issuer.example/oauth2/authorize"`, `data-token="https://issuer.example/oauth2/token"`, `data-client="client-1"`, `data-scope="openid"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	// The policy refuses them, and a blocked part is easily overlooked.
	if found := regexp.MustCompile(`(?i)<script(?:>| [^>]*>)\s*[^<\s]|<style|\sstyle=|\son\w+=|https?://`).FindAllString(strings.ReplaceAll(page, "https://issuer.example", ""), -1); found != nil {
		t.Errorf("the page has %q, which its policy forbids", found)
	}
}

func TestHowBuyersSignInIsReadFromTheEnvironment(t *testing.T) {
	whole := map[string]string{
		"SIGNIN_AUTHORIZE_URL": "https://issuer.example/authorize", "SIGNIN_TOKEN_URL": "https://tokens.example:8443/token", "SIGNIN_LOGOUT_URL": "",
		"SIGNIN_CLIENT_ID": "page", "SIGNIN_SCOPE": "openid buy", "PAGE_ORIGIN": "https://shop.example",
	}
	for _, tt := range []struct {
		name, variable, value string
		want                  SignIn
		fails                 bool
	}{
		{"whole", "", "", SignIn{Authorize: whole["SIGNIN_AUTHORIZE_URL"], Token: whole["SIGNIN_TOKEN_URL"], ClientID: "page", Scope: "openid buy", Origin: "https://shop.example"}, false},
		{"none", "SIGNIN_AUTHORIZE_URL", "", SignIn{}, false},
		{"no token endpoint", "SIGNIN_TOKEN_URL", "", SignIn{}, true},
		{"no client", "SIGNIN_CLIENT_ID", "", SignIn{}, true},
		{"no scope", "SIGNIN_SCOPE", "", SignIn{}, true},
		{"no URL", "SIGNIN_TOKEN_URL", "issuer.example/token", SignIn{}, true},
		{"a script", "SIGNIN_AUTHORIZE_URL", "javascript:alert(1)", SignIn{}, true},
		{"a URL of the page's scheme", "SIGNIN_AUTHORIZE_URL", "//issuer.example/authorize", SignIn{}, true},
		{"no host", "SIGNIN_LOGOUT_URL", "https:///logout", SignIn{}, true},
		{"what would end the policy's directive", "SIGNIN_TOKEN_URL", "https://a;script-src/token", SignIn{}, true},
		{"control characters", "SIGNIN_TOKEN_URL", "https://a\x7f/", SignIn{}, true},
	} {
		for name, value := range whole {
			t.Setenv(name, value)
		}
		if tt.variable != "" {
			t.Setenv(tt.variable, tt.value)
		}
		got, err := SignInFromEnv()
		if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != tt.fails {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

func TestThePolicyNamesTheTokenEndpointsOrigin(t *testing.T) {
	for token, want := range map[string]string{
		"https://tokens.example:8443/token?a=b": "connect-src 'self' https://tokens.example:8443;",
		"/_local/oauth2/token":                  "connect-src 'self';",
		"":                                      "connect-src 'self';",
	} {
		if got := policy(SignIn{Token: token}, Look{}); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", token, got, want)
		}
	}
}
