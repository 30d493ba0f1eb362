package handler

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"flashsale/functions/operate/stack"
	"flashsale/functions/operate/wire"
	"flashsale/shared/httpapi"
	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Stack is what the handler asks of the stack besides the table.
type Stack interface {
	Has(stack.Queue) bool
	Depth(context.Context, stack.Queue) (int64, error)
	Ringing(context.Context) ([]stack.Alarm, error)
	Purchases(ctx context.Context, from time.Time, minutes int, results []string) (map[string][]int64, error)
	Reconcile(ctx context.Context, request, answer any) error
	DeadLetters(context.Context) ([]stack.DeadLetter, error)
	SendBack(context.Context, stack.DeadLetter) error
	Delete(context.Context, stack.DeadLetter) error
}

var signs = []string{
	wire.SignPending, wire.SignWaiting, wire.SignDeadLetters, wire.SignFunctions,
	wire.SignEvents, wire.SignBooks, wire.SignOthers,
}

// Levels of a sign.
const (
	green, amber, red = "green", "amber", "red"
	unknown           = "unknown"
)

// lookTime bounds each look at the stack: what is not known by then is shown as unknown.
const lookTime = 3 * time.Second

// uncounted is after how long a sale's books are no news any more: alarms see a pass that does not
// begin, and this one that does not end.
const uncounted = 10 * time.Minute

// soon is how long before its opening an unfinished creation is worth a word.
const soon = 15 * time.Minute

// young is the age of a pending order at its count that says nothing: orders have their ids within
// seconds and are counted every minute, so it probably has its id by now.
const young = 30 * time.Second

// stackState is what is known of the stack.
type stackState struct {
	sales   []ledger.Standing
	depths  map[stack.Queue]int64 // of the queues that answered
	ringing []stack.Alarm
	// noSales and noAlarms: these are unknown.
	noSales, noAlarms bool
}

// readStack asks everything at once. What does not answer is unknown, and hides nothing else.
func (h *Handler) readStack(ctx context.Context, event *telemetry.Event) stackState {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	s := stackState{depths: map[stack.Queue]int64{}}
	var mu sync.Mutex
	var work invocation.Group
	var failures []error
	ask := func(read func() (note func(), err error)) {
		work.Go(func() {
			note, err := read()
			mu.Lock()
			defer mu.Unlock()
			if failures = append(failures, err); err == nil {
				note()
			}
		})
	}
	s.noSales, s.noAlarms = true, true
	ask(func() (func(), error) {
		all, err := h.ledger.Standings(ctx, false)
		return func() { s.sales, s.noSales = all, false }, err
	})
	if h.Stack != nil {
		for _, q := range []stack.Queue{stack.Orders, stack.DeadOrders, stack.DeadSchedules, stack.DeadEvents} {
			if h.Stack.Has(q) {
				ask(func() (func(), error) {
					n, err := h.Stack.Depth(ctx, q)
					return func() { s.depths[q] = n }, err
				})
			}
		}
		ask(func() (func(), error) {
			all, err := h.Stack.Ringing(ctx)
			return func() { s.ringing, s.noAlarms = all, false }, err
		})
	}
	work.Wait()
	if err := errors.Join(failures...); err != nil {
		event.Text("unknown", err.Error())
	}
	return s
}

// health tells what is wrong with the stack.
func (h *Handler) health(ctx context.Context, _ *request, event *telemetry.Event) (any, error) {
	s := h.readStack(ctx, event)
	return healthOf(s, h.now(), h.Stack != nil && h.Stack.Has(stack.DeadEvents)), nil
}

// signsByName are the signs while they are made.
type signsByName map[string]*wire.Sign

// add adds a trouble of an alarm to its sign, or to the one that is given, but once.
func (s signsByName) add(to string, t wire.Trouble) {
	place, known := Alarms[t.Alarm]
	if !known {
		return // a later version's
	}
	one := s[cmp.Or(to, place.Sign)]
	if one == nil || slices.ContainsFunc(one.Troubles, func(o wire.Trouble) bool {
		return o.Alarm == t.Alarm && (o.SaleID == t.SaleID || t.SaleID == "")
	}) {
		return
	}
	t.Page, t.Runbook = place.Page, place.runbook(t.Alarm)
	one.Troubles = append(one.Troubles, t)
}

