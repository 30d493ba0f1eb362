package template

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Error is a problem in a template that prevents the local stack from booting.
type Error struct {
	// File is the path that was loaded.
	File string
	// Line counts from 1; it is 0 when the error concerns no single line.
	Line int
	// At names the logical id and property, as in Resources.OrderQueue.Properties.DelaySeconds; it may be empty.
	At string
	// Reason is the problem itself.
	Reason string
}

func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.At != "" {
		return fmt.Sprintf("%s: %s: %s", where, e.At, e.Reason)
	}
	return fmt.Sprintf("%s: %s", where, e.Reason)
}

// fail records the first problem only: later ones are mostly its consequences.
func (r *reader) fail(n *yaml.Node, at, format string, args ...any) {
	if r.err != nil {
		return
	}
	e := &Error{File: r.file, At: at, Reason: fmt.Sprintf(format, args...)}
	if n != nil {
		e.Line = n.Line
	}
	r.err = e
}
