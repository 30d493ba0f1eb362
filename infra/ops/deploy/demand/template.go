package demand

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// template resolves values in a template. Nodes may be nil everywhere: a missing node has
// no members and no value.
type template struct {
	values                map[string]string // of the parameters
	conditions, resources *yaml.Node
	kept                  map[string]bool // the parameters whose values only the stack knows
	// known holds the evaluated conditions; a condition under evaluation is false, so that
	// a cycle ends.
	known map[string]bool
}

// member returns a key's value in a mapping, unresolved.
func member(n *yaml.Node, key string) *yaml.Node {
	for k, v := range pairs(n) {
		if k == key {
			return v
		}
	}
	return nil
}

func pairs(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// function returns the short name and the argument of an intrinsic function in either
// spelling. For an ordinary node the name is empty.
func function(n *yaml.Node) (name string, argument *yaml.Node) {
	if n == nil {
		return "", nil
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		return n.Tag[1:], n
	}
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 {
		key := n.Content[0].Value
		if key == "Ref" || key == "Condition" || strings.HasPrefix(key, "Fn::") {
			return strings.TrimPrefix(key, "Fn::"), n.Content[1]
		}
	}
	return "", nil
}

// value resolves references to parameters, parts of them, and choices by a condition. It
// returns nil for all other functions, whose values are unknown here.
func (t *template) value(n *yaml.Node) *yaml.Node {
	name, argument := function(n)
	switch name {
	case "":
		return n
	case "Ref":
		if v, ok := t.values[argument.Value]; ok {
			return &yaml.Node{Kind: yaml.ScalarNode, Value: v}
		}
	case "If":
		if choice := items(argument); len(choice) == 3 {
			if t.holds(choice[0].Value) {
				return t.value(choice[1])
			}
			return t.value(choice[2])
		}
	case "Split":
		if both := items(argument); len(both) == 2 {
			return split(both[0].Value, t.value(both[1]))
		}
	case "Select":
		if both := items(argument); len(both) == 2 {
			i, err := strconv.Atoi(both[0].Value)
			if all := items(t.value(both[1])); err == nil && i >= 0 && i < len(all) {
				return t.value(all[i])
			}
		}
	case "Sub":
		if argument.Kind == yaml.ScalarNode {
			return t.substituted(argument.Value)
		}
	}
	return nil
}

// split returns the parts of a text as a list, nil if the text is unknown.
func split(separator string, text *yaml.Node) *yaml.Node {
	if text == nil {
		return nil
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for part := range strings.SplitSeq(text.Value, separator) {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: part})
	}
	return list
}

var substitution = regexp.MustCompile(`\$\{([^}]*)\}`)

// substituted replaces parameters in a text. It returns nil if the text refers to anything
// else.
func (t *template) substituted(text string) *yaml.Node {
	known := true
	out := substitution.ReplaceAllStringFunc(text, func(s string) string {
		v, ok := t.values[s[2:len(s)-1]]
		known = known && ok
		return v
	})
	if !known {
		return nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: out}
}

// holds evaluates a condition by its name; a missing condition is false.
func (t *template) holds(name string) bool {
	met, ok := t.known[name]
	if !ok {
		t.known[name] = false
		met = t.test(member(t.conditions, name))
		t.known[name] = met
	}
	return met
}

func (t *template) test(n *yaml.Node) bool {
	name, argument := function(n)
	switch name {
	case "Condition":
		return t.holds(argument.Value)
	case "Equals":
		if both := items(argument); len(both) == 2 {
			left, right := t.value(both[0]), t.value(both[1])
			return left != nil && right != nil && left.Value == right.Value
		}
	case "Not":
		if one := items(argument); len(one) == 1 {
			return !t.test(one[0])
		}
	case "And":
		return !slices.ContainsFunc(items(argument), func(n *yaml.Node) bool { return !t.test(n) })
	case "Or":
		return slices.ContainsFunc(items(argument), t.test)
	}
	return false
}

// existing returns the resources of a type whose conditions hold, sorted.
func (t *template) existing(kind string) []string {
	var ids []string
	for id, resource := range pairs(t.resources) {
		if condition := member(resource, "Condition"); condition != nil && !t.holds(condition.Value) {
			continue
		}
		if kindOf := member(resource, "Type"); kindOf != nil && kindOf.Value == kind {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (t *template) properties(id string) *yaml.Node {
	return t.value(member(member(t.resources, id), "Properties"))
}

// text follows the path from a node to a scalar and resolves every step; the result is empty
// if the value is unknown.
func (t *template) text(n *yaml.Node, path ...string) string {
	for _, step := range path {
		n = t.value(member(n, step))
	}
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

func (t *template) decimal(n *yaml.Node, path ...string) float64 {
	f, err := strconv.ParseFloat(t.text(n, path...), 64)
	if err != nil {
		return 0
	}
	return f
}

func (t *template) number(n *yaml.Node, path ...string) int { return int(t.decimal(n, path...)) }

// target returns the logical id in a reference.
func target(n *yaml.Node) string {
	name, argument := function(n)
	switch {
	case name == "GetAtt" && argument.Kind == yaml.SequenceNode && len(argument.Content) > 0:
		return argument.Content[0].Value
	case name == "GetAtt" || name == "Ref": // SAM allows references like Function.Alias
		id, _, _ := strings.Cut(argument.Value, ".")
		return id
	}
	return ""
}

// mentioned returns the logical ids that a node refers to in any function.
func mentioned(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	var ids []string
	if id := target(n); id != "" {
		ids = append(ids, id)
	}
	for _, m := range substitution.FindAllStringSubmatch(n.Value, -1) {
		id, _, _ := strings.Cut(m[1], ".")
		ids = append(ids, id)
	}
	for _, c := range n.Content {
		ids = append(ids, mentioned(c)...)
	}
	return ids
}
