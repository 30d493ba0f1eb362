package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
	"flashsale/shared/sale"
)

// bank is a payment that must go back, and what its provider has done with it, by its own count.
type bank struct {
	Paid, Back, Waits int64
	Refunds, Calls    int
}

var banks = []string{webhook.Stripe, webhook.WeChatPay, webhook.Alipay, webhook.Adyen}

// told tells the stack's providers something, at a path below theirs, and returns what they count, by payment, and how many
// calls they have had.
func (v visit) told(path, body string) (all map[string]bank, calls int) {
	v.t.Helper()
	const root = "/_local/providers"
	var stack struct{ Providers string }
	var read map[string]struct{ Payments map[string]bank }
	err := json.Unmarshal(v.send(http.MethodGet, v.API, "/_local/health", "").Body, &stack)
	if path != "" {
		if a := v.send(http.MethodPost, stack.Providers, root+path, body); a.Status != http.StatusOK && a.Status != http.StatusConflict {
			v.t.Fatalf("%s %s: %v", path, body, a)
		}
	}
	if err = errors.Join(err, json.Unmarshal(v.send(http.MethodGet, stack.Providers, root, "").Body, &read)); err != nil {
		v.t.Fatal(err)
	}
	all = map[string]bank{}
	for name, of := range read {
		for reference, b := range of.Payments {
			all[name+"#"+reference], calls = b, calls+b.Calls
		}
	}
	return all, calls
}

// refunds are those of the sale.
func (v visit) refunds(saleID string) []sale.Refund {
	v.t.Helper()
	all, err := v.ledgerAgo(0).Refunds(v.t.Context(), saleID)
	if err != nil {
		v.t.Fatal(err)
	}
	return all
}

// runTwo runs two RefundFunctions at once, until both have ended or died.
func (v visit) runTwo() (ended chan struct{}) {
	ended = make(chan struct{})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { _, _ = v.plain.Invoke(v.t.Context(), "RefundFunction", []byte("{}")) })
	}
	go func() { both.Wait(); close(ended) }()
	return ended
}

// expire lets the leases end that were taken before an instant, since when nobody calls, and what sendings wait for. It
// reports whether one of these goes on.
func (v visit) expire(saleID string, before time.Time) (goesOn bool) {
	v.t.Helper()
	past := v.ledgerAgo(sale.LeaseFor)
	for _, r := range v.refunds(saleID) {
		if taken := r.Sent.Lease.Add(-sale.LeaseFor); r.Sent.State == sale.SentUnknown && taken.Before(before) {
			_, _, _ = past.TakeRefund(v.t.Context(), r, &sale.Sending{ID: r.Sent.By}, r.Sent.Account) // unless it has changed
		}
	}
	all, err := past.Sendings(v.t.Context())
	for _, s := range all {
		goesOn = goesOn || s.IsOpen()
		if next := s; !s.NextAt.IsZero() {
			next.NextAt = time.Time{}
			_, _ = past.SaveSending(v.t.Context(), s, next)
		}
	}
	return goesOn || err != nil
}

