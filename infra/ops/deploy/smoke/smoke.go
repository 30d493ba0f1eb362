// Package smoke tests a running system as one buyer: the sale, the buyer's page, requests that must
// be refused, also those of somebody who plays a payment provider, one purchase, its repeats, its
// order id.
//
// It uses HTTP, without the table and the queue, and checks the README's promises. It sends
// about twenty-five requests.
package smoke

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
)

type Round struct {
	URL   string // of the API, without a slash at the end
	Sale  string // an open sale
	Token string // of a user without a claim in the sale; empty: skip the purchase
	Key   string // the purchase's Idempotency-Key, new for each round
	// Origin is of a page of another origin that is to buy; empty: none is tried.
	Origin string
	// LastUnit means that the sale has one unit and is sold out after the purchase.
	LastUnit bool
	// Receipt, if not nil, is called after the order is confirmed. It returns a summary of the
	// sale's books, or an error if they do not balance.
	Receipt func(context.Context) (string, error)
	// Bound is the time limit for the order id and for the state SOLD_OUT to appear.
	Bound     time.Duration
	Transport http.RoundTripper
}

type Row struct {
	Check, Want, Got string
	Passed, Skipped  bool
	Took             time.Duration
}

var ErrMismatch = errors.New("the smoke test failed")

// Run makes the checks. After a failure it continues with all checks that do not need the
// failed answer.
func (r Round) Run(ctx context.Context) []Row {
	c := client.New(r.URL, client.Options{Transport: r.Transport})
	defer c.Close()
	buy := func(token, key string) call {
		return func(ctx context.Context) (client.Answer, error) { return c.Buy(ctx, r.Sale, token, key) }
	}
	sale := "/sales/" + url.PathEscape(r.Sale)
	page, mine := get(c, sale, ""), func(token string) call { return get(c, sale+"/orders/me", token) }

	t := table{ctx: ctx, bound: r.Bound}
	t.check("open sale's page", "200 OPEN", page, func(a client.Answer) bool {
		return a.Status == 200 && a.Claim.SaleID == r.Sale && a.Claim.State == "OPEN"
	})
	r.view(&t, c)
	r.from(&t, c, sale)
	t.check("unknown sale's page", "404 sale-not-found", get(c, sale+"-none", ""), is(404, "sale-not-found"))
	t.check("purchase without token", "401", buy("", ""), is(401, ""))
	t.check("purchase with forged token", "401", buy(forged, ""), is(401, ""))
	t.check("claim without token", "401", mine(""), is(401, ""))
	t.check("payment by GET", "404", get(c, "/payments/"+webhook.Stripe, ""), is(404, ""))
	r.pay(&t, c, "1")
	if r.Token == "" {
		t.rows = append(t.rows, Row{Check: "purchase", Got: "no --token was given", Skipped: true})
		return t.rows
	}
	claim := t.check("purchase", "202 PENDING", buy(r.Token, r.Key), func(a client.Answer) bool {
		return a.Status == 202 && a.Claim.State == "PENDING" && a.Claim.ClaimID != "" && a.Header.Get("Location") == "/sales/"+r.Sale+"/orders/me"
	}).Claim.ClaimID
	own := func(a client.Answer) bool { return claim != "" && a.Claim.ClaimID == claim }
	t.check("the same request again", "202, same claim", buy(r.Token, r.Key), func(a client.Answer) bool { return a.Status == 202 && own(a) })
	t.check("another purchase", "409 already-ordered", buy(r.Token, ""), func(a client.Answer) bool { return is(409, "already-ordered")(a) && own(a) })
	id := ""
	if claim != "" {
		id = t.wait("order id", "200 CONFIRMED", mine(r.Token), func(a client.Answer) bool {
			return a.Status == 200 && a.Claim.State == "CONFIRMED" && a.Claim.OrderID != "" && own(a)
		}).Claim.OrderID
	}
	if id != "" {
		// The order's item is written after its claim.
		t.wait("the order", "200, same claim", get(c, "/orders/"+url.PathEscape(id), r.Token), func(a client.Answer) bool { return a.Status == 200 && own(a) && a.Claim.SaleID == r.Sale })
		t.check("the order without token", "401", get(c, "/orders/"+id, ""), is(401, ""))
		r.pay(&t, c, id)
		t.check("the order, not paid", "200 CONFIRMED", mine(r.Token), func(a client.Answer) bool {
			return a.Status == 200 && a.Claim.State == "CONFIRMED" && a.Claim.OrderID == id
		})
	}
	if r.LastUnit {
		t.wait("the last unit is sold", "200 SOLD_OUT", page, func(a client.Answer) bool { return a.Status == 200 && a.Claim.State == "SOLD_OUT" })
	}
	if r.Receipt != nil {
		began := time.Now()
		got, err := r.Receipt(ctx)
		if err != nil {
			got = err.Error()
		}
		t.rows = append(t.rows, Row{Check: "the receipt", Want: "balanced", Got: got, Passed: err == nil, Took: time.Since(began)})
	}
	return t.rows
}

// pay reports payments of an order without a signature. A provider without signing secrets
// is not found; without the route there would be API Gateway's own 404, which has no code. Some are told the code in a form of their own.
func (r Round) pay(t *table, c *client.Client, order string) {
	for _, provider := range webhook.Providers {
		t.check("unsigned: "+provider, "400, 404 no provider", func(ctx context.Context) (client.Answer, error) {
			p := webhook.Payment{SaleID: r.Sale, OrderID: order, PaymentID: "smoke-" + r.Key, Amount: 1, Currency: "USD"}
			request, err := p.Request(ctx, r.URL, provider, "", time.Now())
			if err != nil {
				return client.Answer{}, err
			}
			return c.Do(request)
		}, func(a client.Answer) bool {
			return a.Status == http.StatusBadRequest && bytes.Contains(a.Body, []byte("invalid-request")) || is(404, "provider-not-found")(a)
		})
	}
}

