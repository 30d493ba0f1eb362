package template

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds nested intrinsic functions. CloudFormation's own limit is not
// published; a template that nests deeper must contain a cycle.
const maxDepth = 64

// plain resolves n if it is an intrinsic function. It returns nil for an absent node
// and for AWS::NoValue.
func (r *reader) plain(n *yaml.Node, at string) *yaml.Node {
	if n == nil || r.err != nil {
		return nil
	}
	if r.depth++; r.depth > maxDepth {
		r.fail(n, at, "functions are nested deeper than %d levels", maxDepth)
		return nil
	}
	defer func() { r.depth-- }()

	switch name := intrinsic(n); name {
	case "":
		return n
	case "Ref":
		return r.ref(n, at, n.Value)
	case "GetAtt":
		return r.getAtt(n, at)
	case "Sub":
		return r.sub(n, at)
	case "Split":
		return r.split(n, at)
	case "If":
		if n.Kind != yaml.SequenceNode || len(n.Content) != 3 {
			r.fail(n, at, "!If needs a condition's name and two values")
			return nil
		}
		if r.holds(n.Content[0], at, n.Content[0].Value) {
			return r.plain(n.Content[1], at)
		}
		return r.plain(n.Content[2], at)
	default:
		r.fail(n, at, "!%s cannot be resolved locally", name)
		return nil
	}
}

// intrinsic returns the name of the intrinsic function that a node calls in its short form, ""
// for an ordinary node. The template has no long forms, which are read as mappings.
func intrinsic(n *yaml.Node) string {
	if strings.HasPrefix(n.Tag, "!!") {
		return ""
	}
	return strings.TrimPrefix(n.Tag, "!")
}

func (r *reader) getAtt(n *yaml.Node, at string) *yaml.Node {
	id, attribute, _ := strings.Cut(n.Value, ".")
	if id == "" || attribute == "" {
		r.fail(n, at, "!GetAtt needs a logical id and an attribute")
	}
	return r.scalar(n, at, r.attribute(n, at, id, attribute))
}

func (r *reader) split(n *yaml.Node, at string) *yaml.Node {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		r.fail(n, at, "!Split needs a delimiter and a string")
		return nil
	}
	text := value{r, r.plain(n.Content[1], at), at}.text("")
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: n.Line, Column: n.Column}
	for item := range strings.SplitSeq(text, n.Content[0].Value) {
		list.Content = append(list.Content, r.scalar(n, at, item))
	}
	return list
}

func (r *reader) sub(n *yaml.Node, at string) *yaml.Node {
	if n.Kind != yaml.ScalarNode {
		r.fail(n, at, "!Sub needs a string")
		return nil
	}
	var out strings.Builder
	for rest := n.Value; r.err == nil; {
		before, after, found := strings.Cut(rest, "${")
		out.WriteString(before)
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			r.fail(n, at, "!Sub has a ${ without its }")
			return nil
		}
		rest = tail
		out.WriteString(r.substitute(n, at, name))
	}
	return r.scalar(n, at, out.String())
}

func (r *reader) substitute(n *yaml.Node, at, name string) string {
	if id, attribute, ok := strings.Cut(name, "."); ok {
		return r.attribute(n, at, id, attribute)
	}
	v := value{r, r.ref(n, at, name), at}
	if v.absent() {
		r.fail(n, at, "${%s} has no value", name)
	}
	return v.text("")
}

// scalar makes a string node of the text that the function at n resolved to.
func (r *reader) scalar(n *yaml.Node, at, text string) *yaml.Node {
	if r.err != nil {
		return nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: n.Line, Column: n.Column}
}

func (r *reader) readConditions(section value) {
	for pair := range slices.Chunk(section.content(), 2) {
		r.conditions[pair[0].Value] = pair[1]
	}
}

// holds evaluates the named condition, referenced at n.
func (r *reader) holds(n *yaml.Node, at, name string) bool {
	c, ok := r.conditions[name]
	if !ok {
		r.fail(n, at, "there is no condition %q", name)
		return false
	}
	return r.test(c, "Conditions."+name)
}

