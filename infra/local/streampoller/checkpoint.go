package streampoller

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// position is a record of a stream.
type position struct {
	Shard string `json:"shard"`
	// After is the record's sequence number; "" is before the first one.
	After string `json:"after"`
}

// checkpoint is the file that says up to which record all of a stream is done. It is replaced
// as a whole, so that a crash leaves the former one or the new one.
type checkpoint struct {
	path   string
	Stream string `json:"stream"`
	position
}

// openCheckpoint reads the file. The progress of another stream does not count: the table was
// created anew, or its stream was turned off and on.
func openCheckpoint(path, stream string) (checkpoint, error) {
	c := checkpoint{path: path}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return c, fmt.Errorf("open checkpoint: %w", err)
	}
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &c)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("open checkpoint %s: %w", path, err)
	}
	if c.Stream != stream {
		c.Stream, c.position = stream, position{}
	}
	return c, nil
}

func (c checkpoint) save() error {
	content, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(c.path+".new", content, 0o644)
	}
	if err == nil {
		err = os.Rename(c.path+".new", c.path)
	}
	return err
}
