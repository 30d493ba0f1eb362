package template

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is a node of the template, resolved if it was an intrinsic function; the nodes
// below it are not resolved yet. Its node is nil if the property is absent.
type value struct {
	r  *reader
	n  *yaml.Node
	at string
}

type field struct {
	key string
	// name is the key's node, for errors.
	name *yaml.Node
	value
}

func (v value) absent() bool { return v.n == nil }

func (v value) fail(format string, args ...any) { v.r.fail(v.n, v.at, format, args...) }

func (v value) below(key string) string {
	if v.at == "" {
		return key
	}
	return v.at + "." + key
}

// content returns the keys and values of a mapping, in turn.
func (v value) content() []*yaml.Node {
	if v.n == nil || v.r.err != nil {
		return nil
	}
	if v.n.Kind != yaml.MappingNode {
		v.fail("must be a mapping")
		return nil
	}
	return v.n.Content
}

// raw returns the unresolved child of a mapping, nil when it has none.
func (v value) raw(key string) *yaml.Node {
	for pair := range slices.Chunk(v.content(), 2) {
		if pair[0].Value == key {
			return pair[1]
		}
	}
	return nil
}

// get returns the resolved child of a mapping.
func (v value) get(key string) value {
	at := v.below(key)
	return value{r: v.r, n: v.r.plain(v.raw(key), at), at: at}
}

// need is get for a required property.
func (v value) need(key string) value {
	c := v.get(key)
	if c.absent() {
		v.fail("%s is missing", key)
	}
	return c
}

// must fails unless the required property is the only one that runs locally.
func (v value) must(key, want string) {
	if c := v.need(key); c.text(want) != want {
		c.fail("must be %s", want)
	}
}

// fields returns the resolved children of a mapping in the template's order,
// without those that resolve to AWS::NoValue.
func (v value) fields() []field {
	var out []field
	for pair := range slices.Chunk(v.content(), 2) {
		if c := v.get(pair[0].Value); !c.absent() {
			out = append(out, field{key: pair[0].Value, name: pair[0], value: c})
		}
	}
	return out
}

// only refuses keys that are neither used here nor safe to ignore.
func (v value) only(used, ignored []string) {
	for pair := range slices.Chunk(v.content(), 2) {
		key := pair[0]
		if !slices.Contains(used, key.Value) && !slices.Contains(ignored, key.Value) {
			v.r.fail(key, v.below(key.Value), "this property does not run locally")
			return
		}
	}
}

// list returns the resolved items of a sequence, without AWS::NoValue.
func (v value) list() []value {
	if v.n == nil || v.r.err != nil {
		return nil
	}
	if v.n.Kind != yaml.SequenceNode {
		v.fail("must be a list")
		return nil
	}
	var out []value
	for i, item := range v.n.Content {
		at := v.at + "[" + strconv.Itoa(i) + "]"
		if n := v.r.plain(item, at); n != nil {
			out = append(out, value{r: v.r, n: n, at: at})
		}
	}
	return out
}

func (v value) texts() []string {
	var out []string
	for _, item := range v.list() {
		out = append(out, item.text(""))
	}
	return out
}

// text returns a scalar as a string, which all scalars are in CloudFormation.
func (v value) text(absent string) string {
	if v.n == nil || v.r.err != nil {
		return absent
	}
	if v.n.Kind != yaml.ScalarNode {
		v.fail("must be a string")
		return absent
	}
	if v.n.Tag == "!!bool" {
		return strings.ToLower(v.n.Value)
	}
	return v.n.Value
}

// number returns an integer.
func (v value) number(absent int) int {
	if v.n == nil || v.r.err != nil {
		return absent
	}
	i, err := strconv.Atoi(v.text(""))
	if err != nil {
		v.fail("must be a whole number")
	}
	return i
}
