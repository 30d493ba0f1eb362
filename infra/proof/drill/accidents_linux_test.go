package drill

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"flashsale/infra/local/child"
)

// Accidents that need Linux: its /proc shows the engine, its prlimit fills the disk.
var (
	ofThisSystem     = []func(*testing.T, *drill){engineIsKilled}
	slowOfThisSystem = []func(*testing.T, *drill){diskIsFull}
)

func engineIsKilled(t *testing.T, d *drill) {
	const saleID = "engine-sale"
	d.open(t, saleID, 10, 2)
	d.sell(t, saleID, "ada", "ben")
	all, err := child.Children(d.Pid())
	if err != nil {
		t.Fatal(err)
	}
	i := d.meet(t, "the DynamoDB engine was killed", saleID)
	killed := errors.New("there is no engine")
	for _, c := range all {
		if filepath.Base(c.Program()) == "dynoxide" {
			killed = c.Signal(syscall.SIGKILL)
		}
	}
	if killed != nil {
		t.Fatal(killed)
	}
	i.see()
	i.then()
	d.sell(t, saleID, "cem")
}

// diskIsFull keeps the stack's own process from writing any file: the queue's and the log.
// The engine is another process, and has space.
func diskIsFull(t *testing.T, d *drill) {
	const saleID = "full-sale"
	d.open(t, saleID, 10, 2)
	i := d.meet(t, "the disk is full", saleID)
	limit := func(size string) {
		t.Helper()
		if out, err := exec.Command("prlimit", "--pid", strconv.Itoa(d.Pid()), "--fsize="+size+":").CombinedOutput(); err != nil {
			t.Fatalf("prlimit: %v: %s", err, out)
		}
	}
	limit("0")
	for n := range 4 {
		d.sell(t, saleID, fmt.Sprint("user-", n))
	}
	i.see()
	limit("unlimited")
	i.then()
}
