#!/bin/bash
# An event at noon in a time zone that the file itself defines (a VTIMEZONE of RFC 5545, 3.6.5: "Shop Time", +08:00, no
# daylight saving), read on a computer in New York.
#
# One would guess: the definition is in the file, so it is used; who has no use for it says so.
# It is so: npm's ical.js, ts-ics and icalendar, and Debian's python3-icalendar and python3-vobject, give 04:00 UTC.
# node-ical (0.27.2 for Node 22, too) and ical know only names of zones: for any other one noon is the computer's, 17:00 UTC, and
# with the same definition under a name that Windows has, 04:00 for node-ical. cal-parser and calcurse make noon UTC of it;
# calcurse keeps the name of the zone in a note. For ical.js, Asia/Shanghai without a definition is the computer's zone.
set -euo pipefail
if ! command -v calcurse >/dev/null || ! /usr/bin/python3 -c 'import icalendar, vobject' 2>/dev/null; then
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends calcurse='4.7.1-*' python3-icalendar='4.0.3-*' python3-vobject='0.9.6.1-*' >/dev/null
fi
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error ical.js@2.2.1 ts-ics@2.4.6 node-ical@0.26.1 ical@0.8.0 icalendar@0.7.1 cal-parser@1.0.2 >/dev/null
npm ls --depth 0 | grep @
# calendar ZONE
calendar() {
	printf '%s\r\n' BEGIN:VCALENDAR VERSION:2.0 PRODID:-//x//x//EN BEGIN:VTIMEZONE "TZID:$1" BEGIN:STANDARD DTSTART:19700101T000000 TZOFFSETFROM:+0800 TZOFFSETTO:+0800 TZNAME:CST \
		END:STANDARD END:VTIMEZONE BEGIN:VEVENT UID:1@example.com DTSTAMP:20261111T120000Z "DTSTART;TZID=$1:20261112T120000" "DTEND;TZID=$1:20261112T121500" SUMMARY:Call END:VEVENT END:VCALENDAR
}
calendar 'Shop Time' >own.ics
calendar 'China Standard Time' >windows.ics
calendar Asia/Shanghai | sed '/BEGIN:VTIMEZONE/,/END:VTIMEZONE/d' >none.ics
cat >all.mjs <<'JS'
import fs from "fs";
import I from "ical.js";
import N from "node-ical";
import O from "ical";
import C from "icalendar";
import * as P from "cal-parser";
import { convertIcsCalendar } from "ts-ics";

const event = (parsed) => Object.values(parsed).find((v) => v.type === "VEVENT");
const readers = {
  "ical.js": (text) => new I.Event(new I.Component(I.parse(text)).getFirstSubcomponent("vevent")).startDate.toJSDate(),
  "ts-ics": (text) => convertIcsCalendar(undefined, text).events[0].start.date,
  icalendar: (text) => C.parse_calendar(text).events()[0].getPropertyValue("DTSTART"),
  "node-ical": (text) => event(N.parseICS(text)).start,
  ical: (text) => event(O.parseICS(text)).start,
  "cal-parser": (text) => (P.default.parseString ?? P.parseString)(text).events[0].dtstart.value,
};
for (const [name, read] of Object.entries(readers)) {
  const times = ["own", "windows", "none"].map((file) => {
    try {
      return read(fs.readFileSync(file + ".ics", "utf8")).toISOString().slice(11, 16);
    } catch {
      return "an error";
    }
  });
  console.log(name + ": " + times.join(", "));
}
JS
export TZ=America/New_York
node all.mjs | tee said
dpkg-query -W calcurse python3-icalendar python3-vobject
/usr/bin/python3 -c '
import datetime, icalendar, vobject
text = open("own.ics", newline="").read()
for name, start in (("python3-icalendar", icalendar.Calendar.from_ical(text).walk("VEVENT")[0].decoded("dtstart")), ("python3-vobject", vobject.readOne(text).vevent.dtstart.value)):
    print(name + ":", start.astimezone(datetime.timezone.utc).strftime("%H:%M"))' | tee -a said
mkdir calcurse && calcurse -D calcurse -i own.ics >/dev/null
{ sed 's/ ->.*//; s/^/calcurse: /' calcurse/apts; grep -h TZID calcurse/notes/* || true; } | tee -a said
diff said - <<'EOF'
ical.js: 04:00, 04:00, 17:00
ts-ics: 04:00, 04:00, 04:00
icalendar: 04:00, 04:00, an error
node-ical: 17:00, 04:00, 04:00
ical: 17:00, 17:00, 17:00
cal-parser: 12:00, 12:00, 12:00
python3-icalendar: 04:00
python3-vobject: 04:00
calcurse: 11/12/2026 @ 07:00
Import: TZID=Shop Time
EOF
