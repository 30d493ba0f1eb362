package security

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/kit/wait"
	"flashsale/infra/local/launch"
	"flashsale/infra/local/stack"
)

// scene is a sale with two pending claims, alice's and bob's; mallory has none.
type scene struct{ sale, alice, bob string }

func (s *system) scene(t *testing.T, sale string) scene {
	t.Helper()
	s.openSale(t, sale, 200)
	return scene{sale, s.buy(t, sale, "alice"), s.buy(t, sale, "bob")}
}

// hostile are messages that must be refused, by name. What is no message by its form alone is
// in shared/orderq.
func (c scene) hostile() map[string]string {
	message := func(sale, user, claim string) string { return orderNote("", sale, user, claim).body }
	good := message(c.sale, "alice", c.alice)
	changed := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	return map[string]string{
		"another's claim under their own name": message(c.sale, "mallory", c.alice),
		"their own claim under another's name": message(c.sale, "alice", c.bob),
		"a claim that is not there":            message(c.sale, "mallory", "AAAAAAAAAAAAAAAAAAAAAAAAAA"),
		"an unknown sale":                      message("nowhere", "alice", c.alice),
		"a sale with a separator":              message(c.sale+"#0", "alice", c.alice),
		"a user with a separator":              message(c.sale, "0#alice", c.alice),
		"a user in capitals":                   message(c.sale, "ALICE", c.alice),
		"a claim in lower case":                message(c.sale, "alice", strings.ToLower(c.alice)),
		"an order's id for a claim":            message(c.sale, "alice", "9223372036854775807"),
		"version 2":                            changed(`"v":1`, `"v":2`),
		"version -1":                           changed(`"v":1`, `"v":-1`),
		"a second user":                        strings.TrimSuffix(good, "}") + `,"user":"mallory"}`,
		"a second claim":                       strings.TrimSuffix(good, "}") + `,"claimId":` + quoted(c.bob) + "}",
		"a second version":                     strings.TrimSuffix(good, "}") + `,"v":2}`,
		"a second user within the user's text": changed(`"alice"`, `"alice","user":"mallory","x":"`),
		"a text that goes on after the object": good + `{"v":1}`,
		"an SNS envelope":                      `{"Type":"Notification","Message":` + quoted(good) + `}`,
		"1,000 fields":                         `{` + strings.Repeat(`"v":1,`, 1000) + good[1:],
	}
}

func TestAHostileMessageFailsAloneAndWritesNothing(t *testing.T) {
	s := shared(t)
	c := s.scene(t, "notes")
	good := 0
	hostile := c.hostile()
	for _, name := range slices.Sorted(maps.Keys(hostile)) {
		t.Run(name, func(t *testing.T) {
			before := s.books(t)
			if failed, all := s.finalize(t, note{"hostile", hostile[name]}); all || len(failed) != 1 || failed[0] != "hostile" {
				t.Errorf("alone: failed are %q (all: %t), want the message and not the invocation", failed, all)
			}
			s.unchanged(t, before)
			// A valid message in the same batch must not be affected.
			user := fmt.Sprint("stranger-", good)
			good++
			claim := s.buy(t, c.sale, user)
			failed, all := s.finalize(t, note{"hostile", hostile[name]}, orderNote("good", c.sale, user, claim))
			if all || len(failed) != 1 || failed[0] != "hostile" {
				t.Errorf("failed are %q (all: %t), want the hostile one only", failed, all)
			}
		})
	}
	b := s.books(t)
	for user, claim := range b.claims(t, c.sale) {
		switch owner := b.orders(c.sale)[claim["orderId"]]["user"]; {
		case strings.HasPrefix(user, "stranger-"):
			if owner != user {
				t.Errorf("the order of %s is %s's", user, owner)
			}
		case claim["orderId"] != "":
			t.Errorf("the claim of %s was confirmed by a forged message: %v", user, claim)
		}
	}
	if held := b.claims(t, c.sale); len(held) != good+2 || len(b.orders(c.sale)) != good {
		t.Errorf("%d claims and %d orders, want %d and %d", len(held), len(b.orders(c.sale)), good+2, good)
	}
}

func TestAHostileBatchConfirmsNothingTwice(t *testing.T) {
	s := shared(t)
	c := s.scene(t, "batches")
	forged := orderNote("", c.sale, "mallory", c.alice).body
	before := s.books(t)
	for name, payload := range map[string]string{
		"no object": `[]`, "null": `null`, "no records": `{}`, "null records": `{"Records":null}`, "an object for records": `{"Records":{"0":{}}}`,
		"records twice":         `{"Records":[],"Records":[{"messageId":"x","body":` + quoted(forged) + `}]}`,
		"a body that is JSON":   `{"Records":[{"messageId":"x","body":` + forged + `}]}`,
		"a record that is null": `{"Records":[null]}`,
		"records in lower case": `{"records":[{"messageId":"x","body":` + quoted(forged) + `}]}`,
		"another's event":       `{"version":"2.0","routeKey":"POST /sales/{saleId}/orders","body":"{}"}`,
	} {
		o := s.invoke(t, "FinalizeFunction", payload)
		if o.status >= 500 || strings.Contains(o.raw, "goroutine") {
			t.Errorf("%s: %v", name, o)
		}
	}
	s.unchanged(t, before)
	notes := make([]note, 1000)
	for i := range notes {
		notes[i] = orderNote(fmt.Sprint("copy-", i), c.sale, "alice", c.alice)
	}
	if failed, all := s.finalize(t, notes...); all || len(failed) > 0 {
		t.Errorf("%d of a thousand copies failed", len(failed))
	}
	if orders := s.books(t).orders(c.sale); len(orders) != 1 {
		t.Errorf("a thousand copies made %d orders, want 1", len(orders))
	}
}

func TestHostileMessagesReachTheDeadLetterQueueOverTheRealQueue(t *testing.T) {
	t.Parallel()
	s := own(t, rootOf(t), stack.Options{Parameters: map[string]string{"OrderVisibilityTimeout": "9"}})
	c := s.scene(t, "postbox")
	queue := launch.Queues(s.SQS)
	url := func(name string) *string {
		out, err := queue.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
		if err != nil {
			t.Fatal(err)
		}
		return out.QueueUrl
	}
	hostile := c.hostile()
	sent := []string{"another's claim under their own name", "an unknown sale", "a sale with a separator", "version -1", "version 2", "a text that goes on after the object"}
	for _, name := range sent {
		if _, err := queue.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url("OrderQueue"), MessageBody: aws.String(hostile[name])}); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, patience, "honest buyers have their orders", func() bool {
		a := s.must(t, http.MethodGet, "/sales/postbox/orders/me", "", bearer(s.token("alice")))
		b := s.must(t, http.MethodGet, "/sales/postbox/orders/me", "", bearer(s.token("bob")))
		return a.text("orderId") != "" && b.text("orderId") != ""
	})
	wait.Until(t, patience, "every hostile message is in the dead-letter queue", func() bool {
		out, err := queue.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: url("OrderDeadLetterQueue"), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages},
		})
		return err == nil && out.Attributes["ApproximateNumberOfMessages"] == fmt.Sprint(len(sent))
	})
	b := s.books(t)
	if len(b.orders(c.sale)) != 2 || len(b.claims(t, c.sale)) != 2 {
		t.Errorf("%d orders and %d claims, want alice's and bob's", len(b.orders(c.sale)), len(b.claims(t, c.sale)))
	}
}
