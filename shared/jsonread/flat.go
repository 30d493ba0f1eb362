package jsonread

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Flat reads what an operator or a schedule wrote: one object whose members are strings
// and numbers, into the struct that into points to. A duplicate name, null, a nested
// value, invalid UTF-8 and anything after the object are errors, because a typo must
// not be read as something else. It returns the names; the caller must check that they
// are known, letter case included, because encoding/json checks neither.
func Flat(text []byte, into any) (names []string, err error) {
	tokens := jsontext.NewDecoder(bytes.NewReader(text))     // strict about names and UTF-8
	if start, _ := tokens.ReadToken(); start.Kind() != '{' { // without a token the kind is 0
		return nil, errors.New("the request must be a JSON object")
	}
	for tokens.PeekKind() == '"' {
		name, err := tokens.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("read a name: %w", err)
		}
		names = append(names, name.String())
		if kind := tokens.PeekKind(); kind != '"' && kind != '0' {
			return nil, errors.New("a field must be a string or a number")
		}
		if err := tokens.SkipValue(); err != nil {
			return nil, fmt.Errorf("read a value: %w", err)
		}
	}
	if _, err := tokens.ReadToken(); err != nil { // the object's end
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if _, err := tokens.ReadToken(); err != io.EOF {
		return nil, errors.New("there is data after the request")
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, fmt.Errorf("read the fields: %w", err)
	}
	return names, nil
}
