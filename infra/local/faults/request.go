package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// class determines which faults an operation can have.
type class int

const (
	untouched   class = iota // not a call of these services: passes unchanged
	plain                    // a read, or an operation that never conflicts
	write                    // of one item
	transaction              // writes of many items, which it locks
	statements               // a batch of writes that are refused one by one
	sending                  // of messages
	queueing                 // any other call of a queue
)

const (
	dynamoPrefix = "DynamoDB_20120810."
	sqsPrefix    = "AmazonSQS."
)

// classes has also calls that no function makes. Reads in a transaction have no conflicts here.
var classes = map[string]class{
	dynamoPrefix + "GetItem": plain, dynamoPrefix + "BatchGetItem": plain, dynamoPrefix + "Query": plain,
	dynamoPrefix + "Scan": plain, dynamoPrefix + "BatchWriteItem": plain, dynamoPrefix + "ExecuteStatement": plain,
	dynamoPrefix + "BatchExecuteStatement": statements, dynamoPrefix + "ExecuteTransaction": plain,
	dynamoPrefix + "PutItem": write, dynamoPrefix + "UpdateItem": write, dynamoPrefix + "DeleteItem": write,
	dynamoPrefix + "TransactWriteItems": transaction, dynamoPrefix + "TransactGetItems": plain,
	sqsPrefix + "SendMessage": sending,
}

func classOf(target string) class {
	if c, ok := classes[target]; ok {
		return c
	}
	if strings.HasPrefix(target, sqsPrefix) {
		return queueing
	}
	return untouched
}

// call is the part of a request that the faults depend on.
type call struct {
	class class
	// items are the items that the call writes, or a transaction names, in order. An
	// unknown item is "" and never conflicts.
	items []string
}

// writes reports whether the call changes items that may be in a transaction, which can then
// refuse it.
func (c call) writes() bool {
	return c.class == write || c.class == transaction || c.class == statements
}

// action identifies one item, by its key or, for a put, as a whole.
type action struct {
	TableName string
	Key, Item map[string]any
}

// item is the identity of the action's item.
func (a *action) item(keyNames []string) string {
	if a == nil {
		return ""
	}
	attributes := a.Key
	if attributes == nil {
		attributes = a.Item
	}
	values := []any{a.TableName}
	for _, name := range keyNames {
		if value, ok := attributes[name]; ok {
			values = append(values, name, value)
		}
	}
	text, err := json.Marshal(values) // map keys are sorted
	if len(values) == 1 || err != nil {
		return ""
	}
	return string(text)
}

// readCall reads a request's X-Amz-Target and body. An invalid request has no items:
// the engine will refuse it.
func readCall(target string, body []byte, keyNames []string) call {
	c := call{class: classOf(target)}
	switch c.class {
	case write:
		var a action
		if json.Unmarshal(body, &a) == nil {
			c.items = []string{a.item(keyNames)}
		}
	case transaction:
		var request struct {
			TransactItems []struct{ Put, Update, Delete, ConditionCheck *action }
		}
		if json.Unmarshal(body, &request) != nil {
			return c
		}
		for _, t := range request.TransactItems {
			name := ""
			for _, a := range []*action{t.Put, t.Update, t.Delete, t.ConditionCheck} {
				if a != nil {
					name = a.item(keyNames)
				}
			}
			c.items = append(c.items, name)
		}
	case statements:
		var writes bool
		if c.items, writes = readBatch(body, keyNames); !writes {
			c.class = plain
		}
	}
	return c
}

// maxBody is above the limits of both services (16 MB, a batch write).
const maxBody = 20 << 20

// takeBody reads a request's body and closes it, as a RoundTripper must.
func takeBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("read request: more than %d bytes", maxBody)
	}
	return body, nil
}

// setBody gives a cloned request the body that was read.
func setBody(r *http.Request, body []byte) {
	if len(body) == 0 {
		r.Body, r.ContentLength = http.NoBody, 0
		return
	}
	r.Body, r.ContentLength, r.GetBody = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
}

// batch is a BatchExecuteStatement, whose statements have faults individually: DynamoDB
// executes the others and answers 200.
type batch struct {
	rest       map[string]json.RawMessage // the request's other members
	statements []json.RawMessage
}

