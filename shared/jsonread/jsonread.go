// Package jsonread reads selected values of a JSON text, token by token: decoding an
// event into structs costs more than all the rest of handling it.
//
// It contains no event's field names.
package jsonread

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads one text. A method takes the next value; null is an empty value of any
// kind. Invalid UTF-8 is replaced, and duplicate names are allowed: an odd event should
// get an HTTP answer, not fail the function.
type Reader struct {
	tokens *jsontext.Decoder
	from   bytes.Buffer
	// texts holds the short texts, one after the other; unquoted is for those with escapes.
	texts    strings.Builder
	unquoted []byte
}

// short is the longest text that shares its memory with other texts of the event. So whoever keeps an
// id for longer than the event keeps no long text, as a body, with it.
const short = 256

// mostTexts bounds what is taken at once for short texts, in bytes: an id that is kept keeps that much.
const mostTexts = 1 << 10

var readers = sync.Pool{New: func() any { return &Reader{tokens: jsontext.NewDecoder(strings.NewReader(""))} }}

var (
	errType  = errors.New("a value has the wrong type")
	errAfter = errors.New("there is data after the value")
)

// Read calls read for the single value of the text. It fails with read's error, and if
// the text is not exactly one JSON value.
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
	r.texts.Reset()
	r.unquoted = nil
	r.texts.Grow(min(len(text)/5, mostTexts)) // about what is read of most events
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
// read); member must read the value. Names are case-sensitive, unlike those of
// encoding/json, and invalid UTF-8 in them is kept.
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
			// It fails only for a name that is invalid UTF-8, and we look for none of
			// those.
			name, _ = jsontext.AppendUnquote(nil, quoted)
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := r.tokens.ReadToken() // the object's end, or its syntax error
	return err
}

// Array takes an array: element must take each of its values.
func (r *Reader) Array(element func() error) error {
	if found, err := r.begin('['); !found {
		return err
	}
	for {
		switch r.tokens.PeekKind() {
		case ']', 0: // the array's end, or its syntax error
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
	v, err := r.tokens.ReadValue()
	switch {
	case err != nil:
		return "", false, err
	case v.Kind() == '"':
		return r.text(v), true, nil
	case v.Kind() == 'n':
		return "", false, nil
	}
	return "", false, errType
}

func (r *Reader) text(quoted []byte) string {
	text := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') >= 0 || !utf8.Valid(text) {
		r.unquoted, _ = jsontext.AppendUnquote(r.unquoted[:0], quoted) // invalid UTF-8 is replaced
		text = r.unquoted
	}
	if len(text) > short {
		return string(text)
	}
	start := r.texts.Len()
	r.texts.Write(text)
	return r.texts.String()[start:]
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

// Skip takes any value in one step; the decoder's SkipValue would go token by token.
func (r *Reader) Skip() error {
	_, err := r.tokens.ReadValue()
	return err
}
