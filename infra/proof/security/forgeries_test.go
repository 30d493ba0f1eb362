package security

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// forgery is a request without a valid token.
type forgery struct {
	name, query, body string
	header            []pair
}

// lure is a server with the attacker's key set, which must never get a request.
type lure struct{ visits atomic.Int64 }

// forgeries are tokens made with everything but the issuer's private key, and the
// issuer's tokens for another API or another time.
func (s *system) forgeries(t *testing.T) ([]forgery, *lure) {
	t.Helper()
	mallory, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	own := jwkOf(&mallory.PublicKey, s.kid)
	l := &lure{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		l.visits.Add(1)
		_ = json.NewEncoder(w).Encode(fields{"keys": []any{own}})
	}))
	t.Cleanup(server.Close)

	var all []forgery
	add := func(name, token string) {
		all = append(all, forgery{name: name, header: []pair{bearer(s.remember(token))}})
	}
	good, c, h := s.token("alice"), s.claims("alice"), s.header()
	parts := strings.Split(good, ".")
	// by signs with mallory's key under any header.
	by := func(change fields) string {
		return s.forge(jwt.SigningMethodRS256, mallory, h.with(change).text(), c.text())
	}

	all = append(all, s.withoutToken(good, by(nil))...)
	add("that is three letters", "a.b.c")
	add("without a signature", parts[0]+"."+parts[1]+".")
	add("of two parts", parts[0]+"."+parts[1])
	add("of four parts", good+".x")
	add("of five parts, as if encrypted", strings.Join(parts, ".")+".x.y")
	add("with an altered signature", parts[0]+"."+parts[1]+"."+flipped(parts[2]))
	add("with another user under the signature", parts[0]+"."+segment(s.claims("victim").text())+"."+parts[2])
	add("with a space in it", good[:40]+" "+good[40:])
	add("followed by another", good+","+good)
	add("in padded base64", parts[0]+"."+parts[1]+"=."+parts[2])
	add("whose claims are no object", s.forge(jwt.SigningMethodRS256, s.key, h.text(), `["alice"]`))
	add("whose claims are no JSON", s.forge(jwt.SigningMethodRS256, s.key, h.text(), `{"sub":`))

	add("signed by another key under the issuer's key id", by(nil))
	add("of an unknown key id", by(fields{"kid": "another"}))
	add("of an unknown key id, signed by the issuer", s.forge(jwt.SigningMethodRS256, s.key, h.with(fields{"kid": "another"}).text(), c.text()))
	add("without a key id", by(fields{"kid": nil}))
	add("without a key id, signed by the issuer", s.forge(jwt.SigningMethodRS256, s.key, h.with(fields{"kid": nil}).text(), c.text()))
	add("whose key id is a file", s.forge(jwt.SigningMethodHS256, []byte{}, h.with(fields{"alg": "HS256", "kid": "../../../../dev/null"}).text(), c.text()))
	add("whose key id is a query", by(fields{"kid": "' UNION SELECT 'key' --"}))
	add("whose key id is a number", by(fields{"kid": 1}))
	add("whose key id is a list", by(fields{"kid": []string{s.kid}}))
	add("that brings its key", by(fields{"jwk": own}))
	add("that brings its key and names no other", by(fields{"jwk": own, "kid": nil}))
	add("that brings its certificate", by(fields{"x5c": certificate(t, mallory), "kid": nil}))
	for _, name := range []string{"jku", "x5u", "jwks_uri", "iss"} {
		add("that says in "+name+" where its key is", by(fields{name: server.URL + "/jwks.json"}))
		add("that says in "+name+" where its key is and names no other", by(fields{name: server.URL + "/jwks.json", "kid": nil}))
	}

	for _, alg := range []string{"none", "None", "NONE", "nOnE", "", "RS256 "} {
		unsigned := segment(h.with(fields{"alg": alg}).text()) + "." + parts[1] + "."
		add("of the algorithm "+quoted(alg)+" without a signature", unsigned)
		add("of the algorithm "+quoted(alg)+" with the good one's signature", unsigned+parts[2])
	}
	add("without an algorithm", segment(h.with(fields{"alg": nil}).text())+"."+parts[1]+".")
	add("whose algorithm is doubled, the last being none", segment(`{"alg":"RS256","kid":"`+s.kid+`","alg":"none"}`)+"."+parts[1]+".")
	for name, secret := range s.publicSecrets(t) {
		for _, method := range []*jwt.SigningMethodHMAC{jwt.SigningMethodHS256, jwt.SigningMethodHS384, jwt.SigningMethodHS512} {
			add("of "+method.Alg()+" whose secret is "+name, s.forge(method, secret, h.with(fields{"alg": method.Alg()}).text(), c.text()))
		}
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for method, key := range map[jwt.SigningMethod]any{
		jwt.SigningMethodES256: curve, jwt.SigningMethodEdDSA: edwards,
		jwt.SigningMethodRS384: s.key, jwt.SigningMethodRS512: s.key, jwt.SigningMethodPS256: s.key,
	} {
		add("of "+method.Alg(), s.forge(method, key, h.with(fields{"alg": method.Alg()}).text(), c.text()))
	}
	for name, change := range s.wrongClaims() {
		add(name, s.signed(c.with(change)))
	}
	return all, l
}

