package engine

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// IndexStreams indexes the stream records in an engine's database file. No engine may run on the file, and
// one must have run on it before.
//
// Node does it, which `make engine` needs anyway, with SQLite as npm has it for this machine: in
// Go, SQLite takes longer to compile than all else that the local stack consists of.
func IndexStreams(ctx context.Context, root, file string) error {
	script := filepath.Join(root, ".build", "engine", "streamfile.mjs")
	if out, err := exec.CommandContext(ctx, "node", script, file).CombinedOutput(); err != nil {
		return fmt.Errorf("index the streams of %s: %w: %s", file, err, bytes.TrimSpace(out))
	}
	return nil
}
