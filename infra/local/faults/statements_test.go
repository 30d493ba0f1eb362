package faults_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// execute inserts the items in one batch and returns the result of each: its name, as
// answered by the stub, or the code of its refusal.
func (w world) execute(t *testing.T, names ...string) ([]string, error) {
	var batch []types.BatchStatementRequest
	for _, name := range names {
		k := key(name)
		batch = append(batch, types.BatchStatementRequest{
			Statement: aws.String(`INSERT INTO "T" VALUE {'pk': ?, 'sk': ?}`), Parameters: []types.AttributeValue{k["pk"], k["sk"]},
		})
	}
	out, err := w.table.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: batch})
	if err != nil {
		return nil, err
	}
	var got []string
	for _, r := range out.Responses {
		if r.Error != nil {
			got = append(got, string(r.Error.Code))
			continue
		}
		got = append(got, r.Item["pk"].(*types.AttributeValueMemberS).Value)
	}
	return got, nil
}

var names = []string{"a", "b", "c", "d"}

func TestStatementsOfABatchConflictOneByOne(t *testing.T) {
	w := newWorld(t, "conflict=1")
	executed, refused := 0, 0
	for range 40 {
		got, err := w.execute(t, names...)
		if err != nil || len(got) != len(names) {
			t.Fatalf("got %q, %v", got, err)
		}
		for i, one := range got {
			switch one {
			case names[i]:
				executed++
			case "TransactionConflict":
				refused++
			default:
				t.Errorf("statement %d of %q is answered with %q", i, names, got)
			}
		}
	}
	if executed == 0 || refused == 0 {
		t.Errorf("%d executed, %d refused", executed, refused)
	}
}

func TestABatchIsThrottledAsAWholeOrInPart(t *testing.T) {
	w := newWorld(t, "throttle=1")
	whole, part := 0, 0
	for range 40 {
		got, err := w.execute(t, names...)
		var refusal smithy.APIError
		switch {
		case errors.As(err, &refusal):
			whole++
		case err != nil || len(got) != len(names):
			t.Fatalf("got %q, %v", got, err)
		}
		for i, one := range got {
			if one == "ThrottlingError" {
				part++
			} else if one != names[i] {
				t.Errorf("statement %d of %q is answered with %q", i, names, got)
			}
		}
	}
	if whole == 0 || part == 0 {
		t.Errorf("%d batches and %d statements were throttled", whole, part)
	}
}

func TestAStatementMeetsATransactionInFlightAndItsNeighboursDoNot(t *testing.T) {
	w := newWorld(t, "inflight=1m")
	if err := w.transact(t, "b"); err != nil {
		t.Fatal(err)
	}
	got, err := w.execute(t, names...)
	if err != nil || len(got) != 4 || got[0] != "a" || got[1] != "TransactionConflict" || got[2] != "c" || got[3] != "d" {
		t.Errorf("got %q, %v", got, err)
	}
	arrived := w.count()
	if got, err = w.execute(t, "b"); err != nil || len(got) != 1 || got[0] != "TransactionConflict" || w.count() != arrived {
		t.Errorf("alone: got %q, %v, %d more requests", got, err, w.count()-arrived)
	}
}

func TestABatchIsAppliedThoughItsAnswerIsLateOrLost(t *testing.T) {
	for _, faults := range []string{"lost=1", "late=1,lateby=1ms"} {
		w := newWorld(t, faults)
		if got, err := w.execute(t, names...); !unanswered(err) {
			t.Errorf("%s: got %q, %v", faults, got, err)
		}
		for deadline := time.Now().Add(10 * time.Second); w.count() == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: it was never applied", faults)
			}
		}
	}
}
