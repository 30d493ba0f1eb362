package issuer

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const verifier = "a-verifier-of-at-least-forty-three-characters-0123"

// signingIn are the parameters of a page that begins to sign in.
func signingIn() url.Values {
	digest := sha256.Sum256([]byte(verifier))
	return url.Values{
		"response_type": {"code"}, "client_id": {PageClient}, "redirect_uri": {"http://127.0.0.1:3000/signin"},
		"scope": {"openid"}, "state": {"s&1"}, "nonce": {"n-1"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(digest[:])}, "code_challenge_method": {"S256"},
	}
}

// exchanging are the parameters with which the page exchanges its code.
func exchanging(code string) url.Values {
	return url.Values{
		"grant_type": {"authorization_code"}, "client_id": {PageClient}, "redirect_uri": {"http://127.0.0.1:3000/signin"},
		"code": {code}, "code_verifier": {verifier},
	}
}

func send(i *Issuer, method, target string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:3000"+target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	i.Handler().ServeHTTP(w, r)
	return w
}

// signIn returns the code of a person who signs in.
func signIn(t *testing.T, i *Issuer, name string) string {
	t.Helper()
	w := send(i, http.MethodPost, AuthorizePath+"?"+signingIn().Encode(), url.Values{"sub": {name}})
	to, err := url.Parse(w.Header().Get("Location"))
	if err != nil || w.Code != http.StatusSeeOther || to.Host != "127.0.0.1:3000" || to.Path != "/signin" || to.Query().Get("state") != "s&1" {
		t.Fatalf("%d to %v, %v; want the callback with the state", w.Code, to, err)
	}
	return to.Query().Get("code")
}

