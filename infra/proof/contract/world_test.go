package contract

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	operateassets "flashsale/functions/operate/assets"
	operatehandler "flashsale/functions/operate/handler"
	"flashsale/functions/operate/stack"
	"flashsale/functions/page/assets"
	pagehandler "flashsale/functions/page/handler"
	payhandler "flashsale/functions/pay/handler"
	purchasehandler "flashsale/functions/purchase/handler"
	queryhandler "flashsale/functions/query/handler"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/testledger"
	"flashsale/infra/local/eventsource"
	"flashsale/infra/local/gateway"
	"flashsale/infra/local/issuer"
	"flashsale/infra/local/template"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/webpage"
)

// world is one table with some sales, and the functions over it in this process.
type world struct {
	*testledger.World
	book   *ledger.Ledger
	tokens *issuer.Issuer
	buyers atomic.Int64
	around surroundings
}

// unsent drops messages, so that claims stay pending.
type unsent struct{}

func (unsent) Send(context.Context, orderq.Message) error { return nil }

// The sales of every world.
const (
	open     = "open"
	later    = "later"
	over     = "over"
	paused   = "paused"
	recalled = "recalled"
	empty    = "empty"
	pairs    = "pairs"  // up to two units an order, of which one is left
	unpaid   = "unpaid" // asks for payment of the price
	price    = 129900

	grouped = "size-38"
	other   = "size-39"
	group   = "shoe" // of both

	entering = "entering"        // people may enter its draw
	drawn    = testledger.SaleID // see draws
)

// inWorld runs a test in a new world, in virtual time.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	issued, err := tokens()
	if err != nil {
		t.Fatal(err)
	}
	testledger.Run(t, func(in *testledger.World) {
		w := &world{World: in, book: in.Ledger(), tokens: issued}
		w.sales()
		test(w)
	})
}

// sales makes the sales of every world.
func (w *world) sales() {
	now := time.Now()
	for id, opens := range map[string]time.Time{
		open: now.Add(-time.Hour), later: now.Add(time.Hour), over: now.Add(-3 * time.Hour),
		paused: now.Add(-time.Hour), recalled: now.Add(-time.Hour), empty: now.Add(-time.Hour), pairs: now.Add(-time.Hour), unpaid: now.Add(-time.Hour),
		grouped: now.Add(-time.Hour), other: now.Add(-time.Hour), entering: now.Add(4 * time.Hour),
	} {
		c := sale.Creation{SaleID: id, Name: "Feitian Moutai", Stock: 100_000, Shards: 2, OpensAt: opens, ClosesAt: opens.Add(2 * time.Hour)}
		if id == empty {
			c.Stock, c.Shards = 1, 1
		}
		if id == pairs {
			c.Stock, c.Shards, c.MaxPerOrder = 1, 1, 2
		}
		if id == grouped || id == other {
			c.LimitGroup = group
		}
		if id == entering {
			c.DrawTerms = sale.DrawTerms{EnterFrom: now.Add(-time.Hour), EnterUntil: now.Add(time.Hour), KeepFor: time.Hour}
		}
		if id == unpaid {
			c.PayWithin, c.Price, c.Currency = time.Hour, price, "CNY"
			c.Presentation = sale.Presentation{Image: "https://images.example/a.jpg", About: "53 % vol.\nNumbered.", Link: "https://shop.example/"}
		}
		w.Open(func(creation *sale.Creation) { *creation = c })
	}
	_, err := w.book.Edit(w.T.Context(), sale.Edit{SaleID: paused, At: now, Paused: new(true)})
	if err == nil {
		_, err = w.book.Recall(w.T.Context(), sale.Recall{SaleID: recalled})
	}
	if err != nil {
		w.T.Fatal(err)
	}
	w.buy(empty)
}

// draws makes a sale with a draw of one unit that is in its second call: of its entrants one has let the turn pass, one
// has it now, and one is not called yet.
func (w *world) draws() []string {
	w.T.Helper()
	entrants := []string{w.buyer(), w.buyer(), w.buyer()}
	w.Drawn(1, entrants...)
	w.Call()
	return entrants
}

