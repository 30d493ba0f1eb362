#!/bin/bash
# A refund of WeChat Pay whose number has a bar, such as 523415642750058497|1. Digits, letters and _-|*@ may be in an out_refund_no (pay.weixin.qq.com, "Submit
# Refund API", and the models of its own library wechatpay-go).
#
# One would guess: a client that signs each request signs the path that it sends, so a number by which it can refund it can ask for the refund, too.
# It is so: of npm's wechatpay-axios-plugin, which leaves the bar as it is in both. wechatpay-node-v3 makes the refund, whose number is in the body, and then
# signs the path with the bar that it was given, while superagent sends %7C: each question for that refund carries a signature of another path. So money
# is sent back, and its refund cannot be asked for. The other signs fit; encoded by the caller, the number is signed and sent alike.
#
# What is sent stays on this machine: https.request is replaced by one to a server of the script's own, which verifies as WeChat Pay would.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error wechatpay-node-v3@2.2.1 wechatpay-axios-plugin@0.9.6 >/dev/null
cat >run.cjs <<'JS'
const { createVerify, generateKeyPairSync } = require("node:crypto");
const http = require("node:http");
const https = require("node:https");

const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
const [privateKey, publicKey] = [pair.privateKey.export({ type: "pkcs8", format: "pem" }), pair.publicKey.export({ type: "spki", format: "pem" })];
let seen;
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const of = (name) => request.headers.authorization.match(new RegExp(`${name}="([^"]*)"`))[1];
  const signed = `${request.method}\n${request.url}\n${of("timestamp")}\n${of("nonce_str")}\n${body}\n`;
  seen = `${request.method} ${request.url}, signed: ${createVerify("RSA-SHA256").update(signed).verify(publicKey, of("signature"), "base64")}`;
  response.writeHead(404, { "content-type": "application/json" }).end('{"code":"RESOURCE_NOT_EXISTS"}');
});
server.listen(0, "127.0.0.1", async () => {
  const { port } = server.address();
  https.request = ({ path, method, headers }, ...more) => http.request({ host: "127.0.0.1", port, path, method, headers }, ...more);
  const WxPay = require("wechatpay-node-v3");
  const { Wechatpay } = require("wechatpay-axios-plugin");
  const node = new WxPay({ appid: "wxd678efh567hg6787", mchid: "1900000109", serial_no: "5157F09EFDC096DE", key: "0".repeat(32), publicKey, privateKey });
  const plugin = new Wechatpay({
    mchid: "1900000109", serial: "5157F09EFDC096DE", privateKey, certs: { PUB_KEY_ID_42: publicKey }, baseURL: `http://127.0.0.1:${port}/`,
  });
  const told = async (name, call) => (await call.catch(() => {}), console.log(`${name}: ${seen}`));
  await told("wechatpay-node-v3, refund", node.refunds({ out_trade_no: "42", out_refund_no: "42|1", amount: { refund: 1, total: 1, currency: "CNY" } }));
  for (const number of ["42|1", "42%7C1", "42_-*@1"]) await told("wechatpay-node-v3", node.find_refunds(number));
  for (const number of ["42|1", "42_-*@1"]) await told("wechatpay-axios-plugin", plugin.v3.refund.domestic.refunds._number_.get({ number }));
  server.close();
  server.closeAllConnections();
});
JS
npm ls --depth 0 | grep @
node run.cjs | tee said
diff said - <<'EOF2'
wechatpay-node-v3, refund: POST /v3/refund/domestic/refunds, signed: true
wechatpay-node-v3: GET /v3/refund/domestic/refunds/42%7C1, signed: false
wechatpay-node-v3: GET /v3/refund/domestic/refunds/42%7C1, signed: true
wechatpay-node-v3: GET /v3/refund/domestic/refunds/42_-*@1, signed: true
wechatpay-axios-plugin: GET /v3/refund/domestic/refunds/42|1, signed: true
wechatpay-axios-plugin: GET /v3/refund/domestic/refunds/42_-*@1, signed: true
EOF2
