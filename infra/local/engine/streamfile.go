package engine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// retention is how long DynamoDB keeps the records of a stream.
const retention = 24 * time.Hour

// MaintainStreams indexes the stream records in an engine's database file, and deletes those
// that DynamoDB would not have any more at the given time. No engine may run on the file, and
// one must have run on it before.
//
// Node does it, which `make engine` needs anyway, with SQLite as npm has it for this machine: in
// Go, SQLite takes longer to compile than all else that the local stack consists of.
func MaintainStreams(ctx context.Context, root, file string, now time.Time) error {
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("maintain streams: %w", err)
	}
	script := filepath.Join(root, ".build", "engine", "streamfile.mjs")
	before := strconv.FormatInt(now.Add(-retention).Unix(), 10)
	if out, err := exec.CommandContext(ctx, "node", script, file, before).CombinedOutput(); err != nil {
		return fmt.Errorf("maintain streams of %s: %w: %s", file, err, bytes.TrimSpace(out))
	}
	return nil
}
