package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/functions/operate/stack"
	"flashsale/functions/operate/wire"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
)

// around is the stack around the function.
type around struct {
	depths   map[stack.Queue]int64
	ringing  []stack.Alarm
	fault    error // of everything
	letters  []stack.DeadLetter
	sent     []string // back to the order queue
	deleted  []string
	asked    []string // of ReconcileFunction
	answers  string   // of it
	noEvents bool
	refuses  bool // the next letter that is sent back
	slow     time.Duration
	counted  map[string]int64 // purchases of each minute, by result
	mu       sync.Mutex
}

func (a *around) Has(q stack.Queue) bool { return q != stack.DeadEvents || !a.noEvents }

func (a *around) Depth(ctx context.Context, q stack.Queue) (int64, error) {
	return a.depths[q], errors.Join(a.fault, ctx.Err())
}

func (a *around) Ringing(context.Context) ([]stack.Alarm, error) { return a.ringing, a.fault }

func (a *around) Purchases(_ context.Context, _ time.Time, minutes int, results []string) (map[string][]int64, error) {
	all := map[string][]int64{}
	for _, result := range results {
		all[result] = slices.Repeat([]int64{a.counted[result]}, minutes)
	}
	return all, a.fault
}

func (a *around) Reconcile(ctx context.Context, request, answer any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	a.asked = append(a.asked, string(text))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(a.slow):
	}
	if a.answers == "" {
		a.answers = `{"receipts":[],"resent":0}`
	}
	return errors.Join(json.Unmarshal([]byte(a.answers), answer), a.fault)
}

func (a *around) DeadLetters(context.Context) ([]stack.DeadLetter, error) {
	n := min(len(a.letters), 10)
	all := a.letters[:n]
	a.letters = a.letters[n:]
	return all, a.fault
}

func (a *around) SendBack(_ context.Context, d stack.DeadLetter) error {
	a.mu.Lock()
	refuses := a.refuses
	a.refuses = false
	a.mu.Unlock()
	if refuses {
		return errors.New("refused")
	}
	time.Sleep(time.Second) // so that what is refused is not the last to end
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = append(a.sent, d.Body)
	return nil
}

func (a *around) Delete(_ context.Context, d stack.DeadLetter) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deleted = append(a.deleted, d.Body)
	return nil
}

// signsOf reads "sign level count: alarms" of each sign that is not green.
func (f *function) signsOf(t *testing.T) (all []string) {
	t.Helper()
	var page wire.Health
	r := f.Ask(t, t.Context(), event(t, "operate-health.json"))
	if err := json.Unmarshal([]byte(r.Body), &page); err != nil || r.StatusCode != 200 {
		t.Fatal(r.Body, err)
	}
	for _, s := range page.Signs {
		if s.Level == green {
			continue
		}
		one := s.Sign + " " + s.Level
		if s.Count != nil {
			one += fmt.Sprint(" ", *s.Count)
		}
		for _, trouble := range s.Troubles {
			one += " " + strings.TrimSuffix(trouble.Alarm+"/"+trouble.SaleID, "/")
		}
		all = append(all, one)
	}
	return all
}