// tokenIssuer is the tokens' iss.
const tokenIssuer = "https://issuer.example"

// tokens makes the one issuer of all worlds: its key takes a while.
var tokens = sync.OnceValues(func() (*issuer.Issuer, error) {
	return issuer.Open("", issuer.Options{URL: tokenIssuer, Audience: audience})
})

func (w *world) buyer() string { return fmt.Sprintf("buyer-%d", w.buyers.Add(1)) }

// buy makes a purchase without the gateway.
func (w *world) buy(saleID string) sale.Claim {
	w.T.Helper()
	p, err := w.book.Purchase(w.T.Context(), ledger.Request{SaleID: saleID, User: w.buyer()})
	if err != nil {
		w.T.Fatal(err)
	}
	return p.Claim
}

// confirmedIn is a claim of a sale, with its order.
func (w *world) confirmedIn(saleID string) (user string, order sale.Order) {
	w.T.Helper()
	c := w.buy(saleID)
	done := w.book.Confirm(w.T.Context(), []ledger.ClaimRef{{SaleID: c.SaleID, User: c.User, ClaimID: c.ID}})
	if done[0].Err != nil {
		w.T.Fatal(done[0].Err)
	}
	return c.User, done[0].Order
}

// The audiences of the two APIs.
const (
	audience          = "flashsale"
	operatorsAudience = "flashsale-operators"
)

// door is how an API is set up.
type door struct {
	api    string // the name of its document; Buyers when empty
	scopes []string
	open   bool // no authorizer: the functions are reached without a user
	hidden bool // the functions accept requests from the public address only
	picky  bool // the operator's check admits no one
	gone   bool // there is no table
}

// front is the API over the world's functions, with the template's routes.
func (w *world) front(d door) http.Handler {
	w.T.Helper()
	accepted := audience
	if d.api == Operators {
		accepted = operatorsAudience
	}
	var routes []gateway.Route
	for _, r := range described(w.T, d.api).Routes {
		route := gateway.Route{Route: template.Route{Method: r.Method, Path: r.Path, Function: r.Function}}
		if r.Authorizer != "" && !d.open {
			route.JWT, route.Scopes = &gateway.JWT{Issuer: tokenIssuer, Audience: []string{accepted}, Keys: w.key}, d.scopes
		}
		routes = append(routes, route)
	}
	return gateway.New(routes, w.functions(d), gateway.Options{})
}

// described is the template's API that the document of that name is about.
func described(t testing.TB, name string) template.API {
	t.Helper()
	stack, err := project()
	if err != nil {
		t.Fatal(err)
	}
	if name == Operators {
		return stack.Operators
	}
	return stack.API
}

// project is the project's template, read once.
var project = sync.OnceValues(func() (*template.Stack, error) {
	return template.Load("../../../template.yaml", template.Options{Parameters: map[string]string{
		"JwtIssuer": tokenIssuer, "JwtAudience": audience,
		"CreateOperatorApi": "true", "OperatorIssuer": tokenIssuer, "OperatorAudience": operatorsAudience,
	}})
})

func (w *world) key(kid string) (*rsa.PublicKey, error) { return w.tokens.Key(kid) }

// bearer is an Authorization header.
func (w *world) bearer(c issuer.Claims) string {
	w.T.Helper()
	c.TTL = time.Hour
	token, err := w.tokens.Token(c)
	if err != nil {
		w.T.Fatal(err)
	}
	return "Bearer " + token
}

