package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// usage is processor time by part: this process, in which the clients and the
// stack's own servers run, the engines, and each function's processes. It is
// empty where there is no /proc.
type usage map[string]time.Duration

const (
	ownPart    = "client and servers"
	enginePart = "engine"
	// clockTick is the unit of /proc's times, which Linux fixes for programs.
	clockTick = 10 * time.Millisecond
)

// usageNow reads what this process and its children have used so far. A child
// that has ended in between is not seen any more; here all live to the end.
func usageNow() usage {
	u := usage{}
	processes, _ := os.ReadDir("/proc")
	for _, process := range processes {
		if process.Name()[0] < '0' || process.Name()[0] > '9' {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", process.Name(), "stat"))
		if err != nil {
			continue // it has just ended
		}
		pid, parent, used, ok := parseStat(stat)
		switch {
		case !ok:
		case pid == os.Getpid():
			u[ownPart] += used
		case parent == os.Getpid():
			u[partOf(pid)] += used
		}
	}
	return u
}

// partOf names a child: a function runs in the folder that has its name.
func partOf(pid int) string {
	dir := filepath.Dir(executable(pid))
	if name := filepath.Base(dir); strings.HasSuffix(name, "Function") {
		return name
	}
	return enginePart
}

func executable(pid int) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return path
}

// parseStat reads a line of /proc/<pid>/stat: the process, its parent, and its
// user and system time. The name in between may hold anything, also ")".
func parseStat(stat []byte) (pid, parent int, used time.Duration, ok bool) {
	const parentField, userField, systemField = 1, 11, 12 // counted after the name
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return 0, 0, 0, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) <= systemField {
		return 0, 0, 0, false
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		ok = ok && err == nil
		return n
	}
	ok = true
	pid, parent = number(strings.TrimSpace(string(stat[:open]))), number(fields[parentField])
	used = time.Duration(number(fields[userField])+number(fields[systemField])) * clockTick
	return pid, parent, used, ok
}

// since is what was used between two readings.
func (u usage) since(before usage) usage {
	spent := usage{}
	for part, used := range u {
		if d := used - before[part]; d > 0 {
			spent[part] = d
		}
	}
	return spent
}

// each is one order's part.
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

// String writes milliseconds, the largest part first.
func (u usage) String() string {
	parts := slices.SortedFunc(maps.Keys(u), func(a, b string) int {
		return cmp.Or(cmp.Compare(u[b], u[a]), cmp.Compare(a, b))
	})
	text := fmt.Sprintf("processor %.2f ms", milliseconds(u.total()))
	for _, part := range parts {
		text += fmt.Sprintf(", %s %.2f", part, milliseconds(u[part]))
	}
	return text
}

func milliseconds(d time.Duration) float64 { return 1000 * d.Seconds() }