// Sales that were counted when bob's order was a second old; and each sign by the figure of its alarm.
func TestASignIsAsRedAsTheAlarmOfItsFigure(t *testing.T) {
	books := func(b ledger.Receipt, ago time.Duration) func(*around) []ledger.Standing {
		return func(*around) []ledger.Standing {
			b.SaleID, b.AsOf = "kettle", time.Now().Add(-ago)
			one := ledger.Standing{Sale: sale.Sale{ID: "kettle", State: sale.Open}}
			one.SaleID, one.Books = "kettle", &b
			return []ledger.Standing{one}
		}
	}
	depth := func(q stack.Queue, n int64) func(*around) []ledger.Standing {
		return func(a *around) []ledger.Standing { a.depths = map[stack.Queue]int64{q: n}; return nil }
	}
	rings := func(alarms ...string) func(*around) []ledger.Standing {
		return func(a *around) []ledger.Standing {
			for _, name := range alarms {
				a.ringing = append(a.ringing, stack.Alarm{Name: name, Says: "it rings", Since: time.Now()})
			}
			return nil
		}
	}
	for name, tt := range map[string]struct {
		is   func(*around) []ledger.Standing
		want []string
	}{
		"a young order, counted long ago": {books(ledger.Receipt{Balanced: true, Pending: 3, OldestPendingSeconds: 29}, 9*time.Minute), nil},
		"an order that waits":             {books(ledger.Receipt{Balanced: true, Pending: 3, OldestPendingSeconds: 119}, 0), nil},
		"an order that waits longer":      {books(ledger.Receipt{Balanced: true, Pending: 3, OldestPendingSeconds: 120}, 0), []string{"pending amber 3 OrdersWaitAlarm/kettle"}},
		"an order that hangs":             {books(ledger.Receipt{Balanced: true, Pending: 3, OldestPendingSeconds: 240}, time.Minute), []string{"pending red 3 OldestPendingAlarm/kettle"}},
		"an order that was not so young":  {books(ledger.Receipt{Balanced: true, Pending: 3, OldestPendingSeconds: 30}, 9*time.Minute), []string{"pending red 3 OldestPendingAlarm/kettle"}},
		"an order that hangs, and its alarm": {func(a *around) []ledger.Standing {
			a.ringing = []stack.Alarm{{Name: "OldestPendingAlarm"}}
			return books(ledger.Receipt{Balanced: true, Pending: 1, OldestPendingSeconds: 300}, 0)(a)
		}, []string{"pending red 1 OldestPendingAlarm/kettle"}},
		"wrong books of two sales": {func(a *around) []ledger.Standing {
			one := books(ledger.Receipt{}, 0)(a)
			other := one[0]
			other.SaleID, other.Sale.ID = "lamp", "lamp"
			return append(one, other)
		}, []string{"books red 2 BooksWrongAlarm/kettle BooksWrongAlarm/lamp"}},
		"wrong books":                        {books(ledger.Receipt{}, 0), []string{"books red 1 BooksWrongAlarm/kettle"}},
		"nobody counts":                      {books(ledger.Receipt{Balanced: true}, 10*time.Minute), []string{"books amber 0 ReconcileSilentAlarm"}},
		"refunds due":                        {books(ledger.Receipt{Balanced: true, RefundsDue: 1}, 0), []string{"others amber 1 RefundsDueAlarm/kettle"}},
		"many messages":                      {depth(stack.Orders, 10_000), []string{"waiting amber 10000 OrdersWaitAlarm"}},
		"messages":                           {depth(stack.Orders, 9_999), nil},
		"a dead order":                       {depth(stack.DeadOrders, 1), []string{"deadLetters amber 1 DeadLettersAlarm"}},
		"a dead schedule":                    {depth(stack.DeadSchedules, 2), []string{"deadLetters amber 2 DeadLettersAlarm"}},
		"an event":                           {depth(stack.DeadEvents, 1), []string{"events amber 1 EventsLostAlarm"}},
		"alarms":                             {rings("FinalizeFailingAlarm", "FunctionErrorsAlarm", "NothingSoldAlarm", "OldestPendingAlarm"), []string{"pending red 0 OldestPendingAlarm", "functions red 2 FinalizeFailingAlarm FunctionErrorsAlarm", "others red 1 NothingSoldAlarm"}},
		"an alarm of a later release":        {rings("LaterAlarm"), nil},
		"a creation that was cut":            {func(*around) []ledger.Standing { return []ledger.Standing{draft(10 * time.Minute)} }, []string{"others red 1 SaleNotSeededAlarm/late"}},
		"one that has time":                  {func(*around) []ledger.Standing { return []ledger.Standing{draft(time.Hour)} }, nil},
		"one whose window is over":           {func(*around) []ledger.Standing { return []ledger.Standing{draft(-48 * time.Hour)} }, nil},
		"what does not answer hides nothing": {func(a *around) []ledger.Standing { a.fault = errors.New("down"); return nil }, []string{"waiting unknown", "deadLetters unknown", "functions unknown", "events unknown", "others unknown"}},
	} {
		in(t, func(t *testing.T, f *function) {
			all := tt.is(f.stack)
			f.over(standings{f.Ledger(), all})
			if got := f.signsOf(t); !slices.Equal(got, tt.want) {
				t.Errorf("%s: got %q, want %q", name, got, tt.want)
			}
		})
	}
}

func TestTheOldestPendingOrderIsThatOfAllSales(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		at := time.Now().Add(-time.Minute)
		var all []ledger.Standing
		for i, seconds := range []int64{0, 10, 25, 5} {
			one := ledger.Standing{Sale: sale.Sale{ID: fmt.Sprint(i), State: sale.Open}}
			one.SaleID, one.Books = one.Sale.ID, &ledger.Receipt{Balanced: true, AsOf: at, OldestPendingSeconds: seconds}
			all = append(all, one)
		}
		for n, want := range map[int]string{1: "", 2: httpapi.Time(at.Add(-10 * time.Second)), 4: httpapi.Time(at.Add(-25 * time.Second))} {
			f.over(standings{f.Ledger(), all[:n]})
			var page wire.Health
			if err := json.Unmarshal([]byte(f.Ask(t, t.Context(), event(t, "operate-health.json")).Body), &page); err != nil || page.Signs[0].Since != want {
				t.Errorf("of %d sales: %+v (%v), want it since %q", n, page.Signs[0], err, want)
			}
		}
	})
}

