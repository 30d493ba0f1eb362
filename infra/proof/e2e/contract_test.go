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

// The contracts of the two APIs, read once.
var (
	document          = sync.OnceValues(func() (*contract.Contract, error) { return contract.Open(contract.Buyers) })
	operatorsDocument = sync.OnceValues(func() (*contract.Contract, error) { return contract.Open(contract.Operators) })
)

// checked checks every answer of the two APIs in a test against their contracts, except
// local-only routes and the Invoke API.
func (s *stack) checked(base http.RoundTripper) http.RoundTripper {
	if *withLast {
		base = versioned{base}
	}
	for port, opened := range map[int]func() (*contract.Contract, error){s.at.Ports[0]: document, s.at.Ports[4]: operatorsDocument} {
		c, err := opened()
		if err != nil {
			s.t.Fatal(err)
		}
		base = &contract.Transport{
			Contract: c, Base: base,
			Covers: func(r *http.Request) bool {
				return r.URL.Port() == strconv.Itoa(port) && !strings.HasPrefix(r.URL.Path, "/_local/")
			},
			Broken: func(err error) { s.t.Error(err) },
		}
	}
	return base
}

// versioned gives an answer without a release's name one: releases before 0.6.0 have none, and
// otherwise keep the contract.
type versioned struct{ base http.RoundTripper }

// RoundTrip sends a request.
func (n versioned) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := n.base.RoundTrip(r)
	if err == nil && answer.Header.Get("Flashsale-Version") == "" {
		answer.Header.Set("Flashsale-Version", "0.5.0")
	}
	return answer, err
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
	met := s.press(g, s.at.Ports[0], 1700, func(n int) { g.Tokens[0] = buyers[n%len(buyers)] })
	s.hasMet(met,
		"purchase 202 PendingClaim", "purchase 400 InvalidRequest", "purchase 401 TokenRefused", "purchase 409 AlreadyOrdered",
		"purchase 413 BodyTooLarge", "purchase 415 UnsupportedMediaType", "sale 200 Sale", "order 404 OrderNotFound", "elsewhere 404 GatewayAnswer",
	)
	// Whatever was requested, only purchases may have changed the books.
	if b := s.balanced("moutai"); len(b.Claims) == 0 || len(b.Claims) > 6 {
		t.Errorf("claims: %v", b.Claims)
	}
}

// TestNoRequestGetsAnAnswerOutsideTheOperatorsContract does the same at the operators' API.
func TestNoRequestGetsAnAnswerOutsideTheOperatorsContract(t *testing.T) {
	t.Parallel()
	s := boot(t)
	s.open("moutai", 1000, 2)
	s.open("last", 1, 1)
	c, err := operatorsDocument()
	if err != nil {
		t.Fatal(err)
	}
	g := c.Generator(12)
	g.Known = map[string][]string{"saleId": {"moutai", "last", "nowhere"}, "user": {"alice"}, "id": {"c-1", "c-2"}}
	g.Tokens = []contract.Token{
		{Authorization: "Bearer " + s.token("kim", "role=operator")}, {Authorization: "Bearer " + s.token("vera", "role=viewer"), Barred: []string{"change"}},
		{Authorization: "Bearer " + s.token("kim"), Refused: true}, {Refused: true},
	}
	met := s.press(g, s.at.Ports[4], 500, func(int) {})
	s.hasMet(met, "sales 200 Sales", "trail 200 Trail", "buyer 200 Buyer", "change 200 EditedSale", "change 400 InvalidRequest", "change 401 TokenRefused", "change 403 Forbidden")
	s.balanced("moutai")
}

// press makes drawn requests at the API of that port and returns what they met; before is
// called with the number of each.
func (s *stack) press(g *contract.Generator, port, requests int, before func(n int)) map[string]int {
	s.t.Helper()
	met := map[string]int{}
	for outcome, n := range g.Press(s.t.Context(), "http://127.0.0.1:"+strconv.Itoa(port), requests, before, func(r *http.Request) (contract.Answer, error) {
		a, err := s.client.Do(r)
		return contract.Answer{Status: a.Status, Header: a.Header, Body: a.Body}, err
	}, func(err error) { s.t.Error(err) }) {
		met[outcome.String()] = n
	}
	return met
}

func (s *stack) hasMet(met map[string]int, outcomes ...string) {
	s.t.Helper()
	for _, must := range outcomes {
		if met[must] == 0 {
			s.t.Errorf("%s was never met: %v", must, met)
		}
	}
}
