package cloudformation

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Member returns the value of a key in a mapping, not evaluated; nil if there is none.
func Member(n *yaml.Node, key string) *yaml.Node {
	for name, value := range members(n) {
		if name == key {
			return value
		}
	}
	return nil
}

func members(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for pair := range slices.Chunk(n.Content, 2) {
			if !yield(pair[0].Value, pair[1]) {
				return
			}
		}
	}
}

// Reference returns the name in a node that is one !Ref or !GetAtt, such as Queue or Queue.Arn;
// "" for any other node.
func Reference(n *yaml.Node) string {
	if n != nil && (n.Tag == "!Ref" || n.Tag == "!GetAtt") {
		return n.Value
	}
	return ""
}

// Values evaluates the members of a mapping, all but those named, which need not be known here.
func (t *Template) Values(n *yaml.Node, but ...string) (map[string]any, error) {
	all := t.mapping(n, but...)
	return all, t.taken()
}

// Value evaluates a node and all below it: to a string, []any, map[string]any, or nil for
// AWS::NoValue.
func (t *Template) Value(n *yaml.Node) (any, error) {
	value := t.value(n)
	return value, t.taken()
}

// taken returns the error of one evaluation.
func (t *Template) taken() error {
	err := t.err
	t.err = nil
	return err
}

func (t *Template) mapping(n *yaml.Node, but ...string) map[string]any {
	all := map[string]any{}
	for name, member := range members(n) {
		if slices.Contains(but, name) {
			continue
		}
		if value := t.value(member); value != nil {
			all[name] = value
		}
	}
	return all
}

// list evaluates the items of a list, without those that have no value.
func (t *Template) list(n *yaml.Node) []any {
	all := []any{}
	for _, item := range n.Content {
		if value := t.value(item); value != nil {
			all = append(all, value)
		}
	}
	return all
}

func (t *Template) value(n *yaml.Node) any {
	switch {
	case n.Tag == "!Ref" && n.Value == "AWS::NoValue":
		return nil
	case n.Tag == "!Ref", n.Tag == "!GetAtt":
		return t.refer(n, n.Value)
	case n.Tag == "!Sub":
		return t.substitute(n)
	case n.Tag == "!If" && len(n.Content) == 3:
		if t.holds(n, n.Content[0].Value) {
			return t.value(n.Content[1])
		}
		return t.value(n.Content[2])
	case n.Tag == "!Join", n.Tag == "!Split", n.Tag == "!Select":
		return t.ofList(n, t.list(n))
	case !strings.HasPrefix(n.Tag, "!!"):
		t.fail(n, "%s cannot be evaluated", n.Tag)
		return nil
	case n.Kind == yaml.MappingNode:
		return t.mapping(n)
	case n.Kind == yaml.SequenceNode:
		return t.list(n)
	case n.Tag == "!!bool":
		return strings.ToLower(n.Value)
	}
	return n.Value
}

func (t *Template) ofList(n *yaml.Node, args []any) any {
	if len(args) == 2 {
		with, isText := args[0].(string)
		text, ofText := args[1].(string)
		list, _ := args[1].([]any)
		i, err := strconv.Atoi(with)
		switch {
		case n.Tag == "!Split" && isText && ofText:
			return listOf(strings.Split(text, with))
		case n.Tag == "!Join" && isText && !ofText:
			texts := make([]string, len(list))
			for i, item := range list {
				texts[i] = fmt.Sprint(item)
			}
			return strings.Join(texts, with)
		case n.Tag == "!Select" && err == nil && i >= 0 && i < len(list):
			return list[i]
		}
	}
	t.fail(n, "%s has wrong arguments", n.Tag)
	return nil
}

func listOf(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

func (t *Template) substitute(n *yaml.Node) any {
	return reference.ReplaceAllStringFunc(n.Value, func(found string) string {
		return fmt.Sprint(t.refer(n, found[2:len(found)-1]))
	})
}

// refer returns what a name stands for: a parameter's value, or a resource's attribute, as in
// Queue.Arn.
func (t *Template) refer(n *yaml.Node, name string) any {
	if value, ok := t.values[name]; ok {
		return value
	}
	id, attribute, _ := strings.Cut(name, ".")
	i := slices.IndexFunc(t.Resources, func(r Resource) bool { return r.ID == id })
	if i < 0 {
		t.fail(n, "there is no parameter %q, and no such resource whose condition is met", name)
		return nil
	}
	value, err := t.o.Lookup(t.Resources[i], attribute)
	if err != nil {
		t.fail(n, "%v", err)
	}
	return value
}

// holds evaluates the named condition, referred to at n.
func (t *Template) holds(n *yaml.Node, name string) bool {
	met, ok := t.known[name]
	if ok {
		return met
	}
	condition := Member(Member(t.top, "Conditions"), name)
	if condition == nil {
		t.fail(n, "there is no condition %q", name)
		return false
	}
	t.known[name] = false // so that a cycle ends
	t.known[name] = t.test(condition)
	return t.known[name]
}

func (t *Template) test(n *yaml.Node) bool {
	switch n.Tag {
	case "!Condition":
		return t.holds(n, n.Value)
	case "!Equals":
		both := t.list(n)
		return len(both) == 2 && fmt.Sprint(both[0]) == fmt.Sprint(both[1])
	case "!Not", "!And", "!Or":
		met := 0
		for _, c := range n.Content { // all of them, so that a mistake in one never hides behind another
			if t.test(c) {
				met++
			}
		}
		return n.Tag == "!Not" && met == 0 || n.Tag == "!And" && met == len(n.Content) || n.Tag == "!Or" && met > 0
	}
	t.fail(n, "this is no condition")
	return false
}

// mentionsKept reports whether a node refers to a parameter whose value is not known here.
func (t *Template) mentionsKept(n *yaml.Node) bool {
	return t.values[Reference(n)] == kept || slices.ContainsFunc(n.Content, t.mentionsKept)
}
