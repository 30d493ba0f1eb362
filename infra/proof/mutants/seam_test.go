package mutants

import (
	"context"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
)

// seam wraps the ledger's table. For each request it derives all possible changes to
// the expressions and reads, calls seen for each, and makes the named one wherever it
// occurs.
type seam struct {
	ledger.API
	make string              // the change to make, or ""
	seen func(change string) // safe for concurrent use
}

// site is a request, or an action of one, at a place in the ledger's code.
type site struct {
	*seam
	name string
}

// at names the place by two of the ledger's functions on the stack: the one called from
// outside and the one that made the request. Those in between vary with contention.
func (s *seam) at(operation string) site {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	var chain []string
	for {
		frame, more := frames.Next()
		if _, name, ok := strings.Cut(frame.Function, "flashsale/shared/ledger"); ok {
			_, name, _ = strings.Cut(name, ".") // behind the package's name
			name = closure.ReplaceAllString(receiver.ReplaceAllString(name, ""), "")
			if name == "Each" && len(chain) > 0 {
				break // one of several is called in its own goroutine, a single one is not
			}
			if !carriers[name] && (len(chain) == 0 || chain[len(chain)-1] != name) {
				chain = append(chain, name) // the innermost first
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
	receiver    = regexp.MustCompile(`^\(\*?\w+\)\.`)
	placeholder = regexp.MustCompile(`[#:]\w+`)
	closure     = regexp.MustCompile(`(\.func\d+|\.gowrap\d+|\.\d+|-range\d+)+$`)
	carriers    = map[string]bool{
		"Attempt": true, "Retry": true, "Each": true, "Transact": true, "RetryTransaction": true,
		"UpdateWithin": true, "TryUpdate": true, "TryPut": true, "QueryPage": true,
	}
)

// wants records a change, and reports whether it is the one to make.
func (s site) wants(change string) bool {
	name := s.name + " " + change
	s.seen(name)
	return name == s.make
}

// expression returns the text, with the change to make if it is one of this text's.
func (s site) expression(kind string, text *string, variants func(string) []variant) *string {
	if text == nil {
		return nil
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
}

// consistent returns whether to read consistently.
func (s site) consistent(asked *bool) *bool {
	if aws.ToBool(asked) && s.wants("eventually consistent") {
		return aws.Bool(false)
	}
	return asked
}

// used returns the placeholders that the texts still use: DynamoDB refuses others.
func used[V any](placeholders map[string]V, texts ...*string) map[string]V {
	var named []string
	for _, text := range texts {
		if text != nil {
			named = append(named, placeholder.FindAllString(*text, -1)...)
		}
	}
	left := maps.Clone(placeholders)
	maps.DeleteFunc(left, func(name string, _ V) bool { return !slices.Contains(named, name) })
	if len(left) == 0 {
		return nil // an empty map is refused, too
	}
	return left
}

func (s *seam) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	mutated := *in
	mutated.ConsistentRead = s.at("GetItem").consistent(in.ConsistentRead)
	return s.API.GetItem(ctx, &mutated, o...)
}

func (s *seam) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	mutated, here := *in, s.at("BatchGetItem")
	mutated.RequestItems = maps.Clone(in.RequestItems)
	for table, keys := range mutated.RequestItems {
		keys.ConsistentRead = here.consistent(keys.ConsistentRead)
		mutated.RequestItems[table] = keys
	}
	return s.API.BatchGetItem(ctx, &mutated, o...)
}

func (s *seam) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	mutated, here := *in, s.at("Query")
	mutated.ConsistentRead = here.consistent(in.ConsistentRead)
	mutated.FilterExpression = here.expression("filter", in.FilterExpression, conditionVariants)
	// A query needs the partition key.
	mutated.KeyConditionExpression = here.expression("key condition", in.KeyConditionExpression, func(text string) []variant {
		return slices.DeleteFunc(termVariants(text), func(v variant) bool { return strings.HasPrefix(v.change, "without #pk = ") })
	})
	texts := []*string{mutated.FilterExpression, mutated.KeyConditionExpression, in.ProjectionExpression}
	mutated.ExpressionAttributeNames = used(in.ExpressionAttributeNames, texts...)
	mutated.ExpressionAttributeValues = used(in.ExpressionAttributeValues, texts...)
	return s.API.Query(ctx, &mutated, o...)
}

// Scan is a replay's.
func (s *seam) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	mutated := *in
	mutated.ConsistentRead = s.at("Scan").consistent(in.ConsistentRead)
	return s.API.(maintenance.Scanner).Scan(ctx, &mutated, o...)
}

func (s *seam) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	put := *in
	s.at("PutItem").write(&put.ConditionExpression, nil, &put.ExpressionAttributeNames, &put.ExpressionAttributeValues)
	return s.API.PutItem(ctx, &put, o...)
}

func (s *seam) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	update := *in
	s.at("UpdateItem").write(&update.ConditionExpression, &update.UpdateExpression, &update.ExpressionAttributeNames, &update.ExpressionAttributeValues)
	return s.API.UpdateItem(ctx, &update, o...)
}

func (s *seam) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	mutated := *in
	mutated.TransactItems = slices.Clone(in.TransactItems)
	for i, action := range in.TransactItems {
		here := s.at(actionName(in.TransactItems, i))
		out := &mutated.TransactItems[i]
		switch {
		case action.Put != nil:
			put := *action.Put
			here.write(&put.ConditionExpression, nil, &put.ExpressionAttributeNames, &put.ExpressionAttributeValues)
			out.Put = &put
		case action.Update != nil:
			update := *action.Update
			here.write(&update.ConditionExpression, &update.UpdateExpression, &update.ExpressionAttributeNames, &update.ExpressionAttributeValues)
			out.Update = &update
		case action.ConditionCheck != nil:
			check := *action.ConditionCheck
			here.write(&check.ConditionExpression, nil, &check.ExpressionAttributeNames, &check.ExpressionAttributeValues)
			if check.ConditionExpression == nil {
				check.ConditionExpression = aws.String("attribute_exists(pk) OR attribute_not_exists(pk)") // it is required
			}
			out.ConditionCheck = &check
		case action.Delete != nil:
			gone := *action.Delete
			here.write(&gone.ConditionExpression, nil, &gone.ExpressionAttributeNames, &gone.ExpressionAttributeValues)
			out.Delete = &gone
		}
	}
	return s.API.TransactWriteItems(ctx, &mutated, o...)
}

// actionName names an action of a transaction by its operation and the kind of its item, so
// that the same action on several items is changed together, however many they are. A seal
// updates all sales of a group, and only one of them on a condition: that is another action.
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
	if actions[i].Update.ConditionExpression == nil && slices.ContainsFunc(actions, func(other types.TransactWriteItem) bool {
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

func (s *seam) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	mutated, here := *in, s.at("BatchExecuteStatement")
	mutated.Statements = slices.Clone(in.Statements)
	for i := range mutated.Statements {
		one := &mutated.Statements[i]
		text := here.expression("statement", one.Statement, statementVariants)
		if text == one.Statement {
			continue
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
	return s.API.BatchExecuteStatement(ctx, &mutated, o...)
}
