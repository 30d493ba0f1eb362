package buyer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"flashsale/infra/proof/browser"
)

// languages are those that a browser sends, and the page's language that it gets.
var languages = []struct{ sent, shown string }{
	{"en-GB", "en"}, {"zh-SG", "zh-CN"}, {"zh-HK", "zh-TW"}, {"ja-JP", "ja"}, {"ko-KR", "ko"}, {"de-AT", "de"}, {"fr-CA", "fr"}, {"es-MX", "es"}, {"pt-PT", "pt-BR"},
	{"it-IT", "it"}, {"nl-BE", "nl"}, {"pl-PL", "pl"}, {"tr-TR", "tr"}, {"ar-EG", "ar"}, {"id-ID", "id"}, {"th-TH", "th"}, {"vi-VN", "vi"},
}

// unfit writes each text of a language, with values, into the places of the page that are narrow, and returns the texts
// that do not fit there without a break inside a word. The styles of the places are those of a phone of 320 pixels.
const unfit = `(async () => {
	const url = [...document.querySelectorAll("[rel=modulepreload]")].map((link) => link.href).find((href) => href.includes("/words-"));
	const file = await import(url), drawn = await file.draw(), several = await file.units();
	main.style.overflowWrap = "normal";
	line.style.wordBreak = "normal"; // a Chinese word is one of two characters, and is not marked
	const facts = document.getElementById("facts").textContent.split("\n")[0];
	const date = facts.slice(facts.search(/\p{N}/u));
	const bad = [];
	const fits = (place, text) => {
		place.hidden = false;
		place.textContent = text;
		if (document.documentElement.scrollWidth > 320 || place.scrollWidth > place.clientWidth + 1) bad.push(place.id + ": " + text);
		place.textContent = "";
	};
	const buttons = "order orderFor choose chooseSize again signIn back pay showOrder enterNow keep".split(" ");
	const short = "SOLD_OUT PAUSED CLOSED RECALLED unitsLeft unitsAbout".split(" ");
	const size = sizes.appendChild(document.createElement("label")).appendChild(document.createElement("small"));
	size.id = "size";
	sizes.hidden = false;
	for (const [name, text] of [...Object.entries(file.words), ...Object.entries(drawn.words), ...Object.entries(several.words)]) {
		for (const form of typeof text === "string" ? [text] : Object.values(text)) {
			const whole = form.replace(/\{\d\}/g, (hole) => ({ opens: date, closes: date, payBy: date, moved: date })[name] ?? "1,234");
			fits(buttons.includes(name) ? act : short.includes(name) ? size : line, whole);
		}
	}
	return bad;
})()`

// The page is opened once in each language: 18 units, or 1, two days before the opening, and with its price.
func TestThePageIsInTheBuyersLanguage(t *testing.T) {
	t.Parallel()
	for group := range 4 {
		t.Run(fmt.Sprint(group), func(t *testing.T) {
			t.Parallel()
			tab := shop.tab(t, newID("user"))
			tab.Zone("Asia/Shanghai")
			tab.Size(320, 700)
			scenes(tab, `early: { first: { state: "NOT_OPEN", opens: 190000, closes: 199000, remaining: 1, name: "Trail Runner", price: 89900, currency: "CNY" } }`)
			for i := group; i < len(languages); i += 4 {
				l := languages[i]
				tab.Language(l.sent)
				tab.Before("window.told = []; new MutationObserver(() => told.push(document.documentElement.lang)).observe(document, { subtree: true, childList: true, attributes: true })")
				tab.Open(shop.page("early"))
				waitState(tab, "notOpen")
				loaded := browser.Eval[string](tab, `performance.getEntriesByType("resource").map((e) => /words-[\w-]+|draw-[\w-]+/.exec(e.name)?.[0] ?? "").filter(Boolean).join()`)
				browser.Check(t, loaded == "words-"+l.shown, "%s: the page loads the words %q, want those of %s", l.sent, loaded, l.shown)
				told := slices.Compact(browser.Eval[[]string](tab, "told"))
				browser.Check(t, len(told) == 1 && told[0] == l.shown, "%s: the page is in %q, one after the other, want %s from the start", l.sent, told, l.shown)
				text := tab.Text("main")
				browser.Check(t, !strings.Contains(text, "{") && !strings.Contains(text, "undefined") && !strings.Contains(text, "NaN"), "%s: the page says %q", l.sent, text)
				english := strings.Contains(text, "Opens") || strings.Contains(text, "It opens in")
				browser.Check(t, english == (l.shown == "en"), "%s: the page says %q", l.sent, text)
				if bad := browser.Eval[[]string](tab, unfit); len(bad) > 0 {
					t.Errorf("%s: at 320 pixels these are too wide: %q", l.sent, bad)
				}
			}
		})
	}
}

// A cache or an app may send another Accept-Language than the browser's languages: these decide.
func TestABrowsersLanguagesDecideIfTheHeaderSaysOthers(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Language("de-DE")
	tab.Before(`Object.defineProperty(navigator, "languages", { get: () => ["tlh", "x", "es-AR", "en"] })`)
	scenes(tab, `early: { first: { state: "NOT_OPEN", opens: 3600, remaining: 1 } }`)
	tab.Open(shop.page("early"))
	waitState(tab, "notOpen")
	browser.Gives(tab, "document.documentElement.lang", "es", "the page is in")
	tab.WaitText("La venta aún no ha empezado.", "1 unidad a la venta")
}

func TestOneUnitIsNotUnits(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	scenes(tab, `early: { first: { state: "NOT_OPEN", opens: 90000, closes: 99000, remaining: 1 } }`)
	tab.Open(shop.page("early"))
	tab.WaitText("1 unit for sale", "1 day 0")
}

// In Arabic the page begins at the right, and an English name does not turn its line around.
func TestArabicMirrors(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Language("ar-EG")
	tab.Size(320, 700)
	scenes(tab, `mine: { first: { name: "Trail Runner (42)", price: 89900, currency: "EGP" }, claim: { state: "CONFIRMED", payBy: 900, paymentUrl: location.origin + "/pay" } }`)
	tab.Open(shop.page("mine"))
	waitState(tab, "unpaid")
	tab.Axe()
	sides := browser.Eval[[]bool](tab, `["line", "detail", "order"].map((id) => {
		const range = document.createRange();
		range.selectNodeContents(document.getElementById(id));
		const box = document.getElementById("panel").getBoundingClientRect(), last = [...range.getClientRects()].at(-1);
		return box.right - last.right < last.left - box.left;
	})`)
	browser.Check(t, !slices.Contains(sides, false), "line, detail and order end at the right: %t", sides)
	digits := browser.Eval[[]bool](tab, `["countdown", "detail", "price"].map((id) => /[\u0660-\u0669]/.test(document.getElementById(id).textContent) && !/\d/.test(document.getElementById(id).textContent))`)
	browser.Check(t, !slices.Contains(digits, false), "countdown, date and price have Arabic digits: %t", digits)
}
