// Times as they are shown and typed, in the person's zone or in UTC.

import { h, render } from "./elements.js";
import { now } from "./reading.js";
import { duration, language } from "./words.js";

export let utc = false;

/** The instant of a field's value; none of a time that the zone's clocks leave out. @param {string} text */
export function fromField(text) {
  const at = new Date(text && text + (utc ? "Z" : ""));
  return +at && fieldTime(at.toISOString()) === text.padEnd(19, ":00") ? at : new Date(NaN);
}

/** The zone in which times are shown. */
export const zone = () => (utc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone);

/** Shows times in UTC, or no longer: those in fields stay the same instants. */
export function turnZone() {
  const fields = [.../** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("main [type=datetime-local]"))].map((f) => ({ f, at: fromField(f.value) }));
  utc = !utc;
  for (const { f, at } of fields) {
    if (+at) f.value = fieldTime(at.toISOString());
    f.dispatchEvent(new Event("input"));
  }
  render();
}

/** A value for a field of date and time. @param {string} iso */
export function fieldTime(iso) {
  const d = new Date(iso);
  return new Date(d.getTime() - (utc ? 0 : d.getTimezoneOffset() * 60000)).toISOString().slice(0, 19);
}

/** An instant as text. @param {string} iso @param {boolean} [inUTC] */
export const local = (iso, inUTC = utc) => (Number.isNaN(Date.parse(iso)) ? "?" : new Date(iso).toLocaleString(language, { dateStyle: "medium", timeStyle: "medium", timeZone: inUTC ? "UTC" : undefined }));

/** An instant, with its UTC on hover. @param {string} iso @param {string} [before] */
export const time = (iso, before = "") => h("time", { datetime: iso, translate: "no", title: local(iso, true) + " UTC" }, before + local(iso));

/** How long ago an instant was. @param {string} iso */
export const ago = (iso) => duration(now() - Date.parse(iso));
