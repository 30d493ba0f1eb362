package dynamotest

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// scope is what one request put in the place of its expressions' placeholders.
type scope struct {
	names  map[string]string
	values item
}

// name is the attribute that a name or a placeholder stands for.
func (s *scope) name(text string) string {
	if strings.HasPrefix(text, "#") {
		return s.names[text]
	}
	return text
}

// bind ties the expressions of one request to its names and values: each placeholder in them
// is defined, and each that is defined is in one of them.
func bind(names map[string]string, values map[string]types.AttributeValue, all ...*expression) (s scope, err error) {
	switch {
	case names != nil && len(names) == 0:
		return s, validation("ExpressionAttributeNames must not be empty")
	case values != nil && len(values) == 0:
		return s, validation("ExpressionAttributeValues must not be empty")
	}
	s.names = maps.Clone(names)
	if s.values, err = admitItem(values); err != nil {
		return s, err
	}
	for _, e := range all {
		for _, p := range e.placeholders {
			if s.names[p] == "" && s.values[p] == nil {
				return s, validation("Invalid %s: An expression attribute name or value used in expression is not defined: %s", e.parameter, p)
			}
		}
	}
	if unused := slices.Concat(unusedOf(s.names, all), unusedOf(s.values, all)); len(unused) > 0 {
		return s, validation("Value provided in ExpressionAttributeNames or ExpressionAttributeValues unused in expressions: keys: %q", unused)
	}
	return s, nil
}

// unusedOf are the placeholders that none of the expressions has.
func unusedOf[V any](given map[string]V, all []*expression) (unused []string) {
	for p := range given {
		if !slices.ContainsFunc(all, func(e *expression) bool { return slices.Contains(e.placeholders, p) }) {
			unused = append(unused, p)
		}
	}
	slices.Sort(unused)
	return unused
}