// Payments go back while two RefundFunctions run at once and are killed, most answers are lost, and a person gives some back
// by hand. By the providers' own count each goes back once and whole, and they would give back more.
func TestEveryPaymentGoesBackOnceWhateverIsKilled(t *testing.T) {
	s := shared(t)
	seed := time.Now().UnixNano()
	chance := rand.New(rand.NewPCG(uint64(seed), 1))
	saleID := fmt.Sprint("refunds-", seed)
	t.Logf("seed %d", seed)
	s.stop()
	s.start("-faults", "mild,send=0", "-parameter", "PurchaseReservedConcurrency=0") // which allows two RefundFunctions
	behave := func(text string) {
		for _, name := range banks {
			s.told("/"+name, text)
		}
	}
	behave(`{"generous":true}`)
	s.create(client.Sale{ID: saleID, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour), Stock: 1, Shards: 1, PayWithin: time.Hour})
	order := s.order(saleID, "ada")
	number, _ := strconv.ParseInt(order, 10, 64)
	var references []string
	pay := func(n int) { // payments that are one too many
		for range n {
			name, i := banks[len(references)%len(banks)], len(references)
			p := webhook.Payment{SaleID: saleID, OrderID: order, PaymentID: webhook.PaymentID(name, fmt.Sprint(number+int64(i))), Amount: client.Price, Currency: client.Currency}
			references = append(references, name+"/payments/"+p.PaymentID)
			r, _ := p.Request(t.Context(), s.API, name, webhook.LocalSecrets[name], time.Now())
			if a, err := s.client.Do(r); err != nil || a.Status/100 != 2 {
				t.Fatalf("%s reports a payment: %v, %v", name, a, err)
			}
		}
	}

	token, err := s.client.Token(t.Context(), "ann", "role", "cashier")
	if err != nil {
		t.Fatal(err)
	}
	press := func(id string, count int) { // twice, as a browser does that got no answer
		body := fmt.Sprintf(`{"id":%q,"asOf":%q,"count":%d,"sums":{"CNY":%d},"saleId":%q}`, id, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), count, count*client.Price, saleID)
		for range 2 {
			if a := s.send(http.MethodPost, s.Operate, "/operate/sendings", body, bearer(s.remember(token))...); a.Status != http.StatusOK {
				t.Fatalf("%s gets %v", body, a)
			}
		}
	}

	pay(21) // the first one is the order's
	press("calm", 20)
	<-s.runTwo()
	all, _ := s.told("", "")
	for payment, b := range all {
		if b.Calls > 1 {
			t.Errorf("%s: two runs at once made %d calls, want 1", payment, b.Calls)
		}
	}

	pay(40)
	behave(`{"loseAnswers":0.7}`)
	press("one", 40)
	press("another", 40)
	for i, reference := range references[21:25] {
		if name := banks[(21+i)%len(banks)]; name != webhook.Alipay { // which reports no whole refund
			s.told("/"+reference, fmt.Sprintf(`{"back":%d}`, client.Price))
		}
	}
	kills := 0
	for _, more := range []int{0, 1, 3, 6, 10, 15, 0, 2, 15, 6, 10, 3} {
		_, before := s.told("", "")
		calls, ended := before, s.runTwo()
		time.Sleep(time.Duration(chance.IntN(100)) * time.Millisecond)
		for end := time.Now().Add(2 * time.Second); calls < before+more && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
			_, calls = s.told("", "")
		}
		running := s.processes()
		for _, p := range slices.Concat(running["RefundFunction"], running["PayFunction"]) {
			if p.Signal(syscall.SIGKILL) == nil {
				kills++
			}
		}
		<-ended
		killed := time.Now()
		time.Sleep(100 * time.Millisecond) // what the dead have sent arrives
		s.expire(saleID, killed)
	}
	behave(`{"loseAnswers":0}`)
	s.eventually("every sending has ended", func() bool {
		<-s.runTwo()
		return !s.expire(saleID, time.Now())
	})
	s.eventually("every payment is back", func() bool {
		return !slices.ContainsFunc(s.refunds(saleID), func(r sale.Refund) bool { return r.RefundedAt.IsZero() })
	})
	all, calls := s.told("", "")
	for i, reference := range references {
		b, want := all[strings.Replace(reference, "/payments/", "#", 1)], min(i, 1)
		if b.Refunds != want || b.Back != int64(want)*b.Paid || b.Waits != 0 {
			t.Errorf("%s: %d of %d went back, in %d refunds, want %d", reference, b.Back, b.Paid, b.Refunds, want)
		}
	}
	s.balances(s.items(), saleID)
	if t.Logf("%d kills, %d calls", kills, calls); kills < 24 || calls < 100 {
		t.Errorf("%d kills and %d calls for 60 payments are no storm", kills, calls)
	}
	s.stop()
	s.start()
}
