package system

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/local/child"
	"flashsale/shared/ledger"
)

func eligibilityIsDead(d drill) {
	const saleID = "asking-sale"
	d.open(saleID, 10, 2)
	d.sell(saleID, "first")
	i := d.meet("the eligibility service is dead", saleID)
	d.dead.Store(true)
	if a := d.buy(saleID, "early"); a.Status != http.StatusServiceUnavailable || a.Code != "busy" {
		d.t.Errorf("a buyer who was not checked is told %v", a)
	}
	i.see()
	d.dead.Store(false)
	d.sell(saleID, "early")
	i.then()
}

// stackIsKilled kills the stack when every order is confirmed, and if there is time for
// reconcile while buyers buy: then the queue's messages are lost with it.
func stackIsKilled(d drill) {
	const saleID = "killed-sale"
	buyers := 3
	if *slow {
		buyers = 30
	}
	d.open(saleID, 3, 2)
	var buying sync.WaitGroup
	for n := range buyers {
		buying.Go(func() {
			// No answer promises nothing; what is accepted is remembered.
			_, _ = d.purchase(d.t.Context(), saleID, fmt.Sprint("user-", n))
		})
	}
	if !*slow {
		buying.Wait()
		d.items()
	}
	time.Sleep(20 * time.Millisecond)
	d.Kill()
	buying.Wait()
	i := d.meet("the stack or the machine ended", saleID)
	i.see()
	i.do(0)
	for n := range buyers { // whoever was not answered asks again
		d.eventually("an answer", func() bool {
			a, err := d.purchase(d.t.Context(), saleID, fmt.Sprint("user-", n))
			return err == nil && (a.Status == http.StatusAccepted || a.Code == "sold-out")
		})
	}
	i.then()
}

func dataGoesElsewhere(d drill) {
	const saleID = "moving-sale"
	d.open(saleID, 10, 2)
	d.sell(saleID, "ada", "ben", "cem")
	i := d.meet("the data must go elsewhere", saleID)
	i.see()
	d.items()
	before := d.receipts()
	d.stop()
	there := visit{&system{root: d.root, data: filepath.Join(d.t.TempDir(), "copy"), output: d.output}, d.t}
	if err := os.CopyFS(there.data, os.DirFS(d.data)); err != nil {
		d.t.Fatal(err)
	}
	if err := there.prepare("-root", d.root); err != nil {
		d.t.Fatal(err)
	}
	defer there.stop()
	i.on = there
	i.do(0)
	i.then()
	if after := there.receipts(); fmt.Sprint(after) != fmt.Sprint(before) {
		d.t.Errorf("before %v\nafter  %v", before, after)
	}
	d.start() // the old place goes on
}

// receipts are what the books of all sales come to.
func (v visit) receipts() (all []string) {
	v.t.Helper()
	b := v.table()
	for _, saleID := range b.Sales() {
		r, err := b.Recount(v.t.Context(), saleID, books.Options{Now: time.Now})
		if err != nil {
			v.t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s: %d seeded, %d left, %d claims, %d confirmed, %v", saleID, r.Seeded, r.Stock, r.Claims, r.Confirmed, r.Findings))
	}
	return all
}

// messageIsLost waits for reconcile's schedule.
func messageIsLost(d drill) {
	const saleID = "lost-sale"
	d.open(saleID, 10, 1)
	other := fmt.Sprintf(`{"v":1,"saleId":%q,"user":"ada","claimId":%q}`, "beside-sale", d.promised["beside-sale"]["ada"])
	d.enqueue(900, other, other, other) // the messages of another sale wait in the queue
	d.strand(saleID, "bob", 0)
	i := d.meet("an order's message is lost while another sale's messages fill the queue", saleID)
	i.see()
	i.then()
	c, err := d.ledgerAgo(0).Claim(d.t.Context(), saleID, "bob")
	if err != nil {
		d.t.Fatal(err)
	}
	// While the queue is full only orders that are a minute old are sent again: it was.
	if age := c.ResentAt.Sub(c.AcceptedAt); age < time.Minute || age > ledger.ResendBound {
		d.t.Errorf("its message was sent again after %v", age)
	}
}

func engineIsKilled(d drill) {
	const saleID = "engine-sale"
	d.open(saleID, 10, 2)
	d.sell(saleID, "ada", "ben")
	i := d.meet("the DynamoDB engine was killed", saleID)
	if engines := d.processes()[engine]; len(engines) != 1 || engines[0].Signal(os.Kill) != nil {
		d.t.Fatalf("%d engines", len(engines))
	}
	i.see()
	i.then()
	d.sell(saleID, "cem")
}

func poisonAndABrokenFinalize(d drill) {
	const beside, saleID = "beside-sale", "stuck-sale"
	d.open(beside, 10, 2)
	bad := d.meet("messages that are no orders came into the queue", beside)
	d.enqueue(0, "not an order", "not an order")
	d.sell(beside, "ada", "ben", "cem")
	d.items() // the orders beside them are finalized

	d.open(saleID, 10, 2)
	d.deployFinalize("#!/bin/sh\nexit 1\n")
	stuck := d.meet("finalize fails altogether", saleID)
	for n := range 6 {
		d.sell(saleID, fmt.Sprint("user-", n))
	}
	stuck.see()
	bad.see()
	d.deployFinalize("")
	stuck.do(0)
	stuck.then()
	bad.do(0)
	bad.then()
}

// deployFinalize puts a program in the place of finalize's, without a program the project's own. The stack goes on,
// because its queues are in its memory.
func (v visit) deployFinalize(script string) {
	v.t.Helper()
	bootstrap := filepath.Join(v.root, ".build/host/FinalizeFunction/bootstrap")
	own, err := filepath.Abs(filepath.Join(project, ".build/host/FinalizeFunction/bootstrap"))
	if err == nil && script == "" {
		err = os.Symlink(own, bootstrap+".new")
	} else if err == nil {
		err = os.WriteFile(bootstrap+".new", []byte(script), 0o755)
	}
	if err = cmp.Or(err, os.Rename(bootstrap+".new", bootstrap)); err != nil {
		v.t.Fatal(err)
	}
	for _, p := range v.processes()["FinalizeFunction"] {
		_ = p.Signal(os.Kill)
	}
}

// engine is the kind of the DynamoDB engine's process.
const engine = "engine"

// processes are those of the stack's functions and of its engine, by their kind.
func (v visit) processes() map[string][]child.Running {
	v.t.Helper()
	all, err := child.Children(v.Pid())
	if err != nil {
		v.t.Fatal(err)
	}
	kinds := map[string][]child.Running{}
	for _, p := range all {
		switch program := p.Program(); filepath.Base(program) {
		case "bootstrap":
			kind := filepath.Base(filepath.Dir(program))
			kinds[kind] = append(kinds[kind], p)
		case "dynoxide":
			kinds[engine] = append(kinds[engine], p)
		}
	}
	return kinds
}
