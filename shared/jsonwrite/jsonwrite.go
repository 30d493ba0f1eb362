// Package jsonwrite writes flat JSON objects as text: answers, log lines, messages.
// Encoding them by reflection would cost more than all the rest of a refusal from
// memory.
//
// Plain ASCII is quoted here; the standard library quotes everything else.
package jsonwrite

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Object is a JSON object without its closing brace; the zero Object has no member.
// Names must be ASCII without quotes and backslashes: they are this program's own.
type Object []byte

// Name begins a member; the caller appends its value next.
func (o *Object) Name(name string) {
	switch n := len(*o); {
	case n == 0:
		*o = append(*o, '{')
	case (*o)[n-1] != '{':
		*o = append(*o, ',')
	}
	*o = append(append(append(*o, '"'), name...), `":`...)
}

// Open begins a member that is an object, to whose members those are added that follow until End.
func (o *Object) Open(name string) {
	o.Name(name)
	*o = append(*o, '{')
}

// End ends the object that Open began.
func (o *Object) End() { *o = append(*o, '}') }

// Text adds a string, see Quote.
func (o *Object) Text(name, value string) {
	o.Name(name)
	*o = Quote(*o, value)
}

// TextIf adds a string that is not empty.
func (o *Object) TextIf(name, value string) {
	if value != "" {
		o.Text(name, value)
	}
}

// Texts adds an array of strings.
func (o *Object) Texts(name string, values []string) {
	o.Name(name)
	separator := byte('[')
	for _, value := range values {
		*o = Quote(append(*o, separator), value)
		separator = ','
	}
	if separator == '[' {
		*o = append(*o, separator)
	}
	*o = append(*o, ']')
}

// Int adds a number.
func (o *Object) Int(name string, value int64) {
	o.Name(name)
	*o = strconv.AppendInt(*o, value, 10)
}

// Digits adds a number as a string: one of more than 53 bits is not safe as a number.
func (o *Object) Digits(name string, value uint64) {
	o.Name(name)
	*o = append(strconv.AppendUint(append(*o, '"'), value, 10), '"')
}

// Bool adds a boolean.
func (o *Object) Bool(name string, value bool) {
	o.Name(name)
	*o = strconv.AppendBool(*o, value)
}

// Members returns the encoded members without the opening brace.
func (o Object) Members() []byte {
	if len(o) == 0 {
		return nil
	}
	return o[1:]
}

// Close ends the object and returns its text.
func (o Object) Close() []byte {
	if len(o) == 0 {
		return []byte("{}")
	}
	return append(o, '}')
}

// Quote appends the text as a JSON string. Invalid UTF-8 becomes U+FFFD; control
// characters and the line separators U+2028 and U+2029 are escaped.
func Quote(to []byte, text string) []byte {
	start := len(to)
	to = append(to, '"')
	copied := 0 // of text
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c > '~':
			return escape(to[:start], text)
		case c == '"' || c == '\\': // common: an answer's body is JSON within JSON
			to = append(append(to, text[copied:i]...), '\\')
			copied = i
		}
	}
	return append(append(to, text[copied:]...), '"')
}

func escape(to []byte, text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // not needed outside HTML, and it lengthens the text
	_ = e.Encode(text)     // a string always encodes
	return append(to, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
