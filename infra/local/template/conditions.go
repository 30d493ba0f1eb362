package template

import "go.yaml.in/yaml/v3"

type condition struct {
	node *yaml.Node
	// state prevents evaluating a condition twice, or in a cycle.
	state conditionState
}

type conditionState int

const (
	unknown conditionState = iota
	asking
	isTrue
	isFalse
)

func (r *reader) readConditions(section value) {
	if section.n == nil {
		return
	}
	if section.n.Kind != yaml.MappingNode {
		section.fail("must be a mapping")
		return
	}
	for i := 0; i+1 < len(section.n.Content); i += 2 {
		r.conditions[section.n.Content[i].Value] = &condition{node: section.n.Content[i+1]}
	}
}

// holds evaluates the named condition, referenced at n.
func (r *reader) holds(n *yaml.Node, at, name string) bool {
	c, ok := r.conditions[name]
	if !ok {
		r.fail(n, at, "there is no condition %q", name)
		return false
	}
	switch c.state {
	case asking:
		r.fail(c.node, "Conditions."+name, "the condition depends on itself")
		return false
	case unknown:
		c.state = asking
		met := r.test(c.node, "Conditions."+name)
		c.state = isFalse
		if met {
			c.state = isTrue
		}
	}
	return c.state == isTrue
}

// test evaluates one condition function.
func (r *reader) test(n *yaml.Node, at string) bool {
	if r.err != nil {
		return false
	}
	if r.depth++; r.depth > maxDepth {
		r.fail(n, at, "conditions are nested deeper than %d levels", maxDepth)
		return false
	}
	defer func() { r.depth-- }()

	name, arg := intrinsic(n)
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "Condition" {
		name, arg = "Condition", n.Content[1]
	}
	switch name {
	case "Condition":
		if arg.Kind != yaml.ScalarNode {
			break
		}
		return r.holds(n, at, arg.Value)
	case "Fn::Equals":
		if len(arg.Content) != 2 || arg.Kind != yaml.SequenceNode {
			break
		}
		left := value{r, r.plain(arg.Content[0], at), at}.text("")
		right := value{r, r.plain(arg.Content[1], at), at}.text("")
		return r.err == nil && left == right
	case "Fn::Not":
		if len(arg.Content) != 1 || arg.Kind != yaml.SequenceNode {
			break
		}
		return !r.test(arg.Content[0], at)
	case "Fn::And", "Fn::Or":
		if len(arg.Content) < 2 || len(arg.Content) > 10 || arg.Kind != yaml.SequenceNode {
			break
		}
		// Both sides are always evaluated, so that a mistake in one never hides behind the other.
		met := 0
		for _, c := range arg.Content {
			if r.test(c, at) {
				met++
			}
		}
		if name == "Fn::And" {
			return met == len(arg.Content)
		}
		return met > 0
	}
	if name == "" {
		name = "this"
	}
	r.fail(n, at, "%s is not a condition that can be evaluated locally", name)
	return false
}
