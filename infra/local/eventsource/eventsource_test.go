package eventsource

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
)

// answer is a function that always answers this.
type answer struct {
	response, functionError string
	err                     error
}

func (a answer) Invoke(context.Context, string, []byte) ([]byte, string, error) {
	return []byte(a.response), a.functionError, a.err
}

func TestABatchsResponseIsReadAsLambdaReadsIt(t *testing.T) {
	for name, tt := range map[string]struct {
		answer
		failed []string
		whole  bool
	}{
		"an empty list is success":                     {answer{response: `{"batchItemFailures":[]}`}, nil, false},
		"a null list is success":                       {answer{response: `{"batchItemFailures":null}`}, nil, false},
		"an empty object is success":                   {answer{response: `{}`}, nil, false},
		"null is success":                              {answer{response: `null`}, nil, false},
		"no response is success":                       {answer{}, nil, false},
		"a misspelt list is success":                   {answer{response: `{"BatchItemFailures":[{"itemIdentifier":"a"}]}`}, nil, false},
		"an item may be reported twice":                {answer{response: `{"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"b"}]}`}, []string{"b"}, false},
		"an unknown identifier fails the batch":        {answer{response: `{"batchItemFailures":[{"itemIdentifier":"z"}]}`}, nil, true},
		"an empty identifier fails the batch":          {answer{response: `{"batchItemFailures":[{"itemIdentifier":""}]}`}, nil, true},
		"a null identifier fails the batch":            {answer{response: `{"batchItemFailures":[{"itemIdentifier":null}]}`}, nil, true},
		"a numeric identifier fails the batch":         {answer{response: `{"batchItemFailures":[{"itemIdentifier":1}]}`}, nil, true},
		"a misspelt identifier fails the batch":        {answer{response: `{"batchItemFailures":[{"ItemIdentifier":"a"}]}`}, nil, true},
		"a null entry fails the batch":                 {answer{response: `{"batchItemFailures":[null]}`}, nil, true},
		"a list that is no list fails the batch":       {answer{response: `{"batchItemFailures":"a"}`}, nil, true},
		"invalid JSON fails the batch":                 {answer{response: `{"batchItemFailures":[`}, nil, true},
		"a bare string fails the batch":                {answer{response: `"ok"`}, nil, true},
		"a function error fails the batch":             {answer{response: `{}`, functionError: "Unhandled"}, nil, true},
		"an invocation without an end fails the batch": {answer{response: `{}`, err: errors.New("throttled")}, nil, true},
	} {
		failed, err := Batch(t.Context(), tt.answer, "F", nil, []string{"a", "b", "c"})
		if got := slices.Sorted(maps.Keys(failed)); (err != nil) != tt.whole || !slices.Equal(got, tt.failed) {
			t.Errorf("%s: failed are %q, %v, want %q, and an error: %v", name, got, err, tt.failed, tt.whole)
		}
	}
}
