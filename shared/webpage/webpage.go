// Package webpage serves a static page and the files that it refers to, and signs people
// in on it by OpenID Connect (signin.js, which every page may refer to).
//
// page.html is an html/template. A file refers to another one by its plain name, as
// "/assets/NAME" in HTML and as "./NAME" in scripts and styles; the name is replaced by the
// hashed one under which the file is served. Where the data of a page choose a file, page.html has {{asset .Name}}: a
// script must refer to it, too. A page that refers to modules.js gets there, in one
// file, all scripts that its own one imports: sources of any number cost it one request. Every answer has a
// policy that forbids what a page does not need.
package webpage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// Response is an answer in API Gateway's payload format 2.0.
type Response = events.APIGatewayV2HTTPResponse

// How long an answer may be cached.
const (
	pageCache  = "public, max-age=60"
	assetCache = "public, max-age=31536000, immutable"
	briefCache = "public, max-age=10"
)

const (
	htmlMedia  = "text/html; charset=utf-8"
	plainMedia = "text/plain; charset=utf-8"
)

// answer is an answer before it is encoded for API Gateway.
type answer struct {
	status       int
	media, cache string
	location     string // of a redirection
	text         []byte
	gzipped      func() []byte // nil of a text that is compressed for this answer alone
}

// Options are what a page's operator may choose.
type Options struct {
	SignIn      SignIn
	ImageOrigin string // the only origin of pictures besides the page's own; "" for none
	Style       string // follows style.css
}

// Page is a page with its files; it is safe for concurrent use.
type Page struct {
	html   *template.Template
	files  map[string]file
	policy string
}

// New returns the page whose files are given. It fails if the page refers to a file that
// does not exist.
func New(source fs.FS, o Options) (*Page, error) {
	html, files, err := build(source, o.Style)
	if err != nil {
		return nil, err
	}
	return &Page{html: html, files: files, policy: policy(o.SignIn, o.ImageOrigin)}, nil
}

// HTML returns the page. The data are for its template; accept is the request's
// Accept-Encoding.
func (p *Page) HTML(data any, status int, accept string) (Response, error) {
	var b bytes.Buffer
	if err := p.html.Execute(&b, data); err != nil {
		return Response{}, err
	}
	return p.encode(answer{status: status, media: htmlMedia, cache: pageCache, text: b.Bytes()}, acceptsGzip(accept)), nil
}

// Asset returns a file by its public name. While a deployment moves traffic, a page of one
// version may ask the other version for a file. That version cannot know the hash, so it
// leads to the plain name, under which each version answers its own text. Whatever hash
// somebody makes up, the answer is short, and caches keep every text that they can get.
func (p *Page) Asset(public, accept string) Response {
	r := p.encode(p.asset(public), acceptsGzip(accept))
	// A browser keeps a file a page of the same site has loaded, without the CORS headers of the API: a page of another
	// origin must not get that.
	r.Headers["Vary"] += ", Origin"
	return r
}

func (p *Page) asset(public string) answer {
	if f, ok := p.files[public]; ok {
		return answer{status: http.StatusOK, media: f.media, cache: briefCache, text: f.text, gzipped: f.gzipped}
	}
	name, hash := split(public)
	f, ok := p.files[name]
	switch {
	case ok && hash == f.hash:
		return answer{status: http.StatusOK, media: f.media, cache: assetCache, text: f.text, gzipped: f.gzipped}
	case ok && isHash.MatchString(hash):
		return answer{status: http.StatusFound, media: plainMedia, cache: briefCache, location: "/assets/" + name}
	}
	return answer{status: http.StatusNotFound, media: plainMedia, cache: briefCache, text: []byte("no such file\n")}
}

// Problem is the answer for an error, as the other functions give it.
func (p *Page) Problem(err error) Response {
	r := httpapi.Problem(err, "")
	return p.encode(answer{
		status: r.StatusCode, media: r.Headers.ContentType, cache: r.Headers.CacheControl, text: []byte(r.Body),
	}, false)
}

// encode makes API Gateway's answer. HTTP APIs do not compress, and take binary bodies in
// base64.
func (p *Page) encode(a answer, zip bool) Response {
	r := Response{StatusCode: a.status, Headers: map[string]string{
		"Content-Type": a.media, "Cache-Control": a.cache, "Vary": "Accept-Encoding",
		"Content-Security-Policy": p.policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		httpapi.VersionHeader: sale.ProgramVersion,
	}}
	if a.location != "" {
		r.Headers["Location"] = a.location
	}
	if !zip || len(a.text) == 0 {
		r.Body = string(a.text)
		return r
	}
	if a.gzipped == nil {
		a.gzipped = func() []byte { return compress(a.text, gzip.DefaultCompression) }
	}
	r.Headers["Content-Encoding"] = "gzip"
	r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString(a.gzipped()), true
	return r
}

// acceptsGzip reports whether an Accept-Encoding names gzip and does not exclude it by a
// quality of zero.
func acceptsGzip(accept string) bool {
	for coding := range strings.SplitSeq(accept, ",") {
		name, quality, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, weighted := strings.CutPrefix(strings.ToLower(strings.TrimSpace(quality)), "q=")
		return !weighted || strings.Trim(q, "0.") != ""
	}
	return false
}
