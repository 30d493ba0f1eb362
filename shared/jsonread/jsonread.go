// Package jsonread reads the few things of a JSON text that are looked at, token by
// token: reading an event into structs costs more than everything else that is done
// for it.
//
// It parses JSON and contains nothing of any event.
package jsonread

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads one text. A method takes the value that comes next; null is an empty
// value of any kind. What is not Unicode in a text is replaced, and a name may stand in
// an object twice: an odd event should get an HTTP answer, not fail the function.
type Reader struct {
	tokens *jsontext.Decoder
	from   bytes.Buffer
}

var readers = sync.Pool{New: func() any { return &Reader{tokens: jsontext.NewDecoder(strings.NewReader(""))} }}

var (
	errType  = errors.New("a value is not of its type")
	errAfter = errors.New("there is something after the value")
)

// Read lets read take the one value of the text. It fails as read does, and if the
// text is not JSON or holds more than the one value.
func Read(text []byte, read func(*Reader) error) error {
	r := readers.Get().(*Reader)
	r.open(text)
	err := read(r)
	if err == nil {
		err = r.end()
	}
	r.open(nil) // the pool must not keep the text alive
	readers.Put(r)
	if err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	return nil
}

func (r *Reader) open(text []byte) {
	r.from = *bytes.NewBuffer(text)
	r.tokens.Reset(&r.from, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

func (r *Reader) end() error {
	_, err := r.tokens.ReadToken()
	switch {
	case err == io.EOF:
		return nil
	case err == nil:
		return errAfter
	}
	return err
}

// begin takes the start of an object or array; null has none.
func (r *Reader) begin(kind jsontext.Kind) (found bool, err error) {
	t, err := r.tokens.ReadToken()
	switch {
	case err != nil:
		return false, err
	case t.Kind() == kind:
		return true, nil
	case t.Kind() == 'n':
		return false, nil
	}
	return false, errType
}

// Object takes an object: it calls member with each name (valid until the value is
// read); member must read the value. Names are exact, as encoding/json's would not be, and those that are
// not UTF-8 stay so.
func (r *Reader) Object(member func(name []byte) error) error {
	if found, err := r.begin('{'); !found {
		return err
	}
	for r.tokens.PeekKind() == '"' {
		quoted, err := r.tokens.ReadValue()
		if err != nil {
			return err
		}
		name := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			// It fails at most for a name that is no UTF-8, and none such is looked for.
			name, _ = jsontext.AppendUnquote(nil, quoted)
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := r.tokens.ReadToken() // the object's end, or what is wrong with it
	return err
}

// Array takes an array: element must take each of its values.
func (r *Reader) Array(element func() error) error {
	if found, err := r.begin('['); !found {
		return err
	}
	for {
		switch r.tokens.PeekKind() {
		case ']', 0: // the array's end, or what is wrong with it
			_, err := r.tokens.ReadToken()
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// Text takes a string; given is false for null.
func (r *Reader) Text() (text string, given bool, err error) {
	t, err := r.tokens.ReadToken()
	switch {
	case err != nil:
		return "", false, err
	case t.Kind() == '"':
		return t.String(), true, nil
	case t.Kind() == 'n':
		return "", false, nil
	}
	return "", false, errType
}

// Bool takes a boolean.
func (r *Reader) Bool() (bool, error) {
	t, err := r.tokens.ReadToken()
	switch {
	case err != nil:
		return false, err
	case t.Kind() == 't':
		return true, nil
	case t.Kind() == 'f', t.Kind() == 'n':
		return false, nil
	}
	return false, errType
}

// Skip takes any value, at once: the decoder's own SkipValue would go token by token.
func (r *Reader) Skip() error {
	_, err := r.tokens.ReadValue()
	return err
}
