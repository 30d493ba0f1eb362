#!/bin/bash
# What three readers of npm make of a shop's page, as chats show it under a link: a title, a description, no og:site_name.
#
# One would guess: the title and the description are those of og:title and og:description, decoded once; and of a page that names no
# publisher none is shown.
# It is so: of open-graph-scraper. The others:
# - metascraper's publisher is what stands behind the last dash or bar of the title: "Trail Runner - red - 42" is published by 42, and
#   "Trail Runner | size 42" by "size 42". Behind a middle dot or a colon nothing is taken for it. og:site_name mends it.
# - metascraper sets texts anew: 5'10" has primes afterwards, and so has the second quote of "6", but not the first.
# - unfurl.js decodes twice: of a title that says how to write &amp;, as a book's on HTML does, & is left.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error metascraper@5.49.24 metascraper-title@5.49.24 metascraper-description@5.49.24 metascraper-publisher@5.49.24 \
	open-graph-scraper@6.12.0 unfurl.js@6.4.0 >/dev/null
cat >run.js <<'JS'
const { createServer } = require("node:http");
const metascraper = require("metascraper")(["title", "description", "publisher"].map(part => require("metascraper-" + part)()));
const scrape = require("open-graph-scraper"), { unfurl } = require("unfurl.js");
const escaped = text => text.replace(/&/g, "&amp;").replace(/"/g, "&#34;").replace(/'/g, "&#39;");
const pages = ["Trail Runner - red - 42", "Trail Runner | size 42", "Trail Runner · 42", "Trail Runner: 42", `A "6"  is 5'10"`, "How to write &amp;"].map(title =>
  `<!doctype html><html lang="en"><head><title>${escaped(title)}</title><meta property="og:title" content="${escaped(title)}"></head><body></body></html>`);
const server = createServer((request, response) => response.setHeader("Content-Type", "text/html; charset=utf-8").end(pages[request.url.slice(1)])).listen(0, "127.0.0.1", async () => {
  for (const [i, html] of pages.entries()) {
    const { title, publisher } = await metascraper({ html, url: "https://shop.example.com/" });
    console.log("open-graph-scraper:", (await scrape({ html })).result.ogTitle);
    console.log("  metascraper:", title, "by", publisher, "\n  unfurl.js:", (await unfurl(`http://127.0.0.1:${server.address().port}/${i}`)).open_graph.title);
  }
  server.close();
});
JS
npm ls --depth 0 | grep @
node run.js | tee said
diff said - <<'SEEN'
open-graph-scraper: Trail Runner - red - 42
  metascraper: Trail Runner - red - 42 by 42 
  unfurl.js: Trail Runner - red - 42
open-graph-scraper: Trail Runner | size 42
  metascraper: Trail Runner | size 42 by size 42 
  unfurl.js: Trail Runner | size 42
open-graph-scraper: Trail Runner · 42
  metascraper: Trail Runner · 42 by null 
  unfurl.js: Trail Runner · 42
open-graph-scraper: Trail Runner: 42
  metascraper: Trail Runner: 42 by null 
  unfurl.js: Trail Runner: 42
open-graph-scraper: A "6"  is 5'10"
  metascraper: A “6″ is 5′10″ by null 
  unfurl.js: A "6"  is 5'10"
open-graph-scraper: How to write &amp;
  metascraper: How to write &amp; by null 
  unfurl.js: How to write &
SEEN
