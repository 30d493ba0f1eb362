package main

import (
	_ "embed"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/ops/consumers/orderevent"
	"flashsale/shared/language"
)

//go:embed letters.json
var lettersFile []byte

// letters are, by language and template, the subject and the text. The template "lines" has the lines below: the order,
// how many units it has, the amount, and until when to pay.
var letters = parsed[map[string]map[string][]string](lettersFile)

// letter writes the mail of a template about an event, in a language of BCP 47 and in the time of a zone: what the text
// does not know has no line.
func letter(template, tag string, e orderevent.Event, zone *time.Location) (subject, text string) {
	tag = language.Choose(tag)
	words, format := letters[tag], formats[tag]
	values := []string{e.OrderID, "", format.money(e.Amount, e.Currency), ""}
	if e.Units > 1 {
		values[1] = strconv.FormatInt(e.Units, 10)
	}
	if template == "please-pay" && !e.PayBy.IsZero() {
		values[3] = format.instant(e.PayBy.In(zone))
	}
	lines := []string{words[template][1], ""}
	for i, value := range values {
		if value != "" {
			lines = append(lines, fill(words["lines"][i], value))
		}
	}
	return words[template][0], strings.TrimSpace(strings.Join(lines, "\n")) + "\n"
}
