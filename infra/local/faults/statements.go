package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
)

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
		answer, err := t.base().RoundTrip(cloneWith(r.Context(), r, kept))
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
