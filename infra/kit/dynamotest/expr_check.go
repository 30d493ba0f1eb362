package dynamotest

import (
	"fmt"
	"slices"
)

// What DynamoDB refuses before it looks at any item: operands that can never
// fit their operator. Only the :values have a type by then.

var attributeTypes = []string{"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"}

// typeNames are the types as messages about operators spell them.
var typeNames = map[string]string{
	"S": "STRING", "N": "NUMBER", "B": "BINARY", "SS": "STRING_SET", "NS": "NUMBER_SET", "BS": "BINARY_SET",
	"M": "MAP", "L": "LIST", "NULL": "NULL", "BOOL": "BOOLEAN",
}

func wrongType(operator, given string) error {
	return syntaxError(fmt.Sprintf(
		"Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, typeNames[given]))
}

func (s *scope) checkCondition(c condition) error {
	switch c := c.(type) {
	case group:
		return s.checkCondition(c.inner)
	case logical:
		if err := s.checkCondition(c.left); err != nil || c.right == nil {
			return err
		}
		return s.checkCondition(c.right)
	case comparison:
		return s.checkComparison(c)
	case test:
		return s.checkTest(c)
	}
	return nil
}

func (s *scope) checkComparison(c comparison) error {
	for i, o := range c.operands {
		if err := s.checkOperand(o); err != nil {
			return err
		}
		given := s.typeOfValue(o)
		if ranged(c.op) && given != "" && !slices.Contains([]string{"S", "N", "B"}, given) {
			return wrongType(c.op, given)
		}
		if i > 0 && o.path != nil && s.samePath(o.path, c.operands[0].path) {
			return syntaxError(fmt.Sprintf(
				"The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s",
				c.op, s.resolve(o.path)))
		}
	}
	if c.op != "BETWEEN" {
		return nil
	}
	low, high := s.values[c.operands[1].value], s.values[c.operands[2].value]
	if low == nil || high == nil {
		return nil
	}
	order, comparable := ordered(low, high)
	if !comparable {
		return syntaxError("The BETWEEN operator requires same data type for lower and upper bounds")
	}
	if order > 0 {
		return syntaxError("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
	}
	return nil
}

// ranged reports whether an operator asks for an order.
func ranged(op string) bool { return op != "=" && op != "<>" && op != "IN" }

func (s *scope) checkTest(c test) error {
	for _, o := range c.args {
		if err := s.checkOperand(o); err != nil {
			return err
		}
	}
	first, given := c.args[0], s.typeOfValue(c.args[len(c.args)-1])
	switch c.function {
	case "attribute_exists", "attribute_not_exists":
		if first.path == nil {
			return syntaxError("Operator or function requires a document path; operator or function: " + c.function)
		}
	case "attribute_type":
		if first.path == nil {
			return syntaxError("Operator or function requires a document path; operator or function: " + c.function)
		}
		if given != "S" {
			return wrongType(c.function, given)
		}
		if name, _ := stringOf(s.values[c.args[1].value]); !slices.Contains(attributeTypes, name) {
			return syntaxError("Invalid attribute type name found; type: " + name)
		}
	case "begins_with":
		if given != "" && given != "S" && given != "B" {
			return wrongType(c.function, given)
		}
	}
	if len(c.args) == 2 && first.path != nil && c.args[1].path != nil && s.samePath(first.path, c.args[1].path) {
		return syntaxError("The first operand must be distinct from the remaining operands for this operator or function; operator: " + c.function)
	}
	return nil
}

// checkOperand checks an operand of a condition.
func (s *scope) checkOperand(o operand) error {
	if o.call == "" {
		return nil
	}
	if o.call != "size" {
		return syntaxError("The function is not allowed in a condition expression; function: " + o.call)
	}
	arg := o.args[0]
	if arg.call != "" {
		return syntaxError("The function is not allowed to be used this way in an expression; function: " + arg.call)
	}
	switch given := s.typeOfValue(arg); given {
	case "N", "BOOL", "NULL":
		return wrongType("size", given)
	}
	return nil
}

func (s *scope) checkUpdate(u *update) error {
	for _, a := range u.set {
		for _, o := range []operand{a.left, a.right} {
			if err := s.checkSetOperand(o); err != nil {
				return err
			}
			if given := s.typeOfValue(o); a.op != "" && given != "" && given != "N" {
				return wrongType(a.op, given)
			}
		}
	}
	for _, a := range u.add {
		if given := s.typeOfValue(a.left); !slices.Contains([]string{"N", "SS", "NS", "BS"}, given) {
			return wrongType("ADD", given)
		}
	}
	for _, a := range u.delete {
		if given := s.typeOfValue(a.left); !slices.Contains([]string{"SS", "NS", "BS"}, given) {
			return wrongType("DELETE", given)
		}
	}
	return nil
}

func (s *scope) checkSetOperand(o operand) error {
	switch o.call {
	case "":
		return nil
	case "if_not_exists":
		if o.args[0].path == nil {
			return syntaxError("Operator or function requires a document path; operator or function: if_not_exists")
		}
	case "list_append":
		for _, arg := range o.args {
			if given := s.typeOfValue(arg); given != "" && given != "L" {
				return wrongType("list_append", given)
			}
		}
	default:
		return syntaxError("The function is not allowed in an update expression; function: " + o.call)
	}
	for _, arg := range o.args {
		if err := s.checkSetOperand(arg); err != nil {
			return err
		}
	}
	return nil
}

// typeOfValue is the type of a :value operand, "" for any other operand.
func (s *scope) typeOfValue(o operand) string { return typeOf(s.values[o.value]) }

func (s *scope) samePath(a, b path) bool {
	return slices.EqualFunc(a, b, func(x, y step) bool { return x.index == y.index && s.name(x.name) == s.name(y.name) })
}
