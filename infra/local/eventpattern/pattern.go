// Package eventpattern reads the filters of a Lambda event source mapping for a DynamoDB
// stream, and tells which records match them.
//
// It has EventBridge's rules for event patterns, as far as Lambda applies them to DynamoDB
// and this project may use them: equality, prefix and exists, below the key dynamodb. Compile
// refuses everything else, so that no filter means one thing here and another on AWS. It
// does not depend on where records come from.
package eventpattern

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Pattern is one filter. It is immutable.
type Pattern struct{ root map[string]any }

// Compile reads a pattern from its JSON.
func Compile(text string) (*Pattern, error) {
	// This decoder refuses duplicate names, as EventBridge does.
	p := &Pattern{}
	err := json.Unmarshal([]byte(text), &p.root)
	if err == nil {
		err = check(p.root)
	}
	for name := range p.root {
		if name != "dynamodb" {
			err = fmt.Errorf("%q: only the key dynamodb is filtered by", name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read event pattern: %w", err)
	}
	return p, nil
}

func check(v any) error {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return errors.New("an object must not be empty")
		}
		for name, below := range v {
			if strings.HasPrefix(name, "$") {
				return fmt.Errorf("%s: this operator does not run locally", name)
			}
			if err := check(below); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	case []any:
		if len(v) == 0 {
			return errors.New("a list must not be empty")
		}
		for _, test := range v {
			if !known(test) {
				return fmt.Errorf("%v is not a string, true, false, null, exists with true or false, or prefix with a string", test)
			}
		}
		return nil
	}
	return errors.New("must be an object or a list of values")
}

// known reports whether a test of a value is one that runs locally. Numbers of DynamoDB are
// strings in JSON: EventBridge's numbers never match them.
func known(test any) bool {
	switch test := test.(type) {
	case nil, string, bool:
		return true
	case map[string]any:
		_, exists := test["exists"].(bool)
		prefix, _ := test["prefix"].(string)
		return len(test) == 1 && (exists || prefix != "")
	}
	return false
}

// Match reports whether a record, decoded from JSON into maps, slices and scalars, matches.
func (p *Pattern) Match(record map[string]any) bool { return matches(p.root, []any{record}) }

// matches reports whether the values at one level are what a pattern asks for: every field of an
// object must match, and of a list one test.
func matches(pattern any, values []any) bool {
	if tests, ok := pattern.([]any); ok {
		// Tests are of leaves only, so an object does not exist.
		leaves := slices.DeleteFunc(flat(values), func(v any) bool {
			_, object := v.(map[string]any)
			return object
		})
		return slices.ContainsFunc(tests, func(test any) bool { return holds(test, leaves) })
	}
	for name, below := range pattern.(map[string]any) {
		var next []any
		for _, v := range flat(values) {
			if object, ok := v.(map[string]any); ok {
				if value, ok := object[name]; ok {
					next = append(next, value)
				}
			}
		}
		if !matches(below, next) {
			return false
		}
	}
	return true
}

// holds reports whether one of the leaves is what a test asks for; there may be none.
func holds(test any, leaves []any) bool {
	comparison, ok := test.(map[string]any)
	if !ok {
		return slices.Contains(leaves, test)
	}
	if wanted, ok := comparison["exists"].(bool); ok {
		return len(leaves) > 0 == wanted
	}
	prefix := comparison["prefix"].(string)
	return slices.ContainsFunc(leaves, func(leaf any) bool {
		text, ok := leaf.(string)
		return ok && strings.HasPrefix(text, prefix)
	})
}

// flat replaces lists by their elements: a pattern matches a list if it matches an element.
func flat(values []any) (out []any) {
	for _, v := range values {
		if list, ok := v.([]any); ok {
			out = append(out, flat(list)...)
		} else {
			out = append(out, v)
		}
	}
	return out
}
