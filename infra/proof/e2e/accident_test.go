package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func (s *stack) queueURL(name string) *string {
	s.t.Helper()
	out, err := s.queues().GetQueueUrl(s.t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		s.t.Fatal(err)
	}
	return out.QueueUrl
}

func (s *stack) sendTo(url *string, body string) {
	s.t.Helper()
	if _, err := s.queues().SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body}); err != nil {
		s.t.Fatal(err)
	}
}

// depth counts the messages of a queue, in flight or not.
func (s *stack) depth(name string) int {
	s.t.Helper()
	out, err := s.queues().GetQueueAttributes(s.t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: s.queueURL(name), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	visible, _ := strconv.Atoi(out.Attributes["ApproximateNumberOfMessages"])
	hidden, _ := strconv.Atoi(out.Attributes["ApproximateNumberOfMessagesNotVisible"])
	return visible + hidden
}

func TestNothingAnsweredIsLostWhenTheStackIsKilled(t *testing.T) {
	t.Parallel()
	s := boot(t, "-parameter", "OrderVisibilityTimeout=9")
	const users, stock = 120, 80
	s.open("moutai", stock, 4)
	headers := make([][]string, users)
	for i := range headers {
		headers[i] = append(s.bearer(fmt.Sprint("user-", i)), "Idempotency-Key", fmt.Sprint("key-", i))
	}
	var mu sync.Mutex
	promised := map[string]string{}
	clicking := func(until *sync.WaitGroup) {
		for i := range users {
			until.Go(func() {
				a, err := s.buy("moutai", headers[i]...)
				if err != nil || a.status != http.StatusAccepted {
					return // unknown, busy or refused: not promised
				}
				mu.Lock()
				defer mu.Unlock()
				user := fmt.Sprint("user-", i)
				if other, twice := promised[user]; twice && other != a.text("claimId") {
					t.Errorf("%s was promised two claims", user)
				}
				promised[user] = a.text("claimId")
			})
		}
	}
	for round := range 3 {
		var wait sync.WaitGroup
		clicking(&wait)
		time.Sleep(time.Duration(20+60*round) * time.Millisecond)
		s.kill()
		wait.Wait()
		s.start()
	}
	// Buyers without an answer retry, on the same data.
	for i := range users {
		s.eventually("an answer", func() bool {
			a, err := s.buy("moutai", headers[i]...)
			if err == nil && a.status == http.StatusAccepted {
				promised[fmt.Sprint("user-", i)] = a.text("claimId")
			}
			return err == nil && (a.status == http.StatusAccepted || a.text("code") == "sold-out")
		})
	}
	b := s.books("moutai")
	if len(promised) != stock || len(b.Claims) != stock {
		t.Errorf("%d promised, %d claims, want %d", len(promised), len(b.Claims), stock)
	}
	for user, claimID := range promised {
		if b.Claim(user).ClaimID != claimID {
			t.Errorf("%s was promised %s, the table has %v (P4)", user, claimID, b.Claim(user))
		}
	}
}
