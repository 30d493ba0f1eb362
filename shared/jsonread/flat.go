package jsonread

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Flat reads what an operator or a schedule wrote: one object whose members are strings,
// numbers and lists of strings, into the struct that into points to. A whole number may have an exponent, as the 1e3
// that YAML tools write, but no decimal point: a price of 899.00 is hardly meant in cents. A duplicate name, null, a
// nested value, invalid UTF-8 and anything after the object are errors, because a typo must not be read as something
// else. It returns the names; the caller must check that they are known, letter case included, because encoding/json
// checks neither.
func Flat(text []byte, into any) (names []string, err error) {
	tokens := jsontext.NewDecoder(bytes.NewReader(text))     // strict about names and UTF-8
	if start, _ := tokens.ReadToken(); start.Kind() != '{' { // without a token the kind is 0
		return nil, errors.New("the request must be a JSON object")
	}
	plain := []byte{'{'}
	for tokens.PeekKind() == '"' {
		name, err := tokens.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("read a name: %w", err)
		}
		names = append(names, name.String())
		kind := tokens.PeekKind()
		value, err := tokens.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("read a value: %w", err)
		}
		if kind != '"' && kind != '0' && !isTexts(value) {
			return nil, errors.New("a field must be a string, a number or a list of strings")
		}
		if len(plain) > 1 {
			plain = append(plain, ',')
		}
		if plain, err = jsontext.AppendQuote(plain, names[len(names)-1]); err != nil {
			return nil, fmt.Errorf("read a name: %w", err)
		}
		plain = append(plain, ':')
		if n, ok := wholeOf(string(value)); ok && !bytes.ContainsRune(value, '.') {
			plain = strconv.AppendInt(plain, n, 10)
		} else {
			plain = append(plain, value...)
		}
	}
	plain = append(plain, '}')
	if _, err := tokens.ReadToken(); err != nil { // the object's end
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if _, err := tokens.ReadToken(); err != io.EOF {
		return nil, errors.New("there is data after the request")
	}
	if err := json.Unmarshal(plain, into); err != nil {
		return nil, fmt.Errorf("read the fields: %w", err)
	}
	return names, nil
}

// isTexts reports whether a value is a list of strings.
func isTexts(value jsontext.Value) bool {
	tokens := jsontext.NewDecoder(bytes.NewReader(value))
	if start, _ := tokens.ReadToken(); start.Kind() != '[' {
		return false
	}
	for tokens.PeekKind() == '"' {
		_, _ = tokens.ReadToken() // the value is valid
	}
	return tokens.PeekKind() == ']'
}
