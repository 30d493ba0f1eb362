#!/bin/bash
# A call to Alipay that it could not place: a wrong app, key or form. Such refusals come with a signature or without one: the comments
# in the library's alipay.js show both.
#
# One would guess: Alipay's own library, asked to verify (validateSign), says why the call was refused, or that the refusal has no
# signature, by the error that it has for a wrong one.
# It is so: a TypeError of node:crypto about an argument "signature", which has neither the refusal's code nor the answer. Who catches
# AlipayRequestError does not catch it, and whose app ID is wrong reads of a wrong type. A refusal in error_response, which is for a call
# without a known method, is cut in the wrong place, so that it would not verify if it were signed. Without validateSign, which is off
# unless one asks for it, the refusal is read, and so is a success that nobody signed.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error alipay-sdk@4.14.0 >/dev/null
cat >run.js <<'JS'
import { createSign, generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { AlipaySdk } from "alipay-sdk";
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const text = (key, type) => key.export({ type, format: "der" }).toString("base64");
let answer;
const gateway = createServer((request, response) => request.resume().on("end", () => response.end(answer))).listen(0, "127.0.0.1");
await new Promise((listens) => gateway.on("listening", listens));
const sdk = new AlipaySdk({
  appId: "1", keyType: "PKCS8", privateKey: text(privateKey, "pkcs8"), alipayPublicKey: text(publicKey, "spki"), gateway: `http://127.0.0.1:${gateway.address().port}/gateway.do`,
});
const refusal = '{"code":"40002","msg":"Invalid Arguments","sub_code":"isv.invalid-app-id","sub_msg":"无效的AppID参数"}', success = '{"code":"10000","msg":"Success","fund_change":"Y"}';
for (const [name, member, of, isSigned] of [
  ["a refusal, unsigned", "alipay_trade_refund_response", refusal], ["a refusal, signed", "alipay_trade_refund_response", refusal, true],
  ["an error, unsigned", "error_response", refusal], ["an error, signed", "error_response", refusal, true], ["a success, unsigned", "alipay_trade_refund_response", success],
]) {
  const sign = isSigned ? `,"sign":"${createSign("RSA-SHA256").update(of).sign(privateKey, "base64")}"` : "";
  answer = `{"${member}":${of}${sign}}`;
  for (const validateSign of [true, undefined]) {
    let said;
    try {
      const { code, subCode, fundChange } = await sdk.exec("alipay.trade.refund", { bizContent: { trade_no: "1", refund_amount: "1.00" } }, { validateSign });
      said = [code, subCode, fundChange].filter((one) => one).join(" ");
    } catch (error) {
      said = `${error.name} ${error.code ?? error.message.slice(0, 4)}, ${error.responseDataRaw === answer ? "with" : "without"} the answer`;
    }
    console.log(`${name}, ${validateSign ? "verified" : "by default"}: ${said}`);
  }
}
gateway.close();
JS
npm ls --depth 0 | grep @
seen=$(node run.js)
echo "$seen"
[ "$seen" = "a refusal, unsigned, verified: TypeError ERR_INVALID_ARG_TYPE, without the answer
a refusal, unsigned, by default: 40002 isv.invalid-app-id
a refusal, signed, verified: 40002 isv.invalid-app-id
a refusal, signed, by default: 40002 isv.invalid-app-id
an error, unsigned, verified: TypeError ERR_INVALID_ARG_TYPE, without the answer
an error, unsigned, by default: 40002 isv.invalid-app-id
an error, signed, verified: AlipayRequestError 验签失败, with the answer
an error, signed, by default: 40002 isv.invalid-app-id
a success, unsigned, verified: TypeError ERR_INVALID_ARG_TYPE, without the answer
a success, unsigned, by default: 10000 Y" ]
