package system

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/rush"
	"flashsale/infra/kit/verdict"
)

// The race detector is in the functions' programs. Each takes up to 32 events at once: a crowd buys, looks and
// pays twice at once, while operators look.
func TestManyEventsInOneProcessDoNotRace(t *testing.T) {
	s := shared(t)
	programs := t.TempDir()
	build := exec.Command("go", "build", "-race", "-ldflags=-s", "-o", programs, "./functions/...")
	build.Dir, build.Env = project, append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the race detector needs a C compiler: %v\n%s", err, out)
	}
	functions, err := filepath.Glob(filepath.Join(s.root, ".build/host/*Function"))
	if err != nil || len(functions) == 0 {
		t.Fatalf("functions %q, %v", functions, err)
	}
	deploy := func(from string, more ...string) {
		s.stop()
		for _, f := range functions {
			name := filepath.Base(f)
			s.deploy(name, filepath.Join(from, strings.ToLower(strings.TrimSuffix(name, "Function"))))
		}
		s.start(more...)
	}
	deploy(programs, "-at-once", "32")
	defer deploy(filepath.Join(project, ".build/host"))
	mark := len(s.log())

	const saleID, units, buyers = "raced", 150, 300
	s.create(client.Sale{ID: saleID, OpensAt: time.Now().Add(-time.Minute), ClosesAt: time.Now().Add(time.Hour), Stock: units, Shards: 4, PayWithin: time.Hour})
	crowd := rush.Plan(1, buyers, 3)
	for i := range crowd {
		crowd[i].Token = s.token(crowd[i].User)
	}
	history := verdict.New(verdict.Sale{Units: units, Shards: 4, AsksForPayment: true})
	r := rush.Rush{API: s.client, SaleID: saleID, Crowd: crowd, InFlight: 64, Insists: true, Whole: true, History: history}
	r.Run(t.Context(), func() {})
	r.Follow(t.Context())
	all := s.items()
	var paying sync.WaitGroup
	for i, c := range all.Sale(saleID).Claims {
		provider := webhook.Told[i%len(webhook.Told)]
		paying.Go(func() {
			s.pays(history, c.User, provider, webhook.Payment{SaleID: saleID, OrderID: c.OrderID, PaymentID: c.ClaimID, Amount: client.Price, Currency: client.Currency})
		})
	}
	paying.Wait()
	all = s.items()
	s.balances(all, saleID)
	for _, f := range history.Compare(all.Sale(saleID)) {
		t.Error(f)
	}
	if _, race, found := bytes.Cut(s.log()[mark:], []byte("DATA RACE")); found {
		t.Errorf("a race:\n%s", race[:min(len(race), 4000)])
	}
}
