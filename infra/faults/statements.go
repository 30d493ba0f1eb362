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

// batch is a BatchExecuteStatement, whose statements meet their faults one by
// one: DynamoDB executes the others and answers 200.
type batch struct {
	rest       map[string]json.RawMessage // what else is in the request
	statements []json.RawMessage
}

var (
	selecting = regexp.MustCompile(`(?i)^\s*SELECT\b`)
	// tableName and placeholder are of the forms that statements of writes have:
	// UPDATE "T" SET a = ? WHERE k = ? and INSERT INTO "T" VALUE {'k': ?}.
	tableName   = regexp.MustCompile(`(?i)^\s*(?:UPDATE|INSERT\s+INTO|DELETE\s+FROM)\s+"?([A-Za-z0-9_.-]+)"?`)
	placeholder = regexp.MustCompile(`(?:(\w+)["']?\s*[=:]\s*)?\?`)
)

// readBatch reads the body of a BatchExecuteStatement and what its statements
// write; ok is false where they only read, or cannot be read.
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

// without is the body with the statements of those indexes left out.
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

// except executes the batch without the statements of those indexes, which why
// refuses, and answers for all of them in their order.
func (t *Transport) except(r *http.Request, some []int, why reason, n uint64) (*http.Response, error) {
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
		answer, err := t.base().RoundTrip(repeat(r.Context(), r, kept))
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

// fill puts the answers of the statements that were executed into their places.
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
