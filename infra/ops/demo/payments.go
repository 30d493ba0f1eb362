package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/rush"
)

const (
	// payWithin is the least that a sale may leave its buyers to pay.
	payWithin = time.Minute
	// The small sale: of its buyers most pay, one cancels, and the rest never pay.
	unpaidStock, unpaidShards = 9, 3
	willPay, willNotPay       = 6, 2
	willCancel                = unpaidStock - willPay - willNotPay
	// lateBuyers come when the units are back: one more than there are units.
	lateBuyers = willNotPay + willCancel + 1
	// graceTime is the longest ReleaseGraceSeconds that the demonstration waits for,
	// its default, and a run of ReleaseFunction more.
	graceTime = 3 * time.Minute
	// lateTries is how often a late buyer asks for a unit that should be there.
	lateTries = 5
	// pollEvery separates repeated requests.
	pollEvery = time.Second
)

// paymentSale is a small sale whose buyers must pay: a third of its units come back and
// are sold again.
type paymentSale struct {
	*demonstration
	saleID string
	crowd  []rush.Buyer
	orders []string // of the first buyers, in the crowd's order
	// dueAt is when the last of these orders is to be paid, or later.
	dueAt    time.Time
	mu       sync.Mutex
	outcomes paymentOutcomes
}

// paymentOutcomes are what the buyers were told.
type paymentOutcomes struct {
	paid      int    // payments that were answered with "paid"
	cancelled int    // cancellations that were confirmed
	early     int    // orders that were released before they were due
	expired   int    // orders that the buyers saw expired
	late      string // the answer to the payment of an expired order
	resold    int    // units that late buyers got
	refused   int    // late buyers who were told that it is sold out
}

// openPayments sells the small sale out. Most buyers pay, and one cancels.
func (d *demonstration) openPayments(ctx context.Context) (*paymentSale, error) {
	p := &paymentSale{demonstration: d, saleID: "demo-paid-" + randomID()}
	now := d.now()
	if err := d.system.Seed(ctx, client.Sale{
		ID: p.saleID, Name: "Bottles to be paid for within a minute", Stock: unpaidStock, Shards: unpaidShards,
		OpensAt: now.Add(-time.Second), ClosesAt: now.Add(saleDuration), PayWithin: d.payWithin,
	}); err != nil {
		return nil, err
	}
	p.crowd = rush.Plan(d.seed, unpaidStock+lateBuyers, 1)
	if err := d.tokens(ctx, p.crowd); err != nil {
		return nil, err
	}
	var err error
	if p.orders, err = p.buy(ctx, p.crowd[:unpaidStock], p.afterwards); err != nil {
		return nil, err
	}
	if slices.Contains(p.orders, "") {
		return nil, fmt.Errorf("sale %s: not each of the first %d buyers got a bottle", p.saleID, unpaidStock)
	}
	p.dueAt = d.now().Add(d.payWithin)
	fmt.Fprintf(d.out, "sale %s is sold out: of %d buyers %d paid, %d cancelled and %d will not pay within %.0f s\n",
		p.saleID, unpaidStock, p.outcomes.paid, p.outcomes.cancelled, willNotPay, d.payWithin.Seconds())
	return p, nil
}

// afterwards is what one of the first buyers does with an order.
func (p *paymentSale) afterwards(ctx context.Context, buyer int, order string) error {
	switch {
	case buyer < willPay:
		return p.pay(ctx, buyer, order)
	case buyer < willPay+willCancel:
		a, err := p.retry(ctx, func() (client.Answer, error) {
			return p.system.Cancel(ctx, p.saleID, p.crowd[buyer].Token)
		})
		if err == nil && a.Status == http.StatusOK && a.Claim.State == "CANCELLED" {
			p.count(&p.outcomes.cancelled)
		}
		return err
	}
	_ = p.release(ctx) // this order is not due yet
	a, err := p.retry(ctx, func() (client.Answer, error) { return p.system.Mine(ctx, p.saleID, p.crowd[buyer].Token) })
	if err == nil && a.Claim.State != "CONFIRMED" {
		p.count(&p.outcomes.early)
	}
	return err
}

func (p *paymentSale) count(n *int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*n++
}

