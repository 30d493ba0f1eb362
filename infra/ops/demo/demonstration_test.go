package main

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/client"
	"flashsale/shared/ledger"
)

// systemAt returns the system whose shop is at the address.
func systemAt(t *testing.T, address string) client.System {
	t.Helper()
	s, err := client.Find(t.Context(), address, client.Options{Connections: 16})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// demonstrate runs a small demonstration against a shop and returns its lines.
func demonstrate(t *testing.T, f flaws) []line {
	t.Helper()
	offline(t)
	server := httptest.NewServer(newShop(f))
	defer server.Close()
	d := demonstration{
		options:  options{buyers: 40, stock: 12, shards: 4, clicks: 3, concurrency: 16, seed: 7},
		system:   systemAt(t, server.URL),
		out:      io.Discard,
		progress: progress{w: io.Discard},
		now:      time.Now,
		patience: 30 * time.Second,
	}
	if f.neverConfirms {
		d.patience = 200 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lines, err := d.run(ctx)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return lines
}

// broken returns the promises that do not hold.
func broken(lines []line) []string {
	var promises []string
	for _, l := range lines {
		if len(l.broken) > 0 {
			promises = append(promises, l.promise)
		}
	}
	return promises
}

func TestTheReceiptNamesThePromiseAShopBreaks(t *testing.T) {
	for _, c := range []struct {
		name  string
		flaws flaws
		want  []string // at least these promises
		exact bool
	}{
		{name: "a shop that keeps its promises", exact: true},
		{name: "a shop that is busy at first keeps its promises", flaws: flaws{busyFirst: true}, exact: true},
		{name: "a shop whose answers get lost keeps its promises", flaws: flaws{dropsSomeReply: true}, exact: true},
		{name: "one that oversells", flaws: flaws{oversells: true}, want: []string{"P1"}},
		{name: "one that sells twice to one buyer", flaws: flaws{sellsTwice: true}, want: []string{"P3", "P9"}},
		{name: "one that forgets what it accepted", flaws: flaws{forgets: true}, want: []string{"P2", "P4"}},
		{name: "one that answers sold out while units are left", flaws: flaws{turnsAway: true}, want: []string{"P1", "P5 P6"}},
		{name: "one that ignores Idempotency-Keys", flaws: flaws{ignoresKeys: true}, want: []string{"P9"}, exact: true},
		{name: "one that answers a repeat differently", flaws: flaws{rewords: true}, want: []string{"P9"}, exact: true},
		{name: "one that never confirms", flaws: flaws{neverConfirms: true}, want: []string{"P8"}, exact: true},
		{name: "one that gives everybody the same order id", flaws: flaws{sharesID: true}, want: []string{"P7"}},
		{name: "one whose order ids contain a wrong time", flaws: flaws{backdates: true}, want: []string{"P7", "P7"}, exact: true},
		{name: "one that loses the order items", flaws: flaws{losesOrders: true}, want: []string{"P7"}, exact: true},
		{name: "one that miscounts a shard", flaws: flaws{miscounts: true}, want: []string{"P2"}},
		{name: "one that has internal errors", flaws: flaws{breaks: true}, want: []string{"P5 P6"}},
		{name: "one that denies orders it accepted", flaws: flaws{hidesStatus: true}, want: []string{"P8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := demonstrate(t, c.flaws)
			got := broken(lines)
			if c.exact {
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("broken promises (-want +got):\n%s%v", diff, lines)
				}
				return
			}
			for _, p := range c.want {
				if !strings.Contains(strings.Join(got, ","), p) {
					t.Errorf("broken promises are %q, want %s among them", got, p)
				}
			}
		})
	}
}

func TestADemonstrationThatCannotMakeItsSaleFails(t *testing.T) {
	offline(t)
	server := httptest.NewServer(newShop(flaws{}))
	defer server.Close()
	d := demonstration{
		options: options{buyers: 1, stock: 1, shards: 1, clicks: 1, concurrency: 1},
		system:  client.System{Client: client.New(server.URL, client.Options{Lambda: server.URL + "/elsewhere"})},
		out:     io.Discard, progress: progress{w: io.Discard}, now: time.Now, patience: time.Minute,
	}
	if _, err := d.run(t.Context()); err == nil || !strings.Contains(err.Error(), "create sale") {
		t.Errorf("error is %v, want one that names the creation of the sale", err)
	}
}

func TestADemonstrationEndsWhenItIsInterrupted(t *testing.T) {
	offline(t)
	server := httptest.NewServer(newShop(flaws{neverConfirms: true}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := demonstration{
		options:  options{buyers: 5, stock: 1, shards: 1, clicks: 1, concurrency: 4, seed: 1},
		system:   systemAt(t, server.URL),
		out:      cancelOnWrite{"answers to 5 clicks", cancel},
		progress: progress{w: io.Discard}, now: time.Now, patience: time.Minute,
	}
	if _, err := d.run(ctx); err == nil {
		t.Error("an interrupted demonstration reports no error")
	}
}

// cancelOnWrite calls cancel when the text is printed.
type cancelOnWrite struct {
	text   string
	cancel context.CancelFunc
}

func (c cancelOnWrite) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), c.text) {
		c.cancel()
	}
	return len(p), nil
}

func TestTheWinnersWaitAsLongAsALostMessageMayTake(t *testing.T) {
	if confirmTime <= ledger.ResendBound {
		t.Errorf("they wait %v, but an order may be confirmed as late as %v after its acceptance (P8)", confirmTime, ledger.ResendBound)
	}
}
