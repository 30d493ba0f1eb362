package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/ops/consumers/orderevent"
	"flashsale/shared/language"
)

//go:embed testdata/formats.json
var samplesFile []byte

// What Intl has written, as the page would, of currencies of two digits: the file has the amounts in hundredths.
func TestMailsWriteMoneyAndTimesAsThePageDoes(t *testing.T) {
	samples := parsed[map[string]struct{ Money, Instants map[string]string }](samplesFile)
	for _, tag := range language.Tags {
		f := formats[tag]
		for sample, want := range samples[tag].Money {
			var amount int64
			var code string
			if _, err := fmt.Sscan(sample, &amount, &code); err != nil {
				t.Fatal(err)
			}
			if code == "JPY" || code == "XOF" {
				continue // without digits here, by ISO 4217, as on the page
			}
			if got := f.money(amount, code); got != want {
				t.Errorf("%s: %s is written %q, want %q", tag, sample, got, want)
			}
		}
		for sample, want := range samples[tag].Instants {
			text, name, _ := strings.Cut(sample, " ")
			at, err := time.Parse(time.RFC3339, text)
			zone, failed := time.LoadLocation(name)
			if err != nil || failed != nil {
				t.Fatal(err, failed)
			}
			if got := f.instant(at.In(zone)); got != want {
				t.Errorf("%s: %s is written %q, want %q", tag, sample, got, want)
			}
		}
		if len(samples[tag].Money) == 0 || len(samples[tag].Instants) == 0 {
			t.Errorf("there are no samples of %s", tag)
		}
	}
	if got := formats["ja"].money(123456, "JPY"); got != "￥123,456" {
		t.Errorf("123456 yen are written %q", got)
	}
}

func TestEveryMailIsInTheBuyersLanguage(t *testing.T) {
	english := letters["en"]
	for _, tag := range language.Tags {
		if got, want := slices.Sorted(maps.Keys(letters[tag])), slices.Sorted(maps.Keys(english)); !slices.Equal(got, want) {
			t.Errorf("%s has the letters %v, want %v", tag, got, want)
		}
		for template, texts := range letters[tag] {
			for i, text := range texts {
				if len(texts) != len(english[template]) || text == "" || strings.Contains(text, "{0}") != strings.Contains(english[template][i], "{0}") ||
					tag != "en" && text == english[template][i] {
					t.Errorf("%s, %s: %q", tag, template, text)
				}
			}
		}
	}
	e := orderevent.Event{OrderID: "523415647045025793", Units: 2, Amount: 149900, Currency: "CNY", PayBy: time.Date(2026, 11, 11, 12, 15, 0, 0, time.UTC)}
	for tag, want := range map[string]string{
		"de-AT": "Ihre Bestellung ist reserviert. Bezahlen Sie rechtzeitig: Danach kann sie jemand anderes kaufen.\n\n" +
			"Bestellnummer: 523415647045025793\nAnzahl: 2\nBetrag: 1.499,00\u00a0CN¥\nZu bezahlen bis: 11. November 2026 um 20:15 GMT+8\n",
		"sv": "Your order is reserved. Pay in time: after that somebody else may buy it.\n\n" +
			"Order number: 523415647045025793\nQuantity: 2\nAmount: CN¥1,499.00\nPay by: November 11, 2026 at 8:15 PM GMT+8\n",
	} {
		if _, got := letter("please-pay", tag, e, time.FixedZone("", 8*60*60)); strings.ReplaceAll(got, "\u202f", " ") != want {
			t.Errorf("%s: the mail says\n%s\nwant\n%s", tag, got, want)
		}
	}
	if subject, got := letter("refund-due", "ja", orderevent.Event{}, time.UTC); got != letters["ja"]["refund-due"][1]+"\n" || subject == "" {
		t.Errorf("of a payment of which nothing is known the mail %q says %q", subject, got)
	}
}
