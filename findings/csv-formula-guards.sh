#!/bin/bash
# A list of charges and refunds as CSV, in which no cell may be a formula for a spreadsheet, by three writers of npm that have an option for it. Amounts
# are texts with decimals, as the APIs of Mollie, PayPal and Alipay have them; a refund gets a minus.
#
# One would guess: -12.00 is a number to whoever guards against formulas, and stays one; and a guard puts something before a text.
# It is so: of a JavaScript number. Of texts:
# - Papa Parse (escapeFormulae) and csv-stringify (escape_formulas) write '-12.00: the refunds are texts, and the sum of the column is that of the charges.
# - json-2-csv (preventCsvInjection) leaves -12.00 alone, and of other texts takes the sign away, as its README says: a refund of "-12.00 CNY" or, with a decimal
#   comma, "-12,00" is a charge of as much. Ids that differ in a first dash, as base64url's may, are the same one.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error papaparse@5.7.1 csv-stringify@6.9.0 json-2-csv@5.6.0 >/dev/null
cat >run.js <<'JS'
import { stringify } from "csv-stringify/sync";
import { json2csv } from "json-2-csv";
import Papa from "papaparse";

const cells = [-12, "-12.00", "-12.00 CNY", "-12,00", "-¥12.00", "-A1_x", "A1_x"];
const told = (name, write) => console.log(`${name}: ${cells.map((cell) => write(cell).trim()).join(" | ")}`);
told("papaparse", (cell) => Papa.unparse([[cell]], { escapeFormulae: true }));
told("csv-stringify", (cell) => stringify([[cell]], { escape_formulas: true }));
told("json-2-csv", (cell) => json2csv([{ cell }], { preventCsvInjection: true, prependHeader: false }));
JS
npm ls --depth 0 | grep @
node run.js | tee said
diff said - <<'EOF2'
papaparse: -12 | "'-12.00" | "'-12.00 CNY" | "'-12,00" | "'-¥12.00" | "'-A1_x" | A1_x
csv-stringify: -12 | '-12.00 | '-12.00 CNY | "'-12,00" | '-¥12.00 | '-A1_x | A1_x
json-2-csv: -12 | -12.00 | 12.00 CNY | "12,00" | ¥12.00 | A1_x | A1_x
EOF2