// from makes the requests of a browser whose page is of another origin: the sale, which is sent like a form's, and what
// it asks before an order.
func (r Round) from(t *table, c *client.Client, sale string) {
	if r.Origin == "" {
		return
	}
	allows := func(a client.Answer) bool {
		allowed := a.Header.Get("Access-Control-Allow-Origin")
		return a.Status/100 == 2 && (allowed == r.Origin || allowed == "*")
	}
	t.check("the sale, from the origin", "200, readable", func(ctx context.Context) (client.Answer, error) {
		return c.Send(ctx, http.MethodGet, sale, "", "Origin", r.Origin)
	}, allows)
	t.check("an order, from the origin", "by CorsAllowedOrigins", func(ctx context.Context) (client.Answer, error) {
		return c.Send(ctx, http.MethodOptions, sale+"/orders", "", "Origin", r.Origin,
			"Access-Control-Request-Method", http.MethodPost, "Access-Control-Request-Headers", "authorization,idempotency-key")
	}, func(a client.Answer) bool {
		headers := strings.ToLower(a.Header.Get("Access-Control-Allow-Headers"))
		return allows(a) && strings.Contains(a.Header.Get("Access-Control-Allow-Methods"), http.MethodPost) &&
			strings.Contains(headers, "authorization") && strings.Contains(headers, "idempotency-key")
	})
}

// reference matches a script in the buyer's page.
var reference = regexp.MustCompile(`"(/assets/[\w.-]+\.js)"`)

func (r Round) view(t *table, c *client.Client) {
	page := t.check("buyer's page", "200 HTML", get(c, "/s/"+r.Sale, ""), func(a client.Answer) bool {
		return a.Status == 200 && strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") &&
			bytes.Contains(a.Body, []byte(`data-sale="`+r.Sale+`"`)) && reference.Match(a.Body) &&
			strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'none'")
	})
	for _, script := range reference.FindAllSubmatch(page.Body, -1) {
		t.check("buyer's page: script", "200, immutable", get(c, string(script[1]), ""), func(a client.Answer) bool {
			return a.Status == 200 && strings.Contains(a.Header.Get("Cache-Control"), "immutable")
		})
	}
}

// forged is a token with alg none: a system that accepts it verifies no signatures.
const forged = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtYWxsb3J5In0."

// is matches an answer by its status and, for a refusal, by its code.
func is(status int, code string) func(client.Answer) bool {
	return func(a client.Answer) bool { return a.Status == status && a.Code == code }
}

type call func(context.Context) (client.Answer, error)

// get reads a path, with a token if there is one.
func get(c *client.Client, path, token string) call {
	return func(ctx context.Context) (client.Answer, error) {
		if token == "" {
			return c.Send(ctx, http.MethodGet, path, "")
		}
		return c.Send(ctx, http.MethodGet, path, "", "Authorization", "Bearer "+token)
	}
}

type table struct {
	ctx   context.Context
	bound time.Duration
	rows  []Row
}

// check makes a request and repeats it while the answer allows a retry: being busy is correct
// behaviour (P5).
func (t *table) check(name, want string, c call, fine func(client.Answer) bool) client.Answer {
	return t.row(name, want, c, fine, func(a client.Answer, err error) bool {
		return err != nil || a.Status != http.StatusServiceUnavailable && a.Status != http.StatusTooManyRequests
	})
}

// wait retries until an answer is fine or the time is up.
func (t *table) wait(name, want string, c call, fine func(client.Answer) bool) client.Answer {
	return t.row(name, want, c, fine, func(a client.Answer, err error) bool { return err == nil && fine(a) })
}

// row repeats a request until it is done or the time is up, and judges the last answer.
func (t *table) row(name, want string, request call, fine func(client.Answer) bool, done func(client.Answer, error) bool) client.Answer {
	const shortest, longest = 50 * time.Millisecond, 5 * time.Second // waits for a Retry-After
	began := time.Now()
	a, err := request(t.ctx)
	for !done(a, err) && t.ctx.Err() == nil {
		pause := min(max(a.RetryAfter, shortest), longest)
		if time.Since(began)+pause > t.bound {
			break
		}
		select {
		case <-t.ctx.Done():
		case <-time.After(pause):
		}
		a, err = request(t.ctx)
	}
	t.rows = append(t.rows, Row{Check: name, Want: want, Got: says(a, err), Passed: err == nil && fine(a), Took: time.Since(began)})
	return a
}

func says(a client.Answer, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case a.Code != "":
		return fmt.Sprintf("%d %s", a.Status, a.Code)
	case a.Claim.State != "":
		return strings.TrimSpace(fmt.Sprintf("%d %s %s", a.Status, a.Claim.State, a.Claim.OrderID))
	}
	if media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";"); media == "text/html" || media == "text/javascript" {
		return fmt.Sprintf("%d %s, %d bytes", a.Status, media, len(a.Body))
	}
	return a.String()
}

// Print writes the rows as a table. The error is ErrMismatch unless all checks passed or were
// skipped.
func Print(w io.Writer, rows []Row) error {
	failed := 0
	for _, r := range rows {
		verdict := "ok"
		switch {
		case r.Skipped:
			verdict = "skip"
		case !r.Passed:
			verdict = "FAIL"
			failed++
		}
		fmt.Fprintf(w, "  %-4s  %-26s %-20s %6d ms  %s\n", verdict, r.Check, r.Want, r.Took.Milliseconds(), r.Got)
	}
	if failed > 0 {
		return fmt.Errorf("%w: %d of %d checks", ErrMismatch, failed, len(rows))
	}
	return nil
}
