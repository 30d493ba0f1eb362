package dynamotest

import (
	"strconv"
	"strings"
)

// A condition, and everything below it, is parsed once per text and shared by
// all calls: it holds the placeholders, never what a call put in their place.

// step is one step of a document path: a name (or #name) or a list index.
type step struct {
	name  string
	index int // used if name is ""
}

// path leads into an item; its first step is a name.
type path []step

// operand is a path, a :value or a function of operands.
type operand struct {
	path  path
	value string // with its colon
	call  string // size, if_not_exists or list_append
	args  []operand
}

// condition is a node of a condition expression.
type condition interface{ isCondition() }

type (
	// logical is AND or OR over left and right, or NOT over left alone.
	logical struct {
		op          string
		left, right condition
	}
	// comparison is one of = <> < <= > >= BETWEEN IN over its operands.
	comparison struct {
		op       string
		operands []operand
	}
	// test is one of the functions that are conditions by themselves.
	test struct {
		function string
		args     []operand
	}
	// group is a condition in parentheses.
	group struct{ inner condition }
)

func (logical) isCondition()    {}
func (comparison) isCondition() {}
func (test) isCondition()       {}
func (group) isCondition()      {}

// assignment is one action of an update expression. For SET the new value is
// left, or left op right with op + or -; for ADD and DELETE it is left; REMOVE
// has none.
type assignment struct {
	target      path
	left, right operand
	op          string
}

// update is an update expression, its actions in the order written.
type update struct {
	set, remove, add, delete []assignment
}

// targets are all paths the update writes.
func (u *update) targets() []path {
	var all []path
	for _, clause := range [][]assignment{u.set, u.remove, u.add, u.delete} {
		for _, a := range clause {
			all = append(all, a.target)
		}
	}
	return all
}

// parsed is one expression and the placeholders it uses.
type parsed struct {
	condition  condition
	update     *update
	projection []path
	names      []string // with their #
	values     []string // with their colon
}

// covers reports whether one path leads to or into what the other leads to.
func (p path) covers(other path) bool {
	for i := range min(len(p), len(other)) {
		if p[i] != other[i] {
			return false
		}
	}
	return true
}

// mixes reports whether two paths take the same value for a map and for a list.
func (p path) mixes(other path) bool {
	for i := range min(len(p), len(other)) {
		if p[i] == other[i] {
			continue
		}
		return (p[i].name == "") != (other[i].name == "")
	}
	return false
}

// String is the path as DynamoDB spells it in its messages.
func (p path) String() string {
	names := make([]string, 0, len(p))
	for _, s := range p {
		if s.name == "" {
			names = append(names, "["+strconv.Itoa(s.index)+"]")
			continue
		}
		names = append(names, s.name)
	}
	return "[" + strings.Join(names, ", ") + "]"
}
