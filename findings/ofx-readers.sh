#!/bin/bash
# A name and a day in OFX 1.0.2, as banks export it, for four readers from npm and Debian.
#
# One would guess: &amp; is &; end tags may be missing, as SGML has it; 00:30 on the 12th in +8 is one instant, and all that
# give a day give the same one. It is so:
# - npm's node-ofx-parser reads "Shop &amp; Co" as "Shop &amp;amp;amp; Co"; ofx-data-extractor leaves "Shop &amp; Co".
# - ofx-data-extractor throws where the code and the severity of a status stand on one line without end tags, and takes each on its own line; where the
#   list of transactions is STMTTRN by the standard, its answer has STRTTRN.
# - The day is the 12th for ofx-data-extractor, which cuts the text, and the 11th for Python's ofxparse and for libofx, which
#   give 16:30 UTC. A transaction of a day without a time is midnight UTC for ofxparse, and 10:59 UTC for libofx.
set -euo pipefail
if ! command -v ofxdump >/dev/null || ! /usr/bin/python3 -c 'import ofxparse' 2>/dev/null; then
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends ofx='1:0.10.9-*' python3-ofxparse='0.21-*' >/dev/null
fi
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error ofx-js@1.1.1 node-ofx-parser@0.5.1 ofx-data-extractor@1.5.0 >/dev/null
npm ls --depth 0 | grep @
cat >lines.ofx <<'OFX'
OFXHEADER:100
DATA:OFXSGML
VERSION:102
SECURITY:NONE
ENCODING:UTF-8
CHARSET:NONE
COMPRESSION:NONE
OLDFILEUID:NONE
NEWFILEUID:NONE

<OFX>
<SIGNONMSGSRSV1>
<SONRS>
<STATUS>
<CODE>0
<SEVERITY>INFO
</STATUS>
<DTSERVER>20261112000000
<LANGUAGE>ENG
</SONRS>
</SIGNONMSGSRSV1>
<BANKMSGSRSV1>
<STMTTRNRS>
<TRNUID>0
<STATUS>
<CODE>0
<SEVERITY>INFO
</STATUS>
<STMTRS>
<CURDEF>EUR
<BANKACCTFROM>
<BANKID>37040044
<ACCTID>0532013000
<ACCTTYPE>CHECKING
</BANKACCTFROM>
<BANKTRANLIST>
<DTSTART>20261111
<DTEND>20261112
<STMTTRN>
<TRNTYPE>DEBIT
<DTPOSTED>20261112003000.000[+8:CST]
<TRNAMT>-899.10
<FITID>523415642750058497
<NAME>Shop &amp; Co
</STMTTRN>
<STMTTRN>
<TRNTYPE>CREDIT
<DTPOSTED>20261111
<TRNAMT>4.10
<FITID>0042
<NAME>Alice
</STMTTRN>
</BANKTRANLIST>
<LEDGERBAL>
<BALAMT>339.50
<DTASOF>20261112
</LEDGERBAL>
</STMTRS>
</STMTTRNRS>
</BANKMSGSRSV1>
</OFX>
OFX
sed '/<STATUS>/,/<\/STATUS>/{:a;N;/<\/STATUS>/!ba;s/\n//g}' lines.ofx >joined.ofx
cat >all.mjs <<'JS'
import fs from "fs";
import * as js from "ofx-js";
import * as node from "node-ofx-parser";
import { Ofx } from "ofx-data-extractor";

const [lines, joined] = ["lines.ofx", "joined.ofx"].map((name) => fs.readFileSync(name, "utf8"));
const told = (r) => {
  const list = r.OFX.BANKMSGSRSV1.STMTTRNRS.STMTRS.BANKTRANLIST;
  const [first, second] = list.STMTTRN ?? list.STRTTRN;
  return [list.STMTTRN ? "STMTTRN" : "STRTTRN", first.NAME, first.DTPOSTED, second.FITID].join(", ");
};
console.log("ofx-js: " + told(await (js.parse ?? js.default.parse)(lines)));
console.log("node-ofx-parser: " + told((node.parse ?? node.default.parse)(lines)));
console.log("ofx-data-extractor: " + told(new Ofx(lines).toJson()));
try {
  console.log("ofx-data-extractor, a status on a line: " + told(new Ofx(joined).toJson()));
} catch (error) {
  console.log("ofx-data-extractor, a status on a line: " + error.name);
}
console.log("ofx-js, a status on a line: " + told(await (js.parse ?? js.default.parse)(joined)));
JS
node all.mjs | tee said
/usr/bin/python3 -c '
import ofxparse
for t in ofxparse.OfxParser.parse(open("lines.ofx", "rb")).account.statement.transactions: print("ofxparse:", t.date, t.payee, t.id)' | tee -a said
dpkg-query -W ofx python3-ofxparse
TZ=UTC ofxdump lines.ofx 2>/dev/null | sed -n 's/ *Date posted: /libofx: /p' | tee -a said
diff said - <<'EOF'
ofx-js: STMTTRN, Shop & Co, 20261112003000.000[+8:CST], 0042
node-ofx-parser: STMTTRN, Shop &amp;amp;amp; Co, 20261112003000.000[+8:CST], 0042
ofx-data-extractor: STRTTRN, Shop &amp; Co, 2026-11-12, 0042
ofx-data-extractor, a status on a line: SyntaxError
ofx-js, a status on a line: STMTTRN, Shop & Co, 20261112003000.000[+8:CST], 0042
ofxparse: 2026-11-11 16:30:00 Shop & Co 523415642750058497
ofxparse: 2026-11-11 00:00:00 Alice 0042
libofx: Wed Nov 11 16:30:00 2026 UTC
libofx: Wed Nov 11 10:59:00 2026 UTC
EOF
