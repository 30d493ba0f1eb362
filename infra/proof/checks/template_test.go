package checks

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The templates: the project's, and the front and the alarms nested in it. The parameters of the alarms are named
// after the resources that they refer to.
const (
	templateFile = "template.yaml"
	frontFile    = "infra/front.yaml"
	alarmsFile   = "infra/alarms.yaml"
)

// node is a node of a template, or the zero node if it does not exist.
type node struct {
	*yaml.Node
	file string
}

// at descends by mapping keys and list positions; the zero node if the path does not exist. A step may hold
// several, separated by dots.
func (n node) at(steps ...string) node {
	for _, step := range steps {
		for one := range strings.SplitSeq(step, ".") {
			n = n.child(one)
		}
	}
	return n
}

func (n node) child(step string) node {
	if i, err := strconv.Atoi(step); err == nil && n.Node != nil && n.Kind == yaml.SequenceNode && i < len(n.Content) {
		return node{n.Content[i], n.file}
	}
	for key, value := range n.pairs() {
		if key.Value == step {
			return value
		}
	}
	return node{file: n.file}
}

// pairs returns the keys and values of a mapping.
func (n node) pairs() iter.Seq2[node, node] {
	return func(yield func(node, node) bool) {
		if n.Node == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(node{n.Content[i], n.file}, node{n.Content[i+1], n.file}) {
				return
			}
		}
	}
}

// list returns the elements of a list, or a single value as a list: many properties allow both.
func (n node) list() (all []node) {
	switch {
	case n.Node == nil:
		return nil
	case n.Kind != yaml.SequenceNode:
		return []node{n}
	}
	for _, c := range n.Content {
		all = append(all, node{c, n.file})
	}
	return all
}

// texts returns the plain scalars of a list.
func (n node) texts() (all []string) {
	for _, one := range n.list() {
		all = append(all, one.text())
	}
	return all
}

// spelt returns a scalar as it is written: a value, or an intrinsic such as "!Ref OrderQueue".
func (n node) spelt() string {
	switch {
	case n.Node == nil || n.Kind != yaml.ScalarNode:
		return ""
	case strings.HasPrefix(n.Tag, "!!"):
		return n.Value
	}
	return n.Tag + " " + n.Value
}

// text returns a plain scalar's value; "" for anything else, including intrinsics.
func (n node) text() string {
	if n.Node == nil || !strings.HasPrefix(n.Tag, "!!") {
		return ""
	}
	return n.spelt()
}

// own returns what a choice between the stack's own table and an existing one is for the
// stack's own, and any other node itself.
func (n node) own() node {
	if n.Node != nil && n.Tag == "!If" && n.at("0").text() == "HasOwnTable" {
		return n.at("1")
	}
	return n
}

// target returns the logical id of !Ref X or !GetAtt X.Arn, with the stack's own table; ""
// for anything else.
func (n node) target() string {
	spelt := n.own().spelt()
	if id, ok := strings.CutPrefix(spelt, "!Ref "); ok {
		return id
	}
	id, isArn := strings.CutSuffix(spelt, ".Arn")
	if id, ok := strings.CutPrefix(id, "!GetAtt "); ok && isArn {
		return id
	}
	return ""
}

// alternatives returns the possible values: both branches of !If, or the value itself.
func alternatives(n node) []node {
	if n.Node != nil && n.Tag == "!If" {
		return slices.Concat(alternatives(n.at("1")), alternatives(n.at("2")))
	}
	return []node{n}
}

var substitution = regexp.MustCompile(`\$\{([A-Za-z0-9]+)(?:\.[A-Za-z0-9.]+)?\}`)