// reaches adds the trouble of an alarm if a figure reaches its limit.
func (s signsByName) reaches(figure int64, limit, to, saleID string) {
	if figure >= Limits[limit] {
		alarm, _, _ := strings.Cut(limit, " ")
		s.add(to, wire.Trouble{Alarm: alarm, SaleID: saleID})
	}
}

func healthOf(state stackState, now time.Time, events bool) wire.Health {
	s := signsByName{}
	page := wire.Health{AsOf: httpapi.Time(now)}
	for _, name := range signs {
		if name == wire.SignEvents && !events {
			continue
		}
		s[name] = &wire.Sign{Sign: name, Troubles: []wire.Trouble{}}
		page.Signs = append(page.Signs, s[name])
	}
	if !state.noSales {
		s.readSales(state.sales, now)
	}
	depth := func(name string, limit string, of ...stack.Queue) {
		total := int64(0)
		for _, q := range of {
			n, known := state.depths[q]
			if !known || s[name] == nil {
				return
			}
			total += n
		}
		s[name].Count = &total
		s.reaches(total, limit, name, "")
	}
	depth(wire.SignWaiting, "OrdersWaitAlarm depth", stack.Orders)
	depth(wire.SignDeadLetters, "DeadLettersAlarm", stack.DeadOrders, stack.DeadSchedules)
	depth(wire.SignEvents, "EventsLostAlarm", stack.DeadEvents)
	for _, a := range state.ringing {
		s.add("", wire.Trouble{Alarm: a.Name, Says: a.Says, Since: httpapi.Time(a.Since)})
	}
	if !state.noAlarms {
		for _, name := range []string{wire.SignFunctions, wire.SignOthers} {
			n := int64(len(s[name].Troubles))
			s[name].Count = &n
		}
	}
	for _, one := range page.Signs {
		one.Level = levelOf(one)
	}
	return page
}

func levelOf(s *wire.Sign) string {
	switch {
	case slices.ContainsFunc(s.Troubles, func(t wire.Trouble) bool { return t.Page }):
		return red
	case len(s.Troubles) > 0:
		return amber
	case s.Count == nil:
		return unknown
	}
	return green
}

// readSales notes what the sales' books say, each by its last count.
func (s signsByName) readSales(all []ledger.Standing, now time.Time) {
	var pending, wrong int64
	var oldest time.Time
	for _, one := range all {
		if one.Err != nil {
			continue
		}
		begins := one.Sale.Begins()
		if one.Sale.State != sale.Open && now.After(begins.Add(-soon)) && now.Before(one.Sale.Ends()) {
			s.add("", wire.Trouble{Alarm: "SaleNotSeededAlarm", SaleID: one.SaleID})
		}
		b := one.Books
		if b == nil {
			continue
		}
		if pending += b.Pending; b.OldestPendingSeconds > 0 {
			age := time.Duration(b.OldestPendingSeconds) * time.Second
			accepted := b.AsOf.Add(-age)
			if oldest.IsZero() || accepted.Before(oldest) {
				oldest = accepted
			}
			if age >= young {
				age = now.Sub(accepted)
			}
			if seconds := int64(age / time.Second); seconds >= Limits["OldestPendingAlarm"] {
				s.reaches(seconds, "OldestPendingAlarm", "", one.SaleID)
			} else {
				s.reaches(seconds, "OrdersWaitAlarm age", wire.SignPending, one.SaleID)
			}
		}
		if !b.Balanced {
			wrong++
			s.reaches(1, "BooksWrongAlarm", "", one.SaleID)
		}
		if now.Sub(b.AsOf) >= uncounted {
			s.add("", wire.Trouble{Alarm: "ReconcileSilentAlarm"}) // once, not for each sale
		}
		s.reaches(b.RefundsDue, "RefundsDueAlarm", "", one.SaleID)
	}
	s[wire.SignPending].Count, s[wire.SignBooks].Count = &pending, &wrong
	if !oldest.IsZero() {
		s[wire.SignPending].Since = httpapi.Time(oldest)
	}
}
