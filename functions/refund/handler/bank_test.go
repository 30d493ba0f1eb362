package handler

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/functions/refund/provider"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// bank is a provider that keeps what it has given back, judges each request, and answers by a script.
type bank struct {
	t       *testing.T
	account string
	took    time.Duration
	// script says what becomes of the call of that number, of that payment; nil is well.
	script func(n int, reference string) how

	mu     sync.Mutex
	n, now int
	most   int            // calls at once
	ids    map[string]int // requests by id
	done   map[string]bool
	back   map[string]int64 // by the payment's reference
	at     []time.Time
	asked  int
}

type how string

const (
	well, lost, cut, hangs, busy, refuses, halts, panics how = "", "lost", "cut", "hangs", "busy", "refuses", "halts", "panics"
)

const amount = 1499

func (b *bank) Account() string { return cmp.Or(b.account, "live") }

func (b *bank) begin(reference string) (as how) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	b.now++
	b.most = max(b.most, b.now)
	b.at = append(b.at, time.Now())
	if b.script != nil {
		as = b.script(b.n, reference)
	}
	return as
}

func (b *bank) Send(ctx context.Context, r provider.Request) provider.Answer {
	as := b.begin(r.Reference)
	time.Sleep(b.took)
	if as == hangs {
		select {
		case <-ctx.Done():
		case <-time.After(30 * time.Second):
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now--
	if b.ids[r.ID]++; r.Amount != amount || r.Currency != "CNY" {
		b.t.Errorf("asked to give back %d %s of %d CNY", r.Amount, r.Currency, amount)
	}
	accepted := provider.Answer{Outcome: provider.Accepted, Refund: "re_" + r.ID}
	switch code := string(as); as {
	case refuses, refuses + "0", refuses + "1", refuses + "2", refuses + "3", refuses + "4":
		if !b.done[r.ID] {
			return provider.Answer{Outcome: provider.Refused, Code: code, Words: "not now"}
		}
	case busy:
		return provider.Answer{Outcome: provider.Busy, Code: code, Wait: 3 * time.Second}
	case halts:
		return provider.Answer{Outcome: provider.Halted, Code: code, Words: "the key may not refund"}
	case panics:
		panic("a bug")
	case cut, hangs:
		return provider.Answer{Code: code}
	}
	if !b.done[r.ID] {
		if b.back[r.Reference] += r.Amount; b.back[r.Reference] > amount {
			b.t.Errorf("%s is given back twice: %d of %d", r.Reference, b.back[r.Reference], amount)
		}
		b.done[r.ID] = true
	}
	if as == lost {
		return provider.Answer{Code: string(as)}
	}
	return accepted
}

func (b *bank) Ask(_ context.Context, r provider.Request) provider.Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked++; !b.done[r.ID] {
		return provider.Answer{Outcome: provider.Absent}
	}
	return provider.Answer{Outcome: provider.Accepted, Refund: "re_" + r.ID}
}

// world is a real ledger over the in-process table, in virtual time, and the banks with their keys.
type world struct {
	testledger.Scheduled
	banks map[string]*bank
	keys  map[string]provider.Provider
	wrong map[string]error
	reads atomic.Int64 // of the keys
}

func in(t *testing.T, test func(w *world)) {
	t.Helper()
	testledger.Run(t, func(tw *testledger.World) {
		w := &world{
			Scheduled: testledger.Scheduled{World: tw}, banks: map[string]*bank{}, keys: map[string]provider.Provider{},
		}
		for _, name := range []string{"stripe", "wechat-pay", "alipay", "adyen"} {
			b := &bank{t: t, ids: map[string]int{}, done: map[string]bool{}, back: map[string]int64{}}
			w.banks[name], w.keys[name] = b, b
		}
		test(w)
	})
}

// due makes that many refunds due, of payments of orders that nobody knows, with references from first on.
func (w *world) due(name string, first, n int) {
	w.T.Helper()
	for i := range n {
		p := sale.Payment{Provider: name, Reference: fmt.Sprintf("p%03d", first+i), Amount: amount, Currency: "CNY"}
		if _, err := w.Ledger().Pay(w.T.Context(), p); err != nil {
			w.T.Fatal(err)
		}
	}
}

// press begins a sending of what is due, at most that many.
func (w *world) press(id string, count int64, scope ...sale.SendingScope) string {
	w.T.Helper()
	time.Sleep(time.Second)
	s := sale.Sending{
		ID: sale.SendingID(time.Now(), id), AsOf: time.Now(), Count: count, Sums: map[string]int64{"CNY": count * amount},
		Author: sale.Author{Actor: "ann", Note: "recalled"},
	}
	for _, s.Scope = range scope {
	}
	if _, _, err := w.Ledger().BeginSending(w.T.Context(), s); err != nil {
		w.T.Fatal(err)
	}
	return s.ID
}

func (w *world) handler() *Handler {
	return New(w.Ledger(), func(context.Context) (map[string]provider.Provider, map[string]error, error) {
		w.reads.Add(1)
		return w.keys, w.wrong, nil
	}, telemetry.New(&w.Log, "refund", time.Now), time.Now)
}

// run invokes the function as its schedule does, a minute after the last time.
func (w *world) run() (Answer, error) {
	w.T.Helper()
	began := time.Now()
	a, err := testledger.Invoke(&w.Scheduled, w.handler().Handle, string(httpapitest.Event(w.T, "refund-all.json")), time.Minute)
	time.Sleep(time.Until(began.Add(time.Minute)))
	return a, err
}

func (w *world) sending(id string) sale.Sending {
	w.T.Helper()
	s, err := w.Ledger().Sending(w.T.Context(), id)
	if err != nil {
		w.T.Fatal(err)
	}
	return s
}

// finish runs until the sending has ended.
func (w *world) finish(id string) sale.Sending {
	w.T.Helper()
	for range 300 {
		s := w.sending(id)
		if !s.IsOpen() {
			return s
		}
		time.Sleep(time.Until(s.NextAt))
		_, _ = w.run()
	}
	w.T.Fatalf("it goes on for hours: %+v", w.sending(id))
	return sale.Sending{}
}

// sent returns what is known of the refunds of unknown orders, by payment.
func (w *world) sent() map[string]sale.Sent {
	w.T.Helper()
	all := map[string]sale.Sent{}
	for s := (sale.Sending{}); ; {
		page, err := w.Ledger().SendingPage(w.T.Context(), &s, 100)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, r := range page.Refunds {
			all[r.Payment] = r.Sent
		}
		if s.SaleID, s.After = page.SaleID, page.After; page.IsLast {
			return all
		}
	}
}

// agree fails unless what is known of each refund is what its bank has done.
func (w *world) agree() (accepted int) {
	w.T.Helper()
	for payment, sent := range w.sent() {
		name, reference := sale.ProviderOf(payment), payment[len(sale.ProviderOf(payment))+1:]
		back := w.banks[name].back[reference]
		if is := sent.State == sale.SentAccepted; is != (back == amount) || sent.State == sale.SentUnknown {
			w.T.Errorf("%s: the bank gave back %d, and it is said to be %+v", payment, back, sent)
		} else if is {
			accepted++
		}
	}
	return accepted
}
