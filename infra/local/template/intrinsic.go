package template

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds nested intrinsic functions. CloudFormation's own limit is not
// published; a template that nests deeper must contain a cycle.
const maxDepth = 64

// maxText bounds one resolved string. CloudFormation's largest are far below it.
const maxText = 1 << 16

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

	name, arg := intrinsic(n)
	switch name {
	case "":
		if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
			r.fail(n, at, "null values are not allowed")
			return nil
		}
		if n.Kind == yaml.MappingNode && hasFunctionKey(n) {
			r.fail(n, at, "an intrinsic function must be the only key of its mapping")
			return nil
		}
		return n
	case "Ref":
		if arg.Kind != yaml.ScalarNode {
			r.fail(n, at, "Ref needs a name")
			return nil
		}
		return r.ref(n, at, arg.Value)
	case "Fn::GetAtt":
		return r.getAtt(n, arg, at)
	case "Fn::Sub":
		return r.sub(n, arg, at)
	case "Fn::Join":
		return r.join(n, arg, at)
	case "Fn::Split":
		return r.split(n, arg, at)
	case "Fn::If":
		if arg.Kind != yaml.SequenceNode || len(arg.Content) != 3 || arg.Content[0].Kind != yaml.ScalarNode {
			r.fail(n, at, "Fn::If needs a condition's name and two values")
			return nil
		}
		if r.holds(arg.Content[0], at, arg.Content[0].Value) {
			return r.plain(arg.Content[1], at)
		}
		return r.plain(arg.Content[2], at)
	}
	r.fail(n, at, "%s cannot be resolved locally", name)
	return nil
}

// intrinsic recognises both spellings of an intrinsic function and returns its
// long name and its argument; an ordinary node has no name.
func intrinsic(n *yaml.Node) (name string, arg *yaml.Node) {
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		name = n.Tag[1:]
		if name != "Ref" && name != "Condition" {
			name = "Fn::" + name
		}
		untagged := *n
		switch n.Kind {
		case yaml.MappingNode:
			untagged.Tag = "!!map"
		case yaml.SequenceNode:
			untagged.Tag = "!!seq"
		default:
			untagged.Tag = "!!str"
		}
		return name, &untagged
	}
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 && isFunctionKey(n.Content[0].Value) {
		return n.Content[0].Value, n.Content[1]
	}
	return "", nil
}

func isFunctionKey(key string) bool { return key == "Ref" || strings.HasPrefix(key, "Fn::") }

func hasFunctionKey(n *yaml.Node) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if isFunctionKey(n.Content[i].Value) {
			return true
		}
	}
	return false
}

func (r *reader) getAtt(n, arg *yaml.Node, at string) *yaml.Node {
	id, attribute, _ := strings.Cut(arg.Value, ".")
	if id == "" || attribute == "" {
		r.fail(n, at, "Fn::GetAtt needs a logical id and an attribute")
	}
	return r.scalar(n, at, r.attribute(n, at, id, attribute))
}

func (r *reader) join(n, arg *yaml.Node, at string) *yaml.Node {
	if arg.Kind != yaml.SequenceNode || len(arg.Content) != 2 {
		r.fail(n, at, "Fn::Join needs a delimiter and a list")
		return nil
	}
	delimiter := value{r, arg.Content[0], at}.text("")
	items := value{r, r.plain(arg.Content[1], at), at}.texts()
	return r.scalar(n, at, strings.Join(items, delimiter))
}

func (r *reader) split(n, arg *yaml.Node, at string) *yaml.Node {
	var delimiter string
	if arg.Kind == yaml.SequenceNode && len(arg.Content) == 2 {
		delimiter = value{r, arg.Content[0], at}.text("")
	}
	if r.err == nil && delimiter == "" {
		r.fail(n, at, "Fn::Split needs a delimiter and a string")
	}
	if r.err != nil {
		return nil
	}
	text := value{r, r.plain(arg.Content[1], at), at}.text("")
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: n.Line, Column: n.Column}
	for item := range strings.SplitSeq(text, delimiter) {
		list.Content = append(list.Content, r.scalar(n, at, item))
	}
	return list
}

func (r *reader) sub(n, arg *yaml.Node, at string) *yaml.Node {
	pattern, names := arg, value{r: r, at: at}
	if arg.Kind == yaml.SequenceNode && len(arg.Content) == 2 {
		pattern, names.n = arg.Content[0], arg.Content[1]
	}
	if pattern.Kind != yaml.ScalarNode {
		r.fail(n, at, "Fn::Sub needs a string, or a list of a string and a mapping")
		return nil
	}
	var out strings.Builder
	rest := pattern.Value
	for r.err == nil && out.Len() <= maxText {
		before, after, found := strings.Cut(rest, "${")
		out.WriteString(before)
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			r.fail(n, at, "Fn::Sub has a ${ without its }")
			return nil
		}
		rest = tail
		out.WriteString(r.substitute(n, at, name, names))
	}
	return r.scalar(n, at, out.String())
}

func (r *reader) substitute(n *yaml.Node, at, name string, names value) string {
	if literal, ok := strings.CutPrefix(name, "!"); ok {
		return "${" + literal + "}"
	}
	name = strings.TrimSpace(name)
	if v := names.get(name); !v.absent() {
		return v.text("")
	}
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
	if len(text) > maxText {
		r.fail(n, at, "resolves to more than %d bytes", maxText)
	}
	if r.err != nil {
		return nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: n.Line, Column: n.Column}
}

func (r *reader) readConditions(section value) {
	if section.n == nil {
		return
	}
	if section.n.Kind != yaml.MappingNode {
		section.fail("must be a mapping")
		return
	}
	for i := 0; i+1 < len(section.n.Content); i += 2 {
		r.conditions[section.n.Content[i].Value] = section.n.Content[i+1]
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

	name, arg := intrinsic(n)
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "Condition" {
		name, arg = "Condition", n.Content[1]
	}
	switch name {
	case "Condition":
		if arg.Kind != yaml.ScalarNode {
			break
		}
		return r.holds(n, at, arg.Value)
	case "Fn::Equals":
		if len(arg.Content) != 2 || arg.Kind != yaml.SequenceNode {
			break
		}
		left := value{r, r.plain(arg.Content[0], at), at}.text("")
		right := value{r, r.plain(arg.Content[1], at), at}.text("")
		return r.err == nil && left == right
	case "Fn::Not":
		if len(arg.Content) != 1 || arg.Kind != yaml.SequenceNode {
			break
		}
		return !r.test(arg.Content[0], at)
	case "Fn::And", "Fn::Or":
		if len(arg.Content) < 2 || len(arg.Content) > 10 || arg.Kind != yaml.SequenceNode {
			break
		}
		// Both sides are always evaluated, so that a mistake in one never hides behind the other.
		met := 0
		for _, c := range arg.Content {
			if r.test(c, at) {
				met++
			}
		}
		if name == "Fn::And" {
			return met == len(arg.Content)
		}
		return met > 0
	}
	if name == "" {
		name = "this"
	}
	r.fail(n, at, "%s is not a condition that can be evaluated locally", name)
	return false
}

// stackName is AWS::StackName.
const stackName = "local"

// pseudo returns the value of a pseudo parameter.
func (r *reader) pseudo(name string) (string, bool) {
	switch name {
	case "AWS::Region":
		return r.o.Region, true
	case "AWS::AccountId":
		return r.o.AccountID, true
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
		return r.scalar(n, at, r.o.QueueURL(r.queueName(res)))
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
	return "arn:aws:" + service + ":" + r.o.Region + ":" + r.o.AccountID + ":" + rest
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
