#!/bin/bash
# Reversals in MT940: the marks RC (a credit that is taken back) and RD (a debit that comes back) of field 61.
#
# One would guess: RC is money out and RD is money in, as C and D are the other way round; and //… is the bank's reference.
# It is so: mt940js and swiftmessageparser read them so, as Debian's AqBanking does. npm's mt940-js says isCredit of RC and
# not of RD: its sum of this statement is 2, where the bank's balances differ by -8. What it gives tells neither from C
# and D. It also needs tslib, which it does not name as a dependency.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error mt940-js@1.0.0 tslib@2.8.1 mt940js@1.3.5 swiftmessageparser@1.2.1 >/dev/null
npm ls --depth 0 | grep @
cat >all.mjs <<'JS'
import * as one from "mt940-js";
import two from "mt940js";
import * as three from "swiftmessageparser";

const text = [":20:1", ":25:37040044/0532013000", ":28C:1/1", ":60F:C261111EUR100,00", ":61:2611111111D4,00NTRF1//11", ":86:paid",
  ":61:2611111111RC8,00NTRF2//22", ":86:a credit is taken back", ":61:2611111111RD3,00NTRF3//33", ":86:a debit comes back", ":61:2611111111C1,00NTRF4//44",
  ":86:got", ":62F:C261111EUR92,00", "-", ""].join("\r\n");
const signed = (t) => (t.isCredit ? 1 : -1) * t.amount;
const list = (name, amounts) => console.log(name + ": " + amounts.join(" ") + ", in sum " + amounts.reduce((a, b) => a + b, 0));
const parser = (m) => m.Parser ?? m.default?.Parser ?? m.default;
list("mt940-js", (await one.read(Buffer.from(text)))[0].transactions.map(signed));
list("mt940js", new two.Parser().parse(text)[0].transactions.map((t) => t.amount));
list("swiftmessageparser", parser(three).parse({ type: "mt940", data: text })[0].transactions.map((t) => Number(t.amount)));
JS
node all.mjs | tee said
diff said - <<'EOF'
mt940-js: -4 8 -3 1, in sum 2
mt940js: -4 -8 3 1, in sum -8
swiftmessageparser: -4 -8 3 1, in sum -8
EOF
