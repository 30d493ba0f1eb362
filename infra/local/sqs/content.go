package sqs

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// wireAttribute is a message attribute, or a system attribute, in a request or
// an answer.
type wireAttribute struct {
	DataType         string
	StringValue      *string  `json:",omitempty"`
	BinaryValue      []byte   `json:",omitempty"`
	StringListValues []string `json:",omitempty"`
	BinaryListValues [][]byte `json:",omitempty"`
}

const maxAttributes = 10

var (
	attributeName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	decimal       = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
)

// isText reports whether a string contains only characters that SQS allows: those of an
// XML document.
func isText(s string) bool {
	for _, r := range s {
		switch {
		case r == '\t', r == '\n', r == '\r':
		case r >= 0x20 && r <= 0xD7FF, r >= 0xE000 && r <= 0xFFFD, r >= 0x10000 && r <= 0x10FFFF:
		default:
			return false
		}
	}
	return true
}

func checkBody(body *string) error {
	if body == nil || *body == "" {
		return errMissing("MessageBody")
	}
	if !isText(*body) {
		return errContents()
	}
	return nil
}

func checkMessageAttributes(in map[string]wireAttribute) (map[string]attribute, error) {
	if len(in) > maxAttributes {
		return nil, errParameter("Number of message attributes [%d] exceeds the allowed maximum [%d].", len(in), maxAttributes)
	}
	var out map[string]attribute
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if err := checkAttributeName(name); err != nil {
			return nil, err
		}
		a, err := checkValue("Message (user) attribute '"+name+"'", in[name])
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = map[string]attribute{}
		}
		out[name] = a
	}
	return out, nil
}

func checkAttributeName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case name == "" || len(name) > 256:
		return errParameter("Message (user) attribute name must be between 1 and 256 characters long.")
	case !attributeName.MatchString(name):
		return errParameter("Message (user) attribute name can contain alphanumeric characters, underscores, hyphens and single periods between them.")
	case strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon."):
		return errParameter("Message (user) attribute name must not start with AWS. or Amazon.")
	}
	return nil
}

// checkValue reads one attribute. A type is String, Number or Binary, optionally with a
// custom label after a period.
func checkValue(what string, in wireAttribute) (attribute, error) {
	kind, _, _ := strings.Cut(in.DataType, ".")
	switch {
	case in.DataType == "":
		return attribute{}, errParameter("%s must contain a non-empty attribute type.", what)
	case len(in.DataType) > 256:
		return attribute{}, errParameter("%s type must be at most 256 characters long.", what)
	case kind != "String" && kind != "Number" && kind != "Binary":
		return attribute{}, errParameter("%s has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String.", what)
	case len(in.StringListValues) > 0 || len(in.BinaryListValues) > 0:
		return attribute{}, errUnsupported("Message attribute list values in SendMessage operation are not supported.")
	case kind == "Binary" && len(in.BinaryValue) == 0, kind != "Binary" && (in.StringValue == nil || *in.StringValue == ""):
		return attribute{}, errParameter("%s must contain a non-empty value of type '%s'.", what, kind)
	case kind == "Binary":
		return attribute{Type: in.DataType, Binary: in.BinaryValue}, nil
	case !isText(*in.StringValue):
		return attribute{}, errContents()
	}
	if kind == "Number" && !isNumber(*in.StringValue) {
		return attribute{}, errParameter("Can't cast the value of %s to a number.", what)
	}
	return attribute{Type: in.DataType, Text: *in.StringValue}, nil
}

func isNumber(text string) bool { return decimal.MatchString(text) }

// sizeOf returns the size that counts against a message size limit: the body and each
// attribute's name, type and value.
func sizeOf(body string, attributes map[string]attribute) int {
	size := len(body)
	for name, a := range attributes {
		size += len(name) + len(a.Type) + len(a.Text) + len(a.Binary)
	}
	return size
}

func md5Hex(body string) string {
	sum := md5.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// digest is MD5OfMessageAttributes as the SQS Developer Guide defines it, "" for no
// attributes: for each attribute, sorted by name: name, type and value, each prefixed
// with its length, and a byte for the kind of value.
func digest(attributes map[string]attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	h := md5.New()
	sized := func(part string) {
		var length [4]byte
		binary.BigEndian.PutUint32(length[:], uint32(len(part)))
		// Writing to a hash never fails.
		_, _ = h.Write(length[:])
		_, _ = io.WriteString(h, part)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		sized(name)
		sized(a.Type)
		if strings.HasPrefix(a.Type, "Binary") {
			_, _ = h.Write([]byte{2})
			sized(string(a.Binary))
			continue
		}
		_, _ = h.Write([]byte{1})
		sized(a.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// wire returns the attribute as it appears in answers.
func (a attribute) wire() wireAttribute {
	if strings.HasPrefix(a.Type, "Binary") {
		return wireAttribute{DataType: a.Type, BinaryValue: a.Binary}
	}
	return wireAttribute{DataType: a.Type, StringValue: &a.Text}
}
