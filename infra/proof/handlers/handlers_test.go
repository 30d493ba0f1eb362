// Package handlers holds every function against outside calls that hang or panic, with several events in flight in one
// process, as on Lambda Managed Instances.
package handlers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bustypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	draw "flashsale/functions/draw/handler"
	finalize "flashsale/functions/finalize/handler"
	operate "flashsale/functions/operate/handler"
	"flashsale/functions/operate/stack"
	"flashsale/functions/page/assets"
	page "flashsale/functions/page/handler"
	pay "flashsale/functions/pay/handler"
	publish "flashsale/functions/publish/handler"
	purchase "flashsale/functions/purchase/handler"
	query "flashsale/functions/query/handler"
	reconcile "flashsale/functions/reconcile/handler"
	release "flashsale/functions/release/handler"
	seed "flashsale/functions/seed/handler"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/beacon"
	"flashsale/shared/clock"
	"flashsale/shared/eligibility"
	"flashsale/shared/eventbus"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/startup"
	"flashsale/shared/telemetry"
	"flashsale/shared/webpage"
)

// misfortune is what an event meets, and has in its context: its calls from that one on hang, or that one panics.
type misfortune struct {
	from   int
	panics bool
	mu     sync.Mutex
	calls  []string
}

const bug = "table ledger-7 is on fire"

// outside is all that a function calls, but for the table.
type outside struct{ operate.Stack }

// call is made by each call of a function, of the table, too.
func (outside) call(ctx context.Context, name string) error {
	time.Sleep(10 * time.Millisecond)
	m := ctx.Value(outside{}).(*misfortune)
	m.mu.Lock()
	m.calls = append(m.calls, name)
	n := len(m.calls)
	m.mu.Unlock()
	switch {
	case m.panics && n == m.from:
		panic(bug)
	case !m.panics && m.from > 0 && n >= m.from:
		<-ctx.Done()
	}
	return ctx.Err()
}

func (o outside) SendMessage(ctx context.Context, _ *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	return &sqs.SendMessageOutput{}, o.call(ctx, "SendMessage")
}

func (o outside) GetQueueAttributes(ctx context.Context, in *sqs.GetQueueAttributesInput, _ ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	empty := map[string]string{string(in.AttributeNames[0]): "0", string(in.AttributeNames[1]): "0", string(in.AttributeNames[2]): "0"}
	return &sqs.GetQueueAttributesOutput{Attributes: empty}, o.call(ctx, "GetQueueAttributes")
}

func (o outside) PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	return &eventbridge.PutEventsOutput{Entries: make([]bustypes.PutEventsResultEntry, len(in.Entries))}, o.call(ctx, "PutEvents")
}

