package system

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"flashsale/infra/local/child"
)

// Accidents that need Linux: its /proc shows the engine.
var ofThisSystem = []func(*testing.T, *drill){engineIsKilled}

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

// killEngine kills the engine of the stack with that process id.
func killEngine(t *testing.T, stack int) {
	t.Helper()
	all, err := child.Children(stack)
	if err != nil {
		t.Fatal(err)
	}
	killed := errors.New("there is no engine")
	for _, c := range all {
		if filepath.Base(c.Program()) == "dynoxide" {
			killed = c.Signal(syscall.SIGKILL)
		}
	}
	if killed != nil {
		t.Fatal(killed)
	}
}
