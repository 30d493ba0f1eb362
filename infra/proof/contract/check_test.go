package contract

import (
	"encoding/json"
	"errors"
	"net/http"
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
	for name, one := range map[string]struct{ api, body string }{
		"Sale":           {Buyers, `{"saleId":"s","name":"n","opensAt":"2026-11-11T12:00:00.000Z","closesAt":"2026-11-11T13:00:00.000Z","now":"2026-11-11T12:00:00.000Z","state":"OPEN","remaining":1}`},
		"ConfirmedClaim": {Buyers, `{"claimId":"c","saleId":"s","state":"CONFIRMED","acceptedAt":"2026-11-11T12:00:00.000Z","orderId":"7"}`},
		"Order":          {Buyers, `{"orderId":"7","saleId":"s","claimId":"c","confirmedAt":"2026-11-11T12:00:00.000Z"}`},
		"Busy":           {Buyers, `{"type":"urn:flashsale:problem:busy","title":"Busy, please repeat the request","status":503,"code":"busy"}`},
		"Buyer":          {Operators, `{"saleId":"s","user":"u","state":"NONE","lines":[{"text":"t"}],"forBuyer":"no"}`},
		"Change":         {Operators, `{"id":"c","action":"pause","at":"2026-11-11T12:00:00.000Z","actor":"kim","verified":true}`},
		"ChangedSale":    {Operators, `{"saleId":"s","seeded":1,"shards":1,"applied":true,"changeId":"c","seen":"0.0.46d378e2"}`},
	} {
		open, err := openapi3.NewLoader().LoadFromData(read(t, one.api))
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
