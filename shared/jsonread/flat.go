// Package jsonread reads what people and other programs write: one flat object strictly, and whole numbers in any form.
package jsonread

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Flat reads what an operator or a schedule wrote: one object whose members are strings,
// numbers and lists of strings, into the struct that into points to. A whole number may have an exponent, as the 1e3
// that YAML tools write, but no decimal point: a price of 899.00 is hardly meant in cents. A duplicate name, null, a
// nested value, invalid UTF-8 and anything after the object are errors, because a typo must not be read as something
// else. It returns the names; the caller must check that they are known, letter case included, because encoding/json
// checks neither.
func Flat(text []byte, into any) (names []string, err error) {
	var members map[string]jsontext.Value
	if err := jsonv2.Unmarshal(text, &members); err != nil || members == nil {
		return nil, errors.Join(errors.New("the request must be one JSON object, each name once"), err)
	}
	for name, value := range members {
		kind := value.Kind()
		if kind != '"' && kind != '0' && !isTexts(value) {
			return nil, errors.New("a field must be a string, a number or a list of strings")
		}
		if n, ok := wholeOf(string(value)); ok && !strings.Contains(string(value), ".") {
			members[name] = strconv.AppendInt(nil, n, 10)
		}
	}
	plain, err := jsonv2.Marshal(members)
	if err == nil {
		err = json.Unmarshal(plain, into)
	}
	if err != nil {
		return nil, fmt.Errorf("read the fields: %w", err)
	}
	return slices.Sorted(maps.Keys(members)), nil
}

// isTexts reports whether a value is a list of strings.
func isTexts(value jsontext.Value) bool {
	var list []jsontext.Value
	return value.Kind() == '[' && jsonv2.Unmarshal(value, &list) == nil &&
		!slices.ContainsFunc(list, func(one jsontext.Value) bool { return one.Kind() != '"' })
}