// references returns the logical ids and parameters named by a node and everything below it.
func (n node) references() (ids []string) {
	if n.Node == nil {
		return nil
	}
	switch n.Tag {
	case "!Ref", "!GetAtt":
		id, _, _ := strings.Cut(n.Value, ".")
		ids = append(ids, id)
	case "!Sub":
		for _, m := range substitution.FindAllStringSubmatch(n.at("0").text()+n.Value, -1) {
			ids = append(ids, m[1])
		}
	}
	for _, c := range n.Content {
		ids = append(ids, node{c, n.file}.references()...)
	}
	return ids
}

func (n node) errorf(t *testing.T, format string, args ...any) {
	t.Helper()
	line := 1
	if n.Node != nil {
		line = n.Line
	}
	t.Errorf("%s:%d: "+format, append([]any{n.file, line}, args...)...)
}

// expect compares the scalar at a place below the node.
func (n node) expect(t *testing.T, place, want string) {
	t.Helper()
	if got := n.at(place); got.spelt() != want {
		n.errorf(t, "%s is %q, want %q", place, got.spelt(), want)
	}
}

// resource is one entry of a template's Resources.
type resource struct {
	id string
	node
}

// template is a parsed template.
type template struct{ node }

func parseTemplate(t testing.TB, file string) template {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(read(t, file)), &doc); err != nil {
		t.Fatal(err)
	}
	return template{node{doc.Content[0], file}}
}

// resources returns the resources of a kind, or all of them for "".
func (t template) resources(kind string) (all []resource) {
	for key, value := range t.at("Resources").pairs() {
		if kind == "" || value.at("Type").text() == kind {
			all = append(all, resource{key.Value, value})
		}
	}
	return all
}

// resource returns the resource of that id if it is of that kind.
func (t template) resource(kind, id string) (resource, bool) {
	r := t.at("Resources", id)
	return resource{id, r}, r.at("Type").text() == kind
}

// byDefault is a plain value, the default of a parameter, or a part of it by !Select and !Split; "" for anything
// else.
func (t template) byDefault(n node) string {
	if n.Node != nil && n.Tag == "!Select" {
		i, err := strconv.Atoi(n.at("0").text())
		if all := strings.Split(t.byDefault(n.at("1.1")), n.at("1.0").text()); err == nil && i < len(all) {
			return all[i]
		}
		return ""
	}
	if id := n.target(); id != "" {
		n = t.at("Parameters", id, "Default")
	}
	return n.text()
}

// number reads an integer by default.
func (t template) number(n node) (int, bool) {
	i, err := strconv.Atoi(t.byDefault(n))
	return i, err == nil
}

// function is one AWS::Serverless::Function with Globals merged in.
type function struct {
	resource
	template template
}

func (t template) functions() (all []function) {
	for _, r := range t.resources("AWS::Serverless::Function") {
		all = append(all, function{r, t})
	}
	return all
}

// name is the function's id without its ending, and folder its folder below functions/.
func (f function) name() string   { return strings.TrimSuffix(f.id, "Function") }
func (f function) folder() string { return strings.ToLower(f.name()) }

// property returns the function's own value, or else that of Globals.
func (f function) property(place string) node {
	if own := f.at("Properties", place); own.Node != nil {
		return own
	}
	return f.template.at("Globals.Function", place)
}

// variables returns the function's environment, merged with that of Globals.
func (f function) variables() map[string]node {
	all := map[string]node{}
	for _, from := range []node{f.template.at("Globals.Function"), f.at("Properties")} {
		for key, value := range from.at("Environment.Variables").pairs() {
			all[key.Value] = value
		}
	}
	return all
}

func (f function) events(kind string) (all []resource) {
	for key, value := range f.at("Properties.Events").pairs() {
		if value.at("Type").text() == kind {
			all = append(all, resource{key.Value, value.at("Properties")})
		}
	}
	return all
}

// failures returns the queue to which Lambda sends the function's failed events with
// its role; the zero node if there is none.
func (f function) failures() node {
	if to := f.at("Properties.EventInvokeConfig.DestinationConfig.OnFailure"); to.at("Type").text() == "SQS" {
		return to.at("Destination")
	}
	return node{}
}
