package httpapi

import (
	"encoding/base64"
	"strings"
	"testing"

	"flashsale/shared/sale"
)

// Which text is the sub: TestOnlyTheClaimSubNamesTheCaller.
func TestTheUserIsTheVerifiedSubAndNothingElse(t *testing.T) {
	for _, tt := range []struct {
		name string
		sub  string
		want string
		code sale.Code
	}{
		{"a verified sub", "alice", "alice", ""},
		{"an empty sub", "", "", sale.Unauthorized},
		{"a sub with a control character", "alice\x00", "", sale.InvalidRequest},
		{"a sub that lost a character on its way", "alice\ufffd", "", sale.InvalidRequest},
	} {
		if got, err := User(&Request{Sub: tt.sub}); got != tt.want || sale.CodeOf(err) != tt.code {
			t.Errorf("%s: User = %q, %v; want %q and code %q", tt.name, got, err, tt.want, tt.code)
		}
	}
}

// Ids of sales and orders are those of their packages; infra/proof/contract asks each route for other ones.
func TestAPageOfARollIsTwoDigits(t *testing.T) {
	for page, want := range map[string]int{"7f": 0x7f, "": -1, "0": -1, "7F": -1, "0g": -1, "0000": -1, "-1": -1, "0x": -1} {
		r := &Request{}
		r.Path.Page = page
		if got, err := RollPage(r); (err == nil) != (want >= 0) || err == nil && int(got) != want || err != nil && sale.CodeOf(err) != sale.InvalidRequest {
			t.Errorf("RollPage(%q) = %d, %v", page, got, err)
		}
	}
}

func TestAnIdempotencyKeyIsQuotedOrBare(t *testing.T) {
	long := strings.Repeat("k", 64)
	for _, tt := range []struct {
		name, value, want string
		code              sale.Code
	}{
		{"bare", "order-1_A", "order-1_A", ""},
		{"quoted", `"order-1_A"`, "order-1_A", ""},
		{"64 characters and quotes", `"` + long + `"`, long, ""},
		{"empty", "", "", sale.InvalidRequest},
		{"one quote", `"`, "", sale.InvalidRequest},
		{"an open quote", `"order-1`, "", sale.InvalidRequest},
		{"two keys", "a, b", "", sale.InvalidRequest},
	} {
		got, err := IdempotencyKey(&Request{Headers: map[string]string{"idempotency-key": tt.value}})
		if got != tt.want || sale.CodeOf(err) != tt.code {
			t.Errorf("%s: %q: %q, %v; want %q and code %q", tt.name, tt.value, got, err, tt.want, tt.code)
		}
	}
	if got, err := IdempotencyKey(&Request{}); got != "" || err != nil {
		t.Errorf("without the header: %q, %v; want none and no error", got, err)
	}
}

func TestTheBodyIsAbsentOrAnEmptyJSONObject(t *testing.T) {
	const json = "application/json"
	spaces := func(n int) string { return "{" + strings.Repeat(" ", n-2) + "}" }
	for _, tt := range []struct {
		name, contentType, body string
		want                    sale.Code
	}{
		{"no body and no content type", "", "", ""},
		{"no body, declared as JSON", json, "", ""},
		{"no body, declared as a form, as k6 and curl do of an empty one", "application/x-www-form-urlencoded", "", ""},
		{"an empty object", json, "{}", ""},
		{"an empty object with white space", json, "\r\n {\t} \n", ""},
		{"a content type with a parameter", "application/json; charset=utf-8", "{}", ""},
		{"a content type in capitals", "Application/JSON", "{}", ""},
		{"an empty object without a content type", "", "{}", ""},
		{"1,024 bytes", json, spaces(1024), ""},
		{"1,025 bytes", json, spaces(1025), sale.BodyTooLarge},
		{"a megabyte of another type", "text/plain", strings.Repeat("x", 1<<20), sale.BodyTooLarge},
		{"text", "text/plain", "{}", sale.UnsupportedMediaType},
		{"JSON of another kind", "application/problem+json", "{}", sale.UnsupportedMediaType},
		{"a content type that is none", "json;;", "{}", sale.UnsupportedMediaType},
		{"an empty content type", " ", "{}", sale.UnsupportedMediaType},
		{"a field", json, `{"user":"mallory"}`, sale.InvalidRequest},
		{"null", json, "null", sale.InvalidRequest},
		{"white space only", json, "  ", sale.InvalidRequest},
		{"a no-break space", json, "{\u00a0}", sale.InvalidRequest},
	} {
		r := &Request{Body: tt.body}
		if tt.contentType != "" {
			r.Headers = map[string]string{"content-type": tt.contentType}
		}
		if err := EmptyBody(r); sale.CodeOf(err) != tt.want {
			t.Errorf("%s: EmptyBody = %v, want code %q", tt.name, err, tt.want)
		}
		r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(tt.body)), true
		if err := EmptyBody(r); sale.CodeOf(err) != tt.want {
			t.Errorf("%s: in base64: EmptyBody = %v, want code %q", tt.name, err, tt.want)
		}
	}
	if err := EmptyBody(&Request{Body: "no base64!", IsBase64Encoded: true}); sale.CodeOf(err) != sale.InvalidRequest {
		t.Errorf("a body that is not base64: %v, want invalid-request", err)
	}
	for _, text := range []string{strings.Repeat("A", 2<<20), strings.Repeat("\n", 4000)} {
		if err := EmptyBody(&Request{Body: text, IsBase64Encoded: true}); sale.CodeOf(err) != sale.BodyTooLarge {
			t.Errorf("%d bytes of base64: %v, want body-too-large before they are decoded", len(text), err)
		}
	}
}
