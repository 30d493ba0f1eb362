package handler

import (
	"cmp"
	"context"
	"fmt"
	"strings"
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
	// script says what becomes of the call of that number, of that payment.
	script func(n int, reference string) how

	mu    sync.Mutex
	n     int
	under map[string]bool   // calls that are under way, by reference
	most  int               // calls at once
	ids   map[string]int    // requests by id
	back  map[string]string // the id under which a payment went back, by its reference
	at    []time.Time
	asked int
}

// how is what becomes of a call. There are more codes of refusals: what begins with refuses.
type how string

const (
	well, lost, cut, hangs, busy, refuses, halts, panics how = "", "lost", "cut", "hangs", "busy", "refuses", "halts", "panics"
	lostHalts                                            how = "lost, and its repeat halts"
)

// first is the script of so many calls that go the same way, before all is well.
func first(calls int, as how) func(int, string) how {
	return func(n int, _ string) how { return map[bool]how{true: as}[n <= calls] }
}

const amount = 1499

func (b *bank) Account() string { return cmp.Or(b.account, "live") }

func (b *bank) Send(ctx context.Context, r provider.Request) provider.Answer {
	b.mu.Lock()
	if b.n, b.at = b.n+1, append(b.at, time.Now()); b.under[r.Reference] {
		b.t.Errorf("two calls at once of %s", r.Reference)
	}
	b.under[r.Reference] = true
	b.most = max(b.most, len(b.under))
	as := b.script(b.n, r.Reference)
	b.mu.Unlock()
	time.Sleep(b.took)
	if as == hangs {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		<-ctx.Done()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.under, r.Reference)
	if b.ids[r.ID]++; r.Amount != amount || r.Currency != "CNY" {
		b.t.Errorf("asked to give back %d %s of %d CNY", r.Amount, r.Currency, amount)
	}
	a, id := provider.Answer{Code: string(as)}, b.back[r.Reference]
	switch {
	case as == panics:
		panic("a bug")
	case as == cut, as == hangs:
		return a
	case as == busy:
		a.Outcome, a.Wait = provider.Busy, 3*time.Second
		return a
	case as == halts:
		a.Outcome, a.Words = provider.Halted, "the key may not refund"
		return a
	case as == lostHalts:
		b.back[r.Reference], a.Outcome, a.IsRepeat = r.ID, provider.Halted, true
		return a
	case strings.HasPrefix(string(as), string(refuses)) && id != r.ID:
		a.Outcome, a.Words = provider.Refused, "not now"
		return a
	case id != "" && id != r.ID:
		b.t.Errorf("%s is given back twice", r.Reference)
	}
	if b.back[r.Reference] = r.ID; as == lost {
		return a
	}
	return provider.Answer{Outcome: provider.Accepted, Refund: "re_" + r.ID}
}

func (b *bank) Ask(_ context.Context, r provider.Request) provider.Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked++; b.back[r.Reference] != r.ID {
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
			b := &bank{t: t, script: first(0, well), under: map[string]bool{}, ids: map[string]int{}, back: map[string]string{}}
			w.banks[name], w.keys[name] = b, b
		}
		test(w)
	})
}

func (w *world) must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// due makes that many refunds due, of payments of orders that nobody knows, with references from first on.
func (w *world) due(name string, first, n int) {
	w.T.Helper()
	for i := range n {
		p := sale.Payment{Provider: name, Reference: fmt.Sprintf("p%03d", first+i), Amount: amount, Currency: "CNY"}
		_, err := w.Ledger().Pay(w.T.Context(), p)
		w.must(err)
	}
}

// press begins a sending of what is due, at most that many.
func (w *world) press(id string, count int64, payments ...sale.SalePayment) string {
	w.T.Helper()
	time.Sleep(time.Second)
	s := sale.Sending{
		ID: sale.SendingID(time.Now(), id), AsOf: time.Now(), Count: count, Sums: map[string]int64{"CNY": count * amount},
		Author: sale.Author{Actor: "ann", Note: "recalled"}, Scope: sale.SendingScope{Payments: payments},
	}
	_, _, err := w.Ledger().BeginSending(w.T.Context(), s)
	w.must(err)
	return s.ID
}

func (w *world) stop(id string) {
	w.T.Helper()
	_, _, err := w.Ledger().StopSending(w.T.Context(), id, "bob")
	w.must(err)
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
	w.must(err)
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

// sent returns what is known of the refunds, which are of unknown orders, by payment.
func (w *world) sent() map[string]sale.Sent {
	w.T.Helper()
	page, err := w.Ledger().SendingPage(w.T.Context(), &sale.Sending{}, 100)
	w.must(err)
	all := map[string]sale.Sent{}
	for _, r := range page.Refunds {
		all[r.Payment] = r.Sent
	}
	return all
}

// agree fails unless what is known of each refund is what its bank has done.
func (w *world) agree() (accepted int) {
	w.T.Helper()
	for payment, sent := range w.sent() {
		name, reference, _ := strings.Cut(payment, "#")
		id := w.banks[name].back[reference]
		is := sent.State == sale.SentAccepted
		if is != (id != "") || sent.State == sale.SentUnknown {
			w.T.Errorf("%s: the bank gave back under %q, and it is said to be %+v", payment, id, sent)
		}
		if is {
			accepted++
		}
	}
	return accepted
}
