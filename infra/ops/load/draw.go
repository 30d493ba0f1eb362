package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/drawcheck"
	"flashsale/infra/kit/drawcheck/rules"
	"flashsale/infra/local/launch"
)

// drawParameters make the times of a draw so short that a demonstration can wait for them.
const drawParameters = "DrawSettleSeconds=4 DrawDiceSeconds=6 DrawGapSeconds=6"

// leadTime is their sum, the least time from the end of entering to the first call. A variable so that tests
// need not wait for it.
var leadTime = 16 * time.Second

// enterTime is how long people may enter: longer than a busy machine needs.
var enterTime = 20 * time.Second

// drawPreset are the flags of the demonstration of a draw.
var drawPreset = map[string]string{
	"buyers": "500", "stock": "50", "shards": "5", "clicks": "1", "inflight": "64", "patience": "5m30s", "drain": "10m",
}

const (
	// outsiders try to buy without having entered.
	outsiders = 20
	// callLimit is how late a call may begin (P31).
	callLimit = 3 * time.Minute
	keepFor   = time.Hour
)

// lottery is one run of the demonstration of a draw.
type lottery struct {
	demonstration
	closes time.Time // of entering

	mu       sync.Mutex
	found    []books.Finding
	leaves   map[string]drawcheck.Leaf // of the entrants, by user
	claims   map[string]string         // ids that the answers named, by user
	outcomes map[string]client.Outcome // of the last try to buy, by user
}

func (l *lottery) find(promise, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = append(l.found, books.Finding{Promise: promise, Text: fmt.Sprintf(format, args...)})
}