// RoundTrip is the operator's check of users, and the relays of the dice, which say what is no signature.
func (o outside) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := o.call(r.Context(), r.URL.Host); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"eligible":true}`))}, nil
}

func (o outside) Has(stack.Queue) bool { return true }
func (o outside) Depth(ctx context.Context, _ stack.Queue) (int64, error) {
	return 1, o.call(ctx, "Depth")
}
func (o outside) Ringing(ctx context.Context) ([]stack.Alarm, error) {
	return nil, o.call(ctx, "Ringing")
}
func (o outside) Reconcile(ctx context.Context, _, _ any) error { return o.call(ctx, "Reconcile") }
func (o outside) Purchases(ctx context.Context, _ time.Time, _ int, _ []string) (map[string][]int64, error) {
	return nil, o.call(ctx, "Purchases")
}

// function is that of an event, as its main.go makes it.
func function(w *testledger.World, event string, lines io.Writer) lambda.Handler {
	name, _, _ := strings.Cut(event, "-")
	out, now, longest := outside{}, clock.Wall, func() float64 { return 0.999 } // of the waits
	l, log, queue := w.LedgerWith(ledger.Options{Random: longest}), telemetry.New(lines, name, now), orderq.NewSender(out, "orders")
	users, noUsers := eligibility.New(eligibility.Options{URL: "https://users.example", Timeout: time.Second, Concurrency: 12, Transport: out, Now: now})
	relays, noRelays := beacon.NewRelays(beacon.Quicknet, []string{"https://one.example", "https://two.example"}, out)
	providers, noProviders := pay.NewProviders(pay.Settings{StripeSecrets: webhook.LocalSecrets[webhook.Stripe], StripeEvents: "checkout"}, now)
	shop, noPage := &page.Handler{}, error(nil)
	if name == "page" { // takes longer than all else here
		shop, noPage = page.New(assets.Files, webpage.SignIn{}, page.Appearance{}, l, log, now)
	}
	if err := errors.Join(noUsers, noRelays, noProviders, noPage); err != nil {
		w.T.Fatal(err)
	}
	o, b := operate.New(l, log, now), purchase.New(l, queue, log, now)
	o.RolesClaim, o.Stack, o.Sends, b.Times, b.Users = "cognito:groups", out, true, testledger.DrawTimes, users
	return startup.Guard(log, map[string]lambda.Handler{
		"draw":      startup.JSON(draw.New(l, relays.Chain, relays, testledger.DrawTimes, log, now).Handle),
		"finalize":  finalize.New(l, log, now),
		"operate":   o,
		"page":      startup.JSON(shop.Handle),
		"pay":       httpapi.Serve(pay.New(l, providers, log, now).Handle),
		"publish":   startup.JSON(publish.New(eventbus.New(out, "orders", longest), publish.NewFailureQueue(out, "failures"), log, now).Handle),
		"purchase":  httpapi.Serve(b.Handle),
		"query":     httpapi.Serve(query.New(l, log, now).Handle),
		"reconcile": startup.JSON(reconcile.New(l, queue, log, now).Handle),
		"release":   startup.JSON(release.New(l, time.Minute, log).Handle),
		"seed":      startup.JSON(seed.New(l, log, now).Handle),
	}[name])
}

// more are events that no file has. Of the record behind the claim's nothing can ever be published.
var more = map[string]string{"draw-dice": `{}`, "draw-call": `{}`, "publish": `{"Records":[{"dynamodb":{"ApproximateCreationDateTime":1767225690,"NewImage":{` +
	`"pk":{"S":"CLAIM#moutai#0"},"sk":{"S":"alice"},"claimId":{"S":"C1"},"shard":{"N":"0"},"acceptedAt":{"N":"1767225605000"},"orderId":{"N":"` + testledger.AlicesNumber + `"}}}},7]}`,
}

// instants are those at which the functions have the most to do; the others' requests are made when the webhooks are signed.
var instants = map[string]time.Duration{
	"draw": 75 * time.Minute, "draw-dice": 3 * time.Hour, "draw-call": 3 * time.Hour, "release": 2 * time.Hour, "reconcile": 10 * time.Minute,
}

func prepare(w *testledger.World, event string) {
	name, _, _ := strings.Cut(event, "-")
	switch {
	case event == "seed-create":
	case name == "draw" || strings.HasPrefix(event, "purchase-ent"):
		w.Open(testledger.WithDraw)
		w.Until(testledger.EnterFrom)
		w.Enter(testledger.Alice, testledger.Bob)
	default:
		w.Sells(func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = time.Hour, 149900, "CNY" })
		w.Buy(testledger.Bob, testledger.BobsClaim, "")
		w.Confirms()
	}
	switch event {
	case "release-one":
		w.Pay(testledger.Alice, "p1", 149900)
		w.Recall()
	case "operate-stop":
		asOf := testledger.Began.Add(7 * time.Second)
		s := sale.Sending{ID: sale.SendingID(asOf, "p1"), AsOf: asOf, Count: 1, Sums: map[string]int64{"CNY": 149900}, Author: sale.Author{Actor: "lin"}}
		if _, _, err := w.Ledger().BeginSending(w.T.Context(), s); err != nil {
			w.T.Fatal(err)
		}
	case "draw-dice":
		w.CloseRoll()
	case "draw-call":
		w.CloseRoll()
		w.Throw()
	}
	w.Until(testledger.Began.Add(cmp.Or(instants[event], instants[name], 91*time.Second)))
}

// outcome is how a function has answered: fine, busy, which whoever asked repeats, or broken.
func outcome(answer []byte, err error) string {
	switch said := fmt.Sprintf("%s %v", answer, err); {
	case strings.Contains(said, `"statusCode":500`), strings.Contains(said, `Type:"internal"`), strings.Contains(said, "panic"):
		return "broken"
	case err != nil, strings.Contains(said, `"statusCode":503`), strings.Contains(said, "itemIdentifier"):
		return "busy"
	}
	return "fine"
}

// left is the time of each event: the shortest timeout of a function, and what a longer run has at its end.
const left = 6 * time.Second

// inFlight runs an event three times at once in one process, of which the first meets the misfortune, and returns that
// one's calls and all outcomes.
func inFlight(t *testing.T, event string, payload []byte, met *misfortune) (calls []string, got [3]string) {
	testledger.Run(t, func(w *testledger.World) {
		prepare(w, event)
		var log bytes.Buffer
		handler := function(w, event, &log)
		w.DB.Fault = func(c dynamotest.Call) dynamotest.Fault {
			_ = outside{}.call(c.Context, c.Op)
			return dynamotest.Fault{}
		}
		var all sync.WaitGroup
		for i, m := range []*misfortune{met, {}, {}} {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 3 * time.Millisecond)
				began := time.Now()
				ctx, cancel := context.WithTimeout(context.WithValue(w.T.Context(), outside{}, m), left)
				defer cancel()
				answer, err := handler.Invoke(ctx, payload)
				got[i] = outcome(answer, err)
				if took := time.Since(began); took > left-100*time.Millisecond || bytes.Contains(answer, []byte(bug)) {
					w.T.Errorf("%s, call %d: event %d is answered after %v of %v: %s", event, met.from, i, took, left, answer)
				}
			})
		}
		all.Wait()
		if line := log.String(); met.panics && got[0] == "broken" && !(strings.Contains(line, "panic: "+bug) && strings.Contains(line, `"stackTrace":"goroutine`)) {
			w.T.Errorf("%s, call %d: got the log %s, want the panic with its stack", event, met.from, line)
		}
	})
	return met.calls, got
}