// test evaluates one condition function.
func (r *reader) test(n *yaml.Node, at string) bool {
	if r.err != nil {
		return false
	}
	if r.depth++; r.depth > maxDepth {
		r.fail(n, at, "conditions are nested deeper than %d levels", maxDepth)
		return false
	}
	defer func() { r.depth-- }()

	name := intrinsic(n)
	switch {
	case name == "Condition":
		return r.holds(n, at, n.Value)
	case name == "Equals" && len(n.Content) == 2:
		left := value{r, r.plain(n.Content[0], at), at}.text("")
		right := value{r, r.plain(n.Content[1], at), at}.text("")
		return r.err == nil && left == right
	case name == "Not" && len(n.Content) == 1:
		return !r.test(n.Content[0], at)
	case name == "And" || name == "Or":
		// Both sides are always evaluated, so that a mistake in one never hides behind the other.
		met := 0
		for _, c := range n.Content {
			if r.test(c, at) {
				met++
			}
		}
		if name == "And" {
			return met == len(n.Content)
		}
		return met > 0
	}
	r.fail(n, at, "this is not a condition that can be evaluated locally")
	return false
}

// stackName is AWS::StackName, accountID is AWS::AccountId.
const (
	stackName = "local"
	accountID = "000000000000"
)

// pseudo returns the value of a pseudo parameter.
func (r *reader) pseudo(name string) (string, bool) {
	switch name {
	case "AWS::Region":
		return r.o.Region, true
	case "AWS::AccountId":
		return accountID, true
	case "AWS::Partition":
		return "aws", true
	case "AWS::URLSuffix":
		return "amazonaws.com", true
	case "AWS::StackName":
		return stackName, true
	}
	return "", false
}

// ref resolves Ref; it returns nil for AWS::NoValue.
func (r *reader) ref(n *yaml.Node, at, name string) *yaml.Node {
	if name == "AWS::NoValue" {
		return nil
	}
	if text, ok := r.pseudo(name); ok {
		return r.scalar(n, at, text)
	}
	if p, ok := r.parameters[name]; ok {
		return r.scalar(n, at, p.text)
	}
	// SAM's reference to the alias that it makes. Only one version runs here.
	id, isAlias := strings.CutSuffix(name, ".Alias")
	res := r.need(n, at, id)
	if res == nil {
		return nil
	}
	if isAlias && res.typ != typeFunction {
		r.fail(n, at, "only a function has an alias")
	}
	switch res.typ {
	case typeTable:
		return r.scalar(n, at, r.tableName(res))
	case typeQueue:
		name := r.queueName(res)
		if r.o.QueueURL != nil {
			name = r.o.QueueURL(name)
		}
		return r.scalar(n, at, name)
	case typeBus:
		return r.scalar(n, at, r.busName(res))
	}
	return r.scalar(n, at, res.id)
}

// attribute resolves Fn::GetAtt, for the attributes that what runs locally needs.
func (r *reader) attribute(n *yaml.Node, at, id, attribute string) string {
	if r.err != nil {
		return ""
	}
	res := r.need(n, at, id)
	if res == nil {
		return ""
	}
	switch res.typ + "." + attribute {
	case typeQueue + ".Arn":
		return r.arn("sqs", r.queueName(res))
	case typeTable + ".StreamArn":
		if !res.props.get("StreamSpecification").absent() {
			return r.streamARN(res)
		}
	}
	r.fail(n, at, "attribute %s of %s (%s) cannot be resolved locally", attribute, id, res.typ)
	return ""
}

func (r *reader) arn(service, rest string) string {
	return "arn:aws:" + service + ":" + r.o.Region + ":" + accountID + ":" + rest
}

// queueOf returns the queue that v's ARN names; only queues of the template exist locally.
func (r *reader) queueOf(v value) *resource {
	arn := v.text("")
	if r.err != nil {
		return nil
	}
	for _, res := range r.ofType(typeQueue) {
		if r.arn("sqs", r.queueName(res)) == arn {
			return res
		}
	}
	v.fail("no queue of this template has the ARN %q", arn)
	return nil
}

// streamARN is a table's stream. Its label is the time of its creation, which only the engine knows.
func (r *reader) streamARN(res *resource) string {
	return r.arn("dynamodb", "table/"+r.tableName(res)+"/stream/local")
}
