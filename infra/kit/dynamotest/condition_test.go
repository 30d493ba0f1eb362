package dynamotest

import (
	"strings"
	"testing"
)

var specimen = attributes{
	"n": num("10"), "m": num("11"), "s": str("moutai"), "yes": boolean(true),
	"tags": strSet("a", "b"), "ns": numSet("1", "2"),
}

func evaluateText(expression string, names map[string]string, values attributes, it attributes) (bool, error) {
	b := bind(names, values)
	c := b.condition("ConditionExpression", &expression)
	s, err := b.done()
	if err != nil {
		return false, err
	}
	stored, err := admitItem(it)
	if err != nil {
		return false, err
	}
	return s.holds(c, stored), nil
}

func TestConditionsHoldAsDynamoDBEvaluatesThem(t *testing.T) {
	ten, one, moutai := attributes{":v": num("10")}, attributes{":v": num("1")}, attributes{":v": str("moutai")}
	for _, tt := range []struct {
		expression string
		values     attributes
		want       bool
	}{
		{"n = :v", ten, true},
		{"n = :v", attributes{":v": num("010")}, true},
		{"n <> :v", ten, false},
		{"n < :v", ten, false},
		{"n <= :v", ten, true},
		{"n > :v", one, true},
		{"n >= :v", ten, true},
		{"m > n", nil, true},
		{"n > :v", attributes{":v": num("9")}, true},
		{"n > :v", moutai, false},
		{"n < :v", moutai, false},
		{"n = :v", moutai, false},
		{"n <> :v", moutai, true},
		{"gone = :v", ten, false},
		{"gone <> :v", ten, true},
		{"gone < :v", ten, false},
		{"s = :v AND yes = :t", attributes{":v": str("moutai"), ":t": boolean(true)}, true},
		{"s < :v", attributes{":v": str("z")}, true},
		{"n = :v OR n = :w AND s = :w", attributes{":v": num("10"), ":w": num("1")}, true},
		{"(n = :v OR n = :w) AND s = :w", attributes{":v": num("10"), ":w": num("1")}, false},
		{"attribute_exists(s)", nil, true},
		{"attribute_exists(gone)", nil, false},
		{"attribute_not_exists(gone)", nil, true},
		{"begins_with(s, :v)", attributes{":v": str("mou")}, true},
		{"size(s) = :v", attributes{":v": num("6")}, true},
		{"size(tags) > :v", one, true},
		{"size(gone) > :v", one, false},
		{"size(n) > :v", one, false},
		{"tags = :v", attributes{":v": strSet("b", "a")}, true},
	} {
		got, err := evaluateText(tt.expression, nil, tt.values, specimen)
		if err != nil || got != tt.want {
			t.Errorf("%s with %s: %v, %v, want %v", tt.expression, text(tt.values), got, err, tt.want)
		}
	}
}

func TestAConditionOnNoItemSeesNoAttribute(t *testing.T) {
	for expression, want := range map[string]bool{
		"attribute_not_exists(pk)":           true,
		"attribute_exists(pk)":               false,
		"attribute_not_exists(pk) OR n = n2": true,
	} {
		got, err := evaluateText(expression, nil, nil, nil)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", expression, got, err, want)
		}
	}
}

func TestConditionsThatDynamoDBRefusesToRead(t *testing.T) {
	v := attributes{":v": num("1")}
	for name, tt := range map[string]struct {
		expression string
		names      map[string]string
		values     attributes
	}{
		"an empty expression":           {"", nil, nil},
		"blanks only":                   {"  ", nil, nil},
		"half a comparison":             {"n =", nil, nil},
		"two comparisons in a row":      {"n = :v m = :v", nil, v},
		"a stray character":             {"n = :v;", nil, v},
		"an unknown function":           {"exists(n)", nil, nil},
		"a function in the wrong case":  {"ATTRIBUTE_EXISTS(n)", nil, nil},
		"too many arguments":            {"attribute_exists(n, m)", nil, nil},
		"a number instead of a value":   {"n = 1", nil, nil},
		"a reserved word":               {"status = :v", nil, v},
		"a reserved word in any case":   {"Name = :v", nil, v},
		"an undefined value":            {"n = :w", nil, v},
		"an unused value":               {"attribute_exists(n)", nil, v},
		"an undefined name":             {"#n = :v", nil, v},
		"an unused name":                {"n = :v", map[string]string{"#n": "name"}, v},
		"an empty map of values":        {"attribute_exists(n)", nil, attributes{}},
		"redundant parentheses":         {"((n = :v))", nil, v},
		"an open parenthesis":           {"(n = :v", nil, v},
		"the same path twice":           {"n = n", nil, nil},
		"an order among booleans":       {"n < :v", nil, attributes{":v": boolean(true)}},
		"attribute_exists of a value":   {"attribute_exists(:v)", nil, v},
		"an empty set among the values": {"n = :v", nil, attributes{":v": numSet()}},
		"a value that is no number":     {"n = :v", nil, attributes{":v": num("ten")}},
		"a nil value":                   {"n = :v", nil, attributes{":v": nil}},
		"a placeholder with a hyphen":   {"n = :v", nil, attributes{":v-1": num("1"), ":v": num("1")}},
		"more text than DynamoDB reads": {"n = :v" + string(make([]byte, 5000)), nil, v},
		"begins_with a number":          {"begins_with(s, :v)", nil, v},
	} {
		_, err := evaluateText(tt.expression, tt.names, tt.values, specimen)
		if message, ok := validationMessage(err); !ok {
			t.Errorf("%s: %v, want a ValidationException", name, err)
		} else if message == "" {
			t.Errorf("%s: no message", name)
		}
	}
}

// What DynamoDB knows and nobody here says is refused by its name, so that whoever begins to
// say it finds out what is missing.
func TestWhatNobodyHereSaysIsRefusedByName(t *testing.T) {
	v := attributes{":v": num("1"), ":w": num("2")}
	for expression, named := range map[string]string{
		"n BETWEEN :v AND :w":                `"BETWEEN"`,
		"n IN (:v, :w)":                      `"IN"`,
		"n = :v AND NOT m = :w":              `"NOT"`,
		"doc.a = :v OR n = :w":               `".a = :v OR n = :w"`,
		"many[0] = :v OR n = :w":             `"[0] = :v OR n = :w"`,
		"contains(s, :v) OR n = :w":          `"("`,
		"attribute_type(s, :v) OR n = :w":    `"("`,
		"n = if_not_exists(m, :v) OR n = :w": `"("`,
	} {
		_, err := evaluateText(expression, nil, v, specimen)
		message, ok := validationMessage(err)
		if !ok || !strings.Contains(message, named) {
			t.Errorf("%s: %v, want an error that names %s", expression, err, named)
		}
	}
}

func TestTheReservedWordListIsComplete(t *testing.T) {
	if len(reservedWords) != 573 {
		t.Errorf("%d reserved words, want 573", len(reservedWords))
	}
	for _, word := range []string{"ABORT", "zone", "Name", "status", "next", "at", "TTL"} {
		if !reserved(word) {
			t.Errorf("%s is not reserved", word)
		}
	}
	for _, word := range []string{"pk", "sk", "stock", "claimId", "empty_", "opensAt", "version", "remove"} {
		if reserved(word) {
			t.Errorf("%s is reserved", word)
		}
	}
}
