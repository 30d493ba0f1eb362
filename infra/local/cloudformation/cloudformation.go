// Package cloudformation evaluates a CloudFormation template: it gives the parameters their
// values, checks them and the template's rules, decides by the conditions which resources exist,
// and replaces the intrinsic functions in their properties.
//
// It knows no type of resource, and only the functions' short forms (!Ref, not Ref:). All scalars
// are strings, as in CloudFormation.
package cloudformation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Options are what a template does not say itself.
type Options struct {
	Parameters map[string]string
	// Keep leaves a NoEcho parameter that is not given at the value that the stack has, which is
	// not known here.
	Keep bool
	// Pseudo are the values of pseudo parameters, such as AWS::Region.
	Pseudo map[string]string
	// Lookup returns what a reference to a resource that exists stands for: the attribute is ""
	// for Ref, and may be "Alias", SAM's reference to a function's alias.
	Lookup func(r Resource, attribute string) (string, error)
}

type Template struct {
	// Parameters are the template's, in its order, then the given ones that it does not have.
	Parameters []Parameter
	// Broken are the rules that the parameters break, in the template's words.
	Broken []string
	// Resources are those that exist, by their ids.
	Resources []Resource

	o      Options
	top    *yaml.Node
	values map[string]string // of the parameters
	known  map[string]bool   // conditions that have been evaluated
	err    error             // the first; later ones are mostly its consequences
}

type Resource struct {
	ID, Type string
	// Line is the line of its type.
	Line int
	// Properties are not evaluated; nil if there are none.
	Properties *yaml.Node
}

// Parse reads a template. The error says what cannot be read; whether the parameters' values are
// acceptable is in Parameters and Broken.
func Parse(text []byte, o Options) (*Template, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("a template must be a mapping")
	}
	t := &Template{o: o, top: document.Content[0], values: map[string]string{}, known: map[string]bool{}}
	for name, value := range o.Pseudo {
		t.values[name] = value
	}
	t.readParameters()
	t.checkRules()
	for id, n := range members(Member(t.top, "Resources")) {
		condition, kind := Member(n, "Condition"), Member(n, "Type")
		if kind == nil {
			t.fail(n, "%s has no Type", id)
		} else if condition == nil || t.holds(condition, condition.Value) {
			t.Resources = append(t.Resources, Resource{id, kind.Value, kind.Line, Member(n, "Properties")})
		}
	}
	slices.SortFunc(t.Resources, func(a, b Resource) int { return cmp.Compare(a.ID, b.ID) })
	return t, t.err
}

func (t *Template) fail(n *yaml.Node, format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
	}
}

// OfType returns the resources of a type, by their ids.
func (t *Template) OfType(kind string) (all []Resource) {
	for _, r := range t.Resources {
		if r.Type == kind {
			all = append(all, r)
		}
	}
	return all
}

// Globals returns the section of SAM's Globals for functions, nil if there is none.
func (t *Template) Globals() *yaml.Node { return Member(Member(t.top, "Globals"), "Function") }

// Output returns an output's value as it is written, empty if there is none.
func (t *Template) Output(name string) string {
	return textOf(Member(Member(t.top, "Outputs"), name), "Value")
}

// checkRules notes the rules that the values break. A rule about a value that the stack keeps
// cannot be checked here: CloudFormation does.
func (t *Template) checkRules() {
	for name, rule := range members(Member(t.top, "Rules")) {
		if when := Member(rule, "RuleCondition"); when != nil && !t.test(when) {
			continue
		}
		assertions := Member(rule, "Assertions")
		if assertions == nil {
			t.fail(rule, "rule %s has no Assertions", name)
			return
		}
		for _, a := range assertions.Content {
			if assert := Member(a, "Assert"); assert == nil {
				t.fail(a, "rule %s has an assertion without Assert", name)
			} else if !t.test(assert) && !t.mentionsKept(assert) {
				t.Broken = append(t.Broken, cmp.Or(textOf(a, "AssertDescription"), name))
			}
		}
	}
}
