package ours

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
)

func quiet(p shop.Place) shop.Host {
	return shop.Host{
		Place: p, Servers: 1,
		CheckUser: func(context.Context, string) error { return nil },
		Now:       time.Now,
		At:        func(context.Context, shop.Point) {},
	}
}

func TestTheLedgerSellsWhatThereIsAndTheTableShowsIt(t *testing.T) {
	e := enginetest.Start(t)
	p := shop.Place{Sale: "s-1", Stock: 2, DynamoDB: e.Endpoint(), Table: "ledger"}
	other := shop.Place{Sale: "s-10", Stock: 1, DynamoDB: e.Endpoint(), Table: "ledger"}
	enginetest.EnsureLedger(t, engine.Client(p.DynamoDB), p.Table)
	spec := Specs()[0]
	for _, place := range []shop.Place{p, other} {
		if err := spec.Prepare(t.Context(), place); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		place shop.Place
		user  string
		want  shop.Outcome
	}{
		{p, "a", shop.Accepted}, {other, "x", shop.Accepted}, {p, "b", shop.Accepted}, {p, "c", shop.SoldOut},
		{p, "a", shop.Accepted}, // the same page again: the same answer
	} {
		s, err := spec.Open(t.Context(), quiet(c.place))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Buy(t.Context(), c.user); got != c.want || err != nil {
			t.Errorf("%s in %s: %s (%v), want %s", c.user, c.place.Sale, got, err, c.want)
		}
	}
	all, err := spec.Orders(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]bool{}
	for _, o := range all {
		users[o.User] = true
	}
	if len(all) != 2 || !users["a"] || !users["b"] {
		t.Errorf("the table shows %v, want a's and b's order", all)
	}
}

func TestAnAnswerOfTheAPIIsReadByItsCode(t *testing.T) {
	status, body := 0, ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_local/token" {
			fmt.Fprint(w, "token-of-"+r.URL.Query().Get("sub"))
			return
		}
		if r.Method != http.MethodPost || r.URL.Path != "/sales/s/orders" || r.Header.Get("Authorization") != "Bearer token-of-a" || r.Header.Get("Idempotency-Key") == "" {
			t.Errorf("got %s %s with %v", r.Method, r.URL, r.Header)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	defer api.Close()
	s, err := Specs()[3].Open(t.Context(), quiet(shop.Place{Sale: "s", Stock: 1, API: api.URL}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		body   string
		want   shop.Outcome
	}{
		{202, `{"claimId":"c"}`, shop.Accepted},
		{409, `{"code":"already-ordered"}`, shop.AlreadyOrdered},
		{409, `{"code":"sold-out"}`, shop.SoldOut},
		{503, `{"code":"busy"}`, shop.Busy},
		{429, `{"code":"too-many-requests"}`, shop.Busy},
		{500, `{"code":"internal"}`, ""},
		{500, `{"message":"Internal Server Error"}`, ""},
		{502, `no JSON`, ""},
	} {
		status, body = c.status, c.body
		got, err := s.Buy(t.Context(), "a")
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%d %s: %q (%v), want %q", c.status, c.body, got, err, c.want)
		}
	}
}

func TestWhatMayBeRepeatedIsRepeatedAFewTimes(t *testing.T) {
	broken := errors.New("broken")
	for succeedsAt, want := range map[int]error{1: nil, 3: nil, 4: broken} {
		n := 0
		err := again(t.Context(), func() error {
			if n++; n < succeedsAt {
				return broken
			}
			return nil
		})
		if !errors.Is(err, want) || n != min(succeedsAt, tries) {
			t.Errorf("would succeed at %d: %v after %d", succeedsAt, err, n)
		}
	}
}
