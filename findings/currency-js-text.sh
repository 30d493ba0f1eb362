#!/bin/bash
# Prices that are text, as a shop's list or a bank's file has them, read by npm's currency.js.
#
# One would guess: a sign of currency is skipped, whatever it is; what is no amount is an error once errorOnInvalid is set; what toString
# writes is read by the same settings; and a refund of half a cent is rounded as its charge was.
# It is so:
# - The full stop of an abbreviation is taken for the decimal point: "Rs. 499" is 0.5, "Fr. 1499" is 0.15, "Rs. 499.00" is NaN. Signs without
#   one (CHF, R$, ₹) are skipped.
# - NaN is no error, with errorOnInvalid either. "12.00-", as SAP writes what is owed, is NaN, too.
# - toString writes a point whatever the settings are. Read with a decimal comma, where points are skipped, it is a hundred times as much.
# - Halves go up, not away from zero: 7 % of 12.50 is 0.88, and of -12.50 it is -0.87. Charge and refund leave a cent.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts currency.js@2.0.4 >/dev/null
cat >try.js <<'EOF2'
const currency = require("currency.js");
console.log("currency.js " + require("currency.js/package.json").version);
const strict = { errorOnInvalid: true };
for (const text of ["₹ 499", "CHF 1499", "R$ 1499", "Rs. 499", "Fr. 1499", "Rs. 499.00", "12.00-"]) console.log(text + ": " + currency(text, strict).value);
const comma = { decimal: ",", separator: "." };
const price = currency("1.499,50", comma);
console.log(`1.499,50: ${price}, read again ${currency(price.toString(), comma)}`);
console.log(`7 % of 12.50: ${currency(12.5).multiply(0.07)}, of -12.50: ${currency(-12.5).multiply(0.07)}`);
EOF2
node try.js | tee said
diff said - <<'EOF2'
currency.js 2.0.4
₹ 499: 499
CHF 1499: 1499
R$ 1499: 1499
Rs. 499: 0.5
Fr. 1499: 0.15
Rs. 499.00: NaN
12.00-: NaN
1.499,50: 1499.50, read again 149950.00
7 % of 12.50: 0.88, of -12.50: -0.87
EOF2
