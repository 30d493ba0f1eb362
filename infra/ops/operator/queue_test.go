package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/functions/operate/stack"
	"flashsale/infra/local/sqs"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
)

// held finds the claims of alice and bob; for the user "busy" the table does not answer.
func held(_ context.Context, _, user string) (c sale.Claim, err error) {
	switch user {
	case "alice":
		c.ID = "C1"
	case "bob":
		c.ID, c.OrderID = "C2", 7
	case "busy":
		err = sale.Fail(sale.Busy, errors.New("throttled"))
	default:
		err = sale.Refuse(sale.OrderNotFound, "")
	}
	return c, err
}

// dead makes a dead-letter queue with these messages, and says which it still has.
func dead(t *testing.T, bodies ...string) (d *deadLetters, left func() []string) {
	t.Helper()
	server := sqs.New(sqs.Disorder{})
	h := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		h.Close()
	})
	d = &deadLetters{claim: held, queue: h.URL + "/000000000000/dead", found: map[string]*group{}, client: awssqs.New(awssqs.Options{
		BaseEndpoint: &h.URL, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})}
	if err := server.Create("dead", nil); err != nil {
		t.Fatal(err)
	}
	for _, body := range bodies {
		if _, err := d.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &d.queue, MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
	return d, func() (all []string) {
		for {
			got, err := d.client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &d.queue, MaxNumberOfMessages: 10, VisibilityTimeout: 600})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Messages) == 0 {
				slices.Sort(all)
				return all
			}
			for _, m := range got.Messages {
				all = append(all, aws.ToString(m.Body))
			}
		}
	}
}

// stopper is an output that ends the command.
type stopper func()

func (s stopper) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("deleted")) {
		s()
	}
	return len(b), nil
}

func TestDeadLettersAreLookedAtAndPoisonIsDeletedOnlyOnRequest(t *testing.T) {
	letter := func(user, claimID string) string {
		return orderq.Encode(orderq.Message{SaleID: "moutai", User: user, ClaimID: claimID})
	}
	stays := []string{letter("alice", "C1"), letter("bob", "C2"), letter("busy", "C1"), `{"v":2,"order":{}}`}
	slices.Sort(stays)
	all := append([]string{letter("alice", "C9"), letter("nobody", "C1"), "\u009b31mnot json"}, stays...)
	for drop, want := range map[bool]string{false: "1  poison: not an order message", true: `deleted: poison: not an order message: "\u009b31mnot json"`} {
		d, left := dead(t, all...)
		d.drop = drop
		var out bytes.Buffer
		if err := d.run(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		contains(t, out.String(), "about 7 messages", "1  unknown: for a newer version", "1  pending: moving it back", "1  done: the order", want)
		rest := slices.Sorted(slices.Values(all))
		if drop {
			rest = stays
		}
		if got := left(); !slices.Equal(got, rest) || int(d.deleted) != len(all)-len(rest) {
			t.Errorf("drop %t: %q are left, and %d deleted", drop, got, d.deleted)
		}
	}
	d, _ := dead(t, slices.Repeat([]string{"x"}, 101)...)
	var out bytes.Buffer
	if err := d.run(t.Context(), &out); err != nil || !strings.HasPrefix(out.String(), "the dead-letter queue holds about 101 messages, of which it looks at 100\n") {
		t.Errorf("%v, %s", err, &out)
	}
	// What an interrupted run leaves is there for the next one.
	d, left := dead(t, "a", "b", "c")
	d.drop = true
	ctx, interrupt := context.WithCancel(t.Context())
	if err := d.run(ctx, stopper(interrupt)); !errors.Is(err, context.Canceled) || len(left()) != 3 {
		t.Errorf("%v", err)
	}
}

func TestOperateFunctionMovesDeadLettersBackAndSendsLostMessagesAgain(t *testing.T) {
	selling(t, sale.Creation{}, func(t *testing.T, w *world) {
		p, err := w.book.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: "alice"})
		w.ok(p, err)
		waiting := orderq.Encode(orderq.Message{SaleID: "moutai", User: "alice", ClaimID: p.Claim.ID})
		w.letters = [][]stack.DeadLetter{{{Body: waiting}, {Body: "x"}}, {{Body: waiting}}}
		w.says("queue redrive", 0, "2 moved back to the order queue, 0 deleted\n", "watch `flashsale books receipt --all --env dev` until nothing is pending")
		if want := fmt.Sprint([]string{"back " + waiting, "back " + waiting}); fmt.Sprint(w.settled) != want {
			t.Errorf("settled are %s, want %s", w.settled, want)
		}
		w.says("order show --sale moutai --buyer alice", 0, ": the order queue has 7 messages waiting or being processed; reconcile sends its message again, `flashsale order resend --sale moutai --env dev` at once\n")
		w.says("order resend moutai --dry-run", 0, "moutai has orders that nobody has counted yet; the messages of those without an id would be sent again; nothing was sent\n")
		for answer, want := range map[string]string{
			`{"resent":5000,"receipts":[{"saleId":"moutai","pending":7000}]}`: "moutai: 5000 order messages were sent again; 7000 orders had no id: the command may be repeated for the others when the last message of each is 30 s old; " +
				"`flashsale books receipt moutai --env dev` counts them\n",
			`{"resent":7,"receipts":[{"saleId":"moutai","pending":7}]}`: "moutai: 7 order messages were sent again; 7 orders had no id; `flashsale books receipt moutai --env dev` counts them\n",
			`{"resent":7,"receipts":[]}`:                                "moutai: messages are being sent again, and not every order was looked at yet: repeat the command for the others; `flashsale books receipt moutai --env dev` counts them\n",
		} {
			w.reconciles = answer
			if said := w.says("order resend --sale moutai", 0); said != want {
				t.Errorf("%q, want %q", said, want)
			}
		}
	})
}