// draft is a sale that opens after that time, and is not complete.
func draft(in time.Duration) ledger.Standing {
	one := ledger.Standing{Sale: sale.Sale{ID: "late", State: sale.Draft, OpensAt: time.Now().Add(in), ClosesAt: time.Now().Add(in + time.Hour)}}
	one.SaleID = "late"
	return one
}

// standings is a ledger with other sales.
type standings struct {
	*ledger.Ledger
	all []ledger.Standing
}

func (s standings) Standings(context.Context, bool) ([]ledger.Standing, error) { return s.all, nil }

func TestAStackWithoutEventsHasNoSignOfThem(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.stack.noEvents = true
		if r := f.Ask(t, t.Context(), event(t, "operate-health.json")); strings.Contains(r.Body, `"sign":"events"`) || !strings.Contains(r.Body, `"sign":"books"`) {
			t.Errorf("the signs are %s", r.Body)
		}
	})
}

func TestARepairAsksReconcileFunctionAndSaysWhatItDid(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.stack.answers = `{"receipts":[{"saleId":"moutai","pending":3,"balanced":true}],"resent":2}`
		for request, want := range map[string]string{
			`{"action":"resend","saleId":"moutai"}`: `{"action":"resend","saleId":"moutai","done":true,"resent":2,"pending":3,"balanced":true}`,
			`{"action":"count","saleId":"moutai"}`:  `{"action":"count","saleId":"moutai","done":true,"resent":2,"pending":3,"balanced":true}`,
		} {
			if r := f.Ask(t, t.Context(), event(t, "operate-count.json", body(request))); r.Body != want {
				t.Errorf("%s: got %s, want %s", request, r.Body, want)
			}
			if asked := f.stack.asked[len(f.stack.asked)-1]; asked != strings.Replace(request, `"action":"count",`, "", 1) {
				t.Errorf("%s: ReconcileFunction is asked %s", request, asked)
			}
		}
		f.stack.slow = time.Minute
		if r := f.Ask(t, t.Context(), event(t, "operate-count.json")); r.Body != `{"action":"count","saleId":"moutai","done":false}` {
			t.Errorf("a pass of a minute: %s", r.Body)
		}
		f.stack.slow, f.stack.fault = 0, sale.Fail(sale.Busy, errors.New("throttled"))
		refused(t, f.Ask(t, t.Context(), event(t, "operate-count.json")), 503, sale.Busy)
		for _, wrong := range []string{`{}`, `[]`, `{"action":"drop","saleId":"moutai"}`, `{"action":"count"}`, `{"action":"count","saleId":"a b"}`, `{"action":"redrive","saleId":"moutai"}`,
			`{"Action":"count","saleId":"moutai"}`, `{"action":"count","saleId":"moutai","note":"x"}`} {
			refused(t, f.Ask(t, t.Context(), event(t, "operate-count.json", body(wrong))), 400, sale.InvalidRequest)
		}
	})
}

// Alice's order is confirmed, bob's is pending.
func TestARedriveMovesBackWhatIsPendingAndKeepsPoison(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		message := func(saleID, user, claim string) string {
			return orderq.Encode(orderq.Message{SaleID: saleID, User: user, ClaimID: claim})
		}
		pending, done := message(testledger.SaleID, testledger.Bob, testledger.BobsClaim), message(testledger.SaleID, testledger.Alice, testledger.AlicesClaim)
		for _, b := range []string{
			pending, done, "not an order", message("none", testledger.Bob, testledger.BobsClaim), message(testledger.SaleID, "carol", testledger.BobsClaim),
			message(testledger.SaleID, testledger.Bob, testledger.AlicesClaim),
		} {
			f.stack.letters = append(f.stack.letters, stack.DeadLetter{Body: b})
		}
		r := f.Ask(t, t.Context(), event(t, "operate-count.json", body(`{"action":"redrive"}`)))
		if want := `{"action":"redrive","done":true,"moved":1,"deleted":1,"poison":4,"unknown":0}`; r.Body != want {
			t.Errorf("got %s, want %s", r.Body, want)
		}
		if !slices.Equal(f.stack.sent, []string{pending}) || !slices.Equal(f.stack.deleted, []string{done}) {
			t.Errorf("sent %q, deleted %q", f.stack.sent, f.stack.deleted)
		}
		f.stack.letters, f.stack.refuses = []stack.DeadLetter{{Body: pending}, {Body: pending}, {Body: done}}, true
		refused(t, f.Ask(t, t.Context(), event(t, "operate-count.json", body(`{"action":"redrive"}`))), 503, sale.Busy)
		f.stack.fault = errors.New("down")
		refused(t, f.Ask(t, t.Context(), event(t, "operate-count.json", body(`{"action":"redrive"}`))), 503, sale.Busy)
	})
}
