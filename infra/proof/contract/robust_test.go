package contract

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"flashsale/infra/kit/dynamotest"
)

// cast are the tokens of a world's robustness tests.
func (w *world) cast() []Token {
	good := w.bearer("alice")
	return []Token{
		{Authorization: good},
		{Authorization: w.bearer("茅台 🍶 fan")},
		{Authorization: strings.TrimPrefix(good, "Bearer ")},
		{Authorization: w.bearer("a\nb"), Unfit: true},
		{Authorization: w.bearer(strings.Repeat("é", 129)), Unfit: true},
		{Authorization: w.bearer("\u202evictim"), Unfit: true},
		{Refused: true},
		{Authorization: "Bearer", Refused: true},
		{Authorization: "Bearer a.b.c", Refused: true},
		{Authorization: "Basic YWxpY2U6eA==", Refused: true},
		{Authorization: good[:len(good)/2], Refused: true},
		{Authorization: good + good, Refused: true},
		{Authorization: "Bearer \xff\xfe", Refused: true},
		{Authorization: good + ", " + good, Refused: true},
		{Authorization: w.operator("alice", operatorRole), Refused: true},
	}
}

// generator draws requests for this world's buyers.
func (w *world) generator(seed uint64) *Generator {
	g := opened(w.t, Buyers).Generator(seed)
	g.Tokens = w.cast()
	g.Known = map[string][]string{"saleId": {open, later, over, paused, empty, entering, "nowhere"}, "groupId": {group, "nothing"}, "Idempotency-Key": {"k1", `"k1"`}, "name": {"page.0123456789abcdef.js", "page.js"}}
	return g
}

// press makes drawn requests at a front door and returns what they met.
func press(t testing.TB, server *httptest.Server, g *Generator, n int) map[Outcome]int {
	t.Helper()
	return g.Press(t.Context(), server.URL, n, func(int) {}, func(r *http.Request) (Answer, error) {
		return answered(t, func() (*http.Response, error) { return http.DefaultTransport.RoundTrip(r) }), nil
	}, func(err error) { t.Error(err) })
}

func TestNoRequestGetsAnAnswerOutsideTheContract(t *testing.T) {
	w := newWorld(t)
	met := press(t, w.front(door{calm: true}), w.generator(4), 1800)
	for _, must := range []Outcome{
		{"purchase", 202, "PendingClaim"}, {"purchase", 400, "InvalidRequest"}, {"purchase", 401, "TokenRefused"},
		{"purchase", 403, "SaleNotOpen"}, {"purchase", 409, "AlreadyOrdered"}, {"purchase", 409, "SoldOut"}, {"purchase", 410, "SaleClosed"},
		{"purchase", 413, "BodyTooLarge"}, {"purchase", 415, "UnsupportedMediaType"}, {"purchase", 503, "SalePaused"},
		{"page", 200, "HTML"}, {"page", 404, "HTML"}, {"asset", 404, "File"},
		{"sale", 200, "Sale"}, {"sale", 404, "SaleNotFound"}, {"group", 200, "Group"}, {"claim", 200, "PendingClaim"}, {"order", 404, "OrderNotFound"},
		{elsewhere, 404, "GatewayAnswer"},
	} {
		if met[must] == 0 {
			t.Errorf("%s was never met: the requests are worth nothing", must)
		}
	}
}

// TestNoRequestGetsAnAnswerOutsideTheContractWhileDynamoDBFails: regardless of the
// table's faults, no answer is "internal".
func TestNoRequestGetsAnAnswerOutsideTheContractWhileDynamoDBFails(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(2, 0))
	kinds := []dynamotest.Kind{dynamotest.Conflict, dynamotest.Throttle, dynamotest.ServerError, dynamotest.LostReply, dynamotest.ApplyLate}
	w.db.Fault = func(dynamotest.Call) dynamotest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(4) == 0 {
			return dynamotest.Fault{}
		}
		return dynamotest.Fault{Kind: pick(kinds, random), Reply: dynamotest.Reply(random.IntN(3))}
	}
	met := press(t, w.front(door{calm: true}), w.generator(3), 200)
	if met[Outcome{"purchase", 503, "Busy"}]+met[Outcome{"claim", 503, "Busy"}]+met[Outcome{"order", 503, "Busy"}]+met[Outcome{"cancel", 503, "Busy"}] == 0 {
		t.Errorf("nothing was ever busy: %v", met)
	}
}

// FuzzEveryPartOfARequest feeds the parts themselves.
func FuzzEveryPartOfARequest(f *testing.F) {
	w := newWorld(f)
	bearers := map[string]string{Buyers: w.bearer("alice"), Operators: w.operator("alice", operatorRole)}
	servers := map[string]*httptest.Server{Buyers: w.front(door{}), Operators: w.front(door{api: Operators})}
	for i, text := range oddTexts {
		f.Add(text, oddTexts[len(oddTexts)-1-i], oddMediaTypes[i%len(oddMediaTypes)], []byte(oddBodies[i%len(oddBodies)]))
	}
	f.Fuzz(func(t *testing.T, id, key, media string, body []byte) {
		for api, server := range servers {
			c := opened(t, api)
			for _, o := range c.Operations() {
				r := Request{Operation: o, Method: o.Method, Token: Token{Authorization: bearers[api]}, Body: body, Header: http.Header{
					"Idempotency-Key": {fieldValue(key)}, "Content-Type": {fieldValue(media)},
				}}
				r.Path = regexp.MustCompile(`\{[A-Za-z]+\}`).ReplaceAllLiteralString(o.Path, escape(id, false))
				request, err := r.HTTP(t.Context(), server.URL)
				if err != nil {
					t.Fatal(err)
				}
				a := answered(t, func() (*http.Response, error) { return http.DefaultTransport.RoundTrip(request) })
				outcome, err := c.Check(o.Method, request.URL, a)
				if err != nil || outcome.Status == http.StatusInternalServerError {
					t.Errorf("%s: %v %v", &r, outcome, err)
				}
			}
		}
	})
}
