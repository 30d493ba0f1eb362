package handler

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/functions/page/assets"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/language"
)

// The page, the front, which keeps one page for each language, and the scripts must choose the same one: node runs the
// front's function and language.js.
func TestEveryBuyerGetsTheFirstOfTheirLanguagesThatThePageHas(t *testing.T) {
	wants := map[string]string{
		"": "en", "de": "de", "de-AT": "de", "DE-at": "de", "sv-SE,sv;q=0.9": "en", "sv, fr-CH;q=0.9, en;q=0.8": "fr",
		"en;q=0.5, ja;q=0.9": "ja", "it;q=0, nl": "nl", "fr;q=0.7,de;q=0.7": "fr", "*": "en", "pl ; q=1.0": "pl",
		"pt": "pt-BR", "pt-PT": "pt-BR", "in-ID": "id", "id": "id", "ar-MA": "ar",
		"zh": "zh-CN", "zh-CN": "zh-CN", "zh-SG": "zh-CN", "zh-Hans-TW": "zh-CN", "zh-MY": "zh-CN",
		"zh-TW": "zh-TW", "zh-HK": "zh-TW", "zh-MO": "zh-TW", "zh-Hant": "zh-TW", "zh-Hant-CN": "zh-TW", "zh-US": "zh-TW",
		"x": "en", "de_AT": "en", "i-klingon, th": "th", ";;,,q=1": "en", "de;q=x, vi": "vi", strings.Repeat("sv,", 40) + "ko": "en",
	}
	for _, tag := range language.Tags {
		wants[tag] = tag
	}
	told, err := json.Marshal(wants)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "node", "testdata/languages.mjs", "choices", string(told)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var others map[string]map[string]string
	if err := json.Unmarshal(out, &others); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f := newFunction(t)
	for accept, want := range wants {
		r, text := f.get(t, httpapitest.Event(t, "page-sale.json", func(r *events.APIGatewayV2HTTPRequest) {
			r.Headers["accept-language"] = accept
		}))
		preloads := regexp.MustCompile(`modulepreload" href="/assets/(words-[\w-]+)\.`).FindStringSubmatch(text)
		if got := saidIn(accept).Tag; got != want || r.Headers["Content-Language"] != want || !strings.Contains(text, `<html lang="`+want+`" `) ||
			preloads == nil || preloads[1] != "words-"+want {
			t.Errorf("%q: the page is in %s, loads %q and is sent as %v, want %s", accept, got, preloads, r.Headers, want)
		}
		if front, script := others["front"][accept], others["script"][accept]; front != want || script != want {
			t.Errorf("%q: the front chooses %s and the script %s, want %s", accept, front, script, want)
		}
	}
}

// What the HTML says before the scripts run is what they say first.
func TestTheWordsOfEachLanguageAreWhole(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "node", "testdata/languages.mjs", "words").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var told struct {
		First map[string][2]string
		Wrong []string
	}
	if err := json.Unmarshal(out, &told); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, wrong := range told.Wrong {
		t.Error(wrong)
	}
	var files []string
	for _, l := range texts {
		if got, want := told.First[l.Tag], [2]string{l.Title, l.Loading}; got != want {
			t.Errorf("%s: the script says %q first, the page %q", l.Tag, got, want)
		}
		files = append(files, l.Words())
	}
	entries, err := assets.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "words-") && !slices.Contains(files, e.Name()) {
			t.Errorf("no language has %s", e.Name())
		}
	}
}
