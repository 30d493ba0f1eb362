package sqs

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// The journal is a sequence of frames, one per write: a mark, the length and checksum
// of the rest, and lines of JSON. A write starts only when the previous one is on disk,
// so a crash can damage only the last frame.

// frameMark cannot occur inside a frame: its first bytes are invalid in UTF-8.
var frameMark = []byte{0xff, 0xfe, 'q', 'j'}

const (
	frameHeader = 12
	// framePart is the approximate size of a rewrite's frames.
	framePart = 1 << 20

	journalHeader = `{"journal":"flashsale queues","version":1}`
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	errDamaged = errors.New("journal is damaged before its end")
	errForeign = errors.New("not a journal of this version")
)

func frame(lines []byte) []byte {
	b := make([]byte, 0, frameHeader+len(lines))
	b = append(b, frameMark...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(lines)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(lines, castagnoli))
	return append(b, lines...)
}

// unframe splits off the first frame's lines; false if there is no complete frame.
func unframe(data []byte) (lines, rest []byte, ok bool) {
	if len(data) < frameHeader || !bytes.HasPrefix(data, frameMark) {
		return nil, nil, false
	}
	length := uint64(binary.BigEndian.Uint32(data[4:]))
	if uint64(len(data)-frameHeader) < length {
		return nil, nil, false
	}
	lines = data[frameHeader : frameHeader+length]
	if crc32.Checksum(lines, castagnoli) != binary.BigEndian.Uint32(data[8:]) {
		return nil, nil, false
	}
	return lines, data[frameHeader+length:], true
}

// replayFrames calls replay for the lines of a journal. An incomplete last frame is an
// unacknowledged write cut short by a crash, and is skipped; damage before a complete
// frame is an error, and so is a file that does not begin like a journal.
func replayFrames(data []byte, replay func(line []byte) error) error {
	header := true
	for size := len(data); len(data) > 0; {
		lines, rest, ok := unframe(data)
		if !ok {
			at := size - len(data)
			if header {
				return errForeign
			}
			if followed(data[1:]) {
				return fmt.Errorf("%w, at byte %d", errDamaged, at)
			}
			return nil
		}
		for line := range bytes.Lines(lines) {
			line = bytes.TrimSuffix(line, []byte{'\n'})
			if header {
				if string(line) != journalHeader {
					return errForeign
				}
				header = false
				continue
			}
			if err := replay(line); err != nil {
				return fmt.Errorf("%w, at byte %d: %w", errDamaged, size-len(data), err)
			}
		}
		data = rest
	}
	return nil
}

// followed reports whether there is a complete frame anywhere in data.
func followed(data []byte) bool {
	for {
		at := bytes.Index(data, frameMark)
		if at < 0 {
			return false
		}
		if _, _, ok := unframe(data[at:]); ok {
			return true
		}
		data = data[at+1:]
	}
}

// writeJournal writes a new journal of these records and atomically replaces the old
// one. It returns the file, open for appending, and its size; the caller must sync the
// folder before it relies on the new journal.
func writeJournal(dir string, records []record) (f *os.File, size int64, err error) {
	// The folder is locked: an existing file is left over from an interrupted rewrite.
	f, err = os.OpenFile(filepath.Join(dir, journalName+".new"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
			f = nil
		}
	}()
	lines := []byte(journalHeader + "\n")
	for i := range records {
		line, err := json.Marshal(records[i])
		if err != nil {
			return f, 0, fmt.Errorf("encode record: %w", err)
		}
		lines = append(append(lines, line...), '\n')
		if len(lines) >= framePart {
			n, err := f.Write(frame(lines))
			if err != nil {
				return f, 0, err
			}
			size, lines = size+int64(n), lines[:0]
		}
	}
	if len(lines) > 0 {
		n, err := f.Write(frame(lines))
		if err != nil {
			return f, 0, err
		}
		size += int64(n)
	}
	if err := f.Sync(); err != nil {
		return f, 0, err
	}
	return f, size, os.Rename(f.Name(), filepath.Join(dir, journalName))
}

// syncDir makes a rename in a folder survive a power failure.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
