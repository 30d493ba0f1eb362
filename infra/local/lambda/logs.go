package lambda

import (
	"encoding/json"
	"io"
	"sync"
)

// maxTail is how much of a log the Invoke API returns, in bytes.
const maxTail = 4 << 10

// sink receives the lines of all functions.
type sink struct {
	mu  sync.Mutex
	to  io.Writer
	cut bool // the last line was written only in part
}

// write writes a whole line. A log that cannot be written, as on a full disk, does not
// stop a function: the line is lost, and the next one starts on a new line.
func (s *sink) write(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut {
		if _, err := s.to.Write([]byte("\n")); err != nil {
			return
		}
	}
	_, err := s.to.Write(line)
	s.cut = err != nil
}

// stream is the log of one process.
type stream struct {
	sink   *sink
	prefix string

	mu   sync.Mutex
	tail []byte // up to twice maxTail
}

// Write takes one whole line.
func (s *stream) Write(line []byte) (int, error) {
	s.mu.Lock()
	s.tail = append(s.tail, line[max(0, len(line)-maxTail):]...)
	if len(s.tail) > 2*maxTail {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-maxTail:]...)
	}
	s.mu.Unlock()

	prefixed := append(append(make([]byte, 0, len(s.prefix)+len(line)), s.prefix...), line...)
	s.sink.write(prefixed)
	return len(line), nil
}

// event writes a line of Lambda itself about an invocation.
func (s *stream) event(requestID, status, message string) {
	line, _ := json.Marshal(struct {
		Type      string `json:"type"`
		RequestID string `json:"requestId"`
		Status    string `json:"status"`
		Message   string `json:"message"`
	}{"platform", requestID, status, message})
	_, _ = s.Write(append(line, '\n'))
}

// take returns the end of the output since the previous take.
func (s *stream) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	tail := s.tail[max(0, len(s.tail)-maxTail):]
	s.tail = nil
	return tail
}
