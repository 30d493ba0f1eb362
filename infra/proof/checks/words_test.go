package checks

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// wordless are refusals that the operators' page never shows: of codes that only buyers get or for which it has words
// of its own, and of requests that it does not make.
var wordless = regexp.MustCompile(`^(Closed|Paused|NotYourTurn|TurnOver|EnteringClosed|NotCancellable|DrawNotFound|EntryNotFound|RollNotFound|Unauthorized|Forbidden): ` +
	`|^InvalidRequest: (version is not|labels must|maxStock must|shards must|give shards|lateDays |extras |a sale with a draw has no lateDays|give payWithin|give at least|orderId must|expected must|unit must|units must|at |until is out|actor must|unknown provider|the payment has|the report |after must|action must|a redrive is|give saleId or|payments must|the scope must|count and sums must|sums must|id must be that of)` +
	`|: the user has no order in this sale$|: no such (refund|sending)$|a resume without version`)

// A text that was changed in English only would be shown in English.
func TestEveryRefusalThatThePageShowsIsInChinese(t *testing.T) {
	chinese, verbs := map[string]string{}, regexp.MustCompile(`%[a-z]`)
	for _, row := range regexp.MustCompile(`(?m)^  (".*"): (".*"),$`).FindAllStringSubmatch(read(t, "functions/operate/assets/details.js"), -1) {
		var english, other string
		if json.Unmarshal([]byte(row[1]), &english) != nil || json.Unmarshal([]byte(row[2]), &other) != nil ||
			!slices.Equal(verbs.FindAllString(english, -1), verbs.FindAllString(other, -1)) || !strings.ContainsFunc(other, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s is %s", row[1], row[2])
		}
		chinese[english] = other
	}
	const quoted = `"(?:[^"\\]|\\.)*"`
	const text = `(` + quoted + `(?:\s*\+\s*` + quoted + `)*)`
	joined := func(text string) (all string) {
		for _, part := range regexp.MustCompile(quoted).FindAllString(text, -1) {
			one, _ := strconv.Unquote(part)
			all += one
		}
		return all
	}
	found := map[string]bool{}
	shown := codeIn("functions/operate/handler", "shared/ledger", "shared/sale")
	for _, s := range sources(t) {
		if !shown(s) || under(s.dir(), "shared/ledger/maintenance") {
			continue
		}
		for _, m := range regexp.MustCompile(text).FindAllString(read(t, s.path), -1) {
			found[joined(m)] = true
		}
		for _, m := range regexp.MustCompile(`\bRefusef?\((?:sale\.)?(\w+),\s*`+text).FindAllStringSubmatch(read(t, s.path), -1) {
			if english := joined(m[2]); chinese[english] == "" && !wordless.MatchString(m[1]+": "+english) {
				t.Errorf("%s: %q is not in Chinese", s.path, english)
			}
		}
	}
	for english := range chinese {
		if !found[english] {
			t.Errorf("nothing is refused with %q", english)
		}
	}
}
