#!/bin/bash
# WeChat Pay signs its notifications by a platform certificate or, for merchants who join now, by a public key whose id is PUB_KEY_ID_…
# and which they download from the console. Who goes from the one to the other gets both kinds for a week: 0.1 % by the key on the
# first day, 50 % on the sixth (developers.weixin.qq.com/community/pay/doc/000a4e6c9a00209af2335313c61400).
# One would guess: npm's most used library of API v3 is given that key, as the member publicKey, and verifies them.
# It is so: publicKey is the merchant's own. The library knows no other keys than those of platform certificates, which it downloads, and of
# which such a merchant has none: it throws at a notification that is signed well. The key has to be put into a static member that its
# documentation does not have; there a certificate's key stands beside it.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error wechatpay-node-v3@2.2.1 >/dev/null
cat >run.js <<'JS'
import { createSign, generateKeyPairSync } from "node:crypto";
import WxPay from "wechatpay-node-v3";
const [merchant, key, certificate] = [1, 2, 3].map(() => generateKeyPairSync("rsa", { modulusLength: 2048 }));
const pem = ({ publicKey }) => publicKey.export({ type: "spki", format: "pem" });
const pay = new WxPay({
  appid: "wxd678efh567hg6787", mchid: "1900000109", serial_no: "5157F09EFDC096DE15EBE81A47057A7232F1B8E1", key: "0".repeat(32),
  publicKey: pem(key), privateKey: merchant.privateKey.export({ type: "pkcs8", format: "pem" }),
});
const asked = [];
pay.createHttp({ async get(url) { asked.push(new URL(url).pathname); return { status: 404, data: { code: "RESOURCE_NOT_EXISTS", message: "无可用的平台证书" } }; } });
const notification = ({ privateKey }, serial, more = {}) => {
  const [timestamp, nonce, body] = ["1767225606", "c5ac7061fccab6bf3e254dcf98995b8c", '{"event_type":"TRANSACTION.SUCCESS","summary":"支付成功"}'];
  const signature = createSign("RSA-SHA256").update(`${timestamp}\n${nonce}\n${body}\n`).sign(privateKey, "base64");
  return { timestamp, nonce, body, serial, signature, ...more };
};
const [id, serial] = ["PUB_KEY_ID_0116500000002024101100397200000006", "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"];
const told = async (name, params) => console.log(`${name}: ${await pay.verifySign(params).catch((error) => error.message)}`);
await told("by the public key", notification(key, id));
console.log("asked:", asked.join(" "));
WxPay.certificates = { [id]: pem(key), [serial]: pem(certificate) };
await told("by the public key, in the static member", notification(key, id));
await told("by the certificate, in the static member", notification(certificate, serial));
JS
npm ls --depth 0 | grep @
seen=$(node run.js)
echo "$seen"
[ "$seen" = "by the public key: 拉取平台证书失败
asked: /v3/certificates
by the public key, in the static member: true
by the certificate, in the static member: true" ]
