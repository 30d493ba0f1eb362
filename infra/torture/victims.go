package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// errMalformedStat says that a line is none of /proc/<pid>/stat.
var errMalformedStat = errors.New("malformed process status")

// engine is the kind of the DynamoDB engine's process.
const engine = "engine"

// victim is a child process of the stack.
type victim struct {
	pid  int
	kind string // a function's name, or engine
}

// children lists a process's children, as Linux shows them under /proc.
func children(parent int) ([]victim, error) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(all) == 0 {
		return nil, errors.Join(errors.New("list processes: torture needs Linux's /proc"), err)
	}
	var found []victim
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || !isChild(pid, parent) {
			continue
		}
		program, err := os.Readlink(filepath.Join(dir, "exe"))
		if err != nil {
			continue // it has just ended
		}
		switch filepath.Base(program) {
		case "bootstrap":
			found = append(found, victim{pid, filepath.Base(filepath.Dir(program))})
		case "dynoxide":
			found = append(found, victim{pid, engine})
		}
	}
	return found, nil
}

func isChild(pid, parent int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	above, err := parentOf(string(stat))
	return err == nil && above == parent
}

// parentOf reads the parent's id from a line of /proc/<pid>/stat. The name in
// its second field may hold anything, parentheses and spaces too.
func parentOf(stat string) (int, error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errMalformedStat
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 2 {
		return 0, errMalformedStat
	}
	above, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errMalformedStat, err)
	}
	return above, nil
}

// kill ends a child of parent with -9. It tells whether it was there to be
// killed. The handle is taken before the second look: so a process id that was
// given to a stranger in between is left alone.
func kill(v victim, parent int) bool {
	process, err := os.FindProcess(v.pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	return isChild(v.pid, parent) && process.Signal(syscall.SIGKILL) == nil
}
