package dynamotest

import (
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// scope is what one request put in the place of its expressions' placeholders.
type scope struct {
	names  map[string]string
	values item
}

// binder ties the expressions of one request to its names and values. Its first
// error sticks and comes out of done, so the callers read in one line each.
type binder struct {
	scope
	rawValues   map[string]types.AttributeValue
	usedNames   map[string]bool
	usedValues  map[string]bool
	expressions int
	err         error
}

func bind(names map[string]string, values map[string]types.AttributeValue) *binder {
	b := &binder{rawValues: values, usedNames: map[string]bool{}, usedValues: map[string]bool{}}
	b.names = make(map[string]string, len(names))
	for placeholder, name := range names {
		if !placeholderText('#', placeholder) || name == "" {
			b.fail(validation("ExpressionAttributeNames contains invalid key: Syntax error; key: %q", placeholder))
		}
		b.names[placeholder] = name
	}
	admitted, err := admitItem(values)
	if err != nil {
		b.fail(err)
	}
	b.values = admitted
	for placeholder := range values {
		if !placeholderText(':', placeholder) {
			b.fail(validation("ExpressionAttributeValues contains invalid key: Syntax error; key: %q", placeholder))
		}
	}
	if names != nil && len(names) == 0 {
		b.fail(validation("ExpressionAttributeNames must not be empty"))
	}
	if values != nil && len(values) == 0 {
		b.fail(validation("ExpressionAttributeValues must not be empty"))
	}
	return b
}

func placeholderText(mark byte, text string) bool {
	return len(text) > 1 && text[0] == mark && wordEnd(text, 1) == len(text)
}

func (b *binder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// parse reads one expression and notes the placeholders it uses.
func (b *binder) parse(parameter string, text *string, grammar func(*parser) error) *parsed {
	if text == nil || b.err != nil {
		return nil
	}
	b.expressions++
	out, err := parseCached(grammarOf(parameter), *text, grammar)
	if err != nil {
		b.fail(invalid(parameter, err))
		return nil
	}
	for _, name := range out.names {
		if _, ok := b.names[name]; !ok {
			b.fail(validation("Invalid %s: An expression attribute name used in the document path is not defined; attribute name: %s", parameter, name))
		}
		b.usedNames[name] = true
	}
	for _, value := range out.values {
		if _, ok := b.values[value]; !ok {
			b.fail(validation("Invalid %s: An expression attribute value used in expression is not defined; attribute value: %s", parameter, value))
		}
		b.usedValues[value] = true
	}
	return out
}

// grammarOf lets all conditions share one cache entry.
func grammarOf(parameter string) string {
	switch parameter {
	case "UpdateExpression", "ProjectionExpression":
		return parameter
	}
	return "condition"
}

// invalid makes the exception out of what is wrong with an expression.
func invalid(parameter string, err error) error {
	var syntax syntaxError
	if errors.As(err, &syntax) {
		return validation("Invalid %s: %s", parameter, string(syntax))
	}
	return err
}

// condition is the condition of that parameter, nil if the request has none.
func (b *binder) condition(parameter string, text *string) condition {
	out := b.parse(parameter, text, parseConditionText)
	if out == nil || b.err != nil {
		return nil
	}
	if err := b.checkCondition(out.condition); err != nil {
		b.fail(invalid(parameter, err))
	}
	return out.condition
}

func (b *binder) update(text *string) *update {
	const parameter = "UpdateExpression"
	out := b.parse(parameter, text, parseUpdateText)
	if out == nil || b.err != nil {
		return nil
	}
	resolved := b.resolveUpdate(out.update)
	for _, err := range []error{checkPaths(resolved.targets()), b.checkUpdate(resolved)} {
		if err != nil {
			b.fail(invalid(parameter, err))
		}
	}
	return resolved
}

func (b *binder) projection(text *string) []path {
	const parameter = "ProjectionExpression"
	out := b.parse(parameter, text, parseProjectionText)
	if out == nil || b.err != nil {
		return nil
	}
	var paths []path
	for _, p := range out.projection {
		paths = append(paths, b.resolve(p))
	}
	if err := checkPaths(paths); err != nil {
		b.fail(invalid(parameter, err))
	}
	return paths
}

// done returns the scope, or the first thing that was wrong.
func (b *binder) done() (scope, error) {
	if b.err != nil {
		return scope{}, b.err
	}
	unusedNames, unusedValues := unused(b.names, b.usedNames), unused(b.rawValues, b.usedValues)
	switch {
	case b.expressions == 0 && len(b.names) > 0:
		return scope{}, validation("ExpressionAttributeNames can only be specified when using expressions")
	case b.expressions == 0 && len(b.values) > 0:
		return scope{}, validation("ExpressionAttributeValues can only be specified when using expressions")
	case unusedNames != "":
		return scope{}, validation("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", unusedNames)
	case unusedValues != "":
		return scope{}, validation("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", unusedValues)
	}
	return b.scope, nil
}

func unused[V any](given map[string]V, used map[string]bool) string {
	var left []string
	for placeholder := range given {
		if !used[placeholder] {
			left = append(left, placeholder)
		}
	}
	slices.Sort(left)
	return strings.Join(left, ", ")
}

// resolve puts the names in the place of a path's placeholders.
func (s *scope) resolve(p path) path {
	out := make(path, len(p))
	for i, at := range p {
		out[i] = step{name: s.name(at.name), index: at.index}
	}
	return out
}

func (s *scope) name(text string) string {
	if strings.HasPrefix(text, "#") {
		return s.names[text]
	}
	return text
}

func (s *scope) resolveUpdate(u *update) *update {
	clause := func(in []assignment) []assignment {
		out := slices.Clone(in)
		for i := range out {
			out[i].target = s.resolve(out[i].target)
		}
		return out
	}
	return &update{set: clause(u.set), remove: clause(u.remove), add: clause(u.add), delete: clause(u.delete)}
}

// checkPaths refuses two paths of which one leads into the other.
func checkPaths(paths []path) error {
	for i, one := range paths {
		for _, two := range paths[i+1:] {
			if one.covers(two) {
				return syntaxError("Two document paths overlap with each other; must remove or rewrite one of these paths; path one: " +
					one.String() + ", path two: " + two.String())
			}
			if one.mixes(two) {
				return syntaxError("Two document paths conflict with each other; must remove or rewrite one of these paths; path one: " +
					one.String() + ", path two: " + two.String())
			}
		}
	}
	return nil
}
