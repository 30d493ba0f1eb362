// Package template reads the project's SAM template and returns what a local stack must
// run: functions, routes, authorizers, queues, tables and their streams, schedules, event buses.
//
// It implements SAM's and CloudFormation's rules (defaults, Globals, intrinsic
// functions, parameter constraints) and runs nothing. Only the properties that the
// local stack needs are resolved; a needed property that cannot be resolved is an
// *Error with its line, so that the local stack never silently differs from the
// deployed one.
package template

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Error is a problem in a template that prevents the local stack from booting.
type Error struct {
	// File is the path that was loaded.
	File string
	// Line counts from 1; it is 0 when the error concerns no single line.
	Line int
	// At names the logical id and property, as in Resources.OrderQueue.Properties.VisibilityTimeout; it may be empty.
	At string
	// Reason is the problem itself.
	Reason string
}

func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.At != "" {
		return fmt.Sprintf("%s: %s: %s", where, e.At, e.Reason)
	}
	return fmt.Sprintf("%s: %s", where, e.Reason)
}

// fail records the first problem only: later ones are mostly its consequences.
func (r *reader) fail(n *yaml.Node, at, format string, args ...any) {
	if r.err != nil {
		return
	}
	e := &Error{File: r.file, At: at, Reason: fmt.Sprintf(format, args...)}
	if n != nil {
		e.Line = n.Line
	}
	r.err = e
}

// assert checks the parameters against the template's Rules, as CloudFormation does
// before it deploys anything.
func (r *reader) assert(rules value) {
	for _, rule := range rules.fields() {
		rule.only([]string{"RuleCondition", "Assertions"}, nil)
		if c := rule.raw("RuleCondition"); c != nil && !r.test(c, rule.below("RuleCondition")) {
			continue
		}
		for _, a := range rule.need("Assertions").list() {
			a.only([]string{"Assert", "AssertDescription"}, nil)
			what := a.raw("Assert")
			if what == nil {
				a.fail("Assert is missing")
				return
			}
			if !r.test(what, a.below("Assert")) {
				r.fail(what, rule.at, "%s", a.get("AssertDescription").text("the parameters do not go together"))
			}
		}
	}
}

// Options are a deployment's inputs besides the template.
type Options struct {
	// Parameters overrides the template's parameter defaults.
	Parameters map[string]string
	// Strict are parameters whose URL must be https on this machine, too. For others http is
	// enough on a loopback address, where nobody can eavesdrop.
	Strict []string
	// Region is AWS::Region, us-east-1 when empty.
	Region string
	// TableName is the name of the template's only table; empty leaves it to the template.
	TableName string
	// Secrets are those of Secrets Manager to which environment variables refer, by ARN.
	Secrets map[string]string
	// QueueURL returns the URL of a queue; nil leaves its name.
	QueueURL func(name string) string
}

// Load reads the template at path. Problems inside it are of type *Error.
func Load(path string, o Options) (*Stack, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	return Parse(path, text, o)
}

// Parse reads a template from memory; file is only named in errors, which are of type *Error.
func Parse(file string, text []byte, o Options) (*Stack, error) {
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	r := &reader{
		file:       file,
		o:          o,
		parameters: map[string]*parameter{},
		conditions: map[string]*yaml.Node{},
		resources:  map[string]*resource{},
	}
	s := r.read(text)
	if r.err != nil {
		return nil, r.err
	}
	return s, nil
}

// reader is one reading of one template. err keeps its first failure, after which every
// lookup returns nothing, so callers need not check each step.
type reader struct {
	file       string
	o          Options
	parameters map[string]*parameter
	conditions map[string]*yaml.Node
	resources  map[string]*resource
	// ids holds the keys of resources, sorted.
	ids    []string
	global value
	depth  int
	err    *Error
}

func (r *reader) read(text []byte) *Stack {
	root := r.decode(text)
	if r.err != nil {
		return nil
	}
	top := value{r: r, n: root}
	r.readParameters(top.get("Parameters"))
	r.readConditions(top.get("Conditions"))
	r.assert(top.get("Rules"))
	r.global = top.get("Globals")
	r.readResources(top.get("Resources"))
	if r.err != nil {
		return nil
	}
	s := &Stack{Parameters: map[string]string{}}
	for name, p := range r.parameters {
		s.Parameters[name] = p.text
	}
	s.Tables = r.tables()
	s.Queues = r.queues()
	s.Buses = r.buses()
	s.API, s.Operators = r.api(), r.rawAPI()
	for _, res := range r.ofType(typeFunction) {
		s.Functions = append(s.Functions, r.function(res, s))
	}
	return s
}

// decode returns the template's top mapping.
func (r *reader) decode(text []byte) *yaml.Node {
	var doc yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			r.fail(nil, "", "the template is empty")
		} else {
			r.fail(nil, "", "%v", err)
		}
		return nil
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		r.fail(&doc, "", "a template must be a mapping")
		return nil
	}
	return doc.Content[0]
}
