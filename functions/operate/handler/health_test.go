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
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
)

// fakeStack is the stack around the function.
type fakeStack struct {
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

func (a *fakeStack) Has(q stack.Queue) bool { return q != stack.DeadEvents || !a.noEvents }

func (a *fakeStack) Depth(ctx context.Context, q stack.Queue) (int64, error) {
	return a.depths[q], errors.Join(a.fault, ctx.Err())
}

func (a *fakeStack) Ringing(context.Context) ([]stack.Alarm, error) { return a.ringing, a.fault }

func (a *fakeStack) Purchases(_ context.Context, _ time.Time, minutes int, results []string) (map[string][]int64, error) {
	all := map[string][]int64{}
	for _, result := range results {
		all[result] = slices.Repeat([]int64{a.counted[result]}, minutes)
	}
	return all, a.fault
}

func (a *fakeStack) Reconcile(ctx context.Context, request, answer any) error {
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

func (a *fakeStack) DeadLetters(context.Context) ([]stack.DeadLetter, error) {
	n := min(len(a.letters), 10)
	all := a.letters[:n]
	a.letters = a.letters[n:]
	return all, a.fault
}

func (a *fakeStack) SendBack(_ context.Context, d stack.DeadLetter) error {
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

func (a *fakeStack) Delete(_ context.Context, d stack.DeadLetter) error {
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

// Each sign by the figure of its alarm.
func TestASignIsAsRedAsTheAlarmOfItsFigure(t *testing.T) {
	sales := func(all ...ledger.Standing) []ledger.Standing { return all }
	counted := func(id string, ago time.Duration, b ledger.Receipt) ledger.Standing {
		b.AsOf = testledger.Began.Add(-ago)
		one := ledger.Standing{Sale: sale.Sale{ID: id, State: sale.Open}}
		one.SaleID, one.Books = id, &b
		return one
	}
	pending := func(ago time.Duration, seconds int64) []ledger.Standing {
		return sales(counted("kettle", ago, ledger.Receipt{Balanced: true, Pending: 3, OldestPendingSeconds: seconds}))
	}
	depth := func(q stack.Queue, n int64) *fakeStack { return &fakeStack{depths: map[stack.Queue]int64{q: n}} }
	rings := func(alarms ...string) *fakeStack {
		s := &fakeStack{}
		for _, name := range alarms {
			s.ringing = append(s.ringing, stack.Alarm{Name: name, Says: "it rings", Since: testledger.Began})
		}
		return s
	}
	for name, tt := range map[string]struct {
		sales []ledger.Standing
		stack *fakeStack
		want  []string
	}{
		"a young order, counted long ago":    {pending(9*time.Minute, 29), nil, nil},
		"an order that waits":                {pending(0, 119), nil, nil},
		"an order that waits longer":         {pending(0, 120), nil, []string{"pending amber 3 OrdersWaitAlarm/kettle"}},
		"an order that hangs":                {pending(time.Minute, 240), nil, []string{"pending red 3 OldestPendingAlarm/kettle"}},
		"an order that was not so young":     {pending(9*time.Minute, 30), nil, []string{"pending red 3 OldestPendingAlarm/kettle"}},
		"an order that hangs, and its alarm": {pending(0, 300), rings("OldestPendingAlarm"), []string{"pending red 3 OldestPendingAlarm/kettle"}},
		"wrong books of two sales":           {sales(counted("kettle", 0, ledger.Receipt{}), counted("lamp", 0, ledger.Receipt{})), nil, []string{"books red 2 BooksWrongAlarm/kettle BooksWrongAlarm/lamp"}},
		"nobody counts":                      {sales(counted("kettle", 10*time.Minute, ledger.Receipt{Balanced: true})), nil, []string{"books amber 0 ReconcileSilentAlarm"}},
		"refunds due":                        {sales(counted("kettle", 0, ledger.Receipt{Balanced: true, RefundsDue: 1})), nil, []string{"others amber 1 RefundsDueAlarm/kettle"}},
		"many messages":                      {nil, depth(stack.Orders, 10_000), []string{"waiting amber 10000 OrdersWaitAlarm"}},
		"messages":                           {nil, depth(stack.Orders, 9_999), nil},
		"a dead order":                       {nil, depth(stack.DeadOrders, 1), []string{"deadLetters amber 1 DeadLettersAlarm"}},
		"a dead schedule":                    {nil, depth(stack.DeadSchedules, 2), []string{"deadLetters amber 2 DeadLettersAlarm"}},
		"an event":                           {nil, depth(stack.DeadEvents, 1), []string{"events amber 1 EventsLostAlarm"}},
		"alarms":                             {nil, rings("FinalizeFailingAlarm", "FunctionErrorsAlarm", "NothingSoldAlarm", "OldestPendingAlarm"), []string{"pending red 0 OldestPendingAlarm", "functions red 2 FinalizeFailingAlarm FunctionErrorsAlarm", "others red 1 NothingSoldAlarm"}},
		"an alarm of a later version":        {nil, rings("LaterAlarm"), nil},
		"a creation that was cut":            {sales(draft(10 * time.Minute)), nil, []string{"others red 1 SaleNotSeededAlarm/late"}},
		"one that has time":                  {sales(draft(time.Hour)), nil, nil},
		"one whose window is over":           {sales(draft(-48 * time.Hour)), nil, nil},
		"what does not answer hides nothing": {nil, &fakeStack{fault: errors.New("down")}, []string{"waiting unknown", "deadLetters unknown", "functions unknown", "events unknown", "others unknown"}},
	} {
		in(t, func(t *testing.T, f *function) {
			if tt.stack != nil {
				f.stack = tt.stack
			}
			f.over(standings{f.Ledger(), tt.sales})
			if got := f.signsOf(t); !slices.Equal(got, tt.want) {
				t.Errorf("%s: got %q, want %q", name, got, tt.want)
			}
		})
	}
	in(t, func(t *testing.T, f *function) { // the oldest pending order is that of all sales
		all := sales(counted("0", 0, ledger.Receipt{}))
		for i, seconds := range []int64{10, 25, 5} {
			all = append(all, counted(fmt.Sprint(i+1), time.Minute, ledger.Receipt{Balanced: true, OldestPendingSeconds: seconds}))
		}
		for n, want := range map[int]string{1: "null", 2: `"2025-12-31T23:58:50.000Z"`, 4: `"2025-12-31T23:58:35.000Z"`} {
			f.over(standings{f.Ledger(), all[:n]})
			f.shows(t, event(t, "operate-health.json"), `{"signs":[{"sign":"pending","since":`+want+`},{},{},{},{},{},{}]}`)
		}
		f.stack.noEvents = true
		f.shows(t, event(t, "operate-health.json"), `{"signs":[{},{},{},{"sign":"functions"},{"sign":"books"},{}]}`)
	})
}

// draft is a sale that opens after that time, and is not complete.
func draft(in time.Duration) ledger.Standing {
	one := ledger.Standing{Sale: sale.Sale{ID: "late", State: sale.Draft, OpensAt: testledger.Began.Add(in), ClosesAt: testledger.Began.Add(in + time.Hour)}}
	one.SaleID = "late"
	return one
}

// standings is a ledger with other sales.
type standings struct {
	*ledger.Ledger
	all []ledger.Standing
}

func (s standings) Standings(context.Context, bool) ([]ledger.Standing, error) { return s.all, nil }

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
