package contract

import (
	"context"
	"crypto/rsa"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	operateassets "flashsale/functions/operate/assets"
	operatehandler "flashsale/functions/operate/handler"
	"flashsale/functions/page/assets"
	pagehandler "flashsale/functions/page/handler"
	payhandler "flashsale/functions/pay/handler"
	purchasehandler "flashsale/functions/purchase/handler"
	queryhandler "flashsale/functions/query/handler"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/local/gateway"
	"flashsale/infra/local/issuer"
	"flashsale/infra/local/template"
	"flashsale/shared/beacon"
	"flashsale/shared/clock"
	drawing "flashsale/shared/draw"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/webpage"
)

// world is one table with some sales, and the functions over it in this process.
type world struct {
	t      testing.TB
	db     *dynamotest.DB
	book   *ledger.Ledger
	tokens *issuer.Issuer
	fault  atomic.Pointer[dynamotest.Fault] // of every call
	gone   atomic.Bool                      // there is no table
	buyers atomic.Int64
}

// unsent drops messages, so that claims stay pending.
type unsent struct{}

func (unsent) Send(context.Context, orderq.Message) error { return nil }

// The sales of every world.
const (
	open     = "moutai"
	later    = "later"
	over     = "over"
	paused   = "paused"
	recalled = "recalled"
	empty    = "empty"
	unpaid   = "unpaid" // asks for payment of the price
	price    = 129900

	grouped = "size-38"
	other   = "size-39"
	group   = "shoe" // of both

	entering = "entering" // people may enter its draw
	drawn    = "drawn"    // its draw is in the second call, see draws
)

