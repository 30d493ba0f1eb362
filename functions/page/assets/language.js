// The languages of the buyer's page: which one a buyer gets, its words, and how numbers, money and times are written.

/** Where the words of each language are. The names are those of `lang` in HTML. */
const files = {
  en: () => import("./words-en.js"),
  "zh-CN": () => import("./words-zh-CN.js"),
  "zh-TW": () => import("./words-zh-TW.js"),
  ja: () => import("./words-ja.js"),
  ko: () => import("./words-ko.js"),
  de: () => import("./words-de.js"),
  fr: () => import("./words-fr.js"),
  es: () => import("./words-es.js"),
  "pt-BR": () => import("./words-pt-BR.js"),
  it: () => import("./words-it.js"),
  nl: () => import("./words-nl.js"),
  pl: () => import("./words-pl.js"),
  tr: () => import("./words-tr.js"),
  ar: () => import("./words-ar.js"),
  id: () => import("./words-id.js"),
  th: () => import("./words-th.js"),
  vi: () => import("./words-vi.js"),
};

/** @typedef {keyof typeof files} Tag */
/** @typedef {import("./words-en.js").Words} Words */
/** @typedef {import("./words-en.js").Forms} Forms */
/** @typedef {Awaited<ReturnType<typeof load>>} Language */

/** What a tag means; undefined if this browser does not understand it: some systems have tags of their own. @param {string} tag */
function parsed(tag) {
  try {
    return new Intl.Locale(tag);
  } catch {
    return undefined;
  }
}

/** The page's language of a tag; undefined if it has none. @param {Intl.Locale} tag */
function languageOf(tag) {
  const { language, script } = tag.maximize();
  const name = language === "zh" ? (script === "Hant" ? "zh-TW" : "zh-CN") : language === "pt" ? "pt-BR" : language;
  return name in files ? /** @type {Tag} */ (name) : undefined;
}

/**
 * The first of a buyer's languages that the page has, English without one; and the same with the buyer's region, by whose
 * customs numbers and times are written.
 * @param {readonly string[]} tags BCP 47, the preferred one first
 */
export function choose(tags) {
  const known = tags.map(parsed).filter((tag) => tag !== undefined);
  const mine = known.filter(languageOf);
  const language = mine[0] ? /** @type {Tag} */ (languageOf(mine[0])) : "en";
  const { region } = (mine.length ? mine.filter((tag) => languageOf(tag) === language) : known).find((tag) => tag.region) ?? {};
  // Chinese of one script may be read in a region of the other. Elsewhere a script would cost the region: Intl takes en-Latn-GB for en.
  const { script } = language.startsWith("zh") ? new Intl.Locale(language).maximize() : {};
  return { language, region, locale: new Intl.Locale(language, region ? { script, region } : {}).toString() };
}

/** The currencies that have not two digits, by ISO 4217, under the number that they have: browsers know others for some. */
const minor = ["BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF", "", "", "BHD IQD JOD KWD LYD OMR TND", "CLF UYW"].map((codes) => codes.split(" "));

/** How many digits of an amount in minor units are behind the point: 5000 is 50.00 CNY, and 5,000 ISK. @param {string} currency by ISO 4217 */
export const digits = (currency) => (minor.findIndex((codes) => codes.includes(currency)) + 1 || 3) - 1;

/** Signs that several currencies have. */
const shared = /^([$¥]|F.?CFA|kr\.?|Rs\.?)$/;

/**
 * Loads a language: its words, and what writes values in it. The page shows the buyer's (`navigator.languages`), an
 * element of another site that of its `lang`. It fails if the words do not arrive.
 * @param {readonly string[]} tags as for choose
 */
export async function load(tags) {
  const { language, region, locale } = choose(tags);
  const file = await files[language]();
  const plurals = new Intl.PluralRules(language);
  const rtl = locale.startsWith("ar");

  /** A number with the separators and the digits of the language. @param {number} n */
  const number = (n) => n.toLocaleString(locale);

  /**
   * A text with its values, {0} the first one. Numbers are written as the language does, and the first one chooses among
   * the forms of a text that counts.
   * @param {string | Forms} text @param {...(string | number)} values
   */
  function say(text, ...values) {
    const form = typeof text === "string" ? text : text[plurals.select(Number(values.find((v) => typeof v === "number")))] ?? text.other ?? "";
    return form.replace(/\{(\d)\}/g, (_, i) => {
      const value = typeof values[i] === "number" ? number(values[i]) : String(values[i]);
      return rtl ? "\u2068" + value + "\u2069" : value; // isolated, so that it keeps its own direction
    });
  }

  const two = new Intl.NumberFormat(locale, { minimumIntegerDigits: 2 });

  /** What is left of a time, such as 1 day 02:03:04; "" if nothing is. @param {number} ms */
  function countdown(ms) {
    if (!(ms > 0)) return "";
    const seconds = Math.ceil(ms / 1000);
    const parts = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60].map((n) => two.format(Math.floor(n)));
    const clock = parts.slice(seconds < 3600 ? 1 : 0).join(":");
    return seconds < 86400 ? clock : say(file.words.days, Math.floor(seconds / 86400), clock);
  }

  /**
   * A sum of money. A sign that several currencies have is that of the buyer's own country; the others have their codes.
   * @param {number} amount in minor units @param {string} currency by ISO 4217
   */
  function money(amount, currency) {
    const n = digits(currency);
    const format = (/** @type {"code" | "symbol"} */ currencyDisplay) =>
      new Intl.NumberFormat(locale, { style: "currency", currency, currencyDisplay, minimumFractionDigits: n, maximumFractionDigits: n });
    const symbol = format("symbol");
    const sign = symbol.formatToParts(0).find((part) => part.type === "currency")?.value ?? "";
    const own = region && currency.startsWith(region);
    return (shared.test(sign) && !own ? format("code") : symbol).format(amount / 10 ** n);
  }

  return {
    /** For `lang`. */
    language,
    /** For Intl: the language with the buyer's region. */
    locale,
    /** For `dir`. */
    dir: rtl ? "rtl" : "ltr",
    words: file.words,
    /** The words of a sale with a draw. @param {string} [again] what follows the file's address: browsers do not ask again for one that has failed */
    drawWords: async (again) => (await file.draw(again)).words,
    /** Those of a sale with orders of several units. @param {string} [again] */
    unitWords: async (again) => (await file.units(again)).words,
    say, number, money, countdown,
    /** An instant, with its zone. */
    dates: new Intl.DateTimeFormat(locale, { year: "numeric", month: "long", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" }),
    /** A time of today. */
    time: new Intl.DateTimeFormat(locale, { timeStyle: "medium" }),
    /** A day. */
    day: new Intl.DateTimeFormat(locale, { dateStyle: "long" }),
  };
}
