// Package eventpattern reads the filters of a Lambda event source mapping for a DynamoDB
// stream, and tells which records match them.
//
// Of EventBridge's event patterns it has what this project's filters use: prefix and exists of texts and numbers, which
// are texts in a stream. Compile refuses everything else, so that no filter means one thing here and another on AWS. It
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
type Pattern struct {
	// tests are by image (Keys, NewImage or OldImage), attribute and type (S or N). A record matches if of each list one does.
	tests map[string]map[string]map[string][]test
}

// test is one of a value, which may be missing: {"prefix":"SALE#"} or {"exists":false}.
type test struct {
	Prefix string `json:"prefix"`
	Exists *bool  `json:"exists"`
}

func (t test) holds(value string, isThere bool) bool {
	if t.Exists != nil {
		return *t.Exists == isThere
	}
	return isThere && strings.HasPrefix(value, t.Prefix)
}

// Compile reads a pattern from its JSON.
func Compile(text string) (*Pattern, error) {
	var root struct {
		DynamoDB map[string]map[string]map[string][]test `json:"dynamodb"`
	}
	// It refuses duplicate names, as EventBridge does.
	err := json.Unmarshal([]byte(text), &root, json.RejectUnknownMembers(true))
	if err == nil {
		err = check(root.DynamoDB)
	}
	if err != nil {
		return nil, fmt.Errorf("read event pattern: %w", err)
	}
	return &Pattern{root.DynamoDB}, nil
}

func check(images map[string]map[string]map[string][]test) error {
	empty := errors.New("an object or a list must not be empty")
	if len(images) == 0 {
		return empty
	}
	for image, attributes := range images {
		if len(attributes) == 0 {
			return empty
		}
		for name, types := range attributes {
			if len(types) == 0 {
				return empty
			}
			for kind, tests := range types {
				if len(tests) == 0 {
					return empty
				}
				if kind != "S" && kind != "N" {
					return fmt.Errorf("%s.%s: the type %s is not filtered by", image, name, kind)
				}
				if slices.ContainsFunc(tests, func(t test) bool { return (t.Prefix == "") == (t.Exists == nil) }) {
					return fmt.Errorf("%s.%s: a test has either a prefix or exists", image, name)
				}
			}
		}
	}
	return nil
}

// Match reports whether a record, decoded from JSON into maps, slices and scalars, matches.
func (p *Pattern) Match(record map[string]any) bool {
	change, _ := record["dynamodb"].(map[string]any)
	for image, attributes := range p.tests {
		item, _ := change[image].(map[string]any)
		for name, types := range attributes {
			attribute, _ := item[name].(map[string]any)
			for kind, tests := range types {
				value, isThere := attribute[kind].(string)
				if !slices.ContainsFunc(tests, func(t test) bool { return t.holds(value, isThere) }) {
					return false
				}
			}
		}
	}
	return true
}