// wrongClaims are the issuer's own tokens for another API or another time.
func (s *system) wrongClaims() map[string]fields {
	now := time.Now().Unix()
	return map[string]fields{
		"of another issuer":                     {"iss": "https://evil.example"},
		"of an issuer whose name begins alike":  {"iss": s.issuer() + ".evil.example"},
		"of the issuer with a slash":            {"iss": s.issuer() + "/"},
		"of the issuer in capitals":             {"iss": strings.ToUpper(s.issuer())},
		"of several issuers":                    {"iss": []string{s.issuer()}},
		"without an issuer":                     {"iss": nil},
		"for another audience":                  {"aud": "another"},
		"for an audience whose name begins so":  {"aud": audience + "-2"},
		"for an empty audience":                 {"aud": ""},
		"for no audience in a list":             {"aud": []string{}},
		"for an audience that is an object":     {"aud": fields{audience: true}},
		"for an audience that is null":          {"aud": json.RawMessage("null")},
		"without an audience":                   {"aud": nil},
		"for another client":                    {"aud": nil, "client_id": "another"},
		"for another audience, but our client":  {"aud": "another", "client_id": audience},
		"for our authorized party only":         {"aud": nil, "azp": audience},
		"that expired a second ago":             {"exp": now - 1},
		"that expired in 1970":                  {"exp": 0},
		"that expires before time":              {"exp": -1},
		"that never expires":                    {"exp": nil},
		"whose expiry is text":                  {"exp": "4102444800"},
		"whose expiry is null":                  {"exp": json.RawMessage("null")},
		"that is not yet valid":                 {"nbf": now + 600},
		"that was issued in the future":         {"iat": now + 600},
		"whose first instant is text":           {"nbf": "0"},
		"whose expiry is too large to be a day": {"exp": json.RawMessage("1e400")},
	}
}

// withoutToken are requests whose only token is in the wrong place.
func (s *system) withoutToken(good, forged string) []forgery {
	return []forgery{
		{name: "that is missing"},
		{name: "that is empty", header: []pair{{"Authorization", ""}}},
		{name: "that is only a scheme", header: []pair{{"Authorization", "Bearer"}}},
		{name: "that is a scheme and a space", header: []pair{{"Authorization", "Bearer "}}},
		{name: "that is a name and a password", header: []pair{{"Authorization", "Basic YWxpY2U6c2VjcmV0"}}},
		{name: "of another scheme", header: []pair{{"Authorization", "DPoP " + good}}},
		{name: "of two schemes", header: []pair{{"Authorization", "Bearer Bearer " + good}}},
		{name: "sent twice", header: []pair{bearer(good), bearer(good)}},
		{name: "beside a forged one", header: []pair{bearer(good), bearer(forged)}},
		{name: "after a forged one", header: []pair{bearer(forged), bearer(good)}},
		{name: "in a list with a forged one", header: []pair{{"Authorization", "Bearer " + good + ", Bearer " + forged}}},
		{name: "in the query as access_token", query: "?access_token=" + good},
		{name: "in the query as Authorization", query: "?Authorization=Bearer%20" + good},
		{name: "in a cookie", header: []pair{{"Cookie", "Authorization=Bearer " + good + "; access_token=" + good}}},
		{name: "in the body", body: "access_token=" + good, header: []pair{{"Content-Type", "application/x-www-form-urlencoded"}}},
		{name: "in X-Authorization", header: []pair{{"X-Authorization", "Bearer " + good}}},
		{name: "in Proxy-Authorization", header: []pair{{"Proxy-Authorization", "Bearer " + good}}},
		{name: "in X-Amzn-Remapped-Authorization", header: []pair{{"X-Amzn-Remapped-Authorization", "Bearer " + good}}},
		{name: "that others would set for a caller", header: []pair{
			{"X-User-Id", "alice"}, {"X-Forwarded-User", "alice"}, {"X-Amzn-Oidc-Identity", "alice"},
			{"X-Amzn-Oidc-Data", good}, {"X-Apigateway-Event", `{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"alice"}}}}}`},
		}},
	}
}

// publicSecrets are the forms of the public key that a careless verifier could use as a
// shared secret, and two that need no key at all.
func (s *system) publicSecrets(t *testing.T) map[string][]byte {
	t.Helper()
	pkix, err := x509.MarshalPKIXPublicKey(&s.key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	pkcs1 := x509.MarshalPKCS1PublicKey(&s.key.PublicKey)
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})
	modulus := s.key.N.Bytes()
	return map[string][]byte{
		"the public key in PEM":                    asPEM,
		"the public key in PEM, without a newline": []byte(strings.TrimSpace(string(asPEM))),
		"the public key in PKCS #1 PEM":            pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: pkcs1}),
		"the public key in DER":                    pkix,
		"the public key as a JWK":                  []byte(s.jwk),
		"the public key set":                       []byte(`{"keys":[` + s.jwk + `]}`),
		"the modulus":                              modulus,
		"the modulus in base64":                    []byte(base64.RawURLEncoding.EncodeToString(modulus)),
		"the key's id":                             []byte(s.kid),
		"empty":                                    {},
	}
}

func jwkOf(key *rsa.PublicKey, kid string) fields {
	return fields{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "e": "AQAB",
		"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
	}
}

// certificate is a self-signed certificate chain.
func certificate(t *testing.T, key *rsa.PrivateKey) []string {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return []string{base64.StdEncoding.EncodeToString(der)}
}

// flipped changes one character in the middle, where every bit counts.
func flipped(text string) string {
	i := len(text) / 2
	other := "A"
	if text[i] == 'A' {
		other = "B"
	}
	return text[:i] + other + text[i+1:]
}