func TestEveryFunctionAnswersInTimeAndAloneWhateverHangsOrPanics(t *testing.T) {
	files, err := filepath.Glob("../../../events/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range slices.Concat(files, slices.Sorted(maps.Keys(more))) {
		event := strings.TrimSuffix(filepath.Base(file), ".json")
		payload := []byte(more[event])
		if len(payload) == 0 {
			if payload, err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
		calls, clean := inFlight(t, event, payload, &misfortune{})
		for n, call := range calls {
			if slices.Contains(calls[:n], call) && slices.Contains(calls[n+1:], call) {
				continue // the first and the last of a kind are enough
			}
			for _, panics := range []bool{false, true} {
				met, got := inFlight(t, event, payload, &misfortune{from: n + 1, panics: panics})
				want := "busy"
				switch name, _, _ := strings.Cut(event, "-"); {
				case name == "purchase" && (met[n] == "SendMessage" || met[n] == "UpdateItem"):
					want = "fine" // the claim is made: its message can be sent again
				case name == "purchase" && !panics && met[n] == "GetItem" && slices.Contains(calls[:n], "TransactWriteItems"):
					want = "fine" // the claim is found: it can be shown without what its sale says
				case panics:
					want = "broken"
				case name == "page" || event == "operate-health" || event == "operate-count":
					want = "fine" // without what it does not know
				case name == "draw" || name == "reconcile" || name == "release" || event == "seed-recall":
					want = "fine, busy or broken" // the next run continues one whose time was up
				}
				others := clean[2]
				if !panics {
					others += " or busy" // for want of what the one that hangs reads
				}
				if !strings.Contains(want, got[0]) || !strings.Contains(others, got[2]) {
					t.Errorf("%s, call %d, %s (panics: %t): got %s, want %s, and the others %s", event, n+1, met[n], panics, got, want, others)
				}
			}
		}
	}
}
