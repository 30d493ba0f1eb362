package streampoller

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// progress is how far a shard is done.
type progress struct {
	// After is the sequence number up to which, with it, all records are done; "" for none.
	After string `json:"after,omitempty"`
	// Ended: the shard has ended, and all its records are done.
	Ended bool `json:"ended,omitempty"`
}

// checkpoint is the file with the progress of one stream's shards. It is replaced as a whole,
// so that a crash leaves the former one or the new one.
type checkpoint struct {
	path string

	mu     sync.Mutex
	Stream string              `json:"stream"`
	Shards map[string]progress `json:"shards"`
}

// openCheckpoint reads the file. The progress of another stream does not count: the table was
// created anew, or its stream was turned off and on.
func openCheckpoint(path, stream string) (*checkpoint, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("open checkpoint: %w", err)
	}
	c := &checkpoint{path: path}
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, c)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open checkpoint %s: %w", path, err)
	}
	if c.Stream != stream || c.Shards == nil {
		c.Stream, c.Shards = stream, map[string]progress{}
	}
	return c, nil
}

func (c *checkpoint) of(shard string) progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Shards[shard]
}

// save records a shard's progress durably.
func (c *checkpoint) save(shard string, p progress) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Shards[shard] = p
	content, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	if err := replace(c.path, append(content, '\n')); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	return nil
}

func replace(path string, content []byte) error {
	next := path + ".new"
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
