package template

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	typeFunction = "AWS::Serverless::Function"
	typeAPI      = "AWS::Serverless::HttpApi"
	typeTable    = "AWS::DynamoDB::Table"
	typeQueue    = "AWS::SQS::Queue"
	typeTopic    = "AWS::SNS::Topic"
	typeLogGroup = "AWS::Logs::LogGroup"
	typeRole     = "AWS::IAM::Role"
)

// unsupported lists the types that would run something when deployed and that
// the local stack cannot run. Other types (roles, alarms, log groups, ...) are
// left out quietly: no order depends on them.
var unsupported = map[string]string{
	"AWS::Lambda::Function":           typeFunction,
	"AWS::Lambda::EventSourceMapping": "an SQS event of the function",
	"AWS::Scheduler::Schedule":        "a ScheduleV2 event of the function",
	"AWS::Events::Rule":               "a ScheduleV2 event of the function",
	"AWS::Pipes::Pipe":                "an SQS event of the function",
	"AWS::Serverless::Api":            typeAPI,
	"AWS::ApiGateway::RestApi":        typeAPI,
	"AWS::ApiGatewayV2::Api":          typeAPI,
	"AWS::ApiGatewayV2::Route":        "an HttpApi event of the function",
	"AWS::Serverless::SimpleTable":    typeTable,
	"AWS::DynamoDB::GlobalTable":      typeTable,
}

type resource struct {
	id  string
	typ string
	// key is the node of the logical id.
	key   *yaml.Node
	props value
	// active is false when the resource's condition does not hold.
	active bool
	// name is worked out once; naming guards against names that refer to
	// themselves. declared is the name as the template puts it together.
	name, declared string
	naming         bool
}

func (r *reader) readResources(section value) {
	if section.absent() {
		r.fail(nil, "", "the template has no Resources")
		return
	}
	for _, f := range section.fields() {
		res := &resource{id: f.key, key: f.name, active: true}
		res.typ = f.need("Type").text("")
		if c := f.raw("Condition"); c != nil {
			if c.Kind != yaml.ScalarNode {
				r.fail(c, f.below("Condition"), "must be a condition's name")
			}
			res.active = r.holds(c, f.below("Condition"), c.Value)
		}
		if instead, no := unsupported[res.typ]; no && res.active {
			f.get("Type").fail("%s does not run locally; use %s", res.typ, instead)
		}
		res.props = value{r: r, at: f.below("Properties")}
		if raw := f.raw("Properties"); res.active && raw != nil && raw.Tag != "!!null" {
			res.props.n = raw
		}
		r.resources[f.key] = res
		r.ids = append(r.ids, f.key)
	}
	slices.Sort(r.ids)
}

// ofType returns the resources of a type that exist under the conditions, by logical id.
func (r *reader) ofType(typ string) []*resource {
	var out []*resource
	for _, id := range r.ids {
		if res := r.resources[id]; res.typ == typ && res.active {
			out = append(out, res)
		}
	}
	return out
}

// need returns an existing resource, for a reference at n.
func (r *reader) need(n *yaml.Node, at, id string) *resource {
	res, ok := r.resources[id]
	if !ok {
		r.fail(n, at, "there is no resource or parameter %q", id)
		return nil
	}
	if !res.active {
		r.fail(n, at, "%q does not exist: its condition is not met", id)
		return nil
	}
	return res
}

// nameOf returns the name a table or queue has: the property's without the
// stack's name before it, or the logical id, which stands for the name that
// CloudFormation would make up.
func (r *reader) nameOf(n *yaml.Node, at string, res *resource, property string) string {
	if res.name != "" || r.err != nil {
		return res.name
	}
	if res.naming {
		r.fail(n, at, "the name of %s refers to itself", res.id)
		return ""
	}
	res.naming = true
	// One stack runs here, so what a name owes to the stack's own is left out.
	res.declared = res.props.get(property).text(res.id)
	res.name = strings.TrimPrefix(res.declared, stackName+"-")
	if res.name == "" {
		res.props.get(property).fail("must not be empty")
	}
	return res.name
}

func (r *reader) tableName(n *yaml.Node, at string, res *resource) string {
	if r.o.TableName != "" {
		return r.o.TableName
	}
	return r.nameOf(n, at, res, "TableName")
}

func (r *reader) queueName(n *yaml.Node, at string, res *resource) string {
	return r.nameOf(n, at, res, "QueueName")
}
