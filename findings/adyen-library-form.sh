#!/bin/bash
# Does Adyen's library verify each form in which Adyen sends a standard webhook?
#
# Adyen's Customer Area sends a standard webhook as JSON, as the form of an HTTP POST or as SOAP. A form has the item's values side
# by side, value and currency among them, and the signature as additionalData.hmacSignature.
#
# One would guess: npm's @adyen/api-library signs and verifies an item by the same eight values, whichever form it came in.
# It is so: only of JSON. For a form validateHMAC says that the signature is missing. Given the values alone calculateHmac returns, without a word, the
# signature of the retired payment pages: the sorted names, then the values, with colons and backslashes escaped. So an item whose amount was made
# flat never fits, while the key is right.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @adyen/api-library@32.1.0 >/dev/null
cat >try.js <<'EOF2'
const { hmacValidator } = require("@adyen/api-library");
const library = new hmacValidator();
const key = "11223344d785fbae710e7f943f307971bb61b21281c98c9129b3d4018a57b2eb";
const item = {
  pspReference: "QFQTPCQ8HXSKGK82", originalReference: "", merchantAccountCode: "ShopECOM", merchantReference: "r:1",
  amount: { value: 1000, currency: "EUR" }, eventCode: "AUTHORISATION", success: "true",
};
const hmacSignature = library.calculateHmac(item, key);
console.error("@adyen/api-library " + require("@adyen/api-library/package.json").version);
console.log("JSON: " + library.getDataToSign(item) + " " + library.validateHMAC({ ...item, additionalData: { hmacSignature } }, key));
const { amount, ...values } = item;
const form = new URLSearchParams({ ...values, value: amount.value, currency: amount.currency });
console.log("values of a form: " + library.getDataToSign(Object.fromEntries(form)) + " " + (library.calculateHmac(Object.fromEntries(form), key) === hmacSignature));
form.set("additionalData.hmacSignature", hmacSignature);
try {
  console.log("form: " + library.validateHMAC(Object.fromEntries(form), key));
} catch (error) {
  console.log("form: " + error.message);
}
EOF2
node try.js | tee said
diff said - <<'EOF2'
JSON: QFQTPCQ8HXSKGK82::ShopECOM:r:1:1000:EUR:AUTHORISATION:true true
values of a form: currency:eventCode:merchantAccountCode:merchantReference:originalReference:pspReference:success:value:EUR:AUTHORISATION:ShopECOM:r\:1::QFQTPCQ8HXSKGK82:true:1000 false
form: Missing hmacSignature
EOF2
