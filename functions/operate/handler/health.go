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
	"flashsale/shared/httpapi"
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

// The signs of health, in the order in which they are shown.
const (
	signPending     = "pending"
	signWaiting     = "waiting"
	signDeadLetters = "deadLetters"
	signFunctions   = "functions"
	signEvents      = "events"
	signBooks       = "books"
	signOthers      = "others"
)

var signs = []string{signPending, signWaiting, signDeadLetters, signFunctions, signEvents, signBooks, signOthers}

type healthPage struct {
	AsOf  string  `json:"asOf"`
	Signs []*sign `json:"signs"`
}

// sign is one of them. Its level is that of the worst of its troubles: red if an alarm of them
// wakes somebody, amber if it opens a ticket.
type sign struct {
	Sign  string `json:"sign"`
	Level string `json:"level"` // green, amber, red, unknown
	// Count is of messages, of troubles, or of orders that are pending; null if nobody knows.
	Count *int64 `json:"count"`
	// Since is when the oldest pending order was accepted.
	Since    string    `json:"since,omitempty"`
	Troubles []trouble `json:"troubles"`
}

// trouble is an alarm that rings, or whose bound the function has seen reached.
type trouble struct {
	Alarm   string `json:"alarm"`
	Page    bool   `json:"page"`
	Runbook string `json:"runbook"` // the fragment of its entry
	Says    string `json:"says,omitempty"`
	Since   string `json:"since,omitempty"`
	SaleID  string `json:"saleId,omitempty"`
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

// seen is what a look at the stack has found.
type seen struct {
	sales   []ledger.Standing
	depths  map[stack.Queue]int64 // of the queues that answered
	ringing []stack.Alarm
	// noSales and noAlarms: these are unknown.
	noSales, noAlarms bool
}

// look looks at everything at once. What does not answer is unknown, and hides nothing else.
func (h *Handler) look(ctx context.Context, event *telemetry.Event) seen {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	s := seen{depths: map[stack.Queue]int64{}}
	var mu sync.Mutex
	var work sync.WaitGroup
	var failures []error
	ask := func(look func() (note func(), err error)) {
		work.Go(func() {
			note, err := look()
			mu.Lock()
			defer mu.Unlock()
			if failures = append(failures, err); err == nil {
				note()
			}
		})
	}
	s.noSales, s.noAlarms = true, true
	ask(func() (func(), error) {
		all, err := h.book.Standings(ctx, false)
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
func (h *Handler) health(ctx context.Context, _ *call, event *telemetry.Event) (any, error) {
	s := h.look(ctx, event)
	return healthOf(s, h.now(), h.Stack != nil && h.Stack.Has(stack.DeadEvents)), nil
}

// signed are the signs while they are made.
type signed map[string]*sign

// add adds a trouble of an alarm to its sign, or to the one that is given, but once.
func (s signed) add(to string, t trouble) {
	place, known := Alarms[t.Alarm]
	if !known {
		return // a later release's
	}
	one := s[cmp.Or(to, place.Sign)]
	if one == nil || slices.ContainsFunc(one.Troubles, func(o trouble) bool {
		return o.Alarm == t.Alarm && (o.SaleID == t.SaleID || t.SaleID == "")
	}) {
		return
	}
	t.Page, t.Runbook = place.Page, place.runbook(t.Alarm)
	one.Troubles = append(one.Troubles, t)
}

// reaches adds the trouble of an alarm if a figure reaches its limit.
func (s signed) reaches(figure int64, limit, to, saleID string) {
	if figure >= Limits[limit] {
		alarm, _, _ := strings.Cut(limit, " ")
		s.add(to, trouble{Alarm: alarm, SaleID: saleID})
	}
}

func healthOf(seen seen, now time.Time, events bool) healthPage {
	s := signed{}
	page := healthPage{AsOf: httpapi.Time(now)}
	for _, name := range signs {
		if name == signEvents && !events {
			continue
		}
		s[name] = &sign{Sign: name, Troubles: []trouble{}}
		page.Signs = append(page.Signs, s[name])
	}
	if !seen.noSales {
		s.readSales(seen.sales, now)
	}
	depth := func(name string, limit string, of ...stack.Queue) {
		total := int64(0)
		for _, q := range of {
			n, known := seen.depths[q]
			if !known || s[name] == nil {
				return
			}
			total += n
		}
		s[name].Count = &total
		s.reaches(total, limit, name, "")
	}
	depth(signWaiting, "OrdersWaitAlarm depth", stack.Orders)
	depth(signDeadLetters, "DeadLettersAlarm", stack.DeadOrders, stack.DeadSchedules)
	depth(signEvents, "EventsLostAlarm", stack.DeadEvents)
	for _, a := range seen.ringing {
		s.add("", trouble{Alarm: a.Name, Says: a.Says, Since: httpapi.Time(a.Since)})
	}
	if !seen.noAlarms {
		for _, name := range []string{signFunctions, signOthers} {
			n := int64(len(s[name].Troubles))
			s[name].Count = &n
		}
	}
	for _, one := range page.Signs {
		one.Level = one.level()
	}
	return page
}

func (s *sign) level() string {
	switch {
	case slices.ContainsFunc(s.Troubles, func(t trouble) bool { return t.Page }):
		return red
	case len(s.Troubles) > 0:
		return amber
	case s.Count == nil:
		return unknown
	}
	return green
}

// readSales notes what the sales' books say, each by its last count.
func (s signed) readSales(all []ledger.Standing, now time.Time) {
	var pending, wrong int64
	var oldest time.Time
	for _, one := range all {
		if one.Err != nil {
			continue
		}
		begins := one.Sale.Begins()
		if one.Sale.State != sale.Open && now.After(begins.Add(-soon)) && now.Before(one.Sale.Ends()) {
			s.add("", trouble{Alarm: "SaleNotSeededAlarm", SaleID: one.SaleID})
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
				s.reaches(seconds, "OrdersWaitAlarm age", signPending, one.SaleID)
			}
		}
		if !b.Balanced {
			wrong++
			s.reaches(1, "BooksWrongAlarm", "", one.SaleID)
		}
		if now.Sub(b.AsOf) >= uncounted {
			s.add("", trouble{Alarm: "ReconcileSilentAlarm"}) // once, not for each sale
		}
		s.reaches(b.RefundsDue, "RefundsDueAlarm", "", one.SaleID)
	}
	s[signPending].Count, s[signBooks].Count = &pending, &wrong
	if !oldest.IsZero() {
		s[signPending].Since = httpapi.Time(oldest)
	}
}
