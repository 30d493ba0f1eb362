package eventpattern

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// maxLength is Lambda's limit for the characters of a pattern.
const maxLength = 4096

// Pattern is one filter. It is immutable.
type Pattern struct{ root *node }

// node is one level of a pattern: every field must match, and so must one of the tests, if
// there are any, the values at this level.
type node struct {
	fields map[string]*node
	tests  []test
}

// test reports whether one of the leaves is what it asks for; there may be none.
type test func(leaves []any) bool

// Compile reads a pattern from its JSON.
func Compile(text string) (*Pattern, error) {
	if len([]rune(text)) > maxLength {
		return nil, fmt.Errorf("read event pattern: more than %d characters", maxLength)
	}
	// This decoder refuses duplicate names, as EventBridge does.
	var top map[string]any
	if err := json.Unmarshal([]byte(text), &top); err != nil {
		return nil, fmt.Errorf("read event pattern: %w", err)
	}
	for name := range top {
		if name != "dynamodb" {
			return nil, fmt.Errorf("read event pattern: %q: only the key dynamodb is filtered by", name)
		}
	}
	root, err := compile(top)
	if err != nil {
		return nil, fmt.Errorf("read event pattern: %w", err)
	}
	return &Pattern{root}, nil
}

func compile(v any) (*node, error) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return nil, errors.New("an object must not be empty")
		}
		n := &node{fields: map[string]*node{}}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if strings.HasPrefix(name, "$") {
				return nil, fmt.Errorf("%s: this operator does not run locally", name)
			}
			below, err := compile(v[name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			n.fields[name] = below
		}
		return n, nil
	case []any:
		if len(v) == 0 {
			return nil, errors.New("a list must not be empty")
		}
		n := &node{}
		for _, item := range v {
			t, err := compileTest(item)
			if err != nil {
				return nil, err
			}
			n.tests = append(n.tests, t)
		}
		return n, nil
	}
	return nil, errors.New("must be an object or a list of values")
}

func compileTest(v any) (test, error) {
	switch v := v.(type) {
	case nil, string, bool:
		return func(leaves []any) bool { return slices.Contains(leaves, any(v)) }, nil
	case map[string]any:
		if len(v) != 1 {
			return nil, errors.New("a comparison has exactly one operator")
		}
		for operator, operand := range v {
			return compileOperator(operator, operand)
		}
	}
	// Numbers of DynamoDB are strings in JSON: EventBridge's numbers never match them.
	return nil, fmt.Errorf("%v is not a string, true, false, null or a comparison", v)
}

func compileOperator(operator string, operand any) (test, error) {
	switch operator {
	case "exists":
		if wanted, ok := operand.(bool); ok {
			return func(leaves []any) bool { return len(leaves) > 0 == wanted }, nil
		}
		return nil, errors.New("exists needs true or false")
	case "prefix":
		if prefix, ok := operand.(string); ok && prefix != "" {
			return func(leaves []any) bool {
				return slices.ContainsFunc(leaves, func(leaf any) bool {
					text, ok := leaf.(string)
					return ok && strings.HasPrefix(text, prefix)
				})
			}, nil
		}
		return nil, errors.New("prefix needs a string")
	}
	return nil, fmt.Errorf("%s: this operator does not run locally", operator)
}

// Match reports whether a record, decoded from JSON into maps, slices and scalars, matches.
func (p *Pattern) Match(record map[string]any) bool { return p.root.matches([]any{record}) }

func (n *node) matches(values []any) bool {
	if n.tests != nil {
		leaves := leavesOf(values)
		return slices.ContainsFunc(n.tests, func(t test) bool { return t(leaves) })
	}
	for name, below := range n.fields {
		var next []any
		for _, v := range flat(values) {
			if object, ok := v.(map[string]any); ok {
				if value, ok := object[name]; ok {
					next = append(next, value)
				}
			}
		}
		if !below.matches(next) {
			return false
		}
	}
	return true
}

// leavesOf returns the scalars of the values: exists works on leaves only, so an object
// does not exist.
func leavesOf(values []any) []any {
	return slices.DeleteFunc(flat(values), func(v any) bool {
		_, object := v.(map[string]any)
		return object
	})
}

// flat replaces lists by their elements: a pattern matches a list if it matches an element.
func flat(values []any) []any {
	var out []any
	for _, v := range values {
		if list, ok := v.([]any); ok {
			out = append(out, flat(list)...)
		} else {
			out = append(out, v)
		}
	}
	return out
}
