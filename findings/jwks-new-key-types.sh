#!/bin/bash
# A key set (RFC 7517) in which an issuer announces a key of a newer kind beside the one with which it signs: ML-DSA (kty AKP), Ed448 (RFC 8037)
# or secp256k1 (RFC 8812).
#
# One would guess: the key that is not understood is left out, as RFC 7517 says in section 5, and the other one verifies as before.
# It is so: with npm's jose and jwks-rsa. For Go, golang-jwt's keyfunc and go-jose (by which go-oidc verifies) refuse the whole set,
# and so does jwx but for Ed448: from the day of the announcement on no token of that issuer is verified, though none is signed by the new key.
# A use that nobody knows refuses nothing. jwx has jwk.WithIgnoreParseError(true) for it.
#
# Needs Node, and Go 1.26 with the module proxy.
set -euo pipefail
work=$(mktemp -d) && trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error jose@6.2.18 jwks-rsa@4.1.0 >/dev/null
cat >keys.json <<'JSON'
{
"none": [],
"AKP": [{"kty":"AKP","alg":"ML-DSA-44","kid":"next","use":"sig","pub":"AAAA"}],
"Ed448": [{"kty":"OKP","crv":"Ed448","alg":"EdDSA","kid":"next","use":"sig","x":"X9dEm1m0Yf0s54fsYWrUah2hNCSFpw4fig6nXYDpZ3jt8SR2m0bHBhvWeD3x5Q9s0foavq_oJWGA"}],
"secp256k1": [{"kty":"EC","crv":"secp256k1","alg":"ES256K","kid":"next","use":"sig","x":"eb5mfvncu6xVoGKVzocLBwKb_NstzijZWfKBWxb4F5g","y":"SDradyajxGVdpPv8DhEIqP0XtEimhVQZnEfQj_sQ1Lg"}],
"use": [{"kty":"EC","crv":"P-256","alg":"ES256","kid":"next","use":"attest","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]
}
JSON
cat >go.mod <<'MOD'
module finding

go 1.26

require (
	github.com/MicahParks/keyfunc/v3 v3.9.2
	github.com/go-jose/go-jose/v4 v4.1.9
	github.com/golang-jwt/jwt/v5 v5.3.1
	github.com/lestrrat-go/jwx/v3 v3.4.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"
	"github.com/golang-jwt/jwt/v5"
	"github.com/lestrrat-go/jwx/v3/jwk"
	jwxjwt "github.com/lestrrat-go/jwx/v3/jwt"
)

func verdict(err error) string {
	if err != nil {
		return "no"
	}
	return "yes"
}

func main() {
	set, token := []byte(os.Args[1]), os.Args[2]
	keys, err := keyfunc.NewJWKSetJSON(set)
	if err == nil {
		_, err = jwt.Parse(token, keys.Keyfunc)
	}
	fmt.Print(" keyfunc ", verdict(err))
	var jwks jose.JSONWebKeySet
	if err = json.Unmarshal(set, &jwks); err == nil {
		var parsed *josejwt.JSONWebToken
		if parsed, err = josejwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256}); err == nil {
			err = parsed.Claims(jwks, &josejwt.Claims{})
		}
	}
	fmt.Print(", go-jose ", verdict(err))
	for _, options := range [][]jwk.ParseOption{nil, {jwk.WithIgnoreParseError(true)}} {
		read, err := jwk.Parse(set, options...)
		if err == nil {
			_, err = jwxjwt.Parse([]byte(token), jwxjwt.WithKeySet(read))
		}
		fmt.Print(", jwx ", verdict(err))
	}
	fmt.Println(" with its option")
}
GO
go mod tidy >/dev/null 2>&1
go build -o verify .
cat >run.js <<'JS'
import { SignJWT, createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify } from "jose";
import jwks from "jwks-rsa";
import { once } from "node:events";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
const { publicKey, privateKey } = await generateKeyPair("RS256");
const now = { ...(await exportJWK(publicKey)), kid: "now", use: "sig", alg: "RS256" };
const token = await new SignJWT({ sub: "alice" }).setProtectedHeader({ alg: "RS256", kid: "now" }).setExpirationTime("1h").sign(privateKey);
let set;
const server = createServer((request, response) => response.end(set)).listen(0, "127.0.0.1");
await once(server, "listening");
for (const [name, more] of Object.entries(JSON.parse(readFileSync("keys.json", "utf8")))) {
  set = JSON.stringify({ keys: [...more, now] });
  const yes = async verified => await verified().then(() => "yes", () => "no");
  process.stdout.write(`${name}: jose ${await yes(() => jwtVerify(token, createLocalJWKSet(JSON.parse(set))))}, jwks-rsa ${
    await yes(() => jwks({ jwksUri: `http://127.0.0.1:${server.address().port}` }).getSigningKey("now"))},` + execFileSync("./verify", [set, token]));
}
server.close();
JS
npm ls --depth 0 | grep @
go list -m github.com/MicahParks/keyfunc/v3 github.com/go-jose/go-jose/v4 github.com/lestrrat-go/jwx/v3
node run.js | tee said
diff said - <<'SEEN'
none: jose yes, jwks-rsa yes, keyfunc yes, go-jose yes, jwx yes, jwx yes with its option
AKP: jose yes, jwks-rsa yes, keyfunc no, go-jose no, jwx no, jwx yes with its option
Ed448: jose yes, jwks-rsa yes, keyfunc no, go-jose no, jwx yes, jwx yes with its option
secp256k1: jose yes, jwks-rsa yes, keyfunc no, go-jose no, jwx no, jwx yes with its option
use: jose yes, jwks-rsa yes, keyfunc yes, go-jose yes, jwx yes, jwx yes with its option
SEEN
