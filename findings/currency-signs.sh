#!/bin/bash
# Does Intl's currencyDisplay "symbol" tell currencies apart?
#
# One would guess: "narrowSymbol" may be ambiguous ($, ¥, £), and "symbol", the default, is not: US$, CA$, JP¥.
# It is so:
# - The two CFA francs, XAF of Central and XOF of West Africa, are "FCFA" and "F CFA" with a narrow no-break space (U+202F).
# - A bare $ is the US dollar in English in India (en-IN), and in every region that CLDR does not list for English, such as
#   en-MX, where people have another dollar sign of their own, and in plain "en"; in en-SG and en-CA it is the local dollar.
# - In Chinese a bare ¥ is yuan, and in zh-TW and zh-HK it is yen.
#
# Node's own data, CLDR 48 at the time of writing; no package is needed.
set -euo pipefail

node -e '
const sign = (locale, currency) => new Intl.NumberFormat(locale, { style: "currency", currency }).formatToParts(1).find((p) => p.type === "currency").value;
console.error("node " + process.version + ", CLDR " + process.versions.cldr);
for (const [locale, currency] of [["en", "XAF"], ["en", "XOF"], ["zh-CN", "XAF"], ["zh-CN", "XOF"], ["en", "USD"], ["en-IN", "USD"], ["en-MX", "USD"], ["en-SG", "USD"], ["en-SG", "SGD"], ["en-CA", "CAD"],
  ["zh-CN", "CNY"], ["zh-CN", "JPY"], ["zh-TW", "CNY"], ["zh-TW", "JPY"], ["zh-HK", "JPY"]]) console.log(locale, currency, JSON.stringify(sign(locale, currency)).replace("\u202f", "\\u202f"));
' | tee /dev/stderr | diff - <(cat <<'EOF'
en XAF "FCFA"
en XOF "F\u202fCFA"
zh-CN XAF "FCFA"
zh-CN XOF "F\u202fCFA"
en USD "$"
en-IN USD "$"
en-MX USD "$"
en-SG USD "US$"
en-SG SGD "$"
en-CA CAD "$"
zh-CN CNY "¥"
zh-CN JPY "JP¥"
zh-TW CNY "CN¥"
zh-TW JPY "¥"
zh-HK JPY "¥"
EOF
)
