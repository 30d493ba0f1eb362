#!/bin/bash
# An order's id as the reference of a Swiss QR-bill, by npm's swissqrbill.
#
# A bill to a regular IBAN has a creditor reference of ISO 11649 (type SCOR: RF, two check digits, at most 21 characters) or none (NON), with
# what is to be told in the message; one to a QR-IBAN has 27 digits with a check digit (QRR). So say SIX's Implementation Guidelines.
#
# One would guess: the library, which verifies QRR's check digit, IBANs, lengths and countries, and which has isSCORReferenceValid, refuses a
# reference to a regular IBAN that is none.
# It is so: whatever does not have 27 digits is written as SCOR, unverified. A bare order id of 18 digits becomes a bill that is drawn without a
# word and names a scheme to which it does not keep; so does an RF with one digit wrong. With calculateSCORReferenceChecksum it is a valid one.
# The code's text is taken from the inner function by which the bill draws it.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts swissqrbill@4.4.1 >/dev/null
cat >try.mjs <<'EOF2'
import fs from "fs";
import { SwissQRBill } from "swissqrbill/svg";
import { calculateSCORReferenceChecksum, isSCORReferenceValid } from "swissqrbill/utils";
import { generateQRData } from "./node_modules/swissqrbill/lib/esm/shared/qr-code.js";

console.log("swissqrbill " + JSON.parse(fs.readFileSync("node_modules/swissqrbill/package.json")).version);
const regular = "CH5800791123000889012", qr = "CH4431999123000889012", order = "123456789012345678";
const creditor = { name: "Shop AG", address: "Marktgasse", buildingNumber: 1, zip: 8000, city: "Zürich", country: "CH" };
const tried = [[regular], [regular, order], [regular, "RF19539007547034"], [regular, "RF" + calculateSCORReferenceChecksum(order) + order],
  [qr, "210000000003139471430009018"]];
for (const [account, reference] of tried) {
  const bill = { currency: "CHF", amount: 1499, creditor: { ...creditor, account }, ...(reference && { reference }) };
  try {
    new SwissQRBill(bill);
    console.log(generateQRData(bill).split("\n").slice(27, 29).join(" ").trim() + (reference ? ", valid " + isSCORReferenceValid(reference) : ""));
  } catch (error) {
    console.log("refused: " + error.message);
  }
}
EOF2
node try.mjs | tee said
diff said - <<'EOF2'
swissqrbill 4.4.1
NON
SCOR 123456789012345678, valid false
SCOR RF19539007547034, valid false
SCOR RF11123456789012345678, valid true
refused: The provided QR-Reference '210000000003139471430009018' is not valid.
EOF2
