package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/sale"
)

// looked is what of a request the package looks at.
type looked struct {
	Route, Body, Key, Content, Origin string
	Path                              map[string]string
	Base64                            bool
	User                              string
	Code                              sale.Code
}

func look(r Request) looked {
	l := looked{Route: r.RouteKey, Body: r.Body, Path: r.PathParameters, Base64: r.IsBase64Encoded}
	l.Key, _ = header(&r, idempotencyKey)
	l.Content, _ = header(&r, contentType)
	l.Origin, _ = header(&r, originVerify)
	user, err := User(&r)
	l.User, l.Code = user, sale.CodeOf(err)
	return l
}

func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, pattern := range []string{"purchase*.json", "query*.json"} {
		names, err := filepath.Glob(filepath.Join("..", "..", "events", pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d events, %v", pattern, len(names), err)
		}
		for _, name := range names {
			if all[name], err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

func TestDecodeSeesInARealEventWhatTheStandardLibrarySees(t *testing.T) {
	for name, text := range fixtures(t) {
		var whole Request
		if err := json.Unmarshal(text, &whole); err != nil {
			t.Fatal(err)
		}
		got, err := Decode(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(look(whole), look(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOnlyTheClaimSubNamesTheCaller(t *testing.T) {
	for claims, want := range map[string]string{
		`{"sub":"alice","Sub":"mallory","SUB":"mallory"}`: "alice",
		`{"SUB":"mallory","sub":"alice"}`:                 "alice",
		`{"s\u0075b":"alice"}`:                            "alice",
		`{"Sub":"mallory"}`:                               "",
		`{"other":{"sub":"mallory"}}`:                     "",
		`{"sub":null}`:                                    "",
		`null`:                                            "",
	} {
		r, err := Decode([]byte(`{"sub":"mallory","headers":{"sub":"mallory"},"requestContext":{"sub":"mallory","authorizer":{"jwt":{"claims":` + claims + `}}}}`))
		if err != nil {
			t.Errorf("%s: %v", claims, err)
		}
		if got, _ := User(&r); got != want {
			t.Errorf("%s: the caller is %q, want %q", claims, got, want)
		}
	}
}

func TestHeadersAreFoundWhateverTheirCase(t *testing.T) {
	r, err := Decode([]byte(`{"headers":{"Content-Type":"text/plain","IDEMPOTENCY-KEY":"k1","X-Origin-Verify":"s1","x-other":"y"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := look(r); got.Content != "text/plain" || got.Key != "k1" || got.Origin != "s1" {
		t.Errorf("content type %q, key %q, origin %q", got.Content, got.Key, got.Origin)
	}
}

func TestWhatIsNoEventFailsTheInvocation(t *testing.T) {
	serve := Serve(func(context.Context, Request) (Response, error) {
		t.Error("the function was called")
		return Response{}, nil
	})
	for _, text := range []string{``, `[]`, `{"body":7}`, `{"headers":{"content-type":7}}`, `{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":7}}}}}`, `{} {}`} {
		if _, err := serve.Invoke(t.Context(), []byte(text)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestAnAnswerGoesOutAsAPIGatewayReadsIt(t *testing.T) {
	failure := errors.New("broken")
	for _, want := range []error{nil, failure} {
		out, err := Serve(func(context.Context, Request) (Response, error) {
			return Response{StatusCode: 202, Headers: Headers{ContentType: "application/json", RetryAfter: "2"}, Body: `{"a":"<茅台>"}`}, want
		}).Invoke(t.Context(), []byte(`{}`))
		if !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
		if want != nil {
			continue
		}
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{
			"statusCode": 202.0, "headers": map[string]any{"Content-Type": "application/json", "Retry-After": "2"}, "body": `{"a":"<茅台>"}`,
		}, got); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range fixtures(f) {
		f.Add(text)
	}
	f.Add([]byte(`{"headers":{"content-type":"\ud800"},"pathParameters":{"saleId":"a","saleId":"b"},"isBase64Encoded":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Decode(text)
		if err != nil {
			return
		}
		if _, ok := r.Headers["authorization"]; ok || len(r.Headers) > 3 {
			t.Errorf("headers that nobody asked for: %v", r.Headers)
		}
	})
}
