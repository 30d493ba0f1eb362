package contract

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func accepted() Answer {
	return Answer{
		Status: http.StatusAccepted,
		Header: http.Header{
			"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}, "Location": {"/sales/moutai/orders/me"},
			"Retry-After": {"1"}, "Flashsale-Version": {"0.6.0"}, "Apigw-Requestid": {"WkX2mhT8FiAEMOw="}, "Date": {"Wed, 11 Nov 2026 12:00:00 GMT"},
		},
		Body: []byte(`{"claimId":"C1","saleId":"moutai","state":"PENDING","acceptedAt":"2026-11-11T12:00:00.123Z"}`),
	}
}

func soldOut() Answer {
	return Answer{
		Status: http.StatusConflict,
		Header: http.Header{"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"}, "Flashsale-Version": {"0.6.0"}},
		Body: []byte(`{"type":"urn:flashsale:problem:sold-out","title":"Sold out","status":409,"code":"sold-out",` +
			`"detail":"every unit has been sold","order":"/sales/moutai/orders/me"}`),
	}
}

func (a Answer) with(name, value string) Answer {
	a.Header = a.Header.Clone()
	a.Header.Set(name, value)
	return a
}

func (a Answer) without(name string) Answer {
	a.Header = a.Header.Clone()
	a.Header.Del(name)
	return a
}

func (a Answer) as(status int) Answer {
	a.Status = status
	return a
}

func (a Answer) saying(old, text string) Answer {
	a.Body = []byte(strings.Replace(string(a.Body), old, text, 1))
	return a
}

func TestAnAnswerOutsideTheContractIsNoticed(t *testing.T) {
	c := opened(t, Buyers)
	orders := &url.URL{Path: "/sales/moutai/orders"}
	for _, good := range []Answer{accepted(), soldOut()} {
		if _, err := c.Check("POST", orders, good); err != nil {
			t.Errorf("a good answer: %v", err)
		}
	}
	busy := soldOut().as(503).with("Retry-After", "1").saying("409", "503").saying(`"Sold out"`, `"Busy, please repeat the request"`).
		saying("sold-out", "busy").saying("sold-out", "busy")
	if got, err := c.Check("POST", orders, busy); err != nil || got.Schema != "Busy" {
		t.Errorf("a good answer: %v %v", got, err)
	}
	for name, a := range map[string]Answer{
		"another status":                     accepted().as(200),
		"a status that is nowhere":           accepted().as(418),
		"a status of a different code":       soldOut().as(503),
		"a redirect":                         accepted().as(308),
		"a field more":                       accepted().saying("{", `{"shard":3,`),
		"a field less":                       accepted().saying(`,"state":"PENDING"`, ""),
		"another state":                      accepted().saying("PENDING", "CONFIRMED"),
		"a number for a text":                accepted().saying(`"C1"`, "1"),
		"a time without milliseconds":        accepted().saying(".123Z", "Z"),
		"a time of another zone":             accepted().saying(".123Z", ".123+08:00"),
		"no JSON":                            accepted().saying("}", ""),
		"two documents":                      accepted().saying("}", "}{}"),
		"no body":                            {Status: 202, Header: accepted().Header},
		"another content type":               accepted().with("Content-Type", "text/html"),
		"the content type of a refusal":      accepted().with("Content-Type", "application/problem+json"),
		"a refusal without its content type": soldOut().with("Content-Type", "application/json"),
		"no Location":                        accepted().without("Location"),
		"a Location elsewhere":               accepted().with("Location", "https://evil.example/"),
		"no Retry-After":                     accepted().without("Retry-After"),
		"a Retry-After of nothing":           accepted().with("Retry-After", "0"),
		"a Retry-After in words":             accepted().with("Retry-After", "soon"),
		"a storable answer":                  accepted().with("Cache-Control", "max-age=60"),
		"a storable refusal":                 soldOut().without("Cache-Control"),
		"an answer of no release":            accepted().without("Flashsale-Version"),
		"a refusal of no release":            soldOut().without("Flashsale-Version"),
		"a version that is none":             accepted().with("Flashsale-Version", "v1"),
		"a header that nobody described":     accepted().with("X-Powered-By", "flashsale"),
		"an unknown code":                    soldOut().saying(`"code":"sold-out"`, `"code":"gone"`),
		"a type of another code":             soldOut().saying("problem:sold-out", "problem:busy"),
		"a detail that is missing":           soldOut().saying(`"detail":"every unit has been sold",`, ""),
		"a claim where there is none":        soldOut().saying(`"order"`, `"claim":{},"order"`),
		"busy without Retry-After":           busy.without("Retry-After"),
	} {
		if got, err := c.Check("POST", orders, a); err == nil {
			t.Errorf("%s passes as %v", name, got)
		}
	}
}

