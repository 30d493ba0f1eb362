// Package template reads the project's SAM template and returns what a local stack must
// run: functions, routes, authorizers, queues, tables and their streams, schedules, event buses.
//
// It applies the defaults of SAM and of the services, and runs nothing. A property that is
// neither used here nor known to have no local counterpart is an error, so that the local
// stack never silently differs from the deployed one.
package template

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"flashsale/infra/local/cloudformation"
)

type Options struct {
	Parameters map[string]string
	// Strict are parameters whose URL must be https on this machine, too. For others http is
	// enough on a loopback address, where nobody can eavesdrop.
	Strict []string
	// Region is AWS::Region in place of ours.
	Region string
	// TableName is the name of the template's only table; empty leaves it to the template.
	TableName string
	// Secrets are those of Secrets Manager to which environment variables refer, by ARN.
	Secrets map[string]string
	// QueueURL returns the URL of a queue; nil leaves its name.
	QueueURL func(name string) string
}

// What AWS::StackName, AWS::StackId, AWS::Region and AWS::AccountId are here.
const (
	StackName = "local"
	Region    = "us-east-1"
	AccountID = "000000000000"
)

func Load(path string, o Options) (*Stack, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	s, err := Parse(text, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func Parse(text []byte, o Options) (*Stack, error) {
	r := &reader{o: o, s: &Stack{Parameters: map[string]string{}}}
	var err error
	if r.t, err = cloudformation.Parse(text, cloudformation.Options{Parameters: o.Parameters, Lookup: r.lookup, Pseudo: map[string]string{
		"AWS::Region": cmp.Or(o.Region, Region), "AWS::AccountId": AccountID, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com", "AWS::StackName": StackName,
		"AWS::StackId": "arn:aws:cloudformation:" + Region + ":" + AccountID + ":stack/" + StackName + "/10ca1000-0000-4000-8000-000000000000",
	}}); err != nil {
		return nil, err
	}
	for _, read := range []func(){r.parameters, r.unsupported, r.tables, r.queues, r.buses, r.api, r.operators, r.functions} {
		read()
	}
	return r.s, r.err
}

// reader is one reading of one template. err keeps its first failure: later ones are mostly its
// consequences.
type reader struct {
	o    Options
	t    *cloudformation.Template
	s    *Stack
	http httpAPI
	err  error
}

func (r *reader) fail(where, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", where, fmt.Errorf(format, args...))
	}
}

// parameters refuses what CloudFormation would refuse before it deploys anything.
func (r *reader) parameters() {
	for _, p := range r.t.Parameters {
		onThisMachine := !slices.Contains(r.o.Strict, p.Name) && isLoopback(p.Value) && p.Refuses(overTLS(p.Value)) == ""
		if p.Missing {
			r.fail("Parameters."+p.Name, "it has no value")
		} else if p.Problem != "" && !onThisMachine {
			r.fail("Parameters."+p.Name, "%q: %s", p.Value, p.Problem)
		}
		r.s.Parameters[p.Name] = p.Value
	}
	if len(r.t.Broken) > 0 {
		r.fail("Rules", "%s", strings.Join(r.t.Broken, "; "))
	}
}

func isLoopback(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "http" && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

func overTLS(text string) string { return "https" + strings.TrimPrefix(text, "http") }

// lookup resolves a reference to a resource, as far as what runs locally needs it.
func (r *reader) lookup(to cloudformation.Resource, attribute string) (string, error) {
	switch to.Type + "." + attribute {
	case typeTable + ".", typeBus + ".":
		return r.nameOf(to), nil
	case typeTable + ".StreamArn":
		return r.streamARN(r.nameOf(to)), nil
	case typeQueue + ".Arn":
		return r.queueARN(r.nameOf(to)), nil
	case typeQueue + ".":
		if r.o.QueueURL != nil {
			return r.o.QueueURL(r.nameOf(to)), nil
		}
		return r.nameOf(to), nil
	case typeFunction + ".Alias": // only one version runs here
		return to.ID, nil
	}
	if attribute != "" {
		return "", fmt.Errorf("attribute %s of %s (%s) does not exist locally", attribute, to.ID, to.Type)
	}
	return to.ID, nil
}

// nameOf returns the name of a queue, table or bus: the property without the stack's name, because
// only one stack runs here, or the logical id in place of a name made by CloudFormation.
func (r *reader) nameOf(of cloudformation.Resource) string {
	property := map[string]string{typeTable: "TableName", typeQueue: "QueueName", typeBus: "Name"}[of.Type]
	if of.Type == typeTable && r.o.TableName != "" {
		return r.o.TableName
	}
	name := of.ID
	if n := cloudformation.Member(of.Properties, property); n != nil {
		if value, err := r.t.Value(n); err != nil {
			r.fail(of.ID, "%w", err)
		} else if value != nil {
			name = fmt.Sprint(value)
		}
	}
	return strings.TrimPrefix(name, StackName+"-")
}

func (r *reader) arn(service, rest string) string {
	return "arn:aws:" + service + ":" + Region + ":" + AccountID + ":" + rest
}

func (r *reader) queueARN(name string) string { return r.arn("sqs", name) }

// streamARN is the stream of a table. Its label is the time of its creation, which only the engine
// knows.
func (r *reader) streamARN(table string) string {
	return r.arn("dynamodb", "table/"+table+"/stream/local")
}

// read evaluates a resource's properties into a struct with all that are used. Those ignored have
// no local counterpart; any other is an error.
func (r *reader) read(from cloudformation.Resource, into any, ignored ...string) {
	r.readNode(fmt.Sprintf("line %d: %s", from.Line, from.ID), from.Properties, into, ignored...)
}

func (r *reader) readNode(where string, n *yaml.Node, into any, ignored ...string) {
	values, err := r.t.Values(n, ignored...)
	if err != nil {
		r.fail(where, "%w", err)
		return
	}
	r.decode(where, values, into)
}

// decode fills a struct, whose numbers are of the kind ",string", with evaluated properties.
func (r *reader) decode(where string, values, into any) {
	text, err := json.Marshal(values)
	if err != nil {
		r.fail(where, "%w", err)
		return
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		r.fail(where, "it does not run locally: %w", err)
	}
}

// must refuses a property whose value is not the only one that runs locally.
func (r *reader) must(where, property, is, want string) {
	if is != want {
		r.fail(where, "%s is %q and must be %s: nothing else runs locally", property, is, want)
	}
}
