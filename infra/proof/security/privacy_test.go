package security

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/local/launch"
	"flashsale/infra/local/stack"
)

// personal are private data of a request, each spelt so that it occurs nowhere else.
var personal = map[string]string{
	"e-mail": "wei.zhang.canary@mail.example", "name": "Zhang-Wei-Canary", "phone": "+86-10-5550-1234", "address": "1-Canary-Road",
	"birth date": "1981-02-03-canary", "groups": "vip-canary", "token id": "jti-canary-77", "address of the client": "203.0.113.77",
	"user agent": "Canary-Browser/7.7", "cookie": "session-canary-88", "referer": "canary-referer.example", "query": "canary-in-query",
	"body": "canary-in-body", "idempotency key": "canary-in-key", "password": "canary-password-99",
}

// Every answer that a buyer can get is provoked with all of these in the request. The
// books are kept by user id; nothing else may be stored.
func TestOnlyTheUserIDIsKeptOfAPerson(t *testing.T) {
	s := own(t, rootOf(t), stack.Options{NoPollers: true})
	s.openSale(t, "person", 1)
	s.openSale(t, "halted", 1)
	if o := s.invoke(t, "SeedFunction", `{"action":"pause","saleId":"halted"}`); o.failed != "" {
		t.Fatal(o)
	}
	c := func(user string) fields {
		return s.claims(user).with(fields{
			"email": personal["e-mail"], "name": personal["name"], "phone_number": personal["phone"], "birthdate": personal["birth date"],
			"address": fields{"formatted": personal["address"]}, "cognito:groups": []string{personal["groups"]}, "jti": personal["token id"],
		})
	}
	status := map[int]bool{}
	call := func(method, path, body string, header ...pair) {
		header = append(header, pair{"User-Agent", personal["user agent"]}, pair{"X-Forwarded-For", personal["address of the client"]},
			pair{"Cookie", "s=" + personal["cookie"]}, pair{"Referer", "https://" + personal["referer"]}, pair{"X-Email", personal["e-mail"]})
		status[s.must(t, method, path+"?q="+url.QueryEscape(personal["query"]), body, header...).status] = true
	}
	buyer, late := bearer(s.signed(c("buyer-canary"))), bearer(s.signed(c("late-canary")))
	key := pair{"Idempotency-Key", personal["idempotency key"]}
	json := pair{"Content-Type", "application/json"}
	for _, caller := range []pair{buyer, buyer, late} {
		call(http.MethodPost, "/sales/person/orders", "", caller, key)
	}
	call(http.MethodPost, "/sales/person/orders", "", buyer)
	call(http.MethodPost, "/sales/person/orders", `{"card":"`+personal["body"]+`"}`, buyer, json)
	call(http.MethodPost, "/sales/person/orders", personal["body"], buyer)
	call(http.MethodPost, "/sales/person/orders", "", buyer, pair{"Idempotency-Key", personal["e-mail"]})
	call(http.MethodPost, "/sales/person/orders", "", bearer(s.signed(c("a\nb"))))
	call(http.MethodPost, "/sales/nowhere/orders", "", buyer)
	call(http.MethodPost, "/sales/halted/orders", "", buyer)
	call(http.MethodPost, "/sales/"+personal["e-mail"]+"/orders", "", buyer)
	call(http.MethodGet, "/sales/person/orders/me", "", buyer)
	call(http.MethodGet, "/sales/person/orders/me", "", late)
	call(http.MethodGet, "/orders/4294967297", "", buyer)
	call(http.MethodGet, "/orders/"+personal["e-mail"], "", buyer)
	call(http.MethodGet, "/sales/person", "")
	call(http.MethodGet, "/s/person", "", buyer)
	call(http.MethodGet, "/s/"+personal["e-mail"], "")
	call(http.MethodGet, "/signin", "")
	call(http.MethodGet, "/assets/"+personal["e-mail"], "")
	call(http.MethodPost, "/sales/person/orders", "", pair{"Authorization", "Basic " + personal["password"]})
	call(http.MethodPost, "/sales/person/orders", "", pair{"Authorization", "Bearer " + personal["password"]})
	s.invoke(t, "FinalizeFunction", batch(note{"m", personal["body"]}, note{"n", `{"v":1,"user":"` + personal["e-mail"] + `"}`}))
	for _, want := range []int{200, 202, 400, 401, 404, 409, 503} {
		if !status[want] {
			t.Errorf("no request was answered with %d: %v", want, status)
		}
	}

	s.fence(t)
	kept := map[string]string{"the functions' log": s.logged(t, 0), "the stack's log": s.own.String(), "the table": tableText(s.books(t)), "the queue": s.queued(t)}
	for place, text := range kept {
		for what, datum := range personal {
			if what == "idempotency key" && (place == "the table" || place == "the functions' log") {
				continue // there it is needed to detect a repeat, also after a restore
			}
			if strings.Contains(text, datum) {
				t.Errorf("%s holds the %s", place, what)
			}
		}
		// The user's id proves that the places were read after the requests.
		if place != "the stack's log" && !strings.Contains(text, "buyer-canary") {
			t.Errorf("%s does not even hold the user's id", place)
		}
	}
}

func tableText(b table) string {
	var all strings.Builder
	for _, it := range b {
		fmt.Fprintln(&all, it)
	}
	return all.String()
}

// queued are the bodies and attributes of the waiting messages.
func (s *system) queued(t *testing.T) string {
	t.Helper()
	client := launch.Queues(s.SQS)
	queue, err := client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("OrderQueue")})
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: queue.QueueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, m := range out.Messages {
		fmt.Fprintln(&all, aws.ToString(m.Body), len(m.MessageAttributes))
	}
	return all.String()
}
