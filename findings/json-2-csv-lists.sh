#!/bin/bash
# A provider's list of refunds (CSV, RFC 4180, whose lines end with CRLF, the last one too, or with LF) read by npm's json-2-csv, and a list of its own.
#
# One would guess: a line's end is no part of a cell, whichever it is; and what the library writes it reads as it was.
# It is so:
# - The end of the file's last line is part of its last cell: of two refunds that succeeded the last one's status is "succeeded\n".
# - With CRLF every last cell ends with \r, and so does the last column's name: refund.status is undefined on each line, without a word.
#   With delimiter: { eol: "\r\n" } cells are well, and there is a third refund, whose id is "", also if all cells are in quotes.
# - Texts come back as what their characters would be in JSON, if that is what they look like: an order id of 18 digits as another number, a customer
#   named "null" as null, a code 1e3 as 1000 and an amount 0.10 as 0.1. A code 0042 stays a text, which only looks as if texts were safe.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error json-2-csv@5.6.0 >/dev/null
cat >run.js <<'JS'
import { csv2json, json2csv } from "json-2-csv";

const list = (end, quote = "") => ["id,status", "re_1,succeeded", "re_2,succeeded"].map((line) => line.replace(/\w+$/, `${quote}$&${quote}`) + end).join("");
const told = (name, value) => console.log(`${name}: ${JSON.stringify(value)}`);
told("LF", csv2json(list("\n")));
told("CRLF", csv2json(list("\r\n")));
told("CRLF, told so", csv2json(list("\r\n"), { delimiter: { eol: "\r\n" } }));
told("CRLF, told so, in quotes", csv2json(list("\r\n", '"'), { delimiter: { eol: "\r\n" } }));
const own = [{ order: "523415642750058497", name: "null", code: "1e3", amount: "0.10", sku: "0042" }];
told("its own", csv2json(json2csv(own)));
JS
npm ls --depth 0 | grep @
node run.js | tee said
diff said - <<'EOF2'
LF: [{"id":"re_1","status":"succeeded"},{"id":"re_2","status":"succeeded\n"}]
CRLF: [{"id":"re_1","status\r":"succeeded\r"},{"id":"re_2","status\r":"succeeded\r\n"}]
CRLF, told so: [{"id":"re_1","status":"succeeded"},{"id":"re_2","status":"succeeded"},{"id":""}]
CRLF, told so, in quotes: [{"id":"re_1","status":"succeeded"},{"id":"re_2","status":"succeeded"},{"id":""}]
its own: [{"order":523415642750058500,"name":null,"code":1000,"amount":0.1,"sku":"0042"}]
EOF2
