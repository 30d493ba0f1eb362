package issuer

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The endpoints of the code flow, and the only client that may use them.
const (
	AuthorizePath = "/_local/authorize"
	TokenPath     = "/_local/oauth2/token"
	// PageClient is the buyer's page. It is not the audience of access tokens, so that the
	// API does not accept an id token in their place. OperatorsPage is the operators'.
	PageClient    = "buyers-page"
	OperatorsPage = "operators-page"
)

// codeTTL is how long a code may be exchanged, sessionTTL how long tokens may be renewed.
const (
	codeTTL    = time.Minute
	sessionTTL = 24 * time.Hour
)

// grant is what a code or a refresh token stands for. Both are grants that the issuer has signed, so it
// remembers none, and a code may be exchanged again until it expires.
type grant struct {
	jwt.RegisteredClaims                           // the user, and until when
	Kind, Redirect, Scope, Nonce, Challenge string // Kind is code or session
	Groups                                  []string
}

func (i *Issuer) seal(kind string, g grant, ttl time.Duration) string {
	g.Kind, g.ExpiresAt = kind, jwt.NewNumericDate(time.Now().Add(ttl))
	text, _ := jwt.NewWithClaims(jwt.SigningMethodRS256, g).SignedString(i.key) // texts can be signed
	return text
}

func (i *Issuer) unseal(kind, text string) (g grant, ok bool) {
	_, err := jwt.ParseWithClaims(text, &g, func(*jwt.Token) (any, error) { return &i.key.PublicKey, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}))
	return g, err == nil && g.Kind == kind
}

//go:embed assets
var files embed.FS

// form is the sign-in page. The request's parameters are in its address, to which it is
// sent. Its style is that of the page which asks for the sign-in, and some more.
var form = template.Must(template.ParseFS(files, "assets/signin.html"))

// shown is what the sign-in page shows: what the person signs in for, the way back, and the roles
// to choose from.
type shown struct {
	Name, Image string
	Opens       int // seconds until it opens; 0 if it is open
	Back        string
	Groups      map[string]string
}

var (
	// asking is how a page says in its state for what it signs in.
	asking = regexp.MustCompile(`\.([sg])\.([\w-]{1,64})$`)
	// joint is what joins the name that the sales of a group share to the rest.
	joint = regexp.MustCompile(`(\s-|\s*[,，·:：–])\s*[^·]*$`)
)

func (i *Issuer) shownFor(ctx context.Context, state string) shown {
	s := shown{Back: "/", Groups: i.o.Groups}
	of := asking.FindStringSubmatch(state)
	if of == nil || i.o.Read == nil {
		return s
	}
	s.Back = "/" + of[1] + "/" + of[2]
	type sale struct {
		Name, Image  string
		OpensAt, Now time.Time
	}
	var answer struct {
		sale
		Sales []sale
	}
	if json.Unmarshal(i.o.Read(ctx, map[string]string{"s": "/sales/", "g": "/groups/"}[of[1]]+of[2]), &answer) != nil {
		return s
	}
	one := answer.sale
	if len(answer.Sales) > 0 {
		one = answer.Sales[0]
		one.Name = joint.ReplaceAllString(one.Name, "")
	}
	s.Name, s.Image, s.Opens = one.Name, one.Image, max(0, int(one.OpensAt.Sub(one.Now).Seconds()))
	return s
}

// authorization reads the parameters of an authorization request. The page may be sent to
// its own origin's callback only, so this is no open redirect.
func (i *Issuer) authorization(r *http.Request) (redirect string, g grant, problem string) {
	q := r.URL.Query()
	redirect = "http://" + r.Host + "/signin"
	g = grant{Redirect: redirect, Scope: q.Get("scope"), Nonce: q.Get("nonce"), Challenge: q.Get("code_challenge")}
	digest, err := base64.RawURLEncoding.DecodeString(g.Challenge)
	switch {
	case q.Get("client_id") != i.o.Client:
		problem = "client_id must be " + i.o.Client
	case q.Get("redirect_uri") != redirect:
		problem = "redirect_uri must be " + redirect
	case q.Get("response_type") != "code":
		problem = "response_type must be code"
	case q.Get("state") == "" || g.Nonce == "":
		problem = "state and nonce are needed"
	case q.Get("code_challenge_method") != "S256" || err != nil || len(digest) != sha256.Size:
		problem = "code_challenge must be a SHA-256 in base64url, and code_challenge_method S256"
	}
	return redirect, g, problem
}

func (i *Issuer) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	// With no-referrer a browser would send the form with the Origin "null".
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src "+strings.TrimSpace("'self' "+i.o.ImageOrigin)+
		"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	redirect, g, problem := i.authorization(r)
	if problem != "" {
		http.Error(w, problem, http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodGet {
		h.Set("Content-Type", "text/html; charset=utf-8")
		_ = form.Execute(w, i.shownFor(r.Context(), r.URL.Query().Get("state")))
		return
	}
	if g.Subject = strings.TrimSpace(r.PostFormValue("sub")); g.Subject == "" {
		http.Error(w, "sub is missing", http.StatusBadRequest)
		return
	}
	if group, ok := i.o.Groups[r.PostFormValue("role")]; ok {
		g.Groups = []string{group}
	}
	to := url.Values{"code": {i.seal("code", g, codeTTL)}, "state": {r.URL.Query().Get("state")}}
	http.Redirect(w, r, redirect+"?"+to.Encode(), http.StatusSeeOther)
}

func (i *Issuer) serveExchange(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	answer, failure := i.exchange(r)
	if failure != "" {
		w.WriteHeader(http.StatusBadRequest)
		answer = map[string]any{"error": failure}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// exchange returns the tokens of a code, or new ones for a refresh token, or OAuth's code of the error.
func (i *Issuer) exchange(r *http.Request) (answer map[string]any, failure string) {
	if r.PostFormValue("client_id") != i.o.Client {
		return nil, "invalid_client"
	}
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		return i.redeem(r)
	case "refresh_token":
		g, ok := i.unseal("session", r.PostFormValue("refresh_token"))
		if !ok {
			return nil, "invalid_grant"
		}
		return i.tokens(g)
	}
	return nil, "unsupported_grant_type"
}

func (i *Issuer) redeem(r *http.Request) (answer map[string]any, failure string) {
	g, ok := i.unseal("code", r.PostFormValue("code"))
	digest := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	challenge := base64.RawURLEncoding.EncodeToString(digest[:])
	if !ok || r.PostFormValue("redirect_uri") != g.Redirect ||
		subtle.ConstantTimeCompare([]byte(challenge), []byte(g.Challenge)) != 1 {
		return nil, "invalid_grant"
	}
	if answer, failure = i.tokens(g); failure == "" {
		answer["refresh_token"] = i.seal("session", g, sessionTTL)
	}
	return answer, failure
}

func (i *Issuer) tokens(g grant) (answer map[string]any, failure string) {
	access, err := i.Token(Claims{Subject: g.Subject, Scope: g.Scope, Groups: g.Groups, TTL: defaultTTL})
	if err != nil {
		return nil, "server_error"
	}
	id, err := i.sign(Claims{Subject: g.Subject, Audience: i.o.Client, TTL: defaultTTL}, jwt.MapClaims{"nonce": g.Nonce})
	if err != nil {
		return nil, "server_error"
	}
	return map[string]any{
		"access_token": access, "id_token": id, "token_type": "Bearer", "expires_in": int(defaultTTL / time.Second),
	}, ""
}
