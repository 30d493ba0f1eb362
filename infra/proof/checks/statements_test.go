package checks

import (
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
)

func TestStatementsAreNarrow(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	for _, role := range tmpl.resources("AWS::IAM::Role") {
		if managed := role.at("Properties.ManagedPolicyArns"); managed.Node != nil {
			managed.errorf(t, "%s takes over a policy that this template does not show", role.id)
		}
		for _, s := range tmpl.statements(role.id) {
			if s.at("Effect").text() != "Allow" || s.at("Action").Node == nil || s.at("Resource").Node == nil {
				s.errorf(t, "%s: a statement allows actions by name on resources by name", role.id)
			}
			for _, action := range s.at("Action").texts() {
				if strings.Contains(action, "*") || !strings.Contains(action, ":") {
					s.errorf(t, "%s: action %q is not one action", role.id, action)
				}
			}
		}
	}
	for _, f := range tmpl.functions() {
		if p := f.property("Policies"); p.Node != nil {
			p.errorf(t, "%s: Policies have no effect beside Role", f.id)
		}
		role := f.property("Role").target()
		trust := tmpl.at("Resources", role, "Properties.AssumeRolePolicyDocument.Statement")
		if len(trust.list()) != 1 || trust.at("0.Principal.Service").text() != "lambda.amazonaws.com" {
			f.errorf(t, "%s: the role is not Lambda's alone", f.id)
		}
		for _, s := range tmpl.statements(role) {
			for _, action := range s.at("Action").texts() {
				for _, choice := range alternatives(s.at("Resource").own()) {
					for _, one := range choice.list() {
						for _, target := range alternatives(one) {
							if target.target() != "AWS::NoValue" && !serves(f, action, target) {
								target.errorf(t, "%s may %s on %s", f.id, action, target.Value)
							}
						}
					}
				}
			}
		}
	}
}

// serves reports whether a function needs an action on that target.
func serves(f function, action string, target node) bool {
	id := target.target()
	service, _, _ := strings.Cut(action, ":")
	switch service {
	case "xray":
		return target.text() == "*" && (action == "xray:PutTraceSegments" || action == "xray:PutTelemetryRecords")
	case "dynamodb":
		if slices.Contains(streamActions, action) {
			return slices.ContainsFunc(f.events("DynamoDB"), func(e resource) bool {
				stream := e.at("Stream").own()
				return target.Tag == "!GetAtt" && target.Tag == stream.Tag && target.Value == stream.Value
			})
		}
		return id != "" && id == f.variables()["TABLE_NAME"].target()
	case "logs":
		return id != "" && id == f.property("LoggingConfig.LogGroup").target()
	case "events":
		buses := target.references()
		return len(buses) == 1 && slices.Contains(f.variables()["EVENT_BUS_NAME"].references(), buses[0])
	case "cloudwatch":
		return (action == "cloudwatch:DescribeAlarms" || action == "cloudwatch:GetMetricData") && target.text() == "*"
	case "secretsmanager":
		return action == "secretsmanager:GetSecretValue" && id == "RefundKeysArn" && f.id == "RefundFunction"
	case "lambda":
		return action == "lambda:InvokeFunction" && strings.HasSuffix(id, ".Alias") && id == f.variables()["RECONCILE_FUNCTION"].target()
	case "sqs":
		queues := []string{f.failures().target()}
		for _, name := range []string{"ORDER_QUEUE_URL", "DEAD_LETTER_QUEUE_URL", "SCHEDULE_QUEUE_URL", "FAILURE_QUEUE_URL"} {
			for _, choice := range alternatives(f.variables()[name]) {
				queues = append(queues, choice.target())
			}
		}
		for _, e := range f.events("SQS") {
			queues = append(queues, e.at("Queue").target())
		}
		return id != "" && slices.Contains(queues, id)
	}
	return false
}

// noting is a hook that records the calls that a role must allow: the action and the
// partition key of each item, such as "dynamodb:GetItem SALE#moutai".
func noting(note func(call string)) dynamotest.Hook {
	each := func(action string, items ...map[string]types.AttributeValue) {
		for _, item := range items {
			if pk, ok := item["pk"].(*types.AttributeValueMemberS); ok {
				note("dynamodb:" + action + " " + pk.Value)
			}
		}
	}
	return func(op string, in any, call func() (any, error)) (any, error) {
		switch in := in.(type) {
		case *dynamodb.GetItemInput:
			each(op, in.Key)
		case *dynamodb.BatchGetItemInput:
			for _, table := range in.RequestItems {
				each(op, table.Keys...)
			}
		case *dynamodb.TransactGetItemsInput:
			for _, item := range in.TransactItems {
				each("GetItem", item.Get.Key)
			}
		case *dynamodb.QueryInput:
			each(op, map[string]types.AttributeValue{"pk": in.ExpressionAttributeValues[":pk"]})
		case *dynamodb.PutItemInput:
			each(op, in.Item)
		case *dynamodb.UpdateItemInput:
			each(op, in.Key)
		case *dynamodb.TransactWriteItemsInput:
			for _, item := range in.TransactItems {
				switch {
				case item.Put != nil:
					each("PutItem", item.Put.Item)
				case item.Update != nil:
					each("UpdateItem", item.Update.Key)
				case item.ConditionCheck != nil:
					each("ConditionCheckItem", item.ConditionCheck.Key)
				case item.Delete != nil:
					each("DeleteItem", item.Delete.Key)
				}
			}
		case *dynamodb.BatchExecuteStatementInput:
			// It needs the action of each statement's first word, on the first of its parameters that is a key.
			for _, s := range in.Statements {
				word, _, _ := strings.Cut(*s.Statement, " ")
				i := slices.IndexFunc(s.Parameters, func(p types.AttributeValue) bool { return strings.Contains(stringOf(p), "#") })
				note("dynamodb:PartiQL" + word[:1] + strings.ToLower(word[1:]) + " " + stringOf(s.Parameters[i]))
			}
		}
		return call()
	}
}

func stringOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// ledgerPackage is how the functions of the ledger are called on a stack, and by package types.
const ledgerPackage = module + "/shared/ledger."

var closure = regexp.MustCompile(`(\.func\d+|\.gowrap\d+|\.\d+|-range\d+)+$`)

// ledgerCaller returns the outermost of the ledger's functions on the stack: the one that is called
// from outside, or the one that started the goroutine.
func ledgerCaller() (name string) {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		outer, ours := strings.CutPrefix(frame.Function, strings.TrimSuffix(ledgerPackage, "."))
		if ours {
			outer = strings.TrimPrefix(closure.ReplaceAllString(outer, ""), ".") // of package maintenance it keeps the package's name
		}
		// A test may call the ledger during a call of the ledger; Each starts the goroutines.
		if name != "" && (strings.HasPrefix(outer, "/table.Each") || strings.Contains(frame.Function, "/ledgertest.")) {
			return name
		}
		if ours && !strings.HasPrefix(outer, "/table.") {
			name = outer
		}
	}
	return name
}

// behaviour is what the ledger does in its suite: the calls of each of its functions that
// is called from outside or starts a goroutine, and records of the table's stream, one for each set of attributes.
type behaviour struct {
	calls   map[string]map[string]bool
	records map[string][]byte
}

// ofTheLedger runs the suite once for all tests.
func ofTheLedger(t *testing.T) behaviour {
	t.Helper()
	if whole.calls != nil {
		return whole
	}
	whole = behaviour{map[string]map[string]bool{}, map[string][]byte{}}
	var mu sync.Mutex
	t.Run("suite", func(t *testing.T) {
		ledgertest.RunInVirtualTime(t, func(*testing.T) ledgertest.Engine {
			db := dynamotest.New(dynamotest.Table{Name: "Ledger", PK: "pk", SK: "sk"})
			db.Stream = func(r dynamotest.Record) {
				mu.Lock()
				defer mu.Unlock()
				kind, _, _ := strings.Cut(stringOf(r.Keys["pk"]), "#")
				whole.records[fmt.Sprint(kind, slices.Sorted(maps.Keys(r.Old)), slices.Sorted(maps.Keys(r.New)))] = r.JSON()
			}
			return ledgertest.Engine{API: db, Table: "Ledger", Between: func(api ledger.API) ledger.API {
				return dynamotest.WithHook(api, noting(func(call string) {
					mu.Lock()
					defer mu.Unlock()
					by := ledgerCaller()
					if whole.calls[by] == nil {
						whole.calls[by] = map[string]bool{}
					}
					whole.calls[by][call] = true
				}))
			}}
		})
	})
	return whole
}

var whole behaviour

// tableCalls returns the calls of the table by the ledger's functions that a function's code reaches.
func tableCalls(t *testing.T, f function) map[string]bool {
	t.Helper()
	all, reached := map[string]bool{}, needsOf(t, f.folder()).ledger
	for by, calls := range ofTheLedger(t).calls {
		if reached[by] {
			maps.Copy(all, calls)
		}
	}
	return all
}

// A role is held to the leading keys that its function reads and writes by the ledger, and to no other.
func TestRolesReachTheItemsTheirFunctionsNeed(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	for _, f := range tmpl.functions() {
		calls := tableCalls(t, f)
		allowed := map[string]bool{}
		for _, s := range tmpl.statements(f.property("Role").target()) {
			keys := s.at("Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys")
			for _, action := range s.at("Action").texts() {
				if keys.Node == nil && strings.HasPrefix(action, "dynamodb:") && !slices.Contains(streamActions, action) {
					s.errorf(t, "%s may %s on every key", f.id, action)
				}
				for _, pattern := range keys.texts() {
					used := false
					for call := range calls {
						called, pk, _ := strings.Cut(call, " ")
						if matches(pattern, pk) && called == action {
							allowed[call], used = true, true
						}
					}
					if !used {
						keys.errorf(t, "%s may %s of %s and never does", f.id, action, pattern)
					}
				}
			}
		}
		for call := range calls {
			if !allowed[call] {
				f.errorf(t, "%s may not %s", f.id, call)
			}
		}
	}
}
