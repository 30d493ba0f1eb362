package engine_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
)

// with runs do over an engine on the file.
func with(t *testing.T, file string, do func(e *engine.Engine, db *dynamodb.Client)) {
	t.Helper()
	e := start(t, engine.Options{DBPath: file})
	defer func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	}()
	db := engine.Client(e.Endpoint())
	for _, name := range []string{"one", "two"} {
		enginetest.Ensure(t, db, enginetest.Streamed(name))
	}
	do(e, db)
}

// numbers are the sequence numbers of a table's records.
func numbers(t *testing.T, e *engine.Engine, table string) (all []string) {
	t.Helper()
	for _, r := range enginetest.Records(t, e, table) {
		all = append(all, aws.ToString(r.Dynamodb.SequenceNumber))
	}
	return all
}

func TestRecordsAreKeptADayAndTheirNumbersGoOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a folder?", "ledger#1.sqlite")
	if err := engine.MaintainStreams(t.Context(), enginetest.Root(t), file, time.Now()); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v for a missing file", err)
	}
	file = filepath.Join(t.TempDir(), "ledger#1.sqlite")
	with(t, file, func(_ *engine.Engine, db *dynamodb.Client) {
		enginetest.Put(t, db, "one", "a", "b", "c")
		enginetest.Put(t, db, "two", "a")
	})
	maintain := func(now time.Time) {
		t.Helper()
		if err := engine.MaintainStreams(t.Context(), enginetest.Root(t), file, now); err != nil {
			t.Fatal(err)
		}
	}
	maintain(time.Now().Add(23 * time.Hour))
	with(t, file, func(e *engine.Engine, _ *dynamodb.Client) {
		if got := numbers(t, e, "one"); !slices.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("after 23 hours there are %v", got)
		}
	})
	maintain(time.Now().Add(25 * time.Hour))
	with(t, file, func(e *engine.Engine, db *dynamodb.Client) {
		enginetest.Put(t, db, "one", "d")
		enginetest.Put(t, db, "two", "b")
		if one, two := numbers(t, e, "one"), numbers(t, e, "two"); !slices.Equal(one, []string{"3", "4"}) || !slices.Equal(two, []string{"1", "2"}) {
			t.Errorf("after 25 hours, and a write each, there are %v and %v", one, two)
		}
	})
}