// finish waits for the units that were not paid, sells them again and checks the books.
func (p *paymentSale) finish(ctx context.Context) ([]line, error) {
	if err := p.resell(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, recountTime)
	defer cancel()
	_, counted, err := readBooks(ctx, newTable(p.system.DynamoDB), p.system.Table, p.saleID, p.now)
	if err != nil {
		return nil, err
	}
	return auditPayments(p.outcomes, counted), nil
}

// resell waits until the unpaid orders expired, pays one of them too late, and sells the
// units again.
func (p *paymentSale) resell(ctx context.Context) error {
	if err := p.expire(ctx); err != nil {
		return err
	}
	a, err := p.retry(ctx, func() (client.Answer, error) { return p.webhook(ctx, p.orders[unpaidStock-1]) })
	if err != nil {
		return err
	}
	p.outcomes.late = outcomeOf(a)
	return p.buyLate(ctx)
}

// expire runs ReleaseFunction, as its schedule does each minute, until those who did not
// pay see that their orders are expired.
func (p *paymentSale) expire(ctx context.Context) error {
	_, end := p.progress.step("the bottles that were not paid are released", 0)
	defer end()
	limited, cancel := context.WithDeadline(ctx, p.dueAt.Add(graceTime))
	defer cancel()
	if err := pause(limited, p.dueAt.Sub(p.now())); err != nil {
		return err
	}
	for {
		failed := p.release(limited)
		state, err := p.states(limited)
		if err == nil && state == "EXPIRED" {
			p.outcomes.expired = willNotPay
			return p.release(limited)
		}
		if pause(limited, pollEvery) != nil {
			return errors.Join(ctx.Err(), failed, fmt.Errorf("%d orders were not released: %s", willNotPay, state))
		}
	}
}

// release invokes ReleaseFunction. While its schedule runs it, it may be throttled.
func (p *paymentSale) release(ctx context.Context) error {
	var failed error
	for {
		failed = p.system.Ask(ctx, client.ReleaseFunction, map[string]string{"saleId": p.saleID}, nil)
		if failed == nil || pause(ctx, pollEvery) != nil {
			return failed
		}
	}
}

// states returns the state of the orders of those who do not pay, or "" if it differs.
func (p *paymentSale) states(ctx context.Context) (string, error) {
	var states []string
	for _, b := range p.crowd[willPay+willCancel : unpaidStock] {
		a, err := p.retry(ctx, func() (client.Answer, error) { return p.system.Mine(ctx, p.saleID, b.Token) })
		if err != nil {
			return "", err
		}
		states = append(states, a.Claim.State)
	}
	if states = slices.Compact(states); len(states) != 1 {
		return "", nil
	}
	return states[0], nil
}

// buyLate sends the late buyers, again and again to those who get "sold out", which may be
// two seconds old, until the returned units are sold.
func (p *paymentSale) buyLate(ctx context.Context) error {
	waiting := p.crowd[unpaidStock:]
	for range lateTries {
		orders, err := p.buy(ctx, waiting, p.pay)
		if err != nil {
			return err
		}
		var refused []rush.Buyer
		for i, order := range orders {
			if order == "" {
				refused = append(refused, waiting[i])
			}
		}
		p.outcomes.resold += len(waiting) - len(refused)
		if waiting = refused; p.outcomes.resold >= willNotPay+willCancel {
			break
		}
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
	p.outcomes.refused = len(waiting)
	return nil
}

// buy sends buyers, and each continues with their order as soon as it is confirmed, because
// then the time to pay begins. An order is "" if the buyer got none.
func (p *paymentSale) buy(ctx context.Context, crowd []rush.Buyer, then func(ctx context.Context, buyer int, order string) error) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience+p.payWithin)
	defer cancel()
	orders := make([]string, len(crowd))
	results := rush.Run(ctx, p.system, p.saleID, crowd, p.concurrency, p.now, func(rush.Result) {})
	group, ctx := errgroup.WithContext(ctx)
	for _, buyer := range rush.WhoAsks(results) {
		group.Go(func() error {
			s := rush.Follow(ctx, p.system, p.saleID, crowd, []int{buyer}, 1, p.now, func() {})[0]
			if orders[buyer] = s.Reply.Claim.OrderID; !s.Confirmed() {
				return s.Err
			}
			return then(ctx, buyer, orders[buyer])
		})
	}
	return orders, group.Wait()
}

