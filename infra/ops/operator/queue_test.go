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

	"flashsale/infra/local/sqs"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
)

// held are the claims of a table, by user; for the user "busy" the table does not answer.
type held map[string]sale.Claim

func (h held) Claim(_ context.Context, saleID, user string) (sale.Claim, error) {
	if user == "busy" {
		return sale.Claim{}, sale.Fail(sale.Busy, errors.New("throttled"))
	}
	if user == "newer" {
		return sale.Claim{}, sale.Refuse(sale.NewerVersion, "")
	}
	if saleID != "moutai" {
		return sale.Claim{}, sale.Refuse(sale.SaleNotFound, "")
	}
	c, ok := h[user]
	if !ok {
		return sale.Claim{}, sale.Refuse(sale.OrderNotFound, "")
	}
	return c, nil
}

// deadLetters makes a dead-letter queue with these messages, and its order queue.
func deadLetters(t *testing.T, book claims, bodies ...string) *redriving {
	t.Helper()
	server := sqs.New(sqs.Disorder{})
	h := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		h.Close()
	})
	r := &redriving{book: book, found: map[string]*group{}, client: awssqs.New(awssqs.Options{
		BaseEndpoint: &h.URL, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})}
	for name, url := range map[string]*string{"orders": &r.source, "dead": &r.deadLetters} {
		if err := server.Create(name, nil); err != nil {
			t.Fatal(err)
		}
		*url = h.URL + "/000000000000/" + name
	}
	for _, body := range bodies {
		if _, err := r.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &r.deadLetters, MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *redriving) lying(t *testing.T, url string) map[string]int {
	t.Helper()
	bodies := map[string]int{}
	for {
		got, err := r.client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, VisibilityTimeout: 600})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Messages) == 0 {
			return bodies
		}
		for _, m := range got.Messages {
			bodies[aws.ToString(m.Body)]++
		}
	}
}

func order(user, claimID string) string {
	return orderq.Encode(orderq.Message{SaleID: "moutai", User: user, ClaimID: claimID})
}

func TestOnlyPendingMessagesAreMovedAndPoisonIsDeletedOnlyOnRequest(t *testing.T) {
	book := held{"alice": {ID: "C1"}, "bob": {ID: "C2", OrderID: 7}}
	waiting, confirmed, other := order("alice", "C1"), order("bob", "C2"), order("alice", "C9")
	nobody, unsure, garbage := order("nobody", "C1"), order("busy", "C1"), "\u009b31mnot json"
	newer, future := order("newer", "C1"), `{"v":2,"order":{}}`
	all := []string{waiting, confirmed, other, nobody, unsure, garbage, newer, future}
	for _, c := range []struct {
		name       string
		move, drop bool
		back, left []string
		says       []string
	}{
		{"a preview", false, false, nil, all, []string{"about 8 messages", "2  unknown: for a newer release", "1  pending: moving it back", "1  done: the order", "1  poison: not an order message"}},
		{"a redrive", true, false, []string{waiting}, []string{other, nobody, unsure, garbage, newer, future}, nil},
		{"dropping poison", false, true, nil, []string{waiting, confirmed, unsure, newer, future}, []string{`deleted: poison: not an order message: "\u009b31mnot json"`}},
		{"both", true, true, []string{waiting}, []string{unsure, newer, future}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := deadLetters(t, book, all...)
			source := r.source
			if !c.move {
				r.source = ""
			}
			r.drop = c.drop
			var out bytes.Buffer
			if err := r.run(t.Context(), &out); err != nil {
				t.Fatal(err)
			}
			contains(t, out.String(), c.says...)
			if len(c.back) != r.moved || len(all)-len(c.back)-len(c.left) != r.deleted {
				t.Errorf("%d moved, %d deleted", r.moved, r.deleted)
			}
			if got, want := fmt.Sprint(r.lying(t, source)), fmt.Sprint(counted(c.back)); got != want {
				t.Errorf("the order queue has %s, want %s", got, want)
			}
			if got, want := fmt.Sprint(r.lying(t, r.deadLetters)), fmt.Sprint(counted(c.left)); got != want {
				t.Errorf("the dead-letter queue has %s, want %s", got, want)
			}
		})
	}
}

func TestAPreviewOfALongQueueSaysHowManyItLooksAt(t *testing.T) {
	r := deadLetters(t, held{}, slices.Repeat([]string{"x"}, 101)...)
	r.source = ""
	var out bytes.Buffer
	if err := r.run(t.Context(), &out); err != nil || !strings.HasPrefix(out.String(), "the dead-letter queue holds about 101 messages, of which it looks at 100\n") {
		t.Errorf("%v, %s", err, &out)
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

func TestWhatAnInterruptedRedriveLeavesIsThereForTheNextOne(t *testing.T) {
	r := deadLetters(t, held{}, "a", "b", "c")
	r.drop = true
	ctx, interrupt := context.WithCancel(t.Context())
	if err := r.run(ctx, stopper(interrupt)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := r.lying(t, r.deadLetters); len(got) != 3 {
		t.Errorf("the dead-letter queue shows %v, want all", got)
	}
}

func counted(bodies []string) map[string]int {
	n := map[string]int{}
	for _, b := range bodies {
		n[b]++
	}
	return n
}
