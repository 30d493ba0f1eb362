// Package handler serves the buyer's page: the HTML of a sale, of the sign-in's callback,
// and their scripts and styles.
//
// The HTML is the same for every sale except for the sale's id, which is valid or left
// out. What a buyer sees of the sale comes from the JSON API, so this function needs no
// table.
package handler

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

type (
	request  = events.APIGatewayV2HTTPRequest
	response = events.APIGatewayV2HTTPResponse
)

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

// answer is what a route answers, before it is encoded for API Gateway.
type answer struct {
	status       int
	media, cache string
	location     string // of a redirection
	text         []byte
	gzipped      []byte // nil: not compressed yet
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	page   *template.Template
	files  map[string]file
	signIn SignIn
	policy string
	log    *telemetry.Log
	origin httpapi.Origin
}

// New returns a handler of the page whose files are given. It fails if the page refers to
// a file that does not exist.
func New(source fs.FS, s SignIn, look Look, log *telemetry.Log) (*Handler, error) {
	page, files, err := build(source, look)
	if err != nil {
		return nil, err
	}
	return &Handler{page: page, files: files, signIn: s, policy: policy(s, look), log: log}, nil
}

// Behind makes the handler refuse requests that did not come through that origin.
func (h *Handler) Behind(o httpapi.Origin) *Handler {
	h.origin = o
	return h
}

// Handle answers one request; it never returns an error.
func (h *Handler) Handle(ctx context.Context, r request) (out response, _ error) {
	_, cancel, event := h.log.Begin(ctx)
	defer cancel()
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil {
			out = h.problem(err)
		}
		code := sale.CodeOf(err)
		event.CountBy("pages", "result", telemetry.Outcome(code))
		event.End("page", code, err)
	}()

	event.Text("route", r.RouteKey)
	if err = h.origin.Check(&httpapi.Request{OriginVerify: header(r, "x-origin-verify")}); err != nil {
		return out, nil
	}
	var a answer
	if a, err = h.route(r, event); err == nil {
		out = h.encode(a, acceptsGzip(r.Headers["accept-encoding"]))
	}
	return out, nil
}

func (h *Handler) route(r request, event *telemetry.Event) (answer, error) {
	switch r.RouteKey {
	case "GET /s/{saleId}":
		id, status := shownID(r.PathParameters["saleId"])
		event.Text("saleId", id)
		return h.html(id, "", status)
	case "GET /g/{groupId}":
		id, status := shownID(r.PathParameters["groupId"])
		event.Text("groupId", id)
		return h.html("", id, status)
	case "GET /signin":
		return h.html("", "", http.StatusOK)
	case "GET /assets/{name}":
		return h.asset(r.PathParameters["name"]), nil
	}
	return answer{}, fmt.Errorf("no such route: %q", r.RouteKey)
}

// shownID returns the id that a page has, "" if that is none: the page itself tells the buyer
// that there is no such sale or group.
func shownID(id string) (shown string, status int) {
	if !sale.ValidID(id) {
		return "", http.StatusNotFound
	}
	return id, http.StatusOK
}

// html returns the page of a sale or of a group, "" for none.
func (h *Handler) html(saleID, groupID string, status int) (answer, error) {
	data := struct {
		SignIn
		SaleID, GroupID string
	}{h.signIn, saleID, groupID}
	var b bytes.Buffer
	if err := h.page.Execute(&b, data); err != nil {
		return answer{}, err
	}
	return answer{status: status, media: htmlMedia, cache: pageCache, text: b.Bytes()}, nil
}

// asset returns a file by its public name. While a deployment moves traffic, a page of one
// version may ask the other version for a file. That version cannot know the hash, so it
// leads to the plain name, under which each version answers its own text. Whatever hash
// somebody makes up, the answer is short, and caches keep every text that they can get.
func (h *Handler) asset(public string) answer {
	if f, ok := h.files[public]; ok {
		return answer{status: http.StatusOK, media: f.media, cache: briefCache, text: f.text, gzipped: f.gzipped}
	}
	name, hash := split(public)
	f, ok := h.files[name]
	switch {
	case ok && hash == f.hash:
		return answer{status: http.StatusOK, media: f.media, cache: assetCache, text: f.text, gzipped: f.gzipped}
	case ok && isHash.MatchString(hash):
		return answer{status: http.StatusFound, media: plainMedia, cache: briefCache, location: "/assets/" + name}
	}
	return answer{status: http.StatusNotFound, media: plainMedia, cache: briefCache, text: []byte("no such file\n")}
}

// encode makes API Gateway's answer. HTTP APIs do not compress, and take binary bodies in
// base64.
func (h *Handler) encode(a answer, zip bool) response {
	r := response{StatusCode: a.status, Headers: map[string]string{
		"Content-Type": a.media, "Cache-Control": a.cache, "Vary": "Accept-Encoding",
		"Content-Security-Policy": h.policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
	}}
	if a.location != "" {
		r.Headers["Location"] = a.location
	}
	if !zip || len(a.text) == 0 {
		r.Body = string(a.text)
		return r
	}
	if a.gzipped == nil {
		a.gzipped = compress(a.text, gzip.DefaultCompression)
	}
	r.Headers["Content-Encoding"] = "gzip"
	r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString(a.gzipped), true
	return r
}

// problem is the answer for an error, as the other functions give it.
func (h *Handler) problem(err error) response {
	p := httpapi.Problem(err, "")
	return h.encode(answer{status: p.StatusCode, media: p.Headers.ContentType, cache: p.Headers.CacheControl, text: []byte(p.Body)}, false)
}

// header returns a header; API Gateway writes names in lower case.
func header(r request, name string) httpapi.Header {
	value, given := r.Headers[name]
	return httpapi.Header{Value: value, Given: given}
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
