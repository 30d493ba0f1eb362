package mutants

import (
	"context"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
)

// seam is a table between the ledger and another one. For each request it derives all possible
// changes to the expressions and reads, calls seen for each, and makes the named one wherever it
// occurs, also in a request that is repeated.
type seam struct {
	ledger.API
	over ledger.API
	make string              // the change to make, or ""
	seen func(change string) // safe for concurrent use
	made *atomic.Int64       // how often the behaviour has made it
}

// endless is more often than any behaviour makes one change: one that does will not end.
const endless = 4000

func newSeam(over ledger.API, make string, made *atomic.Int64, seen func(change string)) *seam {
	s := &seam{over: over, make: make, made: made, seen: seen}
	s.API = dynamotest.WithHook(over, func(op string, in any, call func() (any, error)) (any, error) {
		s.change(op, in)
		return call()
	})
	return s
}

// Scan is a replay's.
func (s *seam) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	in.ConsistentRead = s.at("Scan").consistent(in.ConsistentRead)
	return s.over.(maintenance.Scanner).Scan(ctx, in, o...)
}

// site is a request, or an action of one, at a place in the ledger's code.
type site struct {
	*seam
	name string
}

// at names the place by two of the ledger's functions on the stack: the one called from
// outside and the one that made the request. Those in between vary with contention.
func (s *seam) at(operation string) site {
	if !strings.Contains(s.make, ": "+operation+" ") && s.make != "" {
		return site{s, ""} // the change to make is of another request
	}
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	var chain []string
	for {
		frame, more := frames.Next()
		if _, name, ok := strings.Cut(frame.Function, "flashsale/shared/ledger"); ok {
			_, name, _ = strings.Cut(name, ".") // behind the package's name
			name = receiver.ReplaceAllString(name, "")
			name = name[:strings.IndexAny(name+".", ".-")] // a closure, perhaps of what was inlined, is its function's
			if name == "Each" && len(chain) > 0 {
				break // one of several is called in its own goroutine, a single one is not
			}
			if !carriers[name] && (len(chain) == 0 || chain[len(chain)-1] != name) {
				chain = append(chain, name) // the innermost first
			}
			if slices.Contains([]string{"applyAccount", "applyToRefund", "takeReport"}, name) {
				break // which is the same for a report, an answer, a payment and a replay
			}
		}
		// A test's hook may run during a call, and call the ledger itself.
		if inTest := strings.Contains(frame.Function, "/ledgertest."); !more || inTest && len(chain) > 0 {
			break
		}
	}
	name := chain[len(chain)-1]
	if len(chain) > 1 {
		name += " > " + chain[0]
	}
	return site{s, name + ": " + operation}
}

var (
	receiver = regexp.MustCompile(`^\(\*?\w+\)\.`)
	carriers = map[string]bool{
		"Attempt": true, "Retry": true, "Each": true, "EachOf": true, "Transact": true, "RetryTransaction": true,
		"UpdateWithin": true, "TryUpdate": true, "TryPut": true, "QueryPage": true,
	}
)

// wants records a change, and reports whether it is the one to make.
func (s site) wants(change string) bool {
	name := s.name + " " + change
	s.seen(name)
	if name == s.make && s.made.Add(1) > endless {
		panic("the behaviour does not end")
	}
	return name == s.make
}

// expression returns the text, with the change to make if it is one of this text's.
func (s site) expression(kind string, text *string, variants func(string) []variant) *string {
	if text == nil || s.name == "" {
		return text
	}
	for _, v := range variants(*text) {
		if s.wants(kind + " " + v.change) {
			if v.text == "" {
				return nil
			}
			return &v.text
		}
	}
	return text
}

// write changes a write's condition and its update, if it has one, and leaves out the
// placeholders that they no longer use.
func (s site) write(condition, update **string, names *map[string]string, values *map[string]types.AttributeValue) {
	*condition = s.expression("condition", *condition, conditionVariants)
	texts := []*string{*condition}
	if update != nil {
		*update = s.expression("update", *update, updateVariants)
		texts = append(texts, *update)
	}
	*names, *values = used(*names, texts...), used(*values, texts...)
	s.count(*values)
}

// count changes a number of units, or of other things that are counted together, to one.
func (s site) count(values map[string]types.AttributeValue) {
	for _, name := range []string{":n", ":units"} {
		if n, ok := values[name].(*types.AttributeValueMemberN); ok && n.Value != "0" && n.Value != "1" && s.wants("with one for "+name) {
			values[name] = &types.AttributeValueMemberN{Value: "1"}
		}
	}
}

// consistent returns whether to read consistently.
func (s site) consistent(asked *bool) *bool {
	if aws.ToBool(asked) && s.wants("eventually consistent") {
		return aws.Bool(false)
	}
	return asked
}

var placeholder = regexp.MustCompile(`[:#]\w+`)

// used returns the placeholders that the texts still use: DynamoDB refuses others.
func used[V any](placeholders map[string]V, texts ...*string) map[string]V {
	left := map[string]V{}
	for _, text := range texts {
		for _, name := range placeholder.FindAllString(aws.ToString(text), -1) {
			if value, ok := placeholders[name]; ok {
				left[name] = value
			}
		}
	}
	if len(left) == 0 {
		return nil // an empty map is refused, too
	}
	return left
}

