package simulate

import (
	"fmt"
	"strings"
	"time"
)

// journal is the log of a simulation.
type journal struct {
	began time.Time
	text  strings.Builder
}

func (j *journal) write(format string, args ...any) {
	fmt.Fprintf(&j.text, "%14v ", time.Since(j.began))
	fmt.Fprintf(&j.text, format, args...)
	j.text.WriteByte('\n')
}

// tail returns the last lines.
func (j *journal) tail(lines int) string {
	all := strings.Split(strings.TrimSuffix(j.text.String(), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
