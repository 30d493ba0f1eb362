package books

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
)

// eventFile is a file of published events, of which only their hashes are in memory.
type eventFile struct {
	path, saleID string // only the events of that sale count; "": all
	seed         maphash.Seed
	sums         []uint64 // sorted and different, once the file is read
	marked       []bool   // the events that were expected
	lines        int64
	end          int64 // bytes that were read
}

// line is one event of the file.
type line struct {
	number   int64
	kind, id string
	members  map[string]any
	detail   string
	sum      uint64
	problem  string // why it is none
}

func (e event) sum(seed maphash.Seed) uint64 { return maphash.Bytes(seed, e.text()) }

// sortAt is how many hashes are collected before repetitions are removed for the first
// time.
const sortAt = 1 << 16

// read reads the whole file.
func (f *eventFile) read() (err error) {
	next := sortAt
	f.end, err = f.each(0, 0, func(l line) {
		f.lines++
		if len(f.sums) == next {
			f.compact()
			next = max(2*len(f.sums), sortAt)
			f.sums = slices.Grow(f.sums, next-len(f.sums))
		}
		f.sums = append(f.sums, l.sum)
	})
	f.compact()
	f.marked = make([]bool, len(f.sums))
	return err
}

func (f *eventFile) compact() {
	slices.Sort(f.sums)
	f.sums = slices.Compact(f.sums)
}

// different returns the number of different events and that of their repetitions.
func (f *eventFile) different() (different, repeated int64) {
	return int64(len(f.sums)), f.lines - int64(len(f.sums))
}

// mark reports whether the file has an event, and notes that it was expected.
func (f *eventFile) mark(sum uint64) bool {
	i, ok := slices.BinarySearch(f.sums, sum)
	if ok {
		f.marked[i] = true
	}
	return ok
}

// tail reads what was written after the file was read.
func (f *eventFile) tail(do func(line)) error {
	_, err := f.each(f.end, 0, do)
	return err
}

// unmarked reads the events that nothing expected, each once.
func (f *eventFile) unmarked(do func(line)) error {
	if !slices.Contains(f.marked, false) {
		return nil
	}
	_, err := f.each(0, f.end, func(l line) {
		if i, ok := slices.BinarySearch(f.sums, l.sum); ok && !f.marked[i] {
			f.marked[i] = true
			do(l)
		}
	})
	return err
}

// each reads the complete lines from one byte to another, to the end of the file if that is
// 0, and returns where they end. A line is complete if it ends with a line feed.
func (f *eventFile) each(from, to int64, do func(line)) (end int64, err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return 0, fmt.Errorf("read events: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return 0, fmt.Errorf("read events: %w", err)
	}
	r := bufio.NewReaderSize(file, 1<<16)
	number := int64(0)
	for end = from; to == 0 || end < to; {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return end, fmt.Errorf("read events: %w", err)
		}
		number++
		end += int64(len(text))
		if l, ours := f.line(text); ours {
			l.number = number
			do(l)
		}
	}
	return end, nil
}

// line reads one line. ours is false for an event of another source or sale.
func (f *eventFile) line(text []byte) (l line, ours bool) {
	var envelope struct {
		Source string         `json:"source"`
		Kind   string         `json:"detail-type"`
		Detail map[string]any `json:"detail"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a number stays as it is written
	err := d.Decode(&envelope)
	if _, rest := d.Token(); err == nil && !errors.Is(rest, io.EOF) {
		err = errors.New("there is more than one value")
	}
	if err != nil {
		l.problem, l.sum = fmt.Sprintf("%v: %.100q", err, text), maphash.Bytes(f.seed, text)
		return l, true
	}
	if envelope.Source != "flashsale" || f.saleID != "" && envelope.Detail["saleId"] != f.saleID {
		return l, false
	}
	e := event{kind: envelope.Kind, members: envelope.Detail}
	l.kind, l.members, l.sum = e.kind, e.members, e.sum(f.seed)
	l.id, _ = e.members["id"].(string)
	l.detail = string(e.text())
	return l, true
}
