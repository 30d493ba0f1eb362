package demand

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// read returns the parameters in the template's order, then the unknown ones, and checks
// each value as CloudFormation does.
func (t *template) read(section *yaml.Node, given map[string]string) []Parameter {
	var all []Parameter
	known := map[string]bool{}
	for name, about := range pairs(section) {
		known[name] = true
		value, ok := given[name]
		hidden := false
		if echo := member(about, "NoEcho"); echo != nil {
			hidden = echo.Value == "true"
		}
		p := Parameter{Name: name, Kept: hidden && !ok}
		if standard := member(about, "Default"); !ok && standard != nil {
			value, ok = standard.Value, true
		}
		p.Missing, t.kept[name] = !ok && !p.Kept, p.Kept
		if ok && !p.Kept {
			t.values[name], p.Value = value, value
			p.Problem = problem(about, value)
		}
		if hidden {
			p.Value = ""
		}
		all = append(all, p)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !known[name] {
			all = append(all, Parameter{Name: name, Value: given[name], Problem: "the template has no such parameter"})
		}
	}
	return all
}

// broken returns the rules that the values break, in the template's words. A rule about a
// value that the stack keeps cannot be checked here: CloudFormation does.
func (t *template) broken(rules *yaml.Node) []string {
	var all []string
	for name, rule := range pairs(rules) {
		if when := member(rule, "RuleCondition"); when != nil && !t.test(when) {
			continue
		}
		for _, assertion := range items(member(rule, "Assertions")) {
			assert := member(assertion, "Assert")
			if !slices.ContainsFunc(mentioned(assert), func(id string) bool { return t.kept[id] }) && !t.test(assert) {
				all = append(all, or(t.text(assertion, "AssertDescription"), name))
			}
		}
	}
	return all
}

// problem returns why CloudFormation would refuse a value; empty if it would not.
//
// It is stricter with numbers: CloudFormation also takes 0.5 and 00 for a number, and fails in the
// middle of the deployment, or takes 00 for another text than the 0 of a condition.
func problem(about *yaml.Node, value string) string {
	at := func(key string) string {
		if n := member(about, key); n != nil {
			return n.Value
		}
		return ""
	}
	values := []string{value}
	if kind := at("Type"); kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<") {
		values = strings.Split(value, ",")
	}
	for _, v := range values {
		if strings.Contains(at("Type"), "Number") {
			if text := outside(v, at("MinValue"), at("MaxValue")); text != "" {
				return text
			}
		}
		if allowed := items(member(about, "AllowedValues")); allowed != nil {
			if !slices.ContainsFunc(allowed, func(n *yaml.Node) bool { return n.Value == v }) {
				return "it is not one of the allowed values"
			}
		}
	}
	if least, err := strconv.Atoi(at("MinLength")); err == nil && len(value) < least {
		return "it is too short"
	}
	if most, err := strconv.Atoi(at("MaxLength")); err == nil && len(value) > most {
		return "it is too long"
	}
	if pattern := at("AllowedPattern"); pattern != "" {
		// CloudFormation uses Java's patterns; one that Go cannot compile is not checked here.
		if re, err := regexp.Compile("^(?:" + pattern + ")$"); err == nil && !re.MatchString(value) {
			return "it does not match " + pattern
		}
	}
	return ""
}

func outside(value, least, most string) string {
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != value {
		return "it is not a whole number"
	}
	if low, err := strconv.ParseInt(least, 10, 64); err == nil && number < low {
		return "it is below " + least
	}
	if high, err := strconv.ParseInt(most, 10, 64); err == nil && number > high {
		return "it is above " + most
	}
	return ""
}
