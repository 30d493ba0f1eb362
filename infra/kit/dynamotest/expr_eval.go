package dynamotest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// holds evaluates a condition on an item, nil for no item. A missing attribute
// and a type that does not fit make a comparison false, except for <>, which is
// true wherever = is not.
func (s *scope) holds(c condition, it item) bool {
	switch c := c.(type) {
	case nil:
		return true
	case group:
		return s.holds(c.inner, it)
	case logical:
		switch c.op {
		case "AND":
			return s.holds(c.left, it) && s.holds(c.right, it)
		case "OR":
			return s.holds(c.left, it) || s.holds(c.right, it)
		}
		return !s.holds(c.left, it)
	case comparison:
		return s.compares(c, it)
	case test:
		return s.tests(c, it)
	}
	return false
}

func (s *scope) compares(c comparison, it item) bool {
	first := s.read(c.operands[0], it)
	second := s.read(c.operands[1], it)
	switch c.op {
	case "=":
		return equal(first, second)
	case "<>":
		return !equal(first, second)
	case "IN":
		return slices.ContainsFunc(c.operands[1:], func(o operand) bool { return equal(first, s.read(o, it)) })
	}
	order, ok := ordered(first, second)
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
	case ">=":
		return order >= 0
	}
	below, ok := ordered(first, s.read(c.operands[2], it)) // BETWEEN
	return ok && order >= 0 && below <= 0
}

func (s *scope) tests(c test, it item) bool {
	first := s.read(c.args[0], it)
	switch c.function {
	case "attribute_exists":
		return first != nil
	case "attribute_not_exists":
		return first == nil
	}
	second := s.read(c.args[1], it)
	switch c.function {
	case "attribute_type":
		name, _ := stringOf(second)
		return typeOf(first) == name && name != ""
	case "begins_with":
		return beginsWith(first, second)
	}
	return containsValue(first, second)
}

func beginsWith(v, prefix types.AttributeValue) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		p, ok := prefix.(*types.AttributeValueMemberS)
		return ok && strings.HasPrefix(v.Value, p.Value)
	case *types.AttributeValueMemberB:
		p, ok := prefix.(*types.AttributeValueMemberB)
		return ok && bytes.HasPrefix(v.Value, p.Value)
	}
	return false
}

// containsValue reports whether v has the member: a part of a string, an
// element of a set or a list.
func containsValue(v, member types.AttributeValue) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		part, ok := member.(*types.AttributeValueMemberS)
		return ok && strings.Contains(v.Value, part.Value)
	case *types.AttributeValueMemberB:
		part, ok := member.(*types.AttributeValueMemberB)
		return ok && bytes.Contains(v.Value, part.Value)
	case *types.AttributeValueMemberSS:
		m, ok := member.(*types.AttributeValueMemberS)
		return ok && slices.Contains(v.Value, m.Value)
	case *types.AttributeValueMemberNS:
		m, ok := member.(*types.AttributeValueMemberN)
		return ok && slices.Contains(v.Value, m.Value)
	case *types.AttributeValueMemberBS:
		m, ok := member.(*types.AttributeValueMemberB)
		return ok && slices.ContainsFunc(v.Value, func(b []byte) bool { return bytes.Equal(b, m.Value) })
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(v.Value, func(e types.AttributeValue) bool { return equal(e, member) })
	}
	return false
}

// read is the value of a condition's operand; nil if there is none.
func (s *scope) read(o operand, it item) types.AttributeValue {
	switch {
	case o.value != "":
		return s.values[o.value]
	case o.call == "size":
		n, ok := length(s.read(o.args[0], it))
		if !ok {
			return nil
		}
		return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
	}
	return s.at(o.path, it)
}

// at is the value a path leads to; nil if it leads nowhere.
func (s *scope) at(p path, it item) types.AttributeValue {
	if len(p) == 0 {
		return nil
	}
	v := it[s.name(p[0].name)]
	for _, next := range p[1:] {
		switch in := v.(type) {
		case *types.AttributeValueMemberM:
			if next.name == "" {
				return nil
			}
			v = in.Value[s.name(next.name)]
		case *types.AttributeValueMemberL:
			if next.name != "" || next.index >= len(in.Value) {
				return nil
			}
			v = in.Value[next.index]
		default:
			return nil
		}
	}
	return v
}

// length is what the function size answers.
func length(v types.AttributeValue) (int, bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return utf8.RuneCountInString(v.Value), true
	case *types.AttributeValueMemberB:
		return len(v.Value), true
	case *types.AttributeValueMemberSS:
		return len(v.Value), true
	case *types.AttributeValueMemberNS:
		return len(v.Value), true
	case *types.AttributeValueMemberBS:
		return len(v.Value), true
	case *types.AttributeValueMemberL:
		return len(v.Value), true
	case *types.AttributeValueMemberM:
		return len(v.Value), true
	}
	return 0, false
}

func stringOf(v types.AttributeValue) (string, bool) {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value, true
	}
	return "", false
}
