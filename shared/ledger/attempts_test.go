package ledger

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/clock"
)

func TestTheClientOfAFunctionMakesOneAttemptPerCall(t *testing.T) {
	var requests atomic.Int32
	table := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusInternalServerError) // the SDK would retry this
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"internal"}`)
	}))
	defer table.Close()
	t.Setenv("TABLE_NAME", "Ledger")
	l, err := FromEnv(aws.Config{
		Region: "eu-central-1", BaseEndpoint: &table.URL,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, clock.Wall)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.api.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: l.table, Key: saleKey("moutai")})
	if judge(err) != unknown || requests.Load() != 1 {
		t.Errorf("%d requests for one call (%v), want 1 (P16)", requests.Load(), err)
	}
}
