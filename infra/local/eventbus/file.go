package eventbus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// file is the file of events: whole lines up to size. What a failed or interrupted write left
// behind them is cut off before the next one.
type file struct {
	f    *os.File
	size int64
}

// openFile opens or creates the file, and passes its events to note.
func openFile(path string, note func(Event)) (*file, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	log := &file{f: f}
	if err := log.read(note); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), f.Close())
	}
	// The file's name must survive a loss of power, too.
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return log, nil
}

// read reads whole lines. A last line without its end was interrupted and has not been
// answered, so it is cut off; a line before it that is no event is somebody else's and stays.
func (l *file) read(note func(Event)) error {
	lines := bufio.NewReader(l.f)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return l.cut()
		}
		if err != nil {
			return err
		}
		l.size += int64(len(line))
		var e Event
		if json.Unmarshal(line, &e) == nil && e.DetailType != "" {
			note(e)
		}
	}
}

// cut ends the file after its whole lines.
func (l *file) cut() error {
	if err := l.f.Truncate(l.size); err != nil {
		return err
	}
	_, err := l.f.Seek(l.size, io.SeekStart)
	return err
}

// add appends events durably, all or none.
func (l *file) add(events []Event) error {
	if len(events) == 0 {
		return nil
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for _, e := range events {
		if err := encoder.Encode(e); err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
	}
	err := l.cut()
	if err == nil {
		_, err = l.f.Write(lines.Bytes())
	}
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	l.size += int64(lines.Len())
	return nil
}

// Close closes the file.
func (l *file) Close() error { return l.f.Close() }