// change changes a request.
func (s *seam) change(op string, in any) {
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		in.ConsistentRead = s.at(op).consistent(in.ConsistentRead)
	case *dynamodb.BatchGetItemInput:
		for table, keys := range in.RequestItems {
			keys.ConsistentRead = s.at(op).consistent(keys.ConsistentRead)
			in.RequestItems[table] = keys
		}
	case *dynamodb.QueryInput:
		here := s.at(op)
		in.ConsistentRead = here.consistent(in.ConsistentRead)
		in.FilterExpression = here.expression("filter", in.FilterExpression, conditionVariants)
		in.KeyConditionExpression = here.expression("key condition", in.KeyConditionExpression, func(text string) []variant {
			return slices.DeleteFunc(termVariants(text), func(v variant) bool { return strings.HasPrefix(v.change, "without #pk = ") }) // which is required
		})
		texts := []*string{in.FilterExpression, in.KeyConditionExpression, in.ProjectionExpression}
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = used(in.ExpressionAttributeNames, texts...), used(in.ExpressionAttributeValues, texts...)
	case *dynamodb.PutItemInput:
		s.at(op).write(&in.ConditionExpression, nil, &in.ExpressionAttributeNames, &in.ExpressionAttributeValues)
	case *dynamodb.UpdateItemInput:
		s.at(op).write(&in.ConditionExpression, &in.UpdateExpression, &in.ExpressionAttributeNames, &in.ExpressionAttributeValues)
	case *dynamodb.TransactWriteItemsInput:
		for i, action := range in.TransactItems {
			s.at(actionName(in.TransactItems, i)).action(action)
		}
	case *dynamodb.BatchExecuteStatementInput:
		for i := range in.Statements {
			s.at(op).statement(&in.Statements[i])
		}
	}
}

// action changes an action of a transaction.
func (s site) action(a types.TransactWriteItem) {
	switch {
	case a.Put != nil:
		s.write(&a.Put.ConditionExpression, nil, &a.Put.ExpressionAttributeNames, &a.Put.ExpressionAttributeValues)
	case a.Update != nil:
		s.write(&a.Update.ConditionExpression, &a.Update.UpdateExpression, &a.Update.ExpressionAttributeNames, &a.Update.ExpressionAttributeValues)
	case a.ConditionCheck != nil:
		s.write(&a.ConditionCheck.ConditionExpression, nil, &a.ConditionCheck.ExpressionAttributeNames, &a.ConditionCheck.ExpressionAttributeValues)
		if a.ConditionCheck.ConditionExpression == nil {
			a.ConditionCheck.ConditionExpression = aws.String("attribute_exists(pk) OR attribute_not_exists(pk)") // it is required
		}
	case a.Delete != nil:
		s.write(&a.Delete.ConditionExpression, nil, &a.Delete.ExpressionAttributeNames, &a.Delete.ExpressionAttributeValues)
	}
}

// statement changes a statement, and leaves out the parameters that it no longer uses.
func (s site) statement(one *types.BatchStatementRequest) {
	text := s.expression("statement", one.Statement, statementVariants)
	if text == one.Statement {
		return
	}
	var left []types.AttributeValue
	plain := parameter.ReplaceAllStringFunc(*text, func(p string) string {
		at, err := strconv.Atoi(p[1:])
		if err != nil {
			panic(err)
		}
		left = append(left, one.Parameters[at])
		return "?"
	})
	one.Statement, one.Parameters = &plain, left
}

// actionName names an action of a transaction by its operation and the kind of its item, so
// that the same action on several items is changed together, however many they are. A seal
// updates all sales of a group, and only one of them on a condition: that is another action,
// as are those on the shards that give units to the first, which sells them.
func actionName(actions []types.TransactWriteItem, i int) string {
	switch one := actions[i]; {
	case one.Put != nil:
		return "Put " + itemKind(one.Put.Item)
	case one.ConditionCheck != nil:
		return "ConditionCheck " + itemKind(one.ConditionCheck.Key)
	case one.Delete != nil:
		return "Delete " + itemKind(one.Delete.Key)
	}
	kind := itemKind(actions[i].Update.Key)
	gives := i > 0 && strings.Contains(aws.ToString(actions[i].Update.UpdateExpression), "#moved")
	if gives || actions[i].Update.ConditionExpression == nil && slices.ContainsFunc(actions, func(other types.TransactWriteItem) bool {
		return other.Update != nil && other.Update.ConditionExpression != nil && itemKind(other.Update.Key) == kind
	}) {
		return "Update another " + kind
	}
	return "Update " + kind
}

// itemKind is the head of an item's partition key, and that of its sort key where a partition
// has items of several kinds.
func itemKind(key map[string]types.AttributeValue) string {
	head := func(attribute string) string {
		kind, _, _ := strings.Cut(key[attribute].(*types.AttributeValueMemberS).Value, "#")
		return kind
	}
	kind := head("pk")
	if kind == "SALE" || kind == "DRAW" {
		kind += "/" + head("sk")
	}
	return kind
}
