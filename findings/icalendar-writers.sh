#!/bin/bash
# What writers of iCalendar make of an address with a comma and of a Chinese title (RFC 5545, 3.1 and 3.3.13).
#
# One would guess: the value of URL is an address and no text, so nothing in it is escaped; lines are folded by octets at 75.
# It is so: ical-generator writes \, and \; into the address, and readers, which take no backslash away from it, open another
# page. ics and ts-ics fold by characters, of which a Chinese one has three octets: lines of up to 225.
# ical-generator folds by octets, and never within a character.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error ical-generator@11.1.2 ics@3.12.0 ts-ics@2.4.6 ical.js@2.2.1 >/dev/null
npm ls --depth 0 | grep @
cat >all.mjs <<'JS'
import I from "ical.js";
import generator from "ical-generator";
import { createEvent } from "ics";
import { generateIcsCalendar } from "ts-ics";

const [title, url] = ["茅".repeat(100), "https://shop.example/s/moutai?sizes=a,b;c"];
const [start, end] = [new Date("2026-11-12T04:00:00Z"), new Date("2026-11-12T04:15:00Z")];
const calendar = generator({});
calendar.createEvent({ start, end, summary: title, url });
const written = {
  "ical-generator": calendar.toString(),
  ics: createEvent({ start: [2026, 11, 12, 4, 0], startInputType: "utc", duration: { minutes: 15 }, title, url }).value,
  "ts-ics": generateIcsCalendar({ version: "2.0", prodId: "x", events: [{ uid: "1", summary: title, url, stamp: { date: start }, start: { date: start }, end: { date: end } }] }),
};
for (const [name, text] of Object.entries(written)) {
  const read = new I.Component(I.parse(text)).getFirstSubcomponent("vevent");
  const longest = Math.max(...text.split("\r\n").map((line) => Buffer.byteLength(line)));
  console.log(`${name}: ${read.getFirstPropertyValue("url")}, title ${read.getFirstPropertyValue("summary") === title ? "whole" : "other"}, longest line ${longest} octets`);
}
JS
node all.mjs | tee said
diff said - <<'EOF'
ical-generator: https://shop.example/s/moutai?sizes=a\,b\;c, title whole, longest line 74 octets
ics: https://shop.example/s/moutai?sizes=a,b;c, title whole, longest line 209 octets
ts-ics: https://shop.example/s/moutai?sizes=a,b;c, title whole, longest line 209 octets
EOF
