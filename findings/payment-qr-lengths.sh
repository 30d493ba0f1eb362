#!/bin/bash
# Payment QR codes with an order's text in them: Brazil's Pix and the euro's EPC code (GiroCode), by npm's libraries.
#
# Pix is EMV's format: two digits of tag, two of length, so a value has at most 99 characters. Tag 26 holds Pix's name, the shop's key and the
# message. With the usual random key (36 characters) 37 are left for the message, with an e-mail address of 77 none.
# The EPC code's payload has at most 331 bytes (EPC069-12: QR version 13, level M), and UTF-8 is what the library writes.
#
# One would guess: the libraries, which verify lengths (of the transaction id, the name, the remittance text), refuse what does not fit.
# It is so:
# - qrcode-pix and pix-utils write a length of three digits, with a right checksum over it. Whoever reads it counts two, and finds nonsense from there
#   on: pix-utils says "invalid emv code" of its own. A message of 37 characters is read.
# - sepa-payment-qr-code counts characters of each field, and no bytes: a Greek shop's name and text within the limits (70, 140) make 478 bytes, and
#   a QR code of version 17.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts qrcode-pix@5.0.0 pix-utils@2.8.2 sepa-payment-qr-code@2.0.2 qrcode@1.5.4 >/dev/null
cat >try.js <<'EOF2'
const fs = require("fs");
const { QrCodePix } = require("qrcode-pix");
const { createStaticPix, parsePix } = require("pix-utils");
const sepa = require("sepa-payment-qr-code");
const qrcode = require("qrcode");
const version = (name) => name + " " + JSON.parse(fs.readFileSync(`node_modules/${name}/package.json`)).version;
console.log(["qrcode-pix", "pix-utils", "sepa-payment-qr-code"].map(version).join(", "));
const key = "123e4567-e12b-12d1-a456-426655440000", id = "123456789012345678";
for (const message of [`Pedido ${id} da Loja SA`.padEnd(37, "."), `Pedido ${id} da Loja SA`.padEnd(38, ".")]) {
  const codes = {
    "qrcode-pix": QrCodePix({ version: "01", key, name: "Loja", city: "SAO PAULO", transactionId: id, value: 1499, message }).payload(),
    "pix-utils": createStaticPix({ merchantName: "Loja", merchantCity: "Sao Paulo", pixKey: key, infoAdicional: message, transactionAmount: 1499, txid: id }).toBRCode(),
  };
  for (const [name, code] of Object.entries(codes)) {
    const read = parsePix(code);
    console.log(`${name}, message of ${message.length}: ${code.slice(6, 14)}…, read: ${read.error ? read.message : `${read.transactionAmount} ${read.txid}`}`);
  }
}
for (const [letter, script] of [["a", "Latin"], ["α", "Greek"]]) {
  const payload = sepa({ name: letter.repeat(70), iban: "GR1601101250000000012300695", amount: 1499, unstructuredReference: letter.repeat(140) });
  console.log(`${script}: ${Buffer.byteLength(payload)} bytes, version ${qrcode.create(payload, { errorCorrectionLevel: "M" }).version}`);
}
EOF2
node try.js | tee said
diff said - <<'EOF2'
qrcode-pix 5.0.0, pix-utils 2.8.2, sepa-payment-qr-code 2.0.2
qrcode-pix, message of 37: 26990014…, read: 1499 123456789012345678
pix-utils, message of 37: 26990014…, read: 1499 123456789012345678
qrcode-pix, message of 38: 26100001…, read: invalid emv code
pix-utils, message of 38: 26100001…, read: invalid emv code
Latin: 268 bytes, version 12
Greek: 478 bytes, version 17
EOF2
