package dynamotest

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func invalidPath() error {
	return validation("The document path provided in the update expression is invalid for update")
}

func incorrectType() error {
	return validation("An operand in the update expression has an incorrect data type")
}

// applied returns the item after the update. Every operand is read from the
// item as it was, whatever the order of the sections. Its errors are
// ValidationExceptions.
func (s *scope) applied(u *update, old item) (item, error) {
	out := maps.Clone(old)
	for _, a := range u.set {
		v, err := s.assigned(a, old)
		if err == nil {
			err = out.write(a.target, v)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, a := range u.add {
		v, err := sum(s.at(a.target, old), s.values[a.left.value])
		if err == nil {
			err = out.write(a.target, v)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, a := range u.delete {
		v, err := difference(s.at(a.target, old), s.values[a.left.value])
		if err == nil {
			err = out.write(a.target, v)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, target := range removalOrder(u.remove) {
		if err := out.write(target, nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// removalOrder puts higher list indexes first, so that no removal moves what a
// later one means.
func removalOrder(all []assignment) []path {
	targets := make([]path, 0, len(all))
	for _, a := range all {
		targets = append(targets, a.target)
	}
	slices.SortStableFunc(targets, func(a, b path) int {
		for i := range min(len(a), len(b)) {
			if c := cmp.Or(cmp.Compare(a[i].name, b[i].name), cmp.Compare(b[i].index, a[i].index)); c != 0 {
				return c
			}
		}
		return 0
	})
	return targets
}

// assigned is the new value of a SET action.
func (s *scope) assigned(a assignment, old item) (types.AttributeValue, error) {
	left, err := s.operand(a.left, old)
	if err != nil || a.op == "" {
		return left, err
	}
	right, err := s.operand(a.right, old)
	if err != nil {
		return nil, err
	}
	x, isX := left.(*types.AttributeValueMemberN)
	y, isY := right.(*types.AttributeValueMemberN)
	if !isX || !isY {
		return nil, incorrectType()
	}
	if a.op == "-" {
		return arithmetic(x, y, number.minus)
	}
	return arithmetic(x, y, number.plus)
}

func arithmetic(a, b *types.AttributeValueMemberN, op func(number, number) (number, error)) (types.AttributeValue, error) {
	x, err := parseNumber(a.Value)
	if err != nil {
		return nil, err
	}
	y, err := parseNumber(b.Value)
	if err != nil {
		return nil, err
	}
	n, err := op(x, y)
	if err != nil {
		return nil, err
	}
	return &types.AttributeValueMemberN{Value: n.String()}, nil
}

// operand is the value of a SET operand; a path that leads nowhere is an error
// here, other than in a condition.
func (s *scope) operand(o operand, old item) (types.AttributeValue, error) {
	switch o.call {
	case "if_not_exists":
		if v := s.at(o.args[0].path, old); v != nil {
			return v, nil
		}
		return s.operand(o.args[1], old)
	case "list_append":
		first, err := s.operand(o.args[0], old)
		if err != nil {
			return nil, err
		}
		second, err := s.operand(o.args[1], old)
		if err != nil {
			return nil, err
		}
		a, isA := first.(*types.AttributeValueMemberL)
		b, isB := second.(*types.AttributeValueMemberL)
		if !isA || !isB {
			return nil, incorrectType()
		}
		return &types.AttributeValueMemberL{Value: slices.Concat(a.Value, b.Value)}, nil
	}
	v := s.read(o, old)
	if v == nil {
		return nil, validation("The provided expression refers to an attribute that does not exist in the item")
	}
	return v, nil
}

// sum is what ADD makes of an attribute, nil for none.
func sum(old, more types.AttributeValue) (types.AttributeValue, error) {
	if old == nil {
		return more, nil
	}
	switch more := more.(type) {
	case *types.AttributeValueMemberN:
		if old, ok := old.(*types.AttributeValueMemberN); ok {
			return arithmetic(old, more, number.plus)
		}
	case *types.AttributeValueMemberSS:
		if old, ok := old.(*types.AttributeValueMemberSS); ok {
			set := slices.Concat(old.Value, more.Value)
			slices.Sort(set)
			return &types.AttributeValueMemberSS{Value: slices.Compact(set)}, nil
		}
	case *types.AttributeValueMemberNS:
		if old, ok := old.(*types.AttributeValueMemberNS); ok {
			set, err := admitNumbers(slices.Concat(old.Value, more.Value))
			return &types.AttributeValueMemberNS{Value: set}, err
		}
	case *types.AttributeValueMemberBS:
		if old, ok := old.(*types.AttributeValueMemberBS); ok {
			set := slices.Concat(old.Value, more.Value)
			slices.SortFunc(set, bytes.Compare)
			return &types.AttributeValueMemberBS{Value: slices.CompactFunc(set, bytes.Equal)}, nil
		}
	}
	return nil, incorrectType()
}

// difference is what DELETE leaves of a set; nil if nothing is left, because
// DynamoDB stores no empty set.
func difference(old, less types.AttributeValue) (types.AttributeValue, error) {
	if old == nil {
		return nil, nil
	}
	switch less := less.(type) {
	case *types.AttributeValueMemberSS:
		if old, ok := old.(*types.AttributeValueMemberSS); ok {
			if left := without(old.Value, less.Value); len(left) > 0 {
				return &types.AttributeValueMemberSS{Value: left}, nil
			}
			return nil, nil
		}
	case *types.AttributeValueMemberNS:
		if old, ok := old.(*types.AttributeValueMemberNS); ok {
			if left := without(old.Value, less.Value); len(left) > 0 {
				return &types.AttributeValueMemberNS{Value: left}, nil
			}
			return nil, nil
		}
	case *types.AttributeValueMemberBS:
		if old, ok := old.(*types.AttributeValueMemberBS); ok {
			left := slices.DeleteFunc(slices.Clone(old.Value), func(b []byte) bool {
				return slices.ContainsFunc(less.Value, func(gone []byte) bool { return bytes.Equal(b, gone) })
			})
			if len(left) > 0 {
				return &types.AttributeValueMemberBS{Value: left}, nil
			}
			return nil, nil
		}
	}
	return nil, incorrectType()
}

func without(set, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(set), func(s string) bool { return slices.Contains(gone, s) })
}
