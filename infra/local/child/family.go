package child

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrNoProc: this system has no /proc like that of Linux.
	ErrNoProc  = errors.New("list processes: /proc is missing (Linux only)")
	errNoStat  = errors.New("malformed process status")
	errNoChild = errors.New("no child of that process")
)

// clockTick is the unit of /proc's times, a constant in Linux's interface to programs.
const clockTick = 10 * time.Millisecond

// Running is a process as /proc shows it.
type Running struct {
	Pid, Parent int
	Used        time.Duration // CPU time so far
}

// Children returns the running children of a process.
func Children(parent int) ([]Running, error) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(all) == 0 {
		return nil, errors.Join(ErrNoProc, err)
	}
	var children []Running
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if r, err := Look(pid); err == nil && r.Parent == parent { // otherwise it has just ended
			children = append(children, r)
		}
	}
	return children, nil
}

// Look reads what /proc shows of a process.
func Look(pid int) (Running, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Running{}, err
	}
	return parseStat(string(stat))
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
	if now, err := Look(r.Pid); err != nil || now.Parent != r.Parent {
		return fmt.Errorf("%w: %w", os.ErrProcessDone, errNoChild)
	}
	return process.Signal(signal)
}

// parseStat reads a line of /proc/<pid>/stat. The name in its second field may contain
// any characters, parentheses and spaces too.
func parseStat(stat string) (Running, error) {
	const parentField, userField, systemField = 1, 11, 12 // counted after the name
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return Running{}, errNoStat
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= systemField {
		return Running{}, errNoStat
	}
	var numbers [4]int
	for i, text := range []string{strings.TrimSpace(stat[:open]), fields[parentField], fields[userField], fields[systemField]} {
		n, err := strconv.Atoi(text)
		if err != nil {
			return Running{}, fmt.Errorf("%w: %w", errNoStat, err)
		}
		numbers[i] = n
	}
	return Running{Pid: numbers[0], Parent: numbers[1], Used: time.Duration(numbers[2]+numbers[3]) * clockTick}, nil
}
