package template

import "go.yaml.in/yaml/v3"

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
		if !p.list {
			return r.scalar(n, at, p.text)
		}
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: n.Line, Column: n.Column}
		for _, item := range p.items() {
			list.Content = append(list.Content, r.scalar(n, at, item))
		}
		return list
	}
	res := r.need(n, at, name)
	if res == nil {
		return nil
	}
	switch res.typ {
	case typeTable:
		return r.scalar(n, at, r.tableName(n, at, res))
	case typeQueue:
		return r.scalar(n, at, r.o.QueueURL(r.queueName(n, at, res)))
	case typeBus:
		return r.scalar(n, at, r.busName(n, at, res))
	case typeTopic:
		return r.scalar(n, at, r.arn("sns", res.id))
	}
	return r.scalar(n, at, res.id)
}

// attribute resolves Fn::GetAtt.
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
		return r.arn("sqs", r.queueName(n, at, res))
	case typeQueue + ".QueueName":
		return r.queueName(n, at, res)
	case typeQueue + ".QueueUrl":
		return r.o.QueueURL(r.queueName(n, at, res))
	case typeTable + ".Arn":
		return r.arn("dynamodb", "table/"+r.tableName(n, at, res))
	case typeTable + ".StreamArn":
		if !res.props.get("StreamSpecification").absent() {
			return r.streamARN(n, at, res)
		}
	case typeBus + ".Arn":
		return r.arn("events", "event-bus/"+r.busName(n, at, res))
	case typeBus + ".Name":
		return r.busName(n, at, res)
	case typeFunction + ".Arn":
		return r.arn("lambda", "function:"+res.id)
	case typeAPI + ".ApiId":
		return res.id
	case typeAPI + ".ApiEndpoint":
		return "https://" + res.id + ".execute-api." + r.o.Region + ".amazonaws.com"
	case typeTopic + ".TopicArn":
		return r.arn("sns", res.id)
	case typeTopic + ".TopicName":
		return res.id
	case typeLogGroup + ".Arn":
		return r.arn("logs", "log-group:"+res.id+":*")
	case typeRole + ".Arn":
		return "arn:aws:iam::" + r.o.AccountID + ":role/" + res.id
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
		if r.arn("sqs", r.queueName(v.n, v.at, res)) == arn {
			return res
		}
	}
	v.fail("no queue of this template has the ARN %q", arn)
	return nil
}

// streamARN is a table's stream. Its label is the time of its creation, which only the engine knows.
func (r *reader) streamARN(n *yaml.Node, at string, res *resource) string {
	return r.arn("dynamodb", "table/"+r.tableName(n, at, res)+"/stream/local")
}

// localARN maps an ARN built in the template to the local queue's ARN; any other ARN
// stays as it is.
func (r *reader) localARN(v value) string {
	arn := v.text("")
	for _, res := range r.ofType(typeQueue) {
		if name := r.queueName(v.n, v.at, res); r.arn("sqs", res.declared) == arn {
			return r.arn("sqs", name)
		}
	}
	return arn
}
