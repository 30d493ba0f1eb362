package security

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/client"
)

// outcome is the Lambda service's answer.
type outcome struct {
	status    int
	requestID string
	failed    string // X-Amz-Function-Error
	raw       string
	log       string // the end of the function's output meanwhile
}

func (o outcome) String() string { return fmt.Sprintf("%d %s %s", o.status, o.failed, o.raw) }

// errorType is the function error's name.
func (o outcome) errorType() string {
	var e struct {
		Type string `json:"errorType"`
	}
	_ = json.Unmarshal([]byte(o.raw), &e)
	return e.Type
}

// invoke runs a function as an operator, a schedule or a queue does. Requesting the log
// flushes everything that the process printed so far to the file.
func (s *system) invoke(t *testing.T, function, payload string) outcome {
	t.Helper()
	// It is also called after a test, when t's own context is done.
	a, err := s.client.Invoke(context.Background(), function, []byte(payload), "X-Amz-Log-Type", "Tail")
	if err != nil {
		t.Fatalf("invoke %s: %v", function, err)
	}
	log, err := base64.StdEncoding.DecodeString(a.Header.Get("X-Amz-Log-Result"))
	if err != nil {
		t.Fatalf("log of %s: %v", function, err)
	}
	return outcome{a.Status, a.Header.Get("X-Amzn-RequestId"), a.Header.Get(client.FunctionError), string(a.Body), string(log)}
}

// quoted is a JSON string.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}

// openSale creates a sale that is open for an hour.
func (s *system) openSale(t *testing.T, id string, stock int) {
	t.Helper()
	now := time.Now()
	sale := client.Sale{ID: id, OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour), Stock: stock, Shards: 1}
	if err := s.client.Seed(t.Context(), sale); err != nil {
		t.Fatal(err)
	}
}

// buy orders one unit and returns the claim's id.
func (s *system) buy(t *testing.T, sale, user string) string {
	t.Helper()
	a := s.must(t, http.MethodPost, "/sales/"+sale+"/orders", "", bearer(s.token(user)))
	if a.status != http.StatusAccepted || a.text("claimId") == "" {
		t.Fatalf("%q buys in %s: %v", user, sale, a)
	}
	return a.text("claimId")
}

// note is an order message, with an id and a body.
type note struct{ id, body string }

func orderNote(id, sale, user, claim string) note {
	return note{id, fmt.Sprintf(`{"v":1,"saleId":%q,"user":%s,"claimId":%q}`, sale, quoted(user), claim)}
}

// batch is the event of Lambda's poller for these messages.
func batch(notes ...note) string {
	records := make([]string, len(notes))
	for i, n := range notes {
		records[i] = fmt.Sprintf(`{"messageId":%s,"receiptHandle":"r","body":%s,"eventSource":"aws:sqs"}`, quoted(n.id), quoted(n.body))
	}
	return `{"Records":[` + strings.Join(records, ",") + `]}`
}

// finalize sends messages to FinalizeFunction and returns the ids of those that it
// reports as failed. A batch in which all fail is a function error.
func (s *system) finalize(t *testing.T, notes ...note) (failed []string, all bool) {
	t.Helper()
	o := s.invoke(t, "FinalizeFunction", batch(notes...))
	if o.failed != "" {
		return nil, true
	}
	var told struct {
		BatchItemFailures []struct {
			ItemIdentifier string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal([]byte(o.raw), &told); err != nil {
		t.Fatalf("finalize: %v: %v", err, o)
	}
	for _, f := range told.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}
	return failed, false
}

// ordered buys a unit and has the order confirmed; it returns the order's id.
func (s *system) ordered(t *testing.T, sale, user string) (orderID string) {
	t.Helper()
	claim := s.buy(t, sale, user)
	if failed, all := s.finalize(t, orderNote("m", sale, user, claim)); all || len(failed) > 0 {
		t.Fatalf("the order of %q is not confirmed", user)
	}
	a := s.must(t, http.MethodGet, "/sales/"+sale+"/orders/me", "", bearer(s.token(user)))
	if a.text("orderId") == "" {
		t.Fatalf("the order of %q: %v", user, a)
	}
	return a.text("orderId")
}
