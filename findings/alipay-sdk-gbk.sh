#!/bin/bash
# A notification of Alipay whose subject is in GBK. Alipay sends such, with charset=GBK, also to shops that asked for UTF-8: if the
# request's Content-Type has no charset (github.com/dedemao/alipay/issues/7), and from its sandbox (yansongda/pay/issues/167).
# One would guess: Alipay's own library, which is given the fields and their charset, verifies it.
# It is so: it signs and verifies UTF-8 only, so how the form is decoded does not matter, and what was paid stays unpaid. Some goods
# get through, as 茅台, whose four bytes in GBK happen to be valid UTF-8. The bytes that the form decodes to are what is signed.
# Also, the first of its two methods throws at a "%", and refuses a value that was encoded twice: passback_params, which Alipay's
# documents tell one to encode.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error alipay-sdk@4.14.0 >/dev/null
cat >run.js <<'JS'
import { createSign, createVerify, generateKeyPairSync } from "node:crypto";
import { AlipaySdk } from "alipay-sdk";
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const text = (key, type) => key.export({ type, format: "der" }).toString("base64");
const sdk = new AlipaySdk({ appId: "1", keyType: "PKCS8", privateKey: text(privateKey, "pkcs8"), alipayPublicKey: text(publicKey, "spki") });
// The fields' names and values are bytes, one character each.
const signedText = (fields) => Buffer.from(Object.keys(fields).sort().map((name) => `${name}=${fields[name]}`).join("&"), "latin1");
const sign = (fields) => createSign("RSA-SHA256").update(signedText(fields)).sign(privateKey, "base64");
const told = (name, fields, given) => {
  const said = ["checkNotifySign", "checkNotifySignV2"].map((method) => {
    try { return sdk[method]({ ...given, sign_type: "RSA2", sign: sign(fields) }); } catch (error) { return error.message; }
  });
  console.log(`${name}: ${said.join(", ")}`);
};
const decoded = (fields, encoding) => Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, new TextDecoder(encoding).decode(Buffer.from(value, "latin1"))]));
let fields;
for (const [name, subject] of [["手机 in UTF-8", "\xe6\x89\x8b\xe6\x9c\xba"], ["手机 in GBK", "\xca\xd6\xbb\xfa"], ["茅台 in GBK", "\xc3\xa9\xcc\xa8"]]) {
  fields = { charset: name.slice(6), subject };
  for (const encoding of ["utf-8", "gbk"]) told(`${name}, read as ${encoding}`, fields, decoded(fields, encoding));
  console.log(`${name}, by its bytes:`, createVerify("RSA-SHA256").update(signedText(fields)).verify(publicKey, sign(fields), "base64"));
}
fields = { charset: "utf-8", passback_params: "shop%3D1%26order%3D2" };
told("encoded params", fields, fields);
fields = { charset: "utf-8", subject: "50% off" };
told("a percent sign", fields, fields);
JS
npm ls --depth 0 | grep @
seen=$(node run.js)
echo "$seen"
[ "$seen" = "手机 in UTF-8, read as utf-8: true, true
手机 in UTF-8, read as gbk: false, false
手机 in UTF-8, by its bytes: true
手机 in GBK, read as utf-8: false, false
手机 in GBK, read as gbk: false, false
手机 in GBK, by its bytes: true
茅台 in GBK, read as utf-8: true, true
茅台 in GBK, read as gbk: false, false
茅台 in GBK, by its bytes: true
encoded params: false, true
a percent sign: URI malformed, true" ]
