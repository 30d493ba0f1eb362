package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/infra/proof/contract"
)

// document is the API's contract, read once.
var document = sync.OnceValues(contract.Open)

// checked checks every answer of the API in a test against the contract, except
// local-only routes and the Invoke API.
func (s *stack) checked(base http.RoundTripper) http.RoundTripper {
	c, err := document()
	if err != nil {
		s.t.Fatal(err)
	}
	return &contract.Transport{
		Contract: c, Base: base,
		Covers: func(r *http.Request) bool {
			return r.URL.Port() == strconv.Itoa(s.at.Ports[0]) && !strings.HasPrefix(r.URL.Path, "/_local/")
		},
		Broken: func(err error) { s.t.Error(err) },
	}
}

// TestNoRequestGetsAnAnswerOutsideTheContract sends requests drawn from the document,
// valid and invalid, to the whole stack.
func TestNoRequestGetsAnAnswerOutsideTheContract(t *testing.T) {
	t.Parallel()
	s := boot(t)
	now := time.Now()
	s.open("moutai", 1000, 2)
	s.open("last", 1, 1)
	s.create("later", 5, 1, now.Add(time.Hour), now.Add(2*time.Hour))
	s.create("over", 5, 1, now.Add(-2*time.Hour), now.Add(-time.Hour))
	s.must(s.buy("last", s.bearer("first")...))
	c, err := document()
	if err != nil {
		t.Fatal(err)
	}
	g := c.Generator(11)
	g.Known = map[string][]string{"saleId": {"moutai", "last", "later", "over", "nowhere"}, "Idempotency-Key": {"k1", `"k1"`}}
	good := "Bearer " + s.token("alice")
	g.Tokens = []contract.Token{
		{Authorization: good}, {Authorization: "Bearer " + s.token("茅台 🍶 fan")}, {Authorization: "Bearer " + s.token("a\nb"), Unfit: true},
		{Authorization: "Bearer " + s.token(strings.Repeat("é", 129)), Unfit: true},
		{Refused: true}, {Authorization: "Bearer a.b.c", Refused: true}, {Authorization: good[:len(good)/2], Refused: true},
		{Authorization: "Bearer " + s.token("alice", "ttl=-1"), Refused: true}, {Authorization: "Bearer " + s.token("alice", "aud=other"), Refused: true},
	}
	// With so many buyers few requests are turned away because one buyer sends too many. The
	// first token is the one that most requests are drawn with.
	buyers := []contract.Token{g.Tokens[0]}
	for _, user := range []string{"bob", "carol", "dave", "erin"} {
		buyers = append(buyers, contract.Token{Authorization: "Bearer " + s.token(user)})
	}
	met := map[string]int{}
	for n := range 1700 {
		g.Tokens[0] = buyers[n%len(buyers)]
		r, err := g.Next()
		if err != nil {
			t.Fatal(err)
		}
		request, err := r.HTTP(t.Context(), s.api(""))
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.do(request)
		if err != nil {
			t.Fatalf("%s: %v", &r, err)
		}
		outcome, err := c.Check(request.Method, request.URL, contract.Answer{Status: a.status, Header: a.header, Body: []byte(a.raw)})
		if err != nil {
			continue // reported by the client's transport
		}
		if err := r.Judge(outcome); err != nil {
			t.Errorf("%s: %v", &r, err)
		}
		met[outcome.String()]++
	}
	for _, must := range []string{
		"purchase 202 PendingClaim", "purchase 400 InvalidRequest", "purchase 401 TokenRefused", "purchase 409 AlreadyOrdered",
		"purchase 413 BodyTooLarge", "purchase 415 UnsupportedMediaType", "sale 200 Sale", "order 404 OrderNotFound", "elsewhere 404 GatewayAnswer",
	} {
		if met[must] == 0 {
			t.Errorf("%s was never met: %v", must, met)
		}
	}
	// Whatever was requested, only purchases may have changed the books.
	if b := s.balanced("moutai"); len(b.Claims) == 0 || len(b.Claims) > 6 {
		t.Errorf("claims: %v", b.Claims)
	}
}
