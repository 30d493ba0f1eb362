package dynamotest

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

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

// holds evaluates a condition on an item, nil for no item. A missing attribute
// and a type that does not fit make a comparison false.
func (s *scope) holds(c *condition, it item) bool {
	if c == nil {
		return true
	}
	holds := func(part *condition) bool { return s.holds(part, it) }
	switch c.op {
	case "AND":
		return !slices.ContainsFunc(c.parts, func(part *condition) bool { return !holds(part) })
	case "OR":
		return slices.ContainsFunc(c.parts, holds)
	}
	left, right := s.read(c.left, it), s.read(c.right, it)
	switch c.op {
	case "attribute_exists":
		return left != nil
	case "attribute_not_exists":
		return left == nil
	case "begins_with":
		text, isString := stringOf(left)
		head, _ := stringOf(right)
		return isString && strings.HasPrefix(text, head)
	case "=":
		return equal(left, right)
	}
	order, ok := ordered(left, right)
	if !ok {
		return false
	}
	switch c.op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// read is the value of an operand; nil if there is none.
func (s *scope) read(o operand, it item) types.AttributeValue {
	if o.value != "" {
		return s.values[o.value]
	}
	v := it[s.name(o.name)]
	if !o.size {
		return v
	}
	n, ok := length(v)
	if !ok {
		return nil
	}
	return numberOf(int64(n))
}

// length is what the function size answers.
func length(v types.AttributeValue) (int, bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return utf8.RuneCountInString(v.Value), true
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS:
		return len(membersOf(v)), true
	}
	return 0, false
}

func stringOf(v types.AttributeValue) (string, bool) {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value, true
	}
	return "", false
}

func incorrectType() error {
	return validation("An operand in the update expression has an incorrect data type")
}

// applied returns the item after the update. Every operand is read from the
// item as it was, whatever the order of the sections. Its errors are
// ValidationExceptions.
func (s *scope) applied(actions []assignment, old item) (item, error) {
	out := maps.Clone(old)
	for _, a := range actions {
		var v types.AttributeValue
		var err error
		name := s.name(a.name)
		switch a.section {
		case "SET":
			v, err = s.assigned(a, old)
		case "ADD":
			v, err = sum(old[name], s.values[a.left.value])
		case "DELETE":
			v, err = difference(old[name], s.values[a.left.value])
		}
		if err != nil {
			return nil, err
		}
		if v == nil {
			delete(out, name)
		} else {
			out[name] = v
		}
	}
	return out, nil
}

// assigned is the new value of a SET action. An attribute that does not exist is an error
// here, other than in a condition.
func (s *scope) assigned(a assignment, old item) (types.AttributeValue, error) {
	left, right := s.read(a.left, old), s.read(a.right, old)
	if left == nil || a.op != "" && right == nil {
		return nil, validation("The provided expression refers to an attribute that does not exist in the item")
	}
	if a.op == "" {
		return left, nil
	}
	x, isX := left.(*types.AttributeValueMemberN)
	y, isY := right.(*types.AttributeValueMemberN)
	if !isX || !isY {
		return nil, incorrectType()
	}
	return sumOf(x, y, a.op == "-")
}

// sum is what ADD makes of an attribute, nil for none.
func sum(old, more types.AttributeValue) (types.AttributeValue, error) {
	if old == nil {
		return more, nil
	}
	if x, ok := old.(*types.AttributeValueMemberN); ok {
		if y, ok := more.(*types.AttributeValueMemberN); ok {
			return sumOf(x, y, false)
		}
	}
	members, added := membersOf(old), membersOf(more)
	if added == nil || typeOf(old) != typeOf(more) {
		return nil, incorrectType()
	}
	return newSet(typeOf(old), slices.Concat(members, added))
}

// difference is what DELETE leaves of a set; nil if nothing is left, because
// DynamoDB stores no empty set.
func difference(old, less types.AttributeValue) (types.AttributeValue, error) {
	if old == nil {
		return nil, nil
	}
	gone := membersOf(less)
	if gone == nil || typeOf(old) != typeOf(less) {
		return nil, incorrectType()
	}
	left := slices.DeleteFunc(slices.Clone(membersOf(old)), func(s string) bool { return slices.Contains(gone, s) })
	if len(left) == 0 {
		return nil, nil
	}
	return newSet(typeOf(old), left)
}

// membersOf are the members of a set; nil for another type.
func membersOf(v types.AttributeValue) []string {
	switch v := v.(type) {
	case *types.AttributeValueMemberSS:
		return v.Value
	case *types.AttributeValueMemberNS:
		return v.Value
	}
	return nil
}

// newSet is a set of that type, SS or NS, with distinct members in order.
func newSet(kind string, members []string) (types.AttributeValue, error) {
	if kind == "NS" {
		set, err := admitNumbers(members)
		return &types.AttributeValueMemberNS{Value: set}, err
	}
	slices.Sort(members)
	return &types.AttributeValueMemberSS{Value: slices.Compact(members)}, nil
}
