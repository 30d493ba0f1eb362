#!/bin/bash
# A backslash in the title of an event: the text C:\new,a stands as C:\\new\,a in iCalendar (RFC 5545, 3.3.11).
#
# One would guess: what readers and writers of iCalendar take away and put in is each other's reverse.
# It is so: \\ is often taken away after \n, so that the n becomes a line break.
# - Right: npm's ical.js and ts-ics (whose alarms' descriptions keep every backslash) and python3-vobject.
# - A backslash and a line break, "ew,a" on the next line: npm's node-ical (0.27.2 for Node 22, too) and ical. A line break in
#   place of both: npm's icalendar, and Debian's python3-icalendar, by which khal shows titles. A blank: cal-parser.
# - ruby-icalendar writes the backslash without another one, and does not read back what it has written.
# - The two values "a,b" and "c" of CATEGORIES are three for ical, icalendar and ts-ics.
set -euo pipefail
if ! ruby -ricalendar -e '' 2>/dev/null || ! /usr/bin/python3 -c 'import icalendar, vobject' 2>/dev/null; then
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends ruby ruby-icalendar='2.8.0-*' python3-icalendar='4.0.3-*' python3-vobject='0.9.6.1-*' >/dev/null
fi
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error ical.js@2.2.1 ts-ics@2.4.6 node-ical@0.26.1 ical@0.8.0 icalendar@0.7.1 cal-parser@1.0.2 >/dev/null
npm ls --depth 0 | grep @
printf '%s\r\n' BEGIN:VCALENDAR VERSION:2.0 PRODID:-//x//x//EN BEGIN:VEVENT UID:1@example.com DTSTAMP:20261111T120000Z DTSTART:20261112T040000Z DTEND:20261112T041500Z \
	'SUMMARY:C:\\new\,a' 'CATEGORIES:a\,b,c' BEGIN:VALARM ACTION:DISPLAY 'DESCRIPTION:C:\\new\,a' TRIGGER:-PT10M END:VALARM END:VEVENT END:VCALENDAR >e.ics
cat >all.mjs <<'JS'
import fs from "fs";
import I from "ical.js";
import N from "node-ical";
import O from "ical";
import C from "icalendar";
import * as P from "cal-parser";
import { convertIcsCalendar } from "ts-ics";

const text = fs.readFileSync("e.ics", "utf8");
const tell = (name, title, categories, alarm) => console.log(name + ": " + JSON.stringify([title, categories, alarm]));
const event = (parsed) => Object.values(parsed).find((v) => v.type === "VEVENT");
const v = new I.Component(I.parse(text)).getFirstSubcomponent("vevent");
tell("ical.js", v.getFirstPropertyValue("summary"), v.getFirstProperty("categories").getValues(), v.getFirstSubcomponent("valarm").getFirstPropertyValue("description"));
const t = convertIcsCalendar(undefined, text).events[0];
tell("ts-ics", t.summary, t.categories, t.alarms[0].description);
const n = event(N.parseICS(text));
tell("node-ical", n.summary, undefined, n.alarms[0].description);
tell("ical", event(O.parseICS(text)).summary, event(O.parseICS(text)).categories);
const c = C.parse_calendar(text).events()[0];
tell("icalendar", c.getPropertyValue("SUMMARY"), c.getPropertyValue("CATEGORIES"), c.components.VALARM[0].getPropertyValue("DESCRIPTION"));
tell("cal-parser", (P.default.parseString ?? P.parseString)(text).events[0].summary.value);
JS
node all.mjs | tee said
dpkg-query -W python3-icalendar python3-vobject ruby-icalendar
/usr/bin/python3 -c '
import icalendar, json, vobject
text = open("e.ics", newline="").read()
print("python3-icalendar:", json.dumps(str(icalendar.Calendar.from_ical(text).walk("VEVENT")[0]["summary"])))
print("python3-vobject:", json.dumps(vobject.readOne(text).vevent.summary.value))' | tee -a said
ruby -rstringio -ricalendar -e '
calendar = Icalendar::Calendar.new
calendar.event { |e| e.summary = "C:\\new,a" }
puts "ruby-icalendar: " + calendar.to_ical[/SUMMARY.*/].strip + " " + Icalendar::Calendar.parse(calendar.to_ical).first.events.first.summary.to_s.inspect' | tee -a said
diff said - <<'EOF'
ical.js: ["C:\\new,a",["a,b","c"],"C:\\new,a"]
ts-ics: ["C:\\new,a",["a\\","b","c"],"C:\\\\new\\,a"]
node-ical: ["C:\\\new,a",null,"C:\\\new,a"]
ical: ["C:\\\new,a",["a\\","b","c"],null]
icalendar: ["C:\new,a",["a\\","b","c"],"C:\new,a"]
cal-parser: ["C: ew,a",null,null]
python3-icalendar: "C:\new,a"
python3-vobject: "C:\\new,a"
ruby-icalendar: SUMMARY:C:\new\,a "C:\new,a"
EOF