func TestTheDocumentsAcceptWhatALaterReleaseAddsAndTheChecksDoNot(t *testing.T) {
	const changed = `"saleId":"s","seeded":1,"shards":1,"applied":true,"changeId":"c"`
	for name, one := range map[string]struct{ api, body string }{
		"Sale":           {Buyers, `{"saleId":"s","name":"n","opensAt":"2026-11-11T12:00:00.000Z","closesAt":"2026-11-11T13:00:00.000Z","now":"2026-11-11T12:00:00.000Z","state":"OPEN","remaining":1}`},
		"ConfirmedClaim": {Buyers, `{"claimId":"c","saleId":"s","state":"CONFIRMED","acceptedAt":"2026-11-11T12:00:00.000Z","orderId":"7"}`},
		"Order":          {Buyers, `{"orderId":"7","saleId":"s","claimId":"c","confirmedAt":"2026-11-11T12:00:00.000Z"}`},
		"Busy":           {Buyers, `{"type":"urn:flashsale:problem:busy","title":"Busy, please repeat the request","status":503,"code":"busy"}`},
		"Buyer":          {Operators, `{"saleId":"s","user":"u","state":"NONE","lines":[{"text":"t"}],"forBuyer":"no"}`},
		"Change":         {Operators, `{"id":"c","action":"pause","at":"2026-11-11T12:00:00.000Z","actor":"kim","verified":true}`},
		"AddedUnits":     {Operators, `{` + changed + `}`},
		"DescribedSale":  {Operators, `{` + changed + `,"name":"n"}`},
	} {
		open, err := load(read(t, one.api))
		if err != nil {
			t.Fatal(err)
		}
		for _, addition := range []string{`"added":true`, `"state":"ADDED"`} {
			var value map[string]any
			if err := json.Unmarshal([]byte(one.body), &value); err != nil {
				t.Fatal(err)
			}
			check := func(doc *openapi3.T) error {
				return doc.Components.Schemas[name].Value.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.VisitAsResponse())
			}
			if err := errors.Join(check(open), check(opened(t, one.api).doc)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := json.Unmarshal([]byte("{"+addition+"}"), &value); err != nil {
				t.Fatal(err)
			}
			if err := check(open); err != nil {
				t.Errorf("a client would refuse %s with %s: %v", name, addition, err)
			}
			if err := check(opened(t, one.api).doc); err == nil {
				t.Errorf("the checks accept %s with %s", name, addition)
			}
		}
	}
}

func TestARequestIsFoundAsAPIGatewayFindsIt(t *testing.T) {
	c := opened(t, Buyers)
	for _, tt := range []struct{ method, path, want string }{
		{"POST", "/sales/moutai/orders", "purchase"},
		{"POST", "/sales/a%2Fb/orders", "purchase"},
		{"GET", "/sales/moutai/orders/me", "claim"},
		{"GET", "/sales/moutai", "sale"},
		{"GET", "/sales/%6Doutai", "sale"},
		{"GET", "/orders/1", "order"},
		{"GET", "/sales/moutai/", elsewhere},
		{"GET", "/sales//orders/me", elsewhere},
		{"GET", "/sales/moutai/orders", elsewhere},
		{"HEAD", "/sales/moutai", elsewhere},
		{"PUT", "/sales/moutai/orders", elsewhere},
		{"GET", "/Sales/moutai", elsewhere},
	} {
		u, err := url.Parse("http://api" + tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.find(tt.method, u).Operation.OperationID; got != tt.want {
			t.Errorf("%s %s is %s, want %s", tt.method, tt.path, got, tt.want)
		}
	}
}

func TestTheTransportChecksWhatItCoversAndPassesItOn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/sales/moutai/orders" {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = io.WriteString(w, `{"message":"Too Many Requests"}`)
	}))
	defer server.Close()
	var met []string
	var broken []error
	client := &http.Client{Transport: &Transport{
		Contract: opened(t, Buyers), Base: http.DefaultTransport,
		Covers: func(r *http.Request) bool { return !strings.HasPrefix(r.URL.Path, "/_local/") },
		Met:    func(o Outcome) { met = append(met, o.String()) },
		Broken: func(err error) { broken = append(broken, err) },
	}}
	for _, call := range [][2]string{{"POST", "/sales/moutai/orders"}, {"GET", "/sales/moutai"}, {"GET", "/_local/health"}} {
		r, err := http.NewRequestWithContext(t.Context(), call[0], server.URL+call[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || string(text) != `{"message":"Too Many Requests"}` {
			t.Errorf("%s arrives as %q (%v)", call[1], text, err)
		}
	}
	if len(met) != 1 || met[0] != "purchase 429 GatewayAnswer" {
		t.Errorf("met %q", met)
	}
	if len(broken) != 1 || !strings.Contains(broken[0].Error(), "/sales/moutai ") {
		t.Errorf("broken %v", broken)
	}
	server.Close()
	if response, err := client.Get(server.URL); err == nil {
		_ = response.Body.Close()
		t.Error("no answer passes for one")
	} else if urlErr := (*url.Error)(nil); !errors.As(err, &urlErr) || len(broken) != 1 {
		t.Errorf("no answer: %v, broken %v", err, broken)
	}
}

func TestADocumentThatCannotJudgeIsRefused(t *testing.T) {
	whole := string(read(t, Buyers))
	for name, text := range map[string]string{
		"no YAML":                    "{",
		"an operation without id":    strings.Replace(whole, "operationId: purchase", "summary: x", 1),
		"an operation for anybody?":  strings.Replace(whole, "security: []", "deprecated: false", 1),
		"nothing about elsewhere":    strings.Replace(whole, "x-elsewhere:", "x-other:", 1),
		"an unknown response":        strings.Replace(whole, `"404": NoSuchRoute`, `"404": Nowhere`, 1),
		"another document's part":    strings.Replace(whole, `"#/components/responses/TooSlow"`, `"operate.yaml#/components/responses/TooSlow"`, 1),
		"a document that is nowhere": strings.Replace(whole, `"#/components/responses/TooSlow"`, `"https://example.com/x.yaml#/components/responses/TooSlow"`, 1),
	} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := Open("nothing.yaml"); err == nil {
		t.Error("a document that does not exist is accepted")
	}
}