// demonstrateDraw plays a draw from its entering to the last order.
func (o options) demonstrateDraw(ctx context.Context, stdout io.Writer, bar progress) ([]saleReceipt, error) {
	system, err := client.Find(ctx, o.url, client.Options{Transport: transport(o.inflight, false)})
	if err != nil {
		return nil, err
	}
	defer system.Close()
	l := &lottery{
		demonstration: demonstration{o, place{stock: o.stock, system: system, sale: newSaleID("demo-draw")}, stdout, bar},
		leaves:        map[string]drawcheck.Leaf{}, claims: map[string]string{}, outcomes: map[string]client.Outcome{},
	}
	if l.at.tokens, err = fetchTokens(ctx, system.Client, o.buyers+outsiders, bar); err != nil {
		return nil, err
	}
	now := time.Now()
	l.closes = now.Add(enterTime).Truncate(time.Millisecond)
	err = system.Seed(ctx, client.Sale{
		ID: l.at.sale, Name: "Bottles to be drawn for", Stock: o.stock, Shards: min(o.shards, o.stock), OpensAt: l.closes.Add(leadTime), ClosesAt: now.Add(saleTime),
		EnterFrom: now.Add(-time.Second), EnterUntil: l.closes, KeepFor: keepFor,
	})
	if refusal, ok := errors.AsType[*client.Refusal](err); ok {
		return nil, fmt.Errorf("%w; a draw that is played in a minute needs a stack that was started with PARAMETERS='%s'", refusal, drawParameters)
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(l.out, "sale %s: entering until %s\n", l.at.sale, l.closes.Format(time.TimeOnly))
	lines, err := l.play(ctx)
	return []saleReceipt{{l.at.sale, lines}}, err
}

func (l *lottery) play(ctx context.Context) ([]line, error) {
	ctx, cancel := context.WithTimeout(ctx, l.patience+l.drain)
	defer cancel()
	if err := l.enterAll(ctx); err != nil {
		return nil, err
	}
	if err := l.untilCalled(ctx); err != nil {
		return nil, err
	}
	published, err := drawcheck.Read(ctx, l.at.system.Client, l.at.sale, func(int64, int64) {})
	if err != nil {
		return nil, err
	}
	report := published.Check()
	for _, wrong := range slices.Concat(report.Wrong, report.Pending) {
		l.find("P28", "%s", wrong)
	}
	if err := l.buyAll(ctx, report); err != nil {
		return nil, err
	}
	_, end := l.bar.step("the table is recounted", 0)
	defer end()
	sale, receipt, err := l.recount(ctx, l.at.sale)
	if err != nil {
		return nil, err
	}
	return l.audit(report, sale, receipt), nil
}

// each calls do for users from..until-1, as many at once as there may be requests in flight.
func (l *lottery) each(ctx context.Context, what string, users []int, do func(ctx context.Context, user int)) error {
	one, end := l.bar.step(what, len(users))
	defer end()
	var all sync.WaitGroup
	slots := make(chan struct{}, l.inflight)
	for _, user := range users {
		slots <- struct{}{}
		all.Go(func() {
			do(ctx, user)
			one()
			<-slots
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func upTo(from, until int) (users []int) {
	for i := from; i < until; i++ {
		users = append(users, i)
	}
	return users
}

// repeat makes a request again until it is not told to ask later, or the context ends.
func repeat(ctx context.Context, ask func(context.Context) (client.Answer, error)) (a client.Answer, err error) {
	for {
		a, err = ask(ctx)
		if err == nil && a.Status != http.StatusTooManyRequests && a.Status < http.StatusInternalServerError {
			return a, nil
		}
		if !waitUntil(ctx, time.Now().Add(min(max(a.RetryAfter, minWait), pollEvery))) {
			return a, context.Cause(ctx)
		}
	}
}

// enterAll enters the entrants, twice each: the second receipt must be the first one. Whoever
// comes after the end is refused.
func (l *lottery) enterAll(ctx context.Context) error {
	err := l.each(ctx, "people have entered", upTo(0, l.buyers), func(ctx context.Context, i int) {
		var leaves []string
		for range 2 {
			a, err := repeat(ctx, func(ctx context.Context) (client.Answer, error) {
				return l.at.system.Enter(ctx, l.at.sale, l.at.tokens[i])
			})
			var receipt struct {
				Nonce drawcheck.Nonce `json:"nonce"`
				Leaf  drawcheck.Leaf  `json:"leaf"`
			}
			switch {
			case err != nil:
				return
			case a.Status != http.StatusOK || json.Unmarshal(a.Body, &receipt) != nil:
				l.find("P27", "%s could not enter: %v", userName(i), a)
				return
			case rules.LeafOf(userName(i), receipt.Nonce) != receipt.Leaf:
				l.find("P27", "the leaf of %s does not follow from its nonce", userName(i))
			}
			leaves = append(leaves, receipt.Leaf.String())
			l.mu.Lock()
			l.leaves[userName(i)] = receipt.Leaf
			l.mu.Unlock()
		}
		if leaves[0] != leaves[1] {
			l.find("P27", "%s entered twice and has two leaves", userName(i))
		}
	})
	if err != nil {
		return err
	}
	if !waitUntil(ctx, l.closes) {
		return context.Cause(ctx)
	}
	a, err := repeat(ctx, func(ctx context.Context) (client.Answer, error) {
		return l.at.system.Enter(ctx, l.at.sale, l.at.tokens[l.buyers])
	})
	if err == nil && (a.Status != http.StatusGone || a.Code != "entering-closed") {
		l.find("P27", "whoever enters after the end is told %v", a)
	}
	return err
}

// untilCalled has DrawFunction do its work, tells what it has done, and returns when the first
// call runs.
func (l *lottery) untilCalled(ctx context.Context) error {
	led, stop := context.WithCancel(ctx)
	var leading sync.WaitGroup
	leading.Go(func() {
		for led.Err() == nil {
			// While its schedule runs it, it may be throttled.
			_ = l.at.system.Ask(led, client.DrawFunction, map[string]string{"saleId": l.at.sale}, nil)
			waitUntil(led, time.Now().Add(pollEvery))
		}
	})
	defer leading.Wait()
	defer stop()
	limit := l.closes.Add(leadTime + callLimit)
	_, end := l.bar.step("the draw", 0)
	defer end()
	var noted drawcheck.Sale
	for said := 0; ; {
		a, err := repeat(ctx, func(ctx context.Context) (client.Answer, error) { return l.at.system.Sale(ctx, l.at.sale) })
		if err != nil {
			return err
		}
		s, err := drawcheck.ReadSale(a.Body)
		if err != nil {
			return err
		}
		if said == 0 && s.Round != 0 {
			said, noted = 1, s
			fmt.Fprintf(l.out, "the roll is closed: %s entrants, digest %s; round %d decides\n", thousands(int(s.Entrants)), s.Roll, s.Round)
		}
		if said == 1 && len(s.Signature) > 0 {
			said = 2
			fmt.Fprintf(l.out, "the dice have fallen: seed %s\n", s.Seed)
		}
		if noted.Round != 0 && (s.Roll != noted.Roll || s.Round != noted.Round) {
			l.find("P28", "the roll was %s with round %d, and is %s with round %d now", noted.Roll, noted.Round, s.Roll, s.Round)
		}
		if n := len(s.Calls); n > 0 && s.Calls[n-1].Hi != nil {
			c := s.Calls[n-1]
			fmt.Fprintf(l.out, "call %d: those up to rank %s may buy from %s until %s\n", c.Number, c.Hi, c.From.Local().Format(time.TimeOnly), c.Until.Local().Format(time.TimeOnly))
			waitUntil(ctx, c.From.Add(minWait))
			return context.Cause(ctx)
		}
		if time.Now().After(limit) {
			return fmt.Errorf("nobody was called within %v after the sale began", callLimit)
		}
		if !waitUntil(ctx, time.Now().Add(pollEvery/2)) {
			return context.Cause(ctx)
		}
	}
}

// isCalled reports whether a user may buy in the call.
func (l *lottery) isCalled(r *drawcheck.Report, user int) bool {
	leaf, entered := l.leaves[userName(user)]
	return entered && r.Turn(leaf).Call != nil
}

// buyAll has everybody try to buy, but for half of the called: their units must still be there
// when all others have tried. Then everybody tries again.
func (l *lottery) buyAll(ctx context.Context, r *drawcheck.Report) error {
	var patient, first []int
	for _, i := range upTo(0, l.buyers+outsiders) {
		if l.isCalled(r, i) && len(patient) < l.stock/2 {
			patient = append(patient, i)
		} else {
			first = append(first, i)
		}
	}
	if err := l.each(ctx, "people have tried to buy", first, l.buy(r)); err != nil {
		return err
	}
	all, err := books.Read(ctx, launch.Table(l.at.system.DynamoDB), l.at.system.Table)
	if err != nil {
		return err
	}
	left := all.Sale(l.at.sale).Stock()
	fmt.Fprintf(l.out, "%d of the called have not come yet, and %d bottles are left\n", len(patient), left)
	if left < int64(len(patient)) {
		l.find("P30", "%d bottles are left for %d people who were called and have not bought", left, len(patient))
	}
	if err := l.each(ctx, "people have tried to buy", append(patient, first...), l.buy(r)); err != nil {
		return err
	}
	var winners []int
	for _, i := range upTo(0, l.buyers+outsiders) {
		if l.claims[userName(i)] != "" {
			winners = append(winners, i)
		}
	}
	return l.each(ctx, "orders are confirmed", winners, l.confirm)
}

// buy tries once to buy and judges the answer.
func (l *lottery) buy(r *drawcheck.Report) func(ctx context.Context, i int) {
	return func(ctx context.Context, i int) {
		user := userName(i)
		a, err := repeat(ctx, func(ctx context.Context) (client.Answer, error) {
			return l.at.system.Buy(ctx, l.at.sale, l.at.tokens[i], "demo")
		})
		if err != nil {
			return
		}
		outcome, _ := client.JudgePurchase(l.at.sale, a)
		l.mu.Lock()
		before := l.claims[user]
		l.outcomes[user] = outcome
		if outcome == client.Accepted {
			l.claims[user] = a.Claim.ClaimID
		}
		l.mu.Unlock()
		switch isCalled := l.isCalled(r, i); {
		case isCalled && outcome != client.Accepted:
			l.find("P30", "%s was called and is told %q", user, outcome)
		case !isCalled && outcome == client.Accepted:
			l.find("P29", "%s was not called and has bought", user)
		case !isCalled && outcome != client.NotYourTurn && outcome != client.SoldOut:
			l.find("P29", "%s was not called and is told %q", user, outcome)
		case before != "" && a.Claim.ClaimID != before:
			l.find("P9", "%s bought under one key, and has the claims %s and %s", user, before, a.Claim.ClaimID)
		}
	}
}

// confirm waits until an order has its id.
func (l *lottery) confirm(ctx context.Context, i int) {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	for {
		a, err := repeat(ctx, func(ctx context.Context) (client.Answer, error) {
			return l.at.system.Mine(ctx, l.at.sale, l.at.tokens[i])
		})
		outcome, final := client.JudgePoll(l.at.sale, a)
		switch {
		case err == nil && outcome == client.Confirmed:
			return
		case err == nil && final:
			l.find("P8", "%s bought and is told %q", userName(i), outcome)
			return
		case !waitUntil(ctx, time.Now().Add(pollEvery)):
			l.find("P8", "the order of %s is not confirmed after %v", userName(i), l.patience)
			return
		}
	}
}

// audit compares what the users were told with the published draw and the recounted table.
func (l *lottery) audit(r *drawcheck.Report, s *books.Sale, receipt *books.Receipt) []line {
	onRoll, refused, told := 0, 0, 0
	for user, leaf := range l.leaves {
		if r.Turn(leaf).OnRoll {
			onRoll++
		} else {
			l.find("P27", "%s entered and is not on the roll", user)
		}
	}
	if int64(len(l.leaves)) != r.Sale.Entrants {
		l.find("P27", "%d people entered, and the roll has %d", len(l.leaves), r.Sale.Entrants)
	}
	for user, id := range l.claims {
		if told++; s.Claim(user).ClaimID != id {
			l.find("P4", "%s was told the claim %s, and has %q in the table", user, id, s.Claim(user).ClaimID)
		}
	}
	for _, o := range l.outcomes {
		if o == client.NotYourTurn || o == client.SoldOut {
			refused++
		}
	}
	inTurn, pending := 0, 0
	for _, c := range s.Claims {
		if leaf := l.leaves[c.User]; r.Admits(r.Turn(leaf), c.AcceptedAt) {
			inTurn++
		} else {
			l.find("P29", "%s bought at %s, outside a call for them", c.User, c.AcceptedAt.Format(time.RFC3339))
		}
		if c.OrderID == "" {
			pending++
		}
	}
	called, late := int64(0), time.Duration(0)
	for _, n := range r.Called {
		called += n
	}
	if len(r.Sale.Calls) > 0 {
		late = r.Sale.Calls[0].From.Sub(r.Sale.OpensAt)
	}
	if late > callLimit {
		l.find("P31", "the first call began %v after the sale", late)
	}
	if want := min(l.stock, len(l.leaves)); len(s.Claims) != want || called != int64(want) {
		l.find("P1", "%d were called and %d bought, not %d", called, len(s.Claims), want)
	}
	lines := []line{
		{promise: "P1", says: "sold exactly min(stock, entrants)", figure: fmt.Sprintf("%s of %s bottles", thousands(len(s.Claims)), thousands(min(l.stock, len(l.leaves))))},
		{promise: "P2", says: "left + sold = stock, on every shard", figure: fmt.Sprintf("%s + %s = %s bottles", thousands(int(s.Stock())), thousands(len(s.Claims)), thousands(int(s.Seeded)))},
		{promise: "P4", says: "every accepted click is in the table", figure: thousands(told) + " buyers"},
		{promise: "P9", says: "same Idempotency-Key, same answer", figure: thousands(told) + " repeated clicks"},
		{promise: "P8", says: "every accepted order is confirmed", figure: thousands(pending) + " orders pending"},
		{promise: "P27", says: "whoever entered is on the roll, once", figure: fmt.Sprintf("%s of %s entrants", thousands(onRoll), thousands(int(r.Sale.Entrants)))},
		{promise: "P28", says: "the order follows from public data", figure: fmt.Sprintf("round %d", r.Sale.Round)},
		{promise: "P29", says: "nobody bought outside their turn", figure: fmt.Sprintf("%s in turn, %s refused", thousands(inTurn), thousands(refused))},
		{promise: "P30", says: "a bottle was kept for whoever was called", figure: fmt.Sprintf("%s called, %s bought", thousands(int(called)), thousands(len(s.Claims)))},
		{promise: "P31", says: "the call came in time", figure: fmt.Sprintf("after %.1f s", late.Seconds())},
	}
	for _, f := range slices.Concat(receipt.Findings, l.found) {
		enter(lines, f, "P2")
	}
	for i := range lines {
		slices.SortFunc(lines[i].broken, strings.Compare) // they come from maps and goroutines
	}
	return lines
}
