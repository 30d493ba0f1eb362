package harness

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/dynamotest"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

func bodies(batch []events.SQSMessage) (all []string) {
	for _, m := range batch {
		all = append(all, m.Body)
	}
	return all
}

func TestAMessageComesAgainAfterItsVisibilityTimeoutUnlessItWasDeleted(t *testing.T) {
	q := NewQueue()
	q.Put("one", noon)
	q.Put("two", noon)
	first := q.Receive(noon, 10, nil)
	if len(first) != 2 {
		t.Fatalf("received %v, want both", bodies(first))
	}
	q.Remove(first[0].ReceiptHandle)
	if again := q.Receive(noon.Add(Visibility-1), 10, nil); len(again) != 0 {
		t.Errorf("received %v before the timeout", bodies(again))
	}
	again := q.Receive(noon.Add(Visibility), 10, nil)
	if len(again) != 1 || again[0].Body != "two" || again[0].Attributes["ApproximateReceiveCount"] != "2" {
		t.Errorf("received %+v, want the second message for the second time", again)
	}
	q.Remove(first[1].ReceiptHandle)
	if q.Depth() != 1 {
		t.Error("the handle of an earlier receipt deleted a message")
	}
}

func TestDisorderShufflesAndDeliversTwice(t *testing.T) {
	q := NewQueue()
	for _, body := range []string{"a", "b", "c", "d", "e", "f"} {
		q.Put(body, noon)
	}
	d := &Disorder{Chance: rand.New(rand.NewPCG(1, 1)), Rates: DisorderRates{Shuffled: 1, Twice: 1}}
	first := bodies(q.Receive(noon, 6, d))
	if len(first) != 6 || first[0] == "a" && first[1] == "b" && first[2] == "c" {
		t.Errorf("received %v, want all in another order", first)
	}
	if second := q.Receive(noon.Add(3*time.Second), 6, d); len(second) != 6 {
		t.Errorf("received %v the second time, want all", bodies(second))
	}
}

func TestASendThatFailsMayHaveBeenSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for kind, want := range map[dynamotest.Kind]int{
			dynamotest.NoFault: 1, dynamotest.ServerError: 0, dynamotest.LostReply: 1,
		} {
			q := NewQueue()
			q.Fault = func(string) dynamotest.Fault { return dynamotest.Fault{Kind: kind} }
			_, err := q.SendMessage(&sqs.SendMessageInput{MessageBody: aws.String("m")})
			if (err == nil) != (kind == dynamotest.NoFault) || q.Depth() != want {
				t.Errorf("fault %v: error %v, %d messages, want %d", kind, err, q.Depth(), want)
			}
		}
	})
}
