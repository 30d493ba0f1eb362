package cloudformation

import (
	"maps"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

type Parameter struct {
	Name string
	// Value is empty for a secret, and for what is Kept or Missing.
	Value string
	// Secret: the template says NoEcho.
	Secret bool
	// Kept: the stack keeps its own value, which is not known here.
	Kept bool
	// Missing: neither given nor with a default.
	Missing bool
	// Problem is why CloudFormation would refuse the value; empty if it would not.
	Problem string

	declared *yaml.Node
}

// kept stands for a value that the stack keeps. No parameter can have it, so it equals nothing.
const kept = "\x00"

// Refuses returns why CloudFormation would refuse a value of the parameter; empty if it would not.
func (p Parameter) Refuses(value string) string { return problem(p.declared, value) }

func (t *Template) readParameters() {
	section := Member(t.top, "Parameters")
	for name, declared := range members(section) {
		at := func(key string) string { return textOf(declared, key) }
		if kind := at("Type"); kind != "String" && kind != "Number" {
			t.fail(declared, "parameters of the type %q are not read here", kind)
		}
		value, ok := t.o.Parameters[name]
		p := Parameter{Name: name, declared: declared, Secret: at("NoEcho") == "true"}
		p.Kept = t.o.Keep && p.Secret && !ok
		if standard := Member(declared, "Default"); !ok && standard != nil {
			value, ok = standard.Value, true
		}
		p.Missing = !ok && !p.Kept
		if t.values[name] = value; p.Kept {
			t.values[name] = kept
		}
		if ok && !p.Kept {
			p.Problem = problem(declared, value)
		}
		if !p.Secret {
			p.Value = value
		}
		t.Parameters = append(t.Parameters, p)
	}
	for _, name := range slices.Sorted(maps.Keys(t.o.Parameters)) {
		if Member(section, name) == nil {
			t.Parameters = append(t.Parameters, Parameter{Name: name, Value: t.o.Parameters[name], Problem: "the template has no such parameter"})
		}
	}
}

func textOf(n *yaml.Node, key string) string {
	if m := Member(n, key); m != nil {
		return m.Value
	}
	return ""
}

// problem returns why CloudFormation would refuse a value.
//
// It is stricter with numbers: CloudFormation also takes 0.5 and 00 for a number, and fails in the
// middle of the deployment, or takes 00 for another text than the 0 of a condition.
func problem(declared *yaml.Node, value string) string {
	at := func(key string) string { return textOf(declared, key) }
	if at("Type") == "Number" {
		if text := outside(value, at("MinValue"), at("MaxValue")); text != "" {
			return text
		}
	}
	allowed := Member(declared, "AllowedValues")
	if allowed != nil && !slices.ContainsFunc(allowed.Content, func(n *yaml.Node) bool { return n.Value == value }) {
		return "it is not one of the allowed values"
	}
	if least, err := strconv.Atoi(at("MinLength")); err == nil && len(value) < least {
		return "it is too short"
	}
	if most, err := strconv.Atoi(at("MaxLength")); err == nil && len(value) > most {
		return "it is too long"
	}
	if pattern := at("AllowedPattern"); pattern != "" {
		// CloudFormation matches the whole value, by Java's patterns; one that Go cannot compile is
		// not checked here.
		if re, err := regexp.Compile("^(?:" + pattern + ")$"); err == nil && !re.MatchString(value) {
			if says := at("ConstraintDescription"); says != "" {
				return "it " + says
			}
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
