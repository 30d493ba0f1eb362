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

	"flashsale/infra/local/engine"
	"flashsale/infra/local/template"
)

// limit is generous: it only keeps a broken engine from hanging a test.
const limit = 30 * time.Second

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

func Binary(tb testing.TB) string {
	tb.Helper()
	path := engine.BinaryUnder(Root(tb))
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
