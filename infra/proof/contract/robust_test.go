package contract

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
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

// press makes drawn requests at a front door, one after the other, and returns what they met. An answer
// that is outside the contract, or not the one for its request, fails the test.
func press(t *testing.T, server *httptest.Server, g *Generator, n int) map[Outcome]int {
	t.Helper()
	met := map[Outcome]int{}
	for range n {
		r, err := g.Next()
		if err != nil {
			t.Fatal(err)
		}
		request, err := r.HTTP(t.Context(), server.URL)
		if err != nil {
			t.Fatalf("%s: %v", &r, err)
		}
		a := answered(t, func() (*http.Response, error) { return http.DefaultTransport.RoundTrip(request) })
		outcome, err := g.contract.Check(request.Method, request.URL, a)
		if err == nil {
			met[outcome]++
			err = r.Judge(outcome)
		}
		if err != nil {
			t.Errorf("%s: %v", &r, err)
		}
	}
	return met
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
