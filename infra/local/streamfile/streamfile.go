// Command streamfile keeps the stream records in dynoxide's database file usable: with an
// index, and no longer than DynamoDB keeps them. The engine does neither.
//
// It knows the table of the records in that file and nothing else of the engine; it must be
// adapted with a new version of it. It is a program of its own because SQLite takes longer to
// compile and to link than all else that the local stack consists of.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// retention is how long DynamoDB keeps the records of a stream.
const retention = 24 * time.Hour

// The engine numbers a record by the largest number before it, and without an index reads
// all records to find that: with 5,000 records a write takes ten times as long as with none,
// with 100,000 a hundred times. It uses this index for its queries by number.
//
// The last record of a table must stay, because the engine would count from 1 again after it:
// a reader that continues after a larger number would miss everything up to there.
const (
	indexRecords  = `CREATE INDEX IF NOT EXISTS flashsale_stream_records ON _stream_records (table_name, CAST(sequence_number AS INTEGER))`
	deleteExpired = `DELETE FROM _stream_records WHERE created_at < ? AND id NOT IN (
		SELECT id FROM (SELECT id, max(CAST(sequence_number AS INTEGER)) FROM _stream_records GROUP BY table_name))`
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: streamfile FILE")
		os.Exit(2)
	}
	if err := maintain(context.Background(), os.Args[1], time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// maintain indexes the stream records in an engine's database file, and deletes those
// that DynamoDB would not have any more at the given time. No engine may run on the file, and
// one must have run on it before.
func maintain(ctx context.Context, path string, now time.Time) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("maintain streams: %w", err)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("maintain streams: %w", err)
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: full, RawQuery: "_pragma=busy_timeout(5000)"}).String())
	if err != nil {
		return fmt.Errorf("maintain streams: %w", err)
	}
	_, err = db.ExecContext(ctx, indexRecords)
	if err == nil {
		_, err = db.ExecContext(ctx, deleteExpired, now.Add(-retention).Unix())
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("maintain streams of %s: %w", path, err)
	}
	return nil
}
