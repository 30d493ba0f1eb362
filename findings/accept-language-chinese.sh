#!/bin/bash
# Do libraries that choose a language by Accept-Language know that Hong Kong reads what Taiwan reads?
#
# One would guess: of en, zh-CN and zh-TW a library gives zh-TW to zh-HK and zh-Hant, if not by CLDR's likely subtags then not at all; and who asks
# for zh-TW gets it.
# It is so:
# - negotiator (Express, Koa and Fastify use it) and accept-language-parser know only equal tags and prefixes: nothing for zh-HK, zh-Hant or pt-PT.
#   zh-MO, zh gets zh-CN from all of them, because zh is the prefix of that.
# - accept-language-parser with {loose: true} compares the language alone: zh-HK, and even zh-TW itself, become zh-CN, the first of the list.
# - resolve-accept-language gives zh-CN to zh-HK, and English to zh-Hant-HK, as does accept-language to all of them.
# - @formatjs/intl-localematcher gives zh-TW to zh-HK and zh-Hant; it also reads in-ID, which Java writes, as Indonesian.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error --no-save negotiator@1.0.0 accept-language-parser@1.5.0 @formatjs/intl-localematcher@0.6.2 resolve-accept-language@3.2.2 accept-language@3.0.20 >/dev/null
cat >try.mjs <<'EOF2'
import { match } from "@formatjs/intl-localematcher";
import accept from "accept-language";
import parser from "accept-language-parser";
import Negotiator from "negotiator";
import { resolveAcceptLanguage } from "resolve-accept-language";
const ours = ["en", "zh-CN", "zh-TW", "pt-BR", "id"];
accept.languages(ours);
console.log("asked: negotiator, parser, parser loose, resolve, accept-language, formatjs");
for (const asked of ["zh-HK", "zh-Hant", "zh-Hant-HK", "zh-MO,zh;q=0.9", "zh-TW;q=0.8,en;q=0.5", "pt-PT", "in-ID"]) {
	const regions = ["en-US", "zh-CN", "zh-TW", "pt-BR", "id-ID"]; // it wants a region in each
	console.log(asked + ":", [
		new Negotiator({ headers: { "accept-language": asked } }).language(ours), parser.pick(ours, asked), parser.pick(ours, asked, { loose: true }),
		resolveAcceptLanguage(asked, regions, "en-US"), accept.get(asked), match(asked.split(",").map((tag) => tag.split(";")[0]), ours, "en"),
	].join(", "));
}
EOF2
node try.mjs | tee /dev/stderr | diff - <(cat <<'EOF2'
asked: negotiator, parser, parser loose, resolve, accept-language, formatjs
zh-HK: , , zh-CN, zh-CN, en, zh-TW
zh-Hant: , , zh-CN, en-US, en, zh-TW
zh-Hant-HK: , , zh-CN, en-US, en, zh-TW
zh-MO,zh;q=0.9: zh-CN, zh-CN, zh-CN, zh-CN, en, zh-CN
zh-TW;q=0.8,en;q=0.5: zh-TW, zh-TW, zh-CN, zh-TW, zh-TW, zh-TW
pt-PT: , , pt-BR, pt-BR, en, pt-BR
in-ID: , , , en-US, en, id
EOF2
)