// pay pays an order and counts the answer "paid".
func (p *paymentSale) pay(ctx context.Context, _ int, order string) error {
	a, err := p.retry(ctx, func() (client.Answer, error) { return p.webhook(ctx, order) })
	if err == nil && outcomeOf(a) == "paid" {
		p.count(&p.outcomes.paid)
	}
	return err
}

// webhook has the local stack send the signed webhook of a payment.
func (p *paymentSale) webhook(ctx context.Context, order string) (client.Answer, error) {
	return p.system.Send(ctx, http.MethodPost, "/_local/pay?order="+url.QueryEscape(order), "")
}

// outcomeOf returns "paid", or "refund-due" and its reason.
func outcomeOf(a client.Answer) string {
	if outcome, ok := webhook.Outcome(a.Status, a.Body); ok {
		return outcome
	}
	return a.String()
}

// retry repeats a request that got no answer, or one such as "busy", which is always safe.
func (p *paymentSale) retry(ctx context.Context, send func() (client.Answer, error)) (client.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	for {
		a, err := send()
		if err == nil && a.Status != http.StatusTooManyRequests && a.Status < http.StatusInternalServerError {
			return a, nil
		}
		if pause(ctx, pollEvery) != nil {
			return a, errors.Join(err, fmt.Errorf("sale %s: the last answer is %s: %w", p.saleID, a, ctx.Err()))
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// auditPayments checks what the small sale can test. It has no side effects.
func auditPayments(told paymentOutcomes, r *books.Receipt) []line {
	const bought, returned = unpaidStock, willNotPay + willCancel
	found := func(l *line, promise string) {
		for _, f := range r.Findings {
			if f.Promise == promise || promise == "" && !slices.Contains([]string{"P20", "P21", "P24"}, f.Promise) {
				l.breaks("%s", f.Text)
			}
		}
	}
	once := line{promise: "P20", says: "a bottle is paid or released, never both",
		figure: fmt.Sprintf("%d paid, %d released", r.Paid, r.Released)}
	found(&once, "P20")
	if r.Paid != int64(told.paid) || r.Released != int64(told.cancelled+told.expired) || r.Unpaid != 0 || r.Pending != 0 {
		once.breaks("the buyers saw %d orders paid, %d cancelled and %d expired, but the books have %d paid, %d released, %d unpaid and %d pending",
			told.paid, told.cancelled, told.expired, r.Paid, r.Released, r.Unpaid, r.Pending)
	}
	early := line{promise: "P21", says: "no order is released before its time",
		figure: fmt.Sprintf("%d expired", told.expired)}
	found(&early, "P21")
	if told.early != 0 {
		early.breaks("ReleaseFunction released %d orders that were not due yet", told.early)
	}
	again := line{promise: "P23", says: "what was not paid is sold again, once",
		figure: fmt.Sprintf("%d of %d bottles", told.resold, returned)}
	found(&again, "")
	if told.cancelled != willCancel || told.resold != returned || told.refused != lateBuyers-returned {
		again.breaks("%d cancelled, late buyers got %d bottles and %d refusals, not %d, %d and %d",
			told.cancelled, told.resold, told.refused, willCancel, returned, lateBuyers-returned)
	}
	if r.Claims != bought+returned || r.Stock != 0 {
		again.breaks("the books have %d orders and %d bottles left, not %d and 0", r.Claims, r.Stock, bought+returned)
	}
	payments := line{promise: "P24", says: "a payment is for its order or to refund",
		figure: fmt.Sprintf("%d paid, %d to refund", r.Paid, r.RefundsDue)}
	found(&payments, "P24")
	if told.paid != willPay+returned {
		payments.breaks("%d payments in time were answered with paid, not %d", told.paid, willPay+returned)
	}
	if told.late != "refund-due: released" || r.RefundsDue != 1 {
		payments.breaks("the payment of an expired order was answered with %q, and %d refunds are due, not 1", told.late, r.RefundsDue)
	}
	return []line{once, early, again, payments}
}