var (
	selecting = regexp.MustCompile(`(?i)^\s*SELECT\b`)
	// tableName and placeholder match the forms of write statements: UPDATE "T" SET a =
	// ? WHERE k = ? and INSERT INTO "T" VALUE {'k': ?}.
	tableName   = regexp.MustCompile(`(?i)^\s*(?:UPDATE|INSERT\s+INTO|DELETE\s+FROM)\s+"?([A-Za-z0-9_.-]+)"?`)
	placeholder = regexp.MustCompile(`(?:(\w+)["']?\s*[=:]\s*)?\?`)
)

// readBatch returns the items that a BatchExecuteStatement's statements write; ok is
// false if they only read, or the body is invalid.
func readBatch(body []byte, keyNames []string) (items []string, ok bool) {
	b, err := splitBatch(body)
	if err != nil {
		return nil, false
	}
	for _, text := range b.statements {
		var s struct {
			Statement  string
			Parameters []any
		}
		if json.Unmarshal(text, &s) != nil || selecting.MatchString(s.Statement) {
			return nil, false
		}
		items = append(items, statementItem(s.Statement, s.Parameters, keyNames))
	}
	return items, len(items) > 0
}

// statementItem is the identity of the item that a statement writes.
func statementItem(text string, parameters []any, keyNames []string) string {
	table := tableName.FindStringSubmatch(text)
	if table == nil {
		return ""
	}
	key := map[string]any{}
	for i, found := range placeholder.FindAllStringSubmatch(text, -1) {
		if i < len(parameters) && slices.Contains(keyNames, found[1]) {
			key[found[1]] = parameters[i]
		}
	}
	return (&action{TableName: table[1], Key: key}).item(keyNames)
}

func splitBatch(body []byte) (batch, error) {
	var b batch
	if err := json.Unmarshal(body, &b.rest); err != nil {
		return batch{}, fmt.Errorf("decode batch: %w", err)
	}
	if err := json.Unmarshal(b.rest["Statements"], &b.statements); err != nil {
		return batch{}, fmt.Errorf("decode statements: %w", err)
	}
	return b, nil
}

// without returns the body without the statements at those indexes.
func (b batch) without(some []int) ([]byte, error) {
	var kept []json.RawMessage
	for i, s := range b.statements {
		if !slices.Contains(some, i) {
			kept = append(kept, s)
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("encode statements: %w", err)
	}
	rest := maps.Clone(b.rest)
	rest["Statements"] = text
	return json.Marshal(rest)
}

// executeExcept executes the batch without the statements at those indexes, refuses these
// with reason why, and answers for all in order.
func (t *Transport) executeExcept(r *http.Request, some []int, why reason, n uint64) (*http.Response, error) {
	body, err := takeBody(r)
	if err != nil {
		return nil, err
	}
	b, err := splitBatch(body)
	if err != nil {
		return nil, err
	}
	answers := make([]json.RawMessage, len(b.statements))
	if len(some) < len(answers) {
		kept, err := b.without(some)
		if err != nil {
			return nil, err
		}
		answer, err := t.Base.RoundTrip(cloneWith(r.Context(), r, kept))
		if err != nil || answer.StatusCode != http.StatusOK {
			return answer, err
		}
		if err := fill(answers, some, answer.Body); err != nil {
			return nil, err
		}
	}
	refused, err := json.Marshal(map[string]reason{"Error": why})
	if err != nil {
		return nil, fmt.Errorf("encode refusal: %w", err)
	}
	for _, i := range some {
		answers[i] = refused
	}
	return refusal{status: http.StatusOK, body: map[string]any{"Responses": answers}}.answer(r, n)
}

// fill inserts the answers of the executed statements.
func fill(answers []json.RawMessage, refused []int, body io.ReadCloser) error {
	defer body.Close()
	var got struct{ Responses []json.RawMessage }
	if err := json.NewDecoder(body).Decode(&got); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	if want := len(answers) - len(refused); len(got.Responses) != want {
		return fmt.Errorf("decode answer: %d responses to %d statements", len(got.Responses), want)
	}
	next := 0
	for i := range answers {
		if !slices.Contains(refused, i) {
			answers[i], next = got.Responses[next], next+1
		}
	}
	return nil
}