// functions are the template's functions, by their logical ids.
func (w *world) functions(d door) eventsource.Invoker {
	book := w.Ledger()
	if d.gone {
		book = w.Nowhere()
	}
	query := queryhandler.New(book, telemetry.New(io.Discard, "query", clock.Wall), clock.Wall)
	purchase := purchasehandler.New(book, unsent{}, telemetry.New(io.Discard, "purchase", clock.Wall), clock.Wall)
	purchase.Times = testledger.DrawTimes
	providers, err := payhandler.NewProviders(payhandler.Settings{
		StripeSecrets: webhook.LocalSecrets[webhook.Stripe], StripeEvents: "checkout",
		WeChatPaySecrets: webhook.LocalSecrets[webhook.WeChatPay], AlipaySecrets: webhook.LocalSecrets[webhook.Alipay], AdyenSecrets: webhook.LocalSecrets[webhook.Adyen],
	}, time.Now)
	if err != nil {
		w.T.Fatal(err)
	}
	pay := payhandler.New(book, providers, telemetry.New(io.Discard, "pay", clock.Wall), clock.Wall)
	shown, err := operatorsPage()
	if err != nil {
		w.T.Fatal(err)
	}
	operate := operatehandler.New(book, telemetry.New(io.Discard, "operate", clock.Wall), clock.Wall)
	operate.RolesClaim, operate.Page, operate.Stack, operate.Sends = "cognito:groups", shown, w.around, true
	if d.picky {
		purchase.Users = nobody{}
	}
	var origin httpapi.Origin
	if d.hidden {
		if origin, err = httpapi.NewOrigin("a secret that the distribution alone knows"); err != nil {
			w.T.Fatal(err)
		}
	}
	query.Origin, purchase.Origin, pay.Origin = origin, origin, origin
	page := sync.OnceValues(func() (*pagehandler.Handler, error) {
		h, err := pagehandler.New(assets.Files, webpage.SignIn{}, pagehandler.Appearance{ImageOrigin: "https://images.example"}, book, telemetry.New(io.Discard, "page", clock.Wall), clock.Wall)
		if err == nil {
			h.Origin = origin
		}
		return h, err
	})
	return invoker{
		"QueryFunction": httpapi.Serve(query.Handle), "PurchaseFunction": httpapi.Serve(purchase.Handle), "PageFunction": lambda.NewHandler(func(ctx context.Context, r events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			h, err := page()
			if err != nil {
				return events.APIGatewayV2HTTPResponse{}, err
			}
			return h.Handle(ctx, r)
		}),
		"PayFunction": httpapi.Serve(pay.Handle), "OperateFunction": operate,
	}
}

// operatorsPage is the page of OperateFunction. The pages are made when somebody asks for one: shortening their scripts
// takes longer than everything else here.
var operatorsPage = sync.OnceValues(func() (operatehandler.Page, error) { return operatehandler.PageFromEnv(operateassets.Files) })

// surroundings are the stack around OperateFunction, of which everything may be down, or busy.
type surroundings struct {
	operatehandler.Stack
	down, busy bool
}

func (s surroundings) fault() error {
	switch {
	case s.down:
		return errors.New("down")
	case s.busy:
		return sale.Fail(sale.Busy, nil)
	}
	return nil
}

func (surroundings) Has(stack.Queue) bool { return true }

func (s surroundings) Depth(context.Context, stack.Queue) (int64, error) { return 1, s.fault() }

func (s surroundings) Ringing(context.Context) ([]stack.Alarm, error) {
	return []stack.Alarm{{Name: "FinalizeFailingAlarm", Says: "no order gets an id", Since: time.Now()}}, s.fault()
}

func (s surroundings) Purchases(_ context.Context, _ time.Time, minutes int, results []string) (map[string][]int64, error) {
	return map[string][]int64{results[0]: make([]int64, minutes)}, s.fault()
}

func (s surroundings) Reconcile(_ context.Context, request, answer any) error {
	if text := fmt.Sprint(request); strings.Contains(text, "none") {
		return sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	return errors.Join(s.fault(), json.Unmarshal([]byte(`{"receipts":[{"pending":2,"balanced":true}],"resent":1}`), answer))
}

// nobody is an operator's check that admits nobody.
type nobody struct{}

func (nobody) IsEligible(context.Context, string, string, time.Time) (bool, error) { return false, nil }

type invoker map[string]lambda.Handler

func (i invoker) Invoke(ctx context.Context, function string, payload []byte) ([]byte, string, error) {
	ctx, cancel := context.WithTimeout(ctx, 6*time.Second)
	defer cancel()
	answer, err := i[function].Invoke(ctx, payload)
	if err != nil {
		return []byte(err.Error()), "Unhandled", nil
	}
	return answer, "", nil
}