func TestAPersonSignsInByTheCodeFlow(t *testing.T) {
	i := open(t, "")
	w := send(i, http.MethodGet, AuthorizePath+"?"+signingIn().Encode(), nil)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `name="sub"`) || !strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Fatalf("%d %v %s, want the form", w.Code, w.Header(), w.Body)
	}
	w = send(i, http.MethodPost, TokenPath, exchanging(signIn(t, i, " alice ")))
	var got struct {
		Access    string  `json:"access_token"`
		ID        string  `json:"id_token"`
		Type      string  `json:"token_type"`
		ExpiresIn float64 `json:"expires_in"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	if got.Type != "Bearer" || got.ExpiresIn != 3600 {
		t.Errorf("a %s token for %v s", got.Type, got.ExpiresIn)
	}
	now := float64(testTime.Unix())
	for token, want := range map[string]map[string]any{
		got.Access: {"aud": "flashsale", "scope": "openid"},
		got.ID:     {"aud": PageClient, "nonce": "n-1"},
	} {
		want["iss"], want["sub"], want["iat"], want["nbf"], want["exp"] = testURL, "alice", now, now, now+3600
		if diff := cmp.Diff(want, claimsIn(t, i, token)); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	}
}

func TestASignInIsRenewedWithoutThePerson(t *testing.T) {
	now := testTime
	i := open(t, "")
	i.now = func() time.Time { return now }
	var got struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Error   string `json:"error"`
	}
	ask := func(form url.Values) string {
		t.Helper()
		got.Error = ""
		if err := json.Unmarshal(send(i, http.MethodPost, TokenPath, form).Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		return got.Error
	}
	ask(exchanging(signIn(t, i, "alice")))
	renewing := url.Values{"grant_type": {"refresh_token"}, "client_id": {PageClient}, "refresh_token": {got.Refresh}}
	for _, later := range []time.Duration{time.Hour, sessionTTL - time.Second} {
		now = testTime.Add(later)
		if failure := ask(renewing); failure != "" || claimsIn(t, i, got.Access)["sub"] != "alice" || claimsIn(t, i, got.Access)["exp"] != float64(now.Unix()+3600) {
			t.Errorf("after %v: %q, %v", later, failure, claimsIn(t, i, got.Access))
		}
	}
	now = testTime.Add(sessionTTL)
	if failure := ask(renewing); failure != "invalid_grant" {
		t.Errorf("a day later: %q", failure)
	}
	renewing.Set("refresh_token", "another")
	if failure := ask(renewing); failure != "invalid_grant" {
		t.Errorf("a made-up token: %q", failure)
	}
}

func TestTheSignInShowsWhatItIsForAndTheWayBack(t *testing.T) {
	i := open(t, "")
	const moutai = `{"name":"Feitian <Moutai>","image":"https://images.example/a.jpg","opensAt":"2026-11-11T12:01:30.000Z","now":"2026-11-11T12:00:00.000Z"}`
	i.read = func(_ context.Context, path string) []byte {
		return []byte(map[string]string{"/sales/moutai": moutai, "/groups/trail-runner": `{"sales":[{"name":"Trail Runner · size 42","opensAt":"2026-11-11T12:00:00.000Z","now":"2026-11-11T12:00:00.000Z"}]}`}[path])
	}
	for state, want := range map[string][]string{
		"x.s.moutai":           {">Feitian &lt;Moutai&gt;<", `<img src="https://images.example/a.jpg"`, `data-left="90"`, `href="/s/moutai"`},
		"x.g.trail-runner":     {">Trail Runner<", `href="/g/trail-runner"`},
		"x.s.nowhere":          {`href="/s/nowhere"`},
		"x.s.//evil.example":   {`href="/"`},
		"x.s.\"><script>alert": {`href="/"`},
	} {
		q := signingIn()
		q.Set("state", state)
		page := send(i, http.MethodGet, AuthorizePath+"?"+q.Encode(), nil).Body.String()
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("%s: the page lacks %s:\n%s", state, text, page)
			}
		}
	}
	for name, media := range map[string]string{"signin.css": "text/css", "signin.js": "text/javascript"} {
		if w := send(i, http.MethodGet, "/_local/"+name, nil); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), media) {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
	}
}

func TestSigningInGoesNowhereButToThePagesOwnCallback(t *testing.T) {
	i := open(t, "")
	for name, change := range map[string]func(url.Values){
		"another host":          func(q url.Values) { q.Set("redirect_uri", "http://evil.example/signin") },
		"another path":          func(q url.Values) { q.Set("redirect_uri", "http://127.0.0.1:3000/signin/../s/x") },
		"a host that looks so":  func(q url.Values) { q.Set("redirect_uri", "http://127.0.0.1:3000@evil.example/signin") },
		"no callback":           func(q url.Values) { q.Del("redirect_uri") },
		"another client":        func(q url.Values) { q.Set("client_id", "flashsale") },
		"the implicit flow":     func(q url.Values) { q.Set("response_type", "token") },
		"no state":              func(q url.Values) { q.Del("state") },
		"no nonce":              func(q url.Values) { q.Del("nonce") },
		"no challenge":          func(q url.Values) { q.Del("code_challenge") },
		"a plain challenge":     func(q url.Values) { q.Set("code_challenge_method", "plain") },
		"a challenge too short": func(q url.Values) { q.Set("code_challenge", "AAAA") },
	} {
		q := signingIn()
		change(q)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			w := send(i, method, AuthorizePath+"?"+q.Encode(), url.Values{"sub": {"alice"}})
			if w.Code != http.StatusBadRequest || w.Header().Get("Location") != "" || len(i.grants.all) != 0 {
				t.Errorf("%s: %s is answered %d to %q", name, method, w.Code, w.Header().Get("Location"))
			}
		}
	}
	if w := send(i, http.MethodPost, AuthorizePath+"?"+signingIn().Encode(), url.Values{"sub": {" "}}); w.Code != http.StatusBadRequest {
		t.Errorf("nobody signs in: %d", w.Code)
	}
}

func TestACodeIsForOneExchangeByWhoAskedForIt(t *testing.T) {
	now := testTime
	i := open(t, "")
	i.now = func() time.Time { return now }
	for name, c := range map[string]struct {
		change func(url.Values)
		after  time.Duration
		want   string
	}{
		"the right one":         {func(url.Values) {}, codeTTL - 1, ""},
		"too late":              {func(url.Values) {}, codeTTL, "invalid_grant"},
		"another verifier":      {func(f url.Values) { f.Set("code_verifier", verifier+"x") }, 0, "invalid_grant"},
		"no verifier":           {func(f url.Values) { f.Del("code_verifier") }, 0, "invalid_grant"},
		"another code":          {func(f url.Values) { f.Set("code", "x") }, 0, "invalid_grant"},
		"another callback":      {func(f url.Values) { f.Set("redirect_uri", "http://localhost:3000/signin") }, 0, "invalid_grant"},
		"another client":        {func(f url.Values) { f.Set("client_id", "x") }, 0, "invalid_client"},
		"another kind of grant": {func(f url.Values) { f.Set("grant_type", "password") }, 0, "unsupported_grant_type"},
	} {
		now = testTime
		code := signIn(t, i, "alice")
		now = testTime.Add(c.after)
		form := exchanging(code)
		c.change(form)
		w := send(i, http.MethodPost, TokenPath, form)
		var got struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Error != c.want || (w.Code == http.StatusOK) != (c.want == "") {
			t.Errorf("%s: %d %s, want %q", name, w.Code, w.Body, c.want)
		}
	}
	// Even a failed exchange uses a code up.
	for _, verifier := range []string{"x", verifier} {
		code := signIn(t, i, "alice")
		form := exchanging(code)
		form.Set("code_verifier", verifier)
		send(i, http.MethodPost, TokenPath, form)
		if w := send(i, http.MethodPost, TokenPath, exchanging(code)); w.Code != http.StatusBadRequest {
			t.Errorf("after an exchange with the verifier %q a code is exchanged again: %d", verifier, w.Code)
		}
	}
}
