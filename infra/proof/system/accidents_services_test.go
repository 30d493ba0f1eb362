package system

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/wait"
	"flashsale/shared/ledger"
)

func eligibilityIsDead(t *testing.T, d *drill) {
	const saleID = "asking-sale"
	d.open(t, saleID, 10, 2)
	d.sell(t, saleID, "first")
	i := d.meet(t, "the eligibility service is dead", saleID)
	d.service.dead.Store(true)
	for n := range 8 {
		if a := d.buy(t, saleID, fmt.Sprint("early-", n)); a.Status != http.StatusServiceUnavailable || a.Code != "busy" {
			t.Errorf("a buyer who was not checked is told %v", a)
		}
	}
	i.see()
	if b := d.books(t, saleID); b.Stock() != 9 || len(b.Claims) != 1 {
		t.Errorf("%d units are left with %d claims, want 9 with 1", b.Stock(), len(b.Claims))
	}
	i.begun = time.Now()
	d.service.dead.Store(false)
	d.sell(t, saleID, "early-0")
	i.then()
}

// stackIsKilled kills the stack when every order is confirmed, and if there is time for
// reconcile while buyers buy: then the queue's messages are lost with it.
func stackIsKilled(t *testing.T, d *drill) {
	const saleID = "killed-sale"
	buyers := 3
	if *slow {
		buyers = 30
	}
	d.open(t, saleID, 3, 2)
	tokens := make([]string, buyers)
	for n := range tokens {
		token, err := d.client.Token(t.Context(), fmt.Sprint("user-", n))
		if err != nil {
			t.Fatal(err)
		}
		tokens[n] = token
	}
	var buying sync.WaitGroup
	for n, token := range tokens {
		buying.Go(func() {
			// No answer promises nothing; what is accepted is remembered.
			_, _ = d.purchase(t, saleID, fmt.Sprint("user-", n), token)
		})
	}
	if !*slow {
		buying.Wait()
		d.settled(t)
	}
	time.Sleep(20 * time.Millisecond)
	d.Kill()
	buying.Wait()
	i := d.meet(t, "the stack or the machine ended", saleID)
	i.see()
	i.do(0)
	for n, token := range tokens { // whoever was not answered asks again
		wait.Until(t, patience, "an answer", func() bool {
			a, err := d.purchase(t, saleID, fmt.Sprint("user-", n), token)
			return err == nil && (a.Status == http.StatusAccepted || a.Code == "sold-out")
		})
	}
	i.then()
}

func dataGoesElsewhere(t *testing.T, d *drill) {
	const saleID = "moving-sale"
	d.open(t, saleID, 10, 2)
	d.sell(t, saleID, "ada", "ben", "cem")
	i := d.meet(t, "the data must go elsewhere", saleID)
	i.see()
	d.settled(t)
	before := d.receipts(t)
	d.stop(t)
	there := &system{root: d.root, data: filepath.Join(t.TempDir(), "copy"), output: d.output}
	if err := os.CopyFS(there.data, os.DirFS(d.data)); err != nil {
		t.Fatal(err)
	}
	if err := there.prepare("-root", d.root); err != nil {
		t.Fatal(err)
	}
	defer there.stop(t)
	i.on = there
	i.do(0)
	i.then()
	if after := there.receipts(t); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("before %v\nafter  %v", before, after)
	}
	d.start(t) // the old place goes on
}

// receipts are what the books of all sales come to.
func (s *system) receipts(t *testing.T) (all []string) {
	t.Helper()
	b, err := books.Read(t.Context(), s.db(), table)
	if err != nil {
		t.Fatal(err)
	}
	for _, saleID := range b.Sales() {
		r, err := b.Recount(t.Context(), saleID, books.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s: %d seeded, %d left, %d claims, %d confirmed, %v", saleID, r.Seeded, r.Stock, r.Claims, r.Confirmed, r.Findings))
	}
	return all
}

// messageIsLost waits for reconcile's schedule.
func messageIsLost(t *testing.T, d *drill) {
	const saleID = "lost-sale"
	d.open(t, saleID, 10, 1)
	other := fmt.Sprintf(`{"v":1,"saleId":%q,"user":"ada","claimId":%q}`, "beside-sale", d.promised["beside-sale"]["ada"])
	d.send(t, 900, other, other, other) // the messages of another sale wait in the queue
	d.strand(t, saleID, "bob", 0)
	i := d.meet(t, "an order's message is lost while another sale's messages fill the queue", saleID)
	i.see()
	i.then()
	c, err := d.ledgerAgo(0).Claim(t.Context(), saleID, "bob")
	if err != nil {
		t.Fatal(err)
	}
	// While the queue is full only orders that are a minute old are sent again: it was.
	if age := c.ResentAt.Sub(c.AcceptedAt); age < time.Minute || age > ledger.ResendBound {
		t.Errorf("its message was sent again after %v", age)
	}
}
