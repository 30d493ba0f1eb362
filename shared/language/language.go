// Package language chooses the language of what buyers read: the page and the mails.
package language

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Tags are the languages, by the names that HTML's `lang` has for them; the first one is for everybody else.
var Tags = strings.Fields("en zh-CN zh-TW ja ko de fr es pt-BR it nl pl tr ar id th vi")

// IsRightToLeft reports whether a language is written from right to left.
func IsRightToLeft(tag string) bool { return tag == "ar" }

// traditional are the regions where Chinese without a script is written in traditional characters, by CLDR's likely
// subtags, which browsers go by.
var traditional = strings.Fields("au bn gb gf hk id mo pa pf ph sr th tw us vn")

// most is how many languages are read of an Accept-Language.
const most = 32

// Choose returns the language of an Accept-Language, of which a single tag is one, too: the first one, by preference,
// that is among Tags. What cannot be read is left out.
func Choose(accept string) string {
	type wish struct {
		tag     string
		quality float64
	}
	var wishes []wish
	for i, part := range strings.SplitN(accept, ",", most+1) {
		tag, weight, weighted := strings.Cut(strings.ToLower(part), ";")
		quality := 1.0
		if weighted {
			quality, _ = strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
		}
		if tag = tagOf(strings.TrimSpace(tag)); slices.Contains(Tags, tag) && quality > 0 && i < most {
			wishes = append(wishes, wish{tag, quality})
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(b.quality, a.quality) })
	return append(wishes, wish{tag: Tags[0]})[0].tag
}

// tagOf returns the tag for another one, in lower case: a language is that of all its regions.
func tagOf(tag string) string {
	parts := strings.Split(tag, "-")
	switch has := func(part string) bool { return slices.Contains(parts[1:], part) }; {
	case parts[0] == "pt":
		return "pt-BR"
	case parts[0] == "in": // as Java writes it
		return "id"
	case parts[0] != "zh":
		return parts[0]
	case has("hant"), !has("hans") && slices.ContainsFunc(traditional, has):
		return "zh-TW"
	}
	return "zh-CN"
}
