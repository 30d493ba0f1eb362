package system

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/wait"
)

// A visit is a test's use of the stack.
type visit struct {
	*system
	t *testing.T
}

func (v visit) eventually(what string, is func() bool) {
	v.t.Helper()
	wait.Until(v.t, patience, what, is)
}

// answer is an HTTP answer.
type answer struct {
	status int
	header http.Header
	body   map[string]any // of a JSON object
	raw    string
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.raw) }

func (a answer) text(name string) string {
	s, _ := a.body[name].(string)
	return s
}

func read(from client.Answer, err error) (answer, error) {
	a := answer{status: from.Status, header: from.Header, raw: string(from.Body)}
	_ = json.Unmarshal(from.Body, &a.body) // pages have none
	return a, err
}

func (v visit) must(a answer, err error) answer {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
	return a
}

// call makes a request, whose answer must be in the contract; header is a list of names and values. If the
// user has sent too many requests, in whichever test, it waits for Retry-After and repeats the request, as
// every client should.
func (v visit) call(method, path, body string, header ...string) (a answer, err error) {
	for range 5 {
		a, err = read(v.client.Send(context.Background(), method, path, body, header...))
		if err != nil || a.text("code") != "too-many-requests" {
			break
		}
		seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
		if err != nil || seconds < 1 || seconds > 3 {
			return a, fmt.Errorf("Retry-After %q beside 429", a.header.Get("Retry-After"))
		}
		time.Sleep(time.Duration(seconds) * time.Second)
	}
	return a, err
}

// send makes a request that no client of ours would make: the path is sent as it is, and the answer
// is not held against the contract.
func (v visit) send(method, api, path, body string, header ...string) answer {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, api+"/", strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	r.URL.Opaque = path
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Add(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	a, err := read(v.plain.Do(r))
	if err != nil {
		v.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (v visit) bearer(user string) []string { return bearer(v.token(user)) }

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

func (v visit) buy(saleID string, header ...string) (answer, error) {
	return v.call("POST", "/sales/"+saleID+"/orders", "", header...)
}

// finalAnswer is the answer to a user's purchase. "busy" says nothing about the sale: it is repeated,
// with the key by which the shop knows its own acceptance again.
func (v visit) finalAnswer(saleID, user string) (a answer) {
	v.t.Helper()
	header := append(v.bearer(user), "Idempotency-Key", rand.Text())
	v.eventually("an answer to "+user, func() bool {
		a = v.must(v.buy(saleID, header...))
		return a.text("code") != "busy"
	})
	return a
}

// buysAndWaits buys a unit for the user and waits for the order's id.
func (v visit) buysAndWaits(saleID, user string) (orderID string, claim answer) {
	v.t.Helper()
	if a := v.finalAnswer(saleID, user); a.status != http.StatusAccepted {
		v.t.Fatalf("%s: %v", user, a)
	}
	v.eventually(user+"'s order has its id", func() bool {
		claim = v.must(v.call("GET", "/sales/"+saleID+"/orders/me", "", v.bearer(user)...))
		orderID = claim.text("orderId")
		return orderID != ""
	})
	v.eventually(user+"'s order is there", func() bool {
		return v.must(v.call("GET", "/orders/"+orderID, "", v.bearer(user)...)).status == http.StatusOK
	})
	return orderID, claim
}

// invoke calls a function as `aws lambda invoke` does.
func (v visit) invoke(function, payload string) answer {
	v.t.Helper()
	a, err := read(v.client.Invoke(context.Background(), function, []byte(payload)))
	if err != nil || a.status != http.StatusOK || a.body == nil {
		v.t.Fatalf("invoke %s with %s: %v, %v", function, payload, a, err)
	}
	return a
}

// seed invokes SeedFunction; it returns the payload and the function error.
func (v visit) seed(payload string) (map[string]any, string) {
	v.t.Helper()
	a := v.invoke(client.SeedFunction, payload)
	return a.body, a.header.Get(client.FunctionError)
}

// open creates a sale that is open for an hour.
func (v visit) open(saleID string, stock, shards int) {
	v.t.Helper()
	v.create(client.Sale{ID: saleID, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour), Stock: stock, Shards: shards})
}

func (v visit) create(s client.Sale) {
	v.t.Helper()
	if err := v.client.Seed(v.t.Context(), s); err != nil {
		v.t.Fatal(err)
	}
}

// flashsale runs the command on this stack and returns its output and status.
func (v visit) flashsale(args ...string) (string, int) {
	v.t.Helper()
	command := exec.Command(filepath.Join(project, ".build/bin/flashsale"), append(args, "--url", v.API)...)
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		v.t.Fatal(err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// table reads the whole table.
func (v visit) table() *books.Books {
	v.t.Helper()
	all, err := books.Read(v.t.Context(), v.db(), table)
	if err != nil {
		v.t.Fatal(err)
	}
	return all
}

// items reads the whole table, once every claim has its order.
func (v visit) items() (all *books.Books) {
	v.t.Helper()
	v.eventually("every claim has its order", func() bool {
		all = v.table()
		return finished(all)
	})
	return all
}

// balances checks that a sale's recount has no findings and everything is confirmed.
func (v visit) balances(all *books.Books, saleID string) {
	v.t.Helper()
	receipt, err := all.Recount(v.t.Context(), saleID, books.Options{Now: time.Now, Overdue: books.AtOnce})
	if err != nil {
		v.t.Fatal(err)
	}
	if !receipt.Balanced {
		v.t.Errorf("%s: %v", saleID, receipt.Findings)
	}
}

// finished reports whether every claim of every sale has its order.
func finished(all *books.Books) bool {
	for _, saleID := range all.Sales() {
		if len(all.Sale(saleID).Unfinished()) > 0 {
			return false
		}
	}
	return true
}
