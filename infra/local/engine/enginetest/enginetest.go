// Package enginetest gives tests a DynamoDB engine of their own: in memory, on
// a free port, stopped when the test ends.
//
// It finds the engine and the template in the module; where the engine is not
// installed, tests fail and are not skipped.
package enginetest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/template"
)

// binaryVariable overrides the engine binary that make engine installs.
const binaryVariable = "FLASHSALE_DYNOXIDE"

// limit is generous: it only keeps a broken engine from hanging a test.
const limit = 30 * time.Second

// Start starts an empty engine.
func Start(tb testing.TB) *engine.Engine {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var printed bytes.Buffer
	e, err := engine.Start(ctx, engine.Options{Binary: Binary(tb), Log: &printed})
	if err != nil {
		tb.Fatalf("%v; it printed:\n%s", err, &printed)
	}
	tb.Cleanup(func() {
		if err := e.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return e
}

// EnsureLedger creates the project's ledger table under the given name.
func EnsureLedger(tb testing.TB, client *dynamodb.Client, table string) {
	tb.Helper()
	s, err := template.Load(filepath.Join(Root(tb), "template.yaml"), template.Options{
		Parameters: map[string]string{"JwtIssuer": "http://127.0.0.1", "JwtAudience": "test"},
		TableName:  table,
	})
	if err != nil {
		tb.Fatal(err)
	}
	if len(s.Tables) != 1 {
		tb.Fatalf("the template has %d tables, want the ledger only", len(s.Tables))
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := engine.EnsureTable(ctx, client, s.Tables[0]); err != nil {
		tb.Fatal(err)
	}
}

// Streamed returns a table with the key pk and a stream of its items.
func Streamed(name string) template.Table {
	return template.Table{
		Name: name, KeySchema: []template.Key{{Name: "pk", Type: "HASH"}},
		AttributeDefinitions: []template.Attribute{{Name: "pk", Type: "S"}}, StreamView: "NEW_AND_OLD_IMAGES",
	}
}

// Ensure creates a table or changes its stream, and returns the stream's ARN, if it has one.
func Ensure(tb testing.TB, client *dynamodb.Client, table template.Table) (stream string) {
	tb.Helper()
	if err := engine.EnsureTable(tb.Context(), client, table); err != nil {
		tb.Fatal(err)
	}
	stream, err := engine.Stream(tb.Context(), client, table.Name)
	if (err == nil) != (table.StreamView != "") {
		tb.Fatalf("the stream is %q, %v", stream, err)
	}
	return stream
}

// Put puts items with these keys into a table whose key is pk.
func Put(tb testing.TB, client *dynamodb.Client, table string, pks ...string) {
	tb.Helper()
	for _, pk := range pks {
		item := map[string]dbtypes.AttributeValue{"pk": &dbtypes.AttributeValueMemberS{Value: pk}}
		if _, err := client.PutItem(tb.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			tb.Fatal(err)
		}
	}
}

// Records returns all records of a table's stream, which has one shard that goes on.
func Records(tb testing.TB, e *engine.Engine, table string) []types.Record {
	tb.Helper()
	arn, err := engine.Stream(tb.Context(), engine.Client(e.Endpoint()), table)
	if err != nil {
		tb.Fatal(err)
	}
	streams := engine.StreamsClient(e.Endpoint())
	described, err := streams.DescribeStream(tb.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
	if err != nil || len(described.StreamDescription.Shards) != 1 {
		tb.Fatalf("%+v, %v, want one shard", described, err)
	}
	at, err := streams.GetShardIterator(tb.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: described.StreamDescription.Shards[0].ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		tb.Fatal(err)
	}
	out, err := streams.GetRecords(tb.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: at.ShardIterator})
	if err != nil || out.NextShardIterator == nil {
		tb.Fatalf("%+v, %v, want a shard that goes on", out, err)
	}
	return out.Records
}

// Binary returns the engine's path.
func Binary(tb testing.TB) string {
	tb.Helper()
	path := os.Getenv(binaryVariable)
	if path == "" {
		path = engine.BinaryUnder(Root(tb))
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		tb.Fatalf("there is no engine at %s: run make engine", path)
	}
	return path
}

// Root returns the project's folder, which has template.yaml.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "template.yaml")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			tb.Fatal("no template.yaml above the test")
		}
		dir = above
	}
}
