package dynamotest

import (
	"errors"
	"testing"
)

func FuzzEveryExpressionParsesOrFailsWithASyntaxError(f *testing.F) {
	for _, seed := range []string{
		"stock > :zero AND opensAt <= :now AND (paused = :true OR #a <> b)", "begins_with(#c, :x) OR size(a) >= :y",
		"SET stock = stock - :one, a = b REMOVE c ADD n :one DELETE s :x",
		"attribute_not_exists(pk)", "((a = b))", "SET", "a[9]", "#", ":", "a.b", "\x00", "a=b\xff",
	} {
		f.Add(seed)
	}
	grammars := []func(*parser) error{parseConditionText, parseUpdateText}
	f.Fuzz(func(t *testing.T, text string) {
		for _, grammar := range grammars {
			out, err := parseText(text, grammar)
			if err == nil {
				exercise(out)
				continue
			}
			var syntax syntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("%q: %v is no syntax error", text, err)
			}
		}
	})
}

// exercise evaluates an expression with arbitrary values for its placeholders.
func exercise(e *expression) {
	stored, _ := admitItem(specimen)
	s := scope{names: map[string]string{}, values: item{}}
	for i, name := range e.names {
		s.names[name] = []string{"n", "doc", "tags", "many"}[i%4]
	}
	for i, value := range e.values {
		s.values[value] = stored[[]string{"n", "s", "tags", "many"}[i%4]]
	}
	if e.condition != nil && s.checkCondition(e.condition) == nil {
		s.holds(e.condition, stored)
		s.holds(e.condition, nil)
	}
	if s.checkUpdate(e.update) == nil {
		_, _ = s.applied(e.update, stored)
	}
}

func FuzzEveryTextIsANumberInNormalFormOrRefused(f *testing.F) {
	for _, seed := range []string{"0", "-0", "1e125", "1E-130", "123.4500", ".5", "-.5e+3", "0x1", "1_0", "--1", "1.2.3", "9999999999999999999", "100", "1767225605010", "00", "010"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseNumber(text)
		if err != nil {
			if _, ok := validationMessage(err); !ok {
				t.Errorf("%q: %v is no ValidationException", text, err)
			}
			return
		}
		again, err := parseNumber(n.String())
		if err != nil || again.String() != n.String() || again.compare(n) != 0 {
			t.Errorf("%q: %s reads as %v, %v", text, n, again, err)
		}
		if got := numberSize(text); got != n.size() {
			t.Errorf("%q counts for %d bytes, want %d", text, got, n.size())
		}
	})
}
