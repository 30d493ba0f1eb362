package child

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds the memory that a child which never ends its line can take:
// a longer line is handed on in pieces of this many bytes.
const maxLine = 256 << 10

// lines hands on a stream in whole lines.
type lines struct {
	to     io.Writer
	marker []byte // a line that is announced on marks instead of handed on
	marks  chan struct{}
}

// copy reads until the end or an error, a deadline's included: either way the
// stream is over.
func (l *lines) copy(from io.Reader) {
	r := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case bytes.Equal(line, l.marker):
			l.marks <- struct{}{}
		case len(line) > 0 && line[0] != '\n':
			l.write(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (l *lines) write(line []byte) {
	if line[len(line)-1] != '\n' {
		// The line may be a view into the read buffer: it must not grow in place.
		line = append(bytes.Clone(line), '\n')
	}
	_, _ = l.to.Write(line)
}
