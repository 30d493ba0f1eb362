#!/bin/bash
# Valid tokens of an OpenID Connect provider, read by npm's jws (jsonwebtoken stands on it) and verified by jsrsasign.
#
# One would guess: what is decoded does not depend on a token's typ, which is optional (RFC 7519, 5.1) and of an access token "at+jwt" (RFC 9068);
# a key's id may be any text; and a token for several audiences is valid for each of them (RFC 7519, 4.1.3).
# It is so:
# - jws.decode gives the payload as an object only if typ is JWT in capitals. Of an access token it is a text, and the
#   sub of a text is a function of JavaScript's own: who asks whether there is one, finds one.
# - jws and jsonwebtoken read the header as Latin-1: the kid "钥匙" is six other characters, and no key of the set has it. The payload is UTF-8.
# - jsrsasign's verifyJWT wants all of a token's audiences among those that it is told, not one of them.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error jws@4.0.1 jsonwebtoken@9.0.3 jsrsasign@11.1.5 jose@6.2.18 >/dev/null
cat >run.js <<'JS'
const { generateKeyPairSync, createSign } = require("node:crypto");
const jws = require("jws"), jwt = require("jsonwebtoken"), { KJUR, KEYUTIL } = require("jsrsasign");
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const part = value => Buffer.from(JSON.stringify(value)).toString("base64url");
const sign = (header, payload) => {
  const text = part({ alg: "RS256", ...header }) + "." + part({ sub: "飞", exp: Math.floor(Date.now() / 1000) + 3600, ...payload });
  return text + "." + createSign("sha256").update(text).sign(privateKey).toString("base64url");
};
const known = kid => (kid === "钥匙" ? kid : `${kid.length} other characters`);
(async () => {
  const { jwtVerify, decodeProtectedHeader } = await import("jose");
  const valid = async (token, options) => jwtVerify(token, publicKey, options).then(({ payload }) => payload.sub, e => e.code);
  for (const header of [{ typ: "JWT" }, { typ: "jwt" }, {}, { typ: "at+jwt" }]) {
    const token = sign(header), { payload } = jws.decode(token);
    console.log(`typ ${header.typ}: jws ${typeof payload}, sub ${typeof payload.sub}, jsonwebtoken ${jwt.decode(token).sub}, jose ${await valid(token)}`);
  }
  const token = sign({ typ: "JWT", kid: "钥匙" });
  console.log("kid: jws", known(jws.decode(token).header.kid), "jsonwebtoken", known(jwt.decode(token, { complete: true }).header.kid), "jose", known(decodeProtectedHeader(token).kid));
  for (const aud of ["shop", ["shop"], ["shop", "office"]]) {
    const token = sign({ typ: "JWT" }, { aud }), key = KEYUTIL.getKey(publicKey.export({ format: "jwk" }));
    console.log(`aud ${aud}: jsrsasign ${KJUR.jws.JWS.verifyJWT(token, key, { alg: ["RS256"], aud: ["shop"] })}, jsonwebtoken ${jwt.verify(token, publicKey, { audience: "shop" }).sub}, jose ${await valid(token, { audience: "shop" })}`);
  }
})();
JS
npm ls --depth 0 | grep @
node run.js | tee said
diff said - <<'SEEN'
typ JWT: jws object, sub string, jsonwebtoken 飞, jose 飞
typ jwt: jws string, sub function, jsonwebtoken 飞, jose 飞
typ undefined: jws string, sub function, jsonwebtoken 飞, jose 飞
typ at+jwt: jws string, sub function, jsonwebtoken 飞, jose 飞
kid: jws 6 other characters jsonwebtoken 6 other characters jose 钥匙
aud shop: jsrsasign true, jsonwebtoken 飞, jose 飞
aud shop: jsrsasign true, jsonwebtoken 飞, jose 飞
aud shop,office: jsrsasign false, jsonwebtoken 飞, jose 飞
SEEN
