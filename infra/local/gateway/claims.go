package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// claimTexts renders claims as the event contains them: all are strings. A null claim
// is omitted, so that it cannot be mistaken for a value.
func claimTexts(claims map[string]any) map[string]string {
	texts := make(map[string]string, len(claims))
	for name, value := range claims {
		if value != nil {
			texts[name] = claimText(value)
		}
	}
	return texts
}

func claimText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return numberText(v.String())
	case []any:
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = claimText(item)
		}
		return "[" + strings.Join(texts, " ") + "]"
	case map[string]any:
		texts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			texts = append(texts, name+":"+claimText(v[name]))
		}
		return "map[" + strings.Join(texts, " ") + "]"
	}
	return fmt.Sprint(value)
}

// numberText never uses an exponent, which a function would not read as a number of seconds.
func numberText(number string) string {
	if !strings.ContainsAny(number, ".eE") {
		return number
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
