package assets

import (
	"os"
	"regexp"
	"testing"

	"flashsale/functions/operate/handler"
	"flashsale/shared/webpage/webpagetest"
)

func TestTheOperatorsPageIsSmallAndWhole(t *testing.T) {
	webpagetest.Examine(t, Files, handler.PageData{}, 40<<10, "chart.js", "create.js", "create-", "details.js", "refunds.js", "sendings.js", "sendings-", "story.js")
}

// The page has words in two languages, and the command in English, for each kind of line that the function tells.
func TestEveryLineOfAStoryHasItsWords(t *testing.T) {
	told := regexp.MustCompile(`[kK]ind: "([a-z-]+[a-z])"|: "(expired|cancelled)"`).FindAllStringSubmatch(read(t, "../handler/buyer.go"), -1)
	if len(told) < 20 {
		t.Fatalf("found %d lines: they are made in another way", len(told))
	}
	for path, languages := range map[string]int{"story.js": 2, "../../../infra/ops/operator/story.go": 1} {
		text := read(t, path)
		for _, kind := range told {
			name := kind[1] + kind[2]
			if n := len(regexp.MustCompile(`(?m)^\s+"?`+name+`"?:`).FindAllString(text, -1)); n < languages || n%languages != 0 {
				t.Errorf("%s has %d texts for %s in %d languages", path, n, name, languages)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
