package system

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"flashsale/infra/local/child"
)

// Accidents that need Linux: its /proc shows the engine and the functions' processes. The slow ones wait for
// real timeouts.
var ofThisSystem, slowOfThisSystem = []func(*testing.T, *drill){engineIsKilled}, []func(*testing.T, *drill){poisonAndABrokenFinalize}

func engineIsKilled(t *testing.T, d *drill) {
	const saleID = "engine-sale"
	d.open(t, saleID, 10, 2)
	d.sell(t, saleID, "ada", "ben")
	i := d.meet(t, "the DynamoDB engine was killed", saleID)
	killEngine(t, d.Pid())
	i.see()
	i.then()
	d.sell(t, saleID, "cem")
}

func poisonAndABrokenFinalize(t *testing.T, d *drill) {
	const beside, saleID = "beside-sale", "stuck-sale"
	d.open(t, beside, 10, 2)
	bad := d.meet(t, "messages that are no orders came into the queue", beside)
	d.send(t, 0, "not an order", "not an order")
	d.sell(t, beside, "ada", "ben", "cem")
	d.settled(t) // the orders beside them are finalized

	d.open(t, saleID, 10, 2)
	d.deployFinalize(t, "#!/bin/sh\nexit 1\n")
	stuck := d.meet(t, "finalize fails altogether", saleID)
	for n := range 6 {
		d.sell(t, saleID, fmt.Sprint("user-", n))
	}
	stuck.see()
	bad.see()
	d.deployFinalize(t, "")
	stuck.do(0)
	stuck.then()
	bad.do(0)
	bad.then()
}

// deployFinalize puts a program in the place of finalize's, without a program the project's own. The stack goes on,
// because its queues are in its memory.
func (s *system) deployFinalize(t *testing.T, script string) {
	t.Helper()
	bootstrap := filepath.Join(s.root, ".build/host/FinalizeFunction/bootstrap")
	own, err := filepath.Abs(filepath.Join(project, ".build/host/FinalizeFunction/bootstrap"))
	if err == nil && script == "" {
		err = os.Symlink(own, bootstrap+".new")
	} else if err == nil {
		err = os.WriteFile(bootstrap+".new", []byte(script), 0o755)
	}
	if err = cmp.Or(err, os.Rename(bootstrap+".new", bootstrap)); err != nil {
		t.Fatal(err)
	}
	_ = killChildren(t, s.Pid(), func(program string) bool { return strings.HasSuffix(program, "FinalizeFunction/bootstrap") })
}

// killEngine kills the engine of the stack with that process id.
func killEngine(t *testing.T, stack int) {
	t.Helper()
	if killChildren(t, stack, func(program string) bool { return filepath.Base(program) == "dynoxide" }) == 0 {
		t.Fatal("there is no engine")
	}
}

// killChildren kills those children of a process that run such a program, and counts them.
func killChildren(t *testing.T, parent int, is func(program string) bool) (killed int) {
	t.Helper()
	all, err := child.Children(parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if is(c.Program()) && c.Signal(syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}
