package checks

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const templateFile = "template.yaml"

// node is a node of a YAML document, or the zero node if it does not exist.
type node struct{ *yaml.Node }

// at descends by mapping keys and list positions; the zero node if the path does not
// exist.
func (n node) at(steps ...string) node {
	for _, step := range steps {
		n = n.child(step)
	}
	return n
}

func (n node) child(step string) node {
	switch {
	case n.Node == nil:
	case n.Kind == yaml.MappingNode:
		for key, value := range n.pairs() {
			if key.Value == step {
				return value
			}
		}
	case n.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i < len(n.Content) {
			return node{n.Content[i]}
		}
	}
	return node{}
}

// pairs returns the keys and values of a mapping.
func (n node) pairs() iter.Seq2[node, node] {
	return func(yield func(node, node) bool) {
		if n.Node == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(node{n.Content[i]}, node{n.Content[i+1]}) {
				return
			}
		}
	}
}

// list returns the elements of a list, or a single value as a list: many properties
// allow both.
func (n node) list() []node {
	switch {
	case n.Node == nil:
		return nil
	case n.Kind != yaml.SequenceNode:
		return []node{n}
	}
	all := make([]node, len(n.Content))
	for i, c := range n.Content {
		all[i] = node{c}
	}
	return all
}

// text returns a plain scalar's value; "" for anything else, including intrinsics.
func (n node) text() string {
	if n.Node == nil || n.Kind != yaml.ScalarNode || strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		return ""
	}
	return n.Value
}

// own returns what a choice between the stack's own table and an existing one is for the
// stack's own, and any other node itself.
func (n node) own() node {
	if n.Node != nil && n.Tag == "!If" && n.at("0").text() == "HasOwnTable" {
		return n.at("1")
	}
	return n
}

// target returns the logical id of !Ref X or !GetAtt X.Arn, with the stack's own table; ""
// for anything else.
func (n node) target() string {
	n = n.own()
	switch {
	case n.Node == nil || n.Kind != yaml.ScalarNode:
	case n.Tag == "!Ref":
		return n.Value
	case n.Tag == "!GetAtt":
		if id, attribute, _ := strings.Cut(n.Value, "."); attribute == "Arn" {
			return id
		}
	}
	return ""
}

func (n node) find(format string, args ...any) finding {
	line := 1
	if n.Node != nil {
		line = n.Line
	}
	return finding{templateFile, line, fmt.Sprintf(format, args...)}
}

var substitution = regexp.MustCompile(`\$\{([A-Za-z0-9]+)(?:\.[A-Za-z0-9.]+)?\}`)

// references returns the logical ids and parameters named by a node and everything
// below it.
func (n node) references() (ids []string) {
	if n.Node == nil {
		return nil
	}
	switch n.Tag {
	case "!Ref", "!GetAtt":
		id, _, _ := strings.Cut(n.Value, ".")
		ids = append(ids, id)
	case "!Sub":
		for _, m := range substitution.FindAllStringSubmatch(n.at("0").text()+n.Value, -1) {
			ids = append(ids, m[1])
		}
	}
	for _, c := range n.Content {
		ids = append(ids, node{c}.references()...)
	}
	return ids
}

// template is a parsed template, with CHECKLIST.md's reasons for exceptions of its
// resources.
type template struct {
	node
	excuses map[string]string
}

func parseTemplate(t testing.TB, text string) template {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return template{node{doc.Content[0]}, excuses(t)}
}

// resource is one entry of the template's Resources.
type resource struct {
	id string
	node
}

func (t template) resources(kind string) (all []resource) {
	for key, value := range t.at("Resources").pairs() {
		if value.at("Type").text() == kind {
			all = append(all, resource{key.Value, value})
		}
	}
	return all
}

// resource returns the resource of that id if it is of that kind.
func (t template) resource(kind, id string) (resource, bool) {
	all := t.resources(kind)
	i := slices.IndexFunc(all, func(r resource) bool { return r.id == id })
	if i < 0 {
		return resource{}, false
	}
	return all[i], true
}

// number reads an integer, through a parameter's default where it is a !Ref.
func (t template) number(n node) (int, bool) {
	if id := n.target(); id != "" {
		n = t.at("Parameters", id, "Default")
	}
	i, err := strconv.Atoi(n.text())
	return i, err == nil
}

// edit changes one place of a parsed template: its value becomes the YAML text, or it
// is removed if the text is "". A slash within a step is written ~1. Instead of a place
// it may name an excuse, such as "excuse LedgerTable W28".
type edit struct{ place, yaml string }

func (e edit) apply(t testing.TB, in template) {
	t.Helper()
	if id, ok := strings.CutPrefix(e.place, "excuse "); ok {
		if in.excuses[id] == "" {
			t.Fatalf("nothing excuses %s", id)
		}
		delete(in.excuses, id)
		return
	}
	steps := strings.Split(e.place, "/")
	for i := range steps {
		steps[i] = strings.ReplaceAll(steps[i], "~1", "/")
	}
	parent, last := in.at(steps[:len(steps)-1]...), steps[len(steps)-1]
	if parent.Node == nil {
		t.Fatalf("no place %s in the template", e.place)
	}
	var value yaml.Node
	if err := yaml.Unmarshal([]byte(e.yaml), &value); err != nil {
		t.Fatal(err)
	}
	if parent.Kind == yaml.SequenceNode {
		i, err := strconv.Atoi(last)
		if err != nil || i >= len(parent.Content) {
			t.Fatalf("no place %s in the template", e.place)
		}
		if e.yaml == "" {
			parent.Content = slices.Delete(parent.Content, i, i+1)
		} else {
			parent.Content[i] = value.Content[0]
		}
		return
	}
	for i := 0; i+1 < len(parent.Content); i += 2 {
		if parent.Content[i].Value != last {
			continue
		}
		if e.yaml == "" {
			parent.Content = slices.Delete(parent.Content, i, i+2)
		} else {
			parent.Content[i+1] = value.Content[0]
		}
		return
	}
	if e.yaml == "" {
		t.Fatalf("no place %s in the template", e.place)
	}
	parent.Content = append(parent.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: last}, value.Content[0])
}
