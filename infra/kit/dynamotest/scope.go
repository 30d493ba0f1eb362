package dynamotest

import (
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

// binder ties the expressions of one request to its names and values. Its first
// error sticks and comes out of done, so the callers read in one line each.
type binder struct {
	scope
	used map[string]bool // placeholders
	err  error
}

func bind(names map[string]string, values map[string]types.AttributeValue) *binder {
	b := &binder{used: map[string]bool{}, scope: scope{names: make(map[string]string, len(names))}}
	for placeholder, name := range names {
		if placeholder == "" || placeholder[0] != '#' || !nameForm.MatchString(placeholder) || name == "" {
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
		if !valueForm.MatchString(placeholder) {
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

func (b *binder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// parse reads one expression and notes the placeholders it uses; nil if there is none, or
// after an error.
func (b *binder) parse(parameter string, text *string, grammar string, parse func(*parser)) *expression {
	if text == nil || b.err != nil {
		return nil
	}
	out, err := parseCached(grammar, *text, parse)
	if err != nil {
		b.fail(invalid(parameter, err))
		return nil
	}
	for _, name := range out.names {
		if _, ok := b.names[name]; !ok {
			b.fail(validation("Invalid %s: An expression attribute name used in the document path is not defined; attribute name: %s", parameter, name))
		}
		b.used[name] = true
	}
	for _, value := range out.values {
		if _, ok := b.values[value]; !ok {
			b.fail(validation("Invalid %s: An expression attribute value used in expression is not defined; attribute value: %s", parameter, value))
		}
		b.used[value] = true
	}
	if b.err != nil {
		return nil
	}
	return out
}

// condition is the condition of that parameter, nil if the request has none.
func (b *binder) condition(parameter string, text *string) *condition {
	out := b.parse(parameter, text, "condition", parseConditionText)
	if out == nil {
		return nil
	}
	return out.condition
}

// update are the actions of the request's update, their names resolved.
func (b *binder) update(text *string) []assignment {
	const parameter = "UpdateExpression"
	out := b.parse(parameter, text, parameter, parseUpdateText)
	if out == nil {
		return nil
	}
	resolved := slices.Clone(out.update)
	for i := range resolved {
		resolved[i].name = b.name(resolved[i].name)
	}
	if err := checkUpdate(resolved); err != nil {
		b.fail(invalid(parameter, err))
	}
	return resolved
}

// done returns the scope, or the first thing that was wrong.
func (b *binder) done() (scope, error) {
	if b.err != nil {
		return scope{}, b.err
	}
	unusedNames, unusedValues := unused(b.names, b.used), unused(b.values, b.used)
	switch {
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

// checkUpdate refuses an update that names an attribute twice.
func checkUpdate(actions []assignment) error {
	seen := map[string]bool{}
	for _, a := range actions {
		if seen[a.name] {
			return syntaxError("Two document paths overlap with each other; must remove or rewrite one of these paths; path: " + a.name)
		}
		seen[a.name] = true
	}
	return nil
}
