package child

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds the memory for a line that never ends: a longer line is forwarded in
// pieces of this many bytes.
const maxLine = 256 << 10

// lines forwards a stream in whole lines.
type lines struct {
	to     io.Writer
	marker []byte // a line that is announced on marks instead of being forwarded
	marks  chan struct{}
}

// copy reads until the end or an error, including an expired deadline; then the stream
// is over.
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
