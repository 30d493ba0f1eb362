package checks

import (
	"fmt"
	"maps"
	"path"
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
	const statements = "Resources/PurchaseRole/Properties/Policies/0/PolicyDocument/Statement/"
	checkTemplate(t, []templateRule{
		{
			row:  3,
			name: "roles allow named actions, by policies of their own",
			check: func(tmpl template) (found []finding) {
				for _, role := range tmpl.resources("AWS::IAM::Role") {
					if managed := role.at("Properties", "ManagedPolicyArns"); managed.Node != nil {
						found = append(found, managed.find("%s takes over a policy that this template does not show", role.id))
					}
					for _, s := range tmpl.statements(role.id) {
						if s.at("Effect").text() != "Allow" || s.at("Action").Node == nil || s.at("Resource").Node == nil {
							found = append(found, s.find("%s: a statement allows actions by name on resources by name", role.id))
						}
						for _, action := range s.at("Action").list() {
							if strings.Contains(action.Value, "*") || !strings.Contains(action.text(), ":") {
								found = append(found, action.find("%s: action %q is not one action", role.id, action.Value))
							}
						}
					}
				}
				for _, f := range tmpl.functions() {
					if p := f.property("Policies"); p.Node != nil {
						found = append(found, p.find("%s: Policies have no effect beside Role", f.id))
					}
					trust := tmpl.at("Resources", f.property("Role").target(), "Properties", "AssumeRolePolicyDocument", "Statement")
					if len(trust.list()) != 1 || trust.at("0", "Principal", "Service").text() != "lambda.amazonaws.com" {
						found = append(found, f.find("%s: the role is not Lambda's alone", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/PurchaseRole/Properties/ManagedPolicyArns", "['arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess']"},
				{statements + "0/Action", "['dynamodb:*']"},
				{statements + "1/Action", "'*'"},
				{statements + "0/Effect", "Deny"},
				{statements + "0/Resource", ""},
				{statements + "0", "{Effect: Allow, NotAction: 'iam:*', Resource: x}"},
				{"Resources/SeedRole/Properties/AssumeRolePolicyDocument/Statement/0/Principal", "{Service: ec2.amazonaws.com}"},
				{"Resources/SeedFunction/Properties/Policies", "[AWSLambda_FullAccess]"},
			},
		},
		{
			row:   3,
			name:  "each action is allowed on the one thing that it is for, and on anything only for traces",
			check: resourcesOfStatements,
			breaks: []edit{
				{statements + "0/Resource", "'*'"},
				{statements + "0/Resource", "!GetAtt OrderQueue.Arn"},
				{statements + "1/Resource", "!GetAtt OrderDeadLetterQueue.Arn"},
				{statements + "2/Resource", "!GetAtt SeedLogGroup.Arn"},
				{statements + "2/Resource", "'*'"},
				{statements + "3/Action", "[xray:PutTraceSegments, xray:GetTraceSummaries]"},
				{"Resources/FinalizeRole/Properties/Policies/0/PolicyDocument/Statement/1/Resource", "!GetAtt OrderDeadLetterQueue.Arn"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/0/Resource", "!GetAtt LedgerTable.Arn"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/1/Resource", "'*'"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/1/Resource", "!GetAtt OtherBus.Arn"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/2/Resource", "!GetAtt OrderQueue.Arn"},
			},
		},
	})
}

func resourcesOfStatements(tmpl template) (found []finding) {
	for _, f := range tmpl.functions() {
		for _, s := range tmpl.statements(f.property("Role").target()) {
			for _, action := range s.at("Action").list() {
				for _, choice := range alternatives(s.at("Resource").own()) {
					for _, target := range choice.list() {
						if !serves(tmpl, f, action.text(), target) {
							found = append(found, target.find("%s may %s on %s", f.id, action.text(), target.Value))
						}
					}
				}
			}
		}
	}
	return found
}

// serves reports whether a function needs an action on that target.
func serves(tmpl template, f function, action string, target node) bool {
	id := target.target()
	service, _, _ := strings.Cut(action, ":")
	switch service {
	case "xray":
		return target.text() == "*" && (action == "xray:PutTraceSegments" || action == "xray:PutTelemetryRecords")
	case "dynamodb":
		if slices.Contains(streamActions, action) {
			return slices.ContainsFunc(f.events("DynamoDB"), func(e resource) bool {
				stream := e.at("Properties", "Stream").own()
				return target.Tag == "!GetAtt" && target.Tag == stream.Tag && target.Value == stream.Value
			})
		}
		return id != "" && id == f.variables()["TABLE_NAME"].target()
	case "logs":
		return id != "" && id == f.property("LoggingConfig", "LogGroup").target()
	case "events":
		buses := target.references()
		return len(buses) == 1 && slices.Contains(f.variables()["EVENT_BUS_NAME"].references(), buses[0])
	case "sqs":
		queues := []string{f.variables()["ORDER_QUEUE_URL"].target(), f.variables()["FAILURE_QUEUE_URL"].target(), f.failures().target()}
		for _, e := range f.events("SQS") {
			queues = append(queues, e.at("Properties", "Queue").target())
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
		outer, ours := strings.CutPrefix(closure.ReplaceAllString(frame.Function, ""), ledgerPackage)
		// A test may call the ledger during a call of the ledger; each starts the goroutines.
		if name != "" && (outer == "each" || strings.Contains(frame.Function, "/ledgertest.")) {
			return name
		}
		if ours {
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

// neverCalled are functions of the ledger that a function mentions and does not call.
var neverCalled = map[string]string{
	"OperateFunction": "(*Ledger).Create", // it refuses a request to create
}

// tableCalls returns the calls of the table by the ledger's functions that a function's code reaches.
func tableCalls(t *testing.T, f function) map[string]bool {
	t.Helper()
	all, reached := map[string]bool{}, needsOf(t, f.folder()).ledger
	for by, calls := range ofTheLedger(t).calls {
		if reached[by] && neverCalled[f.id] != by {
			maps.Copy(all, calls)
		}
	}
	return all
}

// refused returns the calls that no statement of a function's role allows, and the
// patterns of its statements that no call needs by one of the statement's actions.
func refused(tmpl template, f function, calls map[string]bool) (found []finding) {
	used := map[string]bool{}
	for call := range calls {
		action, pk, _ := strings.Cut(call, " ")
		allowed := false
		for _, s := range tmpl.statements(f.property("Role").target()) {
			if !slices.ContainsFunc(s.at("Action").list(), func(n node) bool { return n.text() == action }) {
				continue
			}
			keys := s.at("Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys")
			if keys.Node == nil {
				found = append(found, s.find("%s may %s on every key", f.id, action))
			}
			for _, key := range keys.list() {
				if matches, err := path.Match(key.text(), pk); err == nil && matches {
					allowed, used[s.place+action+key.text()] = true, true
				}
			}
		}
		if !allowed {
			found = append(found, f.find("%s may not %s", f.id, call))
		}
	}
	for _, s := range tmpl.statements(f.property("Role").target()) {
		for _, key := range s.at("Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys").list() {
			for _, action := range s.at("Action").list() {
				if !used[s.place+action.text()+key.text()] {
					found = append(found, key.find("%s may %s of %s and never does", f.id, action.text(), key.text()))
				}
			}
		}
	}
	return found
}

func TestRolesReachTheItemsTheirFunctionsNeed(t *testing.T) {
	calls := map[string]map[string]bool{} // by function
	for _, f := range parseTemplate(t, read(t, templateFile)).functions() {
		calls[f.id] = tableCalls(t, f)
	}
	const statements = "Properties/Policies/0/PolicyDocument/Statement/"
	checkTemplate(t, []templateRule{{
		row:  5,
		name: "a role is held to the leading keys that its function reads and writes by the ledger, and to no other",
		check: func(tmpl template) (found []finding) {
			for _, f := range tmpl.functions() {
				found = append(found, refused(tmpl, f, calls[f.id])...)
			}
			return found
		},
		breaks: []edit{
			{"Resources/PurchaseRole/" + statements + "1/Condition", ""},
			{"Resources/PurchaseRole/" + statements + "1/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys", `["CLAIM#*", "ORDER#*"]`},
			{"Resources/PurchaseRole/" + statements + "0/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys/2", ""},
			{"Resources/ReconcileRole/" + statements + "1/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys", `["CLAIM#*", "SALES", "STOCK#*"]`},
			{"Resources/ReconcileRole/" + statements + "0/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys/1", ""}, // audits a draw
			{"Resources/FinalizeRole/" + statements + "1/Condition", ""},
			{"Resources/FinalizeRole/" + statements + "2/Condition", ""},
			{"Resources/FinalizeRole/" + statements + "2/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys/0", "CLAIM#*"},
			{"Resources/FinalizeRole/" + statements + "3/Action/0", "dynamodb:PartiQLDelete"},
		},
	}})
}
