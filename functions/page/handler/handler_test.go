package handler

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/page/assets"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/telemetry/telemetrytest"
	"flashsale/shared/webpage"
	"flashsale/shared/webpage/webpagetest"
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
		"the page": salePage(t, "moutai", "gzip"), "an unknown sale": salePage(t, "", "gzip"), "a file": asset(t, "page.js"), "no file": asset(t, "x"),
		"an error": httpapitest.Event(t, "page-sale.json", func(r *events.APIGatewayV2HTTPRequest) { r.RouteKey = "GET /" }),
	} {
		r, _ := f.get(t, request)
		want := map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' https://issuer.example; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer", "Vary": "Accept-Encoding",
		}
		if name == "the page" || name == "an unknown sale" {
			want["Vary"] += ", Accept-Language"
		}
		if strings.HasSuffix(name, "file") {
			want["Vary"] += ", Origin"
		}
		for header, value := range want {
			if r.Headers[header] != value {
				t.Errorf("%s: %s is %q, want %q", name, header, r.Headers[header], value)
			}
		}
	}
}

func TestAPageThatCannotBeMadeIsAnInternalError(t *testing.T) {
	source := fstest.MapFS{"page.html": {Data: []byte("{{.Nothing}}")}}
	f := newFunction(t)
	h, err := New(source, webpage.SignIn{}, Appearance{}, shelf{}, f.handler.log, clock.Wall)
	if err != nil {
		t.Fatal(err)
	}
	f.handler, f.Handler = h, lambda.NewHandler(h.Handle)
	r, text := f.get(t, salePage(t, "moutai", "gzip"))
	if r.StatusCode != 500 || !strings.Contains(text, `"code":"internal"`) || f.Logged(t, "outcome") != "internal" || f.Logged(t, "level") != "ERROR" {
		t.Errorf("%d %s", r.StatusCode, text)
	}
}

func TestTheRealPageIsSmallAndWhole(t *testing.T) {
	shown := goods{Name: "Feitian Moutai", About: strings.Repeat("53 % vol. ", 20), Image: "/moutai.jpg", HasPrice: true}
	webpagetest.Examine(t, assets.Files, data{SaleID: "moutai", goods: shown, Language: saidIn("th")}, 18<<10, "!flashsale.js", "!element.js", "drawrules.js", "draw.js", "draw-", "units.js", "units-")
	r, page := newFunction(t).get(t, salePage(t, "moutai", "br, gzip"))
	if !r.IsBase64Encoded || r.Headers["Cache-Control"] != "public, max-age=60" {
		t.Errorf("it is not compressed, or kept otherwise: %v", r.Headers)
	}
	for _, want := range []string{`<html lang="en" dir="ltr" `, `data-sale="moutai"`, `data-authorize="https://issuer.example/oauth2/authorize"`, `data-token="https://issuer.example/oauth2/token"`, `data-client="client-1"`, `data-scope="openid"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func group(id string) httpapitest.Change {
	return func(r *events.APIGatewayV2HTTPRequest) {
		r.RouteKey, r.PathParameters = "GET /g/{groupId}", map[string]string{"groupId": id}
	}
}

func TestEveryRequestLeavesALineWithoutPersons(t *testing.T) {
	none := func(*events.APIGatewayV2HTTPRequest) {}
	for _, tt := range []struct {
		name   string // a file of events/, or what is changed in page-sale.json
		change httpapitest.Change
		want   map[string]any
	}{
		{"page-group.json", none, map[string]any{"route": "GET /g/{groupId}", "groupId": "trail-runner"}},
		{"page-signin.json", none, map[string]any{"route": "GET /signin"}},
		{"a sale", none, map[string]any{"route": "GET /s/{saleId}", "saleId": "moutai"}},
		{"a malformed id", func(r *events.APIGatewayV2HTTPRequest) { r.PathParameters["saleId"] = "<b>" },
			map[string]any{"route": "GET /s/{saleId}", "saleId": ""}},
		{"a malformed id of a group", group("<b>"), map[string]any{"route": "GET /g/{groupId}", "groupId": ""}},
		{"the callback, whose query holds the code", func(r *events.APIGatewayV2HTTPRequest) {
			r.RouteKey, r.RawQueryString, r.QueryStringParameters = "GET /signin", "code=secret-code", map[string]string{"code": "secret-code"}
		}, map[string]any{"route": "GET /signin"}},
		{"an unknown route", func(r *events.APIGatewayV2HTTPRequest) { r.RouteKey = "GET /\n" },
			map[string]any{"route": "GET /\n", "outcome": "internal", "result": "internal", "level": "ERROR", "error": `no such route: "GET /\n"`}},
	} {
		f := newFunction(t)
		file := "page-sale.json"
		if strings.HasSuffix(tt.name, ".json") {
			file = tt.name
		}
		f.get(t, httpapitest.Event(t, file, telemetrytest.Confide, tt.change))
		f.IsLine(t, "", tt.want, nil)
	}
}
