package child

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Running is a process as Linux's /proc shows it.
type Running struct{ Pid, Parent int }

func Children(parent int) ([]Running, error) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(all) == 0 {
		return nil, errors.Join(errors.New("list processes: /proc is missing (Linux only)"), err)
	}
	var children []Running
	for _, dir := range all {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && parentOf(pid) == parent {
			children = append(children, Running{pid, parent})
		}
	}
	return children, nil
}

// parentOf returns 0 for a process that has ended.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in the second field may contain any characters, parentheses and spaces too.
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// Program is the path of the file that the process runs, or "" if it has just ended.
func (r Running) Program() string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", r.Pid))
	return path
}

// Signal sends the process a signal if it is still a child of its parent; if not, the
// error is os.ErrProcessDone. The handle is opened before the second check, so that
// another process that got the id in between is not signalled.
func (r Running) Signal(signal os.Signal) error {
	process, err := os.FindProcess(r.Pid)
	if err != nil {
		return fmt.Errorf("%w: %w", os.ErrProcessDone, err)
	}
	defer func() { _ = process.Release() }()
	if parentOf(r.Pid) != r.Parent {
		return os.ErrProcessDone
	}
	return process.Signal(signal)
}
