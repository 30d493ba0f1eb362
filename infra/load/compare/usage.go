package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flashsale/infra/local/child"
)

// usage is CPU time by part: this process (the clients and the stack's servers), the
// engines, and each function's processes. It is empty on systems without /proc.
type usage map[string]time.Duration

const (
	ownPart    = "client and servers"
	enginePart = "engine"
)

// usageNow reads the CPU time that this process and its children have used so far. A child
// that has exited would be missing; here all children run to the end.
func usageNow() usage {
	u := usage{}
	if own, err := child.Look(os.Getpid()); err == nil {
		u[ownPart] = own.Used
	}
	children, _ := child.Children(os.Getpid()) // there are none without /proc
	for _, c := range children {
		u[partOf(c)] += c.Used
	}
	return u
}

// partOf names a child: a function runs in the folder with its name.
func partOf(c child.Running) string {
	if name := filepath.Base(filepath.Dir(c.Program())); strings.HasSuffix(name, "Function") {
		return name
	}
	return enginePart
}

// since returns the CPU time used between two readings.
func (u usage) since(before usage) usage {
	spent := usage{}
	for part, used := range u {
		if d := used - before[part]; d > 0 {
			spent[part] = d
		}
	}
	return spent
}

// each returns the usage per order.
func (u usage) each(orders int) usage {
	part := usage{}
	for name, used := range u {
		if orders > 0 {
			part[name] = used / time.Duration(orders)
		}
	}
	return part
}

func (u usage) total() time.Duration {
	var total time.Duration
	for _, used := range u {
		total += used
	}
	return total
}

// String lists milliseconds by part, the largest first.
func (u usage) String() string {
	parts := slices.SortedFunc(maps.Keys(u), func(a, b string) int {
		return cmp.Or(cmp.Compare(u[b], u[a]), cmp.Compare(a, b))
	})
	text := fmt.Sprintf("CPU %.2f ms", milliseconds(u.total()))
	for _, part := range parts {
		text += fmt.Sprintf(", %s %.2f", part, milliseconds(u[part]))
	}
	return text
}

func milliseconds(d time.Duration) float64 { return 1000 * d.Seconds() }
