package gateway

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
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// forgery is a request without a valid token.
type forgery struct {
	name, query, body string
	header            http.Header
}

// members are those of a token's header or claims; nil leaves one out.
type members map[string]any

func (m members) text() string {
	kept := maps.Clone(m)
	maps.DeleteFunc(kept, func(_ string, value any) bool { return value == nil })
	b, err := json.Marshal(kept)
	if err != nil {
		panic(err) // the tests' own values
	}
	return string(b)
}

// with returns the members with changes.
func (m members) with(change members) members {
	changed := maps.Clone(m)
	maps.Copy(changed, change)
	return changed
}

func inBase64(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// forge signs texts that need not be valid.
func forge(method jwt.SigningMethod, key any, header, claims string) string {
	text := inBase64(header) + "." + inBase64(claims)
	signature, err := method.Sign(text, key)
	if err != nil {
		panic(err) // the tests' own keys
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func TestNoForgedTokenOpensARoute(t *testing.T) {
	good := httptest.NewRequest(http.MethodGet, "/private", nil)
	good.Header.Set("Authorization", "Bearer "+forge(jwt.SigningMethodRS256, testKey(), goodHeader.text(), members(goodClaims(nil)).text()))
	if w := serve(newGateway(t, guarded(), &fakeInvoker{response: `{"statusCode":200}`}, Options{}), good); w.Code != http.StatusOK {
		t.Fatalf("the forge makes no good token: %d %s", w.Code, w.Body) // and then its forgeries prove nothing
	}
	for _, forged := range forgeries(t) {
		for _, path := range []string{"/private", "/scoped"} {
			f := &fakeInvoker{response: `{"statusCode":200}`}
			r := httptest.NewRequest(http.MethodGet, path+forged.query, strings.NewReader(forged.body))
			maps.Copy(r.Header, forged.header)
			w := serve(newGateway(t, guarded(), f, Options{}), r)
			if w.Code != http.StatusUnauthorized || w.Body.String() != `{"message":"Unauthorized"}` || len(f.functions) != 0 ||
				!strings.HasPrefix(w.Header().Get("Www-Authenticate"), "Bearer") {
				t.Errorf("%s: a token %s is answered %d %s, after %d invocations", path, forged.name, w.Code, w.Body, len(f.functions))
			}
		}
	}
}

// goodHeader is that of a good token.
var goodHeader = members{"alg": "RS256", "typ": "JWT", "kid": testKid}

// forgeries are tokens made with everything but the issuer's private key, and the
// issuer's tokens for another API or another time.
func forgeries(t *testing.T) []forgery {
	t.Helper()
	mallory, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	own := jwkOf(&mallory.PublicKey, testKid)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.Error("the key that a token names was fetched")
		_ = json.NewEncoder(w).Encode(members{"keys": []any{own}})
	}))
	t.Cleanup(server.Close)

	var all []forgery
	add := func(name, token string) {
		all = append(all, forgery{name: name, header: authorization("Bearer " + token)})
	}
	good, c, h := goodToken(t, nil), members(goodClaims(nil)), goodHeader
	parts := strings.Split(good, ".")
	// by signs with mallory's key under any header.
	by := func(change members) string {
		return forge(jwt.SigningMethodRS256, mallory, h.with(change).text(), c.text())
	}

	all = append(all, withoutToken(good, by(nil))...)
	add("that is three letters", "a.b.c")
	add("without a signature", parts[0]+"."+parts[1]+".")
	add("of two parts", parts[0]+"."+parts[1])
	add("of four parts", good+".x")
	add("of five parts, as if encrypted", strings.Join(parts, ".")+".x.y")
	add("with an altered signature", parts[0]+"."+parts[1]+"."+flipped(parts[2]))
	add("with another user under the signature", parts[0]+"."+inBase64(members(goodClaims(map[string]any{"sub": "victim"})).text())+"."+parts[2])
	add("with a space in it", good[:40]+" "+good[40:])
	add("followed by another", good+","+good)
	add("in padded base64", parts[0]+"."+parts[1]+"=."+parts[2])
	add("whose claims are no object", forge(jwt.SigningMethodRS256, testKey(), h.text(), `["alice"]`))
	add("whose claims are no JSON", forge(jwt.SigningMethodRS256, testKey(), h.text(), `{"sub":`))

	add("signed by another key under the issuer's key id", by(nil))
	add("of an unknown key id", by(members{"kid": "another"}))
	add("of an unknown key id, signed by the issuer", forge(jwt.SigningMethodRS256, testKey(), h.with(members{"kid": "another"}).text(), c.text()))
	add("without a key id", by(members{"kid": nil}))
	add("without a key id, signed by the issuer", forge(jwt.SigningMethodRS256, testKey(), h.with(members{"kid": nil}).text(), c.text()))
	add("whose key id is a file", forge(jwt.SigningMethodHS256, []byte{}, h.with(members{"alg": "HS256", "kid": "../../../../dev/null"}).text(), c.text()))
	add("whose key id is a query", by(members{"kid": "' UNION SELECT 'key' --"}))
	add("whose key id is a number", by(members{"kid": 1}))
	add("whose key id is a list", by(members{"kid": []string{testKid}}))
	add("that brings its key", by(members{"jwk": own}))
	add("that brings its key and names no other", by(members{"jwk": own, "kid": nil}))
	add("that brings its certificate", by(members{"x5c": certificate(t, mallory), "kid": nil}))
	for _, name := range []string{"jku", "x5u", "jwks_uri", "iss"} {
		add("that says in "+name+" where its key is", by(members{name: server.URL + "/jwks.json"}))
		add("that says in "+name+" where its key is and names no other", by(members{name: server.URL + "/jwks.json", "kid": nil}))
	}

	for _, alg := range []string{"none", "None", "NONE", "nOnE", "", "RS256 "} {
		unsigned := inBase64(h.with(members{"alg": alg}).text()) + "." + parts[1] + "."
		add("of the algorithm "+strconv.Quote(alg)+" without a signature", unsigned)
		add("of the algorithm "+strconv.Quote(alg)+" with the good one's signature", unsigned+parts[2])
	}
	add("without an algorithm", inBase64(h.with(members{"alg": nil}).text())+"."+parts[1]+".")
	add("whose algorithm is doubled, the last being none", inBase64(`{"alg":"RS256","kid":"`+testKid+`","alg":"none"}`)+"."+parts[1]+".")
	for name, secret := range publicSecrets(t) {
		for _, method := range []*jwt.SigningMethodHMAC{jwt.SigningMethodHS256, jwt.SigningMethodHS384, jwt.SigningMethodHS512} {
			add("of "+method.Alg()+" whose secret is "+name, forge(method, secret, h.with(members{"alg": method.Alg()}).text(), c.text()))
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
		jwt.SigningMethodRS384: testKey(), jwt.SigningMethodRS512: testKey(), jwt.SigningMethodPS256: testKey(),
	} {
		add("of "+method.Alg(), forge(method, key, h.with(members{"alg": method.Alg()}).text(), c.text()))
	}
	for name, change := range wrongClaims() {
		add(name, goodToken(t, change))
	}
	return all
}

// wrongClaims are the issuer's own tokens for another API or another time.
func wrongClaims() map[string]members {
	now := testTime.Unix()
	return map[string]members{
		"of another issuer":                     {"iss": "https://evil.example"},
		"of an issuer whose name begins alike":  {"iss": testIssuer + ".evil.example"},
		"of the issuer with a slash":            {"iss": testIssuer + "/"},
		"of the issuer in capitals":             {"iss": strings.ToUpper(testIssuer)},
		"of several issuers":                    {"iss": []string{testIssuer}},
		"without an issuer":                     {"iss": nil},
		"for another audience":                  {"aud": "another"},
		"for an audience whose name begins so":  {"aud": testAudience + "-2"},
		"for an audience that is a number":      {"aud": 7},
		"for an empty audience":                 {"aud": ""},
		"for no audience in a list":             {"aud": []string{}},
		"for an audience that is an object":     {"aud": members{testAudience: true}},
		"for an audience that is null":          {"aud": json.RawMessage("null")},
		"without an audience":                   {"aud": nil},
		"for another client":                    {"aud": nil, "client_id": "another"},
		"for another audience, but our client":  {"aud": "another", "client_id": testAudience},
		"for our authorized party only":         {"aud": nil, "azp": testAudience},
		"that expires this very second":         {"exp": now},
		"that expired a second ago":             {"exp": now - 1},
		"that expired in 1970":                  {"exp": 0},
		"that expires before time":              {"exp": -1},
		"that never expires":                    {"exp": nil},
		"whose expiry is text":                  {"exp": "4102444800"},
		"whose expiry is null":                  {"exp": json.RawMessage("null")},
		"that is not yet valid":                 {"nbf": now + 1},
		"that was issued in the future":         {"iat": now + 1},
		"whose first instant is text":           {"nbf": "0"},
		"whose expiry is too large to be a day": {"exp": json.RawMessage("1e400")},
	}
}

func authorization(lines ...string) http.Header { return http.Header{"Authorization": lines} }

// withoutToken are requests whose only token is in the wrong place.
func withoutToken(good, forged string) []forgery {
	return []forgery{
		{name: "that is missing"},
		{name: "that is empty", header: authorization("")},
		{name: "that is only a scheme", header: authorization("Bearer")},
		{name: "that is a scheme and a space", header: authorization("Bearer ")},
		{name: "that is a name and a password", header: authorization("Basic YWxpY2U6c2VjcmV0")},
		{name: "of another scheme", header: authorization("DPoP " + good)},
		{name: "of two tokens", header: authorization("Bearer " + good + " " + good)},
		{name: "of two schemes", header: authorization("Bearer Bearer " + good)},
		{name: "sent twice", header: authorization("Bearer "+good, "Bearer "+good)},
		{name: "beside a forged one", header: authorization("Bearer "+good, "Bearer "+forged)},
		{name: "after a forged one", header: authorization("Bearer "+forged, "Bearer "+good)},
		{name: "in a list with a forged one", header: authorization("Bearer " + good + ", Bearer " + forged)},
		{name: "in the query as access_token", query: "?access_token=" + good},
		{name: "in the query as Authorization", query: "?Authorization=Bearer%20" + good},
		{name: "in a cookie", header: http.Header{"Cookie": {"Authorization=Bearer " + good + "; access_token=" + good}}},
		{name: "in the body", body: "access_token=" + good, header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}},
		{name: "in X-Authorization", header: http.Header{"X-Authorization": {"Bearer " + good}}},
		{name: "in Proxy-Authorization", header: http.Header{"Proxy-Authorization": {"Bearer " + good}}},
		{name: "in X-Amzn-Remapped-Authorization", header: http.Header{"X-Amzn-Remapped-Authorization": {"Bearer " + good}}},
		{name: "that others would set for a caller", header: http.Header{
			"X-User-Id": {"alice"}, "X-Forwarded-User": {"alice"}, "X-Amzn-Oidc-Identity": {"alice"},
			"X-Amzn-Oidc-Data": {good}, "X-Apigateway-Event": {`{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"alice"}}}}}`},
		}},
	}
}

// publicSecrets are the forms of the public key that a careless verifier could use as a
// shared secret, and two that need no key at all.
func publicSecrets(t *testing.T) map[string][]byte {
	t.Helper()
	pkix, err := x509.MarshalPKIXPublicKey(&testKey().PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	own := jwkOf(&testKey().PublicKey, testKid).text()
	pkcs1 := x509.MarshalPKCS1PublicKey(&testKey().PublicKey)
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})
	modulus := testKey().N.Bytes()
	return map[string][]byte{
		"the public key in PEM":                    asPEM,
		"the public key in PEM, without a newline": []byte(strings.TrimSpace(string(asPEM))),
		"the public key in PKCS #1 PEM":            pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: pkcs1}),
		"the public key in DER":                    pkix,
		"the public key as a JWK":                  []byte(own),
		"the public key set":                       []byte(`{"keys":[` + own + `]}`),
		"the modulus":                              modulus,
		"the modulus in base64":                    []byte(base64.RawURLEncoding.EncodeToString(modulus)),
		"the key's id":                             []byte(testKid),
		"empty":                                    {},
	}
}

func jwkOf(key *rsa.PublicKey, kid string) members {
	return members{
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