// drawTimes are those of the draws.
var drawTimes = drawing.Times{Settle: 15 * time.Minute, Dice: time.Hour, Gap: time.Minute}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, db: dynamotest.New(dynamotest.Table{Name: "Ledger", PK: "pk", SK: "sk"})}
	w.db.Fault = func(dynamotest.Call) dynamotest.Fault {
		if f := w.fault.Load(); f != nil {
			return *f
		}
		return dynamotest.Fault{}
	}
	w.book = ledger.New(dynamotest.WithHook(w.db, func(_ string, _ any, call func() (any, error)) (any, error) {
		if w.gone.Load() {
			return nil, &types.ResourceNotFoundException{}
		}
		return call()
	}), "Ledger", ledger.Options{})
	var err error
	if w.tokens, err = tokens(); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for id, opens := range map[string]time.Time{
		open: now.Add(-time.Hour), later: now.Add(time.Hour), over: now.Add(-3 * time.Hour),
		paused: now.Add(-time.Hour), recalled: now.Add(-time.Hour), empty: now.Add(-time.Hour), unpaid: now.Add(-time.Hour),
		grouped: now.Add(-time.Hour), other: now.Add(-time.Hour), entering: now.Add(4 * time.Hour),
	} {
		c := sale.Creation{SaleID: id, Name: "Feitian Moutai", Stock: 100_000, Shards: 2, OpensAt: opens, ClosesAt: opens.Add(2 * time.Hour)}
		if id == empty {
			c.Stock, c.Shards = 1, 1
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
		if _, err := w.book.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	yes := true
	if _, err := w.book.Edit(t.Context(), sale.Edit{SaleID: paused, At: now, Paused: &yes}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.book.Recall(t.Context(), sale.Recall{SaleID: recalled}); err != nil {
		t.Fatal(err)
	}
	w.buy(empty)
	return w
}

// draws makes a sale with a draw, and returns its entrants in the order of their turns: the
// first one's is over, the second one's is now, and the third one is not called yet.
func (w *world) draws() (entrants []string) {
	w.t.Helper()
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	now := time.Now()
	ago := func(hours time.Duration) *ledger.Ledger {
		return ledger.New(w.db, "Ledger", ledger.Options{Now: func() time.Time { return time.Now().Add(-hours * time.Hour) }})
	}
	c := sale.Creation{SaleID: drawn, Stock: 1, Shards: 1, OpensAt: now.Add(-6 * time.Hour), ClosesAt: now.Add(6 * time.Hour)}
	c.DrawTerms = sale.DrawTerms{EnterFrom: now.Add(-9 * time.Hour), EnterUntil: now.Add(-8*time.Hour + time.Minute), KeepFor: time.Hour}
	must(c.Check())
	_, err := w.book.Create(w.t.Context(), c)
	must(err)
	leaves := map[drawing.Leaf]string{}
	for range 3 {
		user := w.buyer()
		e, err := ago(8).Enter(w.t.Context(), drawn, user, drawTimes.Settle, nil)
		must(err)
		leaves[e.Leaf] = user
	}
	var head ledger.DrawHead
	for _, hours := range []time.Duration{6, 0} {
		l := ago(hours)
		d, err := l.DrawState(w.t.Context(), drawn, drawTimes.Gap)
		must(err)
		if d.Last.Number == 0 {
			head, err = l.CloseRoll(w.t.Context(), d.Sale, beacon.Quicknet.RoundAt, drawTimes.Dice)
			must(err)
			signature := make([]byte, beacon.SignatureSize)
			must(l.SetSeed(w.t.Context(), d.Sale, drawing.SeedOf(drawn, head.Roll, beacon.Randomness(signature)), signature))
			d, err = l.DrawState(w.t.Context(), drawn, drawTimes.Gap)
			must(err)
		}
		roll, err := l.Leaves(w.t.Context(), d.Sale, d.Head.Roll)
		must(err)
		ranks := drawing.Ranks(d.Head.Seed, roll)
		// Without a gap the call runs at once.
		_, err = l.BeginCall(w.t.Context(), d, ranks, time.Millisecond)
		must(err)
		_, err = l.FinishCall(w.t.Context(), drawn, ranks, time.Minute)
		must(err)
		head = d.Head
	}
	order := slices.SortedFunc(maps.Keys(leaves), func(a, b drawing.Leaf) int { return drawing.RankOf(head.Seed, a).Compare(drawing.RankOf(head.Seed, b)) })
	for _, l := range order {
		entrants = append(entrants, leaves[l])
	}
	time.Sleep(2 * time.Millisecond)
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
	w.t.Helper()
	p, err := w.book.Purchase(w.t.Context(), ledger.Request{SaleID: saleID, User: w.buyer()})
	if err != nil {
		w.t.Fatal(err)
	}
	return p.Claim
}

// confirmedIn is a claim of a sale, with its order.
func (w *world) confirmedIn(saleID string) (user string, order sale.Order) {
	w.t.Helper()
	c := w.buy(saleID)
	done := w.book.Confirm(w.t.Context(), []ledger.ClaimRef{{SaleID: c.SaleID, User: c.User, ClaimID: c.ID}})
	if done[0].Err != nil {
		w.t.Fatal(done[0].Err)
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
}

// front opens the API over the world's functions, with the template's routes.
func (w *world) front(d door) *httptest.Server {
	w.t.Helper()
	accepted := audience
	if d.api == Operators {
		accepted = operatorsAudience
	}
	var routes []gateway.Route
	for _, r := range described(w.t, d.api).Routes {
		route := gateway.Route{Method: r.Method, Path: r.Path, Function: r.Function}
		if r.Authorizer != "" && !d.open {
			route.Authorizer, route.Scopes = &gateway.JWT{Issuer: tokenIssuer, Audience: []string{accepted}, Keys: w.key}, d.scopes
		}
		routes = append(routes, route)
	}
	api, err := gateway.New(routes, w.functions(d), gateway.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	server := httptest.NewServer(api)
	w.t.Cleanup(server.Close)
	return server
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

// bearer is the Authorization header of a user.
func (w *world) bearer(user string) string { return w.signed(issuer.Claims{Subject: user}) }

// operator is the Authorization header of somebody with those roles at the operators' API.
func (w *world) operator(name string, roles ...string) string {
	return w.signed(issuer.Claims{Subject: name, Audience: operatorsAudience, Groups: roles})
}

func (w *world) signed(c issuer.Claims) string {
	w.t.Helper()
	c.TTL = time.Hour
	token, err := w.tokens.Token(c)
	if err != nil {
		w.t.Fatal(err)
	}
	return "Bearer " + token
}

// functions are the template's functions, by their logical ids.
func (w *world) functions(d door) gateway.Invoker {
	query := queryhandler.New(w.book, telemetry.New(io.Discard, "query", clock.Wall), clock.Wall)
	purchase := purchasehandler.New(w.book, unsent{}, telemetry.New(io.Discard, "purchase", clock.Wall), clock.Wall).Drawing(drawTimes)
	page, err := pagehandler.New(assets.Files, webpage.SignIn{}, pagehandler.Look{}, telemetry.New(io.Discard, "page", clock.Wall))
	if err != nil {
		w.t.Fatal(err)
	}
	providers, err := payhandler.NewProviders(stripeSecret, "checkout", "", time.Now)
	if err != nil {
		w.t.Fatal(err)
	}
	pay := payhandler.New(w.book, providers, telemetry.New(io.Discard, "pay", clock.Wall), clock.Wall)
	operatorsPage, err := operatehandler.PageFromEnv(operateassets.Files)
	if err != nil {
		w.t.Fatal(err)
	}
	operate := operatehandler.New(w.book, telemetry.New(io.Discard, "operate", clock.Wall), clock.Wall).RolesFrom("cognito:groups").Showing(operatorsPage)
	if d.picky {
		purchase.Checking(nobody{})
	}
	if d.hidden {
		origin, err := httpapi.NewOrigin("a secret that the distribution alone knows")
		if err != nil {
			w.t.Fatal(err)
		}
		query.Behind(origin)
		purchase.Behind(origin)
		page.Behind(origin)
		pay.Behind(origin)
	}
	return invoker{
		"QueryFunction": httpapi.Serve(query.Handle), "PurchaseFunction": httpapi.Serve(purchase.Handle), "PageFunction": lambda.NewHandler(page.Handle),
		"PayFunction": httpapi.Serve(pay.Handle), "OperateFunction": operate,
	}
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

// do makes a request; header is a list of names and values.
func do(t testing.TB, base http.RoundTripper, method, url string, body io.Reader, header ...string) Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return answered(t, func() (*http.Response, error) { return base.RoundTrip(r) })
}

func answered(t testing.TB, get func() (*http.Response, error)) Answer {
	t.Helper()
	response, err := get()
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Body: text}
}
