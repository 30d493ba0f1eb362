package ledger

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

func TestTheLongestWaitDoublesFrom20MillisecondsTo200(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		longest := New(nil, "Ledger", Options{Random: func() float64 { return 1 }})
		for try, want := range map[int]time.Duration{0: 20, 1: 40, 2: 80, 3: 160, 4: 200, 100: 200} {
			start := time.Now()
			if !longest.backOffUpTo(t.Context(), backoffCap, try) || time.Since(start) != want*time.Millisecond {
				t.Errorf("try %d: waited %v, want %d ms", try, time.Since(start), int64(want))
			}
		}
	})
}

// exhausted is a table that takes no write.
type exhausted struct{ API }

func (exhausted) BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	return nil, &types.ProvisionedThroughputExceededException{}
}

func TestAStarvedStatementIsTriedMoreOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		longest := New(exhausted{}, "Ledger", Options{Random: func() float64 { return 1 }})
		start := time.Now()
		errs := longest.execute(t.Context(), make([]types.BatchStatementRequest, 1))
		want := (20 + 40 + 80 + 160 + 3*200 + 16*50) * time.Millisecond
		if took := time.Since(start); judge(errs[0]) != hopeless || took != want {
			t.Errorf("%v after %v, want busy after %v", errs[0], took, want)
		}
	})
}

func TestACallIsGivenUpAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := attempt(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		if judge(err) != unknown || time.Since(start) != time.Second {
			t.Errorf("%v after %v, want an unknown outcome after 1 s", err, time.Since(start))
		}
	})
}

func TestAnAnswerNobodyKnowsIsUnknownIfItIsTheServersFault(t *testing.T) {
	for status, want := range map[int]outcome{400: hopeless, 499: hopeless, 500: unknown, 503: unknown} {
		err := &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
			Err:      &smithy.GenericAPIError{Code: "SomethingNew"},
		}}
		if got := judge(err); got != want {
			t.Errorf("status %d: outcome %d, want %d", status, got, want)
		}
	}
}
