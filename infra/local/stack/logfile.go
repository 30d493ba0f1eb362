package stack

import (
	"errors"
	"fmt"
	"os"
)

// mostLog is how long the functions' log may become, in bytes: some hundred thousand requests.
const mostLog = 128 << 20

// logFile is a log that takes no more than twice its length: a full one is kept under another name until the next one is
// full, too.
type logFile struct {
	path       string
	size, most int64
	file       *os.File
}

func openLog(path string, most int64) (*logFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open function log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open function log: %w", err), file.Close())
	}
	return &logFile{path, info.Size(), most, file}, nil
}

// Write takes one whole line. No two may call it at once.
func (l *logFile) Write(line []byte) (int, error) {
	if l.size > 0 && l.size+int64(len(line)) > l.most {
		next, err := l.next()
		if err != nil {
			return 0, err
		}
		*l = *next
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return n, err
}

func (l *logFile) next() (*logFile, error) {
	if err := errors.Join(l.file.Close(), os.Rename(l.path, l.path+".1")); err != nil {
		return nil, fmt.Errorf("begin a new function log: %w", err)
	}
	return openLog(l.path, l.most)
}

func (l *logFile) Close() error { return l.file.Close() }
