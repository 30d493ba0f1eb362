package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/kit/client"
	"flashsale/shared/ledger"
)

// operator runs the operator's command and returns its output and status.
func (s *stack) operator(args ...string) (string, int) {
	s.t.Helper()
	command := exec.Command(filepath.Join(s.root, ".build/host/operator"), append([]string{"-api-port", strconv.Itoa(s.at.Ports[0])}, args...)...)
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return string(out), command.ProcessState.ExitCode()
}

func (s *stack) reconcile() []map[string]any {
	s.t.Helper()
	a := s.invoke(client.ReconcileFunction, "{}")
	var body struct{ Receipts []map[string]any }
	if err := json.Unmarshal([]byte(a.raw), &body); err != nil || a.header.Get(client.FunctionError) != "" {
		s.t.Fatalf("reconcile: %v, %v", a, err)
	}
	return body.Receipts
}

// strand makes a claim like a purchase that died, that long ago, before it sent its
// message.
func (s *stack) strand(saleID, user string, ago time.Duration) {
	s.t.Helper()
	l := ledger.New(s.table(), "LedgerTable", ledger.Options{Now: func() time.Time { return time.Now().Add(-ago) }})
	if _, err := l.Purchase(s.t.Context(), ledger.Request{SaleID: saleID, User: user}); err != nil {
		s.t.Fatal(err)
	}
}

func TestAnOrderWhoseMessageWasNeverSentIsFinalized(t *testing.T) {
	t.Parallel()
	s := boot(t, "-schedules=false")
	s.create("moutai", 10, 2, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	t.Run("by reconciliation", func(t *testing.T) {
		s.t = t
		for i := range 3 {
			s.strand("moutai", fmt.Sprint("stranded-", i), 2*time.Minute)
		}
		if r := s.reconcile(); len(r) != 1 || r[0]["resent"] != 3.0 || r[0]["balanced"] != true {
			t.Errorf("got %v", r)
		}
		if b := s.balanced("moutai"); len(b.Claims) != 3 {
			t.Errorf("%d claims", len(b.Claims))
		}
		if r := s.reconcile(); r[0]["resent"] != 0.0 || r[0]["confirmed"] != 3.0 {
			t.Errorf("got %v", r)
		}
	})
	t.Run("by an operator in a hurry", func(t *testing.T) {
		s.t = t
		s.strand("moutai", "harry", time.Minute)
		if out, code := s.operator("resend", "-sale", "moutai"); code != 0 || !strings.HasPrefix(out, "moutai: 1 order messages were sent again; 1 orders had no id; ") {
			t.Errorf("status %d: %s", code, out)
		}
		if b := s.balanced("moutai"); len(b.Claims) != 4 {
			t.Errorf("%d claims", len(b.Claims))
		}
	})
	t.Run("by the buyer who asks again", func(t *testing.T) {
		s.t = t
		s.strand("moutai", "alice", time.Minute)
		s.eventually("alice's order is finalized", func() bool {
			// A busy machine may refuse the message of one request in the time that it has.
			if a := s.finalAnswer("moutai", "alice"); a.text("code") != "already-ordered" {
				t.Errorf("got %v", a)
			}
			return len(s.books("moutai").Unfinished()) == 0
		})
		s.balanced("moutai")
	})
}

func TestTheOperatorSeesTheBooks(t *testing.T) {
	t.Parallel()
	s := boot(t, "-parameter", "OrderVisibilityTimeout=9")
	s.open("moutai", 10, 2)
	for i := range 4 {
		s.finalAnswer("moutai", fmt.Sprint("user-", i))
	}
	s.balanced("moutai")
	out, code := s.operator("receipt", "-sale", "moutai", "-json")
	var r map[string]any
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || r["balanced"] != true || r["claims"] != 4.0 || r["stock"] != 6.0 {
		t.Errorf("status %d: %s (%v)", code, out, err)
	}
	if out, code := s.operator("receipt", "-sale", "moutai"); code != 0 || !strings.Contains(out, "balanced: stock left + claims = seeded") {
		t.Errorf("status %d: %s", code, out)
	}
	if out, code := s.operator("buyer", "-sale", "moutai", "-user", "user-1"); code != 0 || !strings.Contains(out, "confirmed: order") {
		t.Errorf("status %d: %s", code, out)
	}
	if out, code := s.operator("receipt", "-sale", "nowhere"); code != 2 {
		t.Errorf("unknown sale: status %d: %s", code, out)
	}
	if out, code := s.operator("republish", "-sale", "moutai"); code != 0 || !strings.Contains(out, "4 of 4 events of sale moutai were published to orders") {
		t.Errorf("status %d: %s", code, out)
	}
	if out, code := s.operator("receipt", "-sale", "moutai", "-bound", "1ns", "-events", filepath.Join(s.data, "events.jsonl")); code != 0 || !strings.Contains(out, "\ncomplete: ") {
		t.Errorf("status %d: %s", code, out)
	}
	_, err := s.table().UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String("LedgerTable"), UpdateExpression: aws.String("ADD stock :one"),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "STOCK#moutai#0"}, "sk": &types.AttributeValueMemberS{Value: "STOCK"},
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, code := s.operator("receipt", "-sale", "moutai"); code != 1 || !strings.Contains(out, "shard 0") {
		t.Errorf("a unit too many: status %d: %s", code, out)
	}
}

// make runs a target of the Makefile on this stack and returns its output, and whether
// it succeeded. The operator's program is built once, before the tests.
func (s *stack) make(target string, variables ...string) (string, bool) {
	s.t.Helper()
	command := exec.Command("make", append([]string{"--no-print-directory", "-s", "-o", "operator", target, "API_PORT=" + strconv.Itoa(s.at.Ports[0])}, variables...)...)
	command.Dir = s.root
	// The target's make must not be part of the one that runs the tests.
	command.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	var out bytes.Buffer
	command.Stdout = &out
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return out.String(), err == nil
}

func TestTheOperatorPausesAndResumesASale(t *testing.T) {
	t.Parallel()
	s := boot(t)
	s.open("moutai", 10, 4)
	const id = "this is change ([A-Z0-9]+): with ID=[A-Z0-9]+(?: SEEN=[0-9a-f.]+)? the same command changes nothing more\n$"
	s.finalAnswer("moutai", "first")
	out, ok := s.make("pause", "SALE=moutai")
	said := regexp.MustCompile("^moutai has been paused since [0-9:]{8}Z: no unit is sold until `make resume SALE=moutai`\n" + id).FindStringSubmatch(out)
	if !ok || said == nil {
		t.Fatalf("succeeded: %t, said %q", ok, out)
	}
	if again, ok := s.make("pause", "SALE=moutai", "ID="+said[1], "NOTE=again"); !ok || again != out {
		t.Errorf("once more: succeeded: %t, said %q after %q", ok, again, out)
	}
	out, ok = s.make("resume", "SALE=moutai")
	want := regexp.MustCompile("^moutai was resumed at [0-9:]{8}Z: it sells from [0-9T:-]+Z to [0-9T:-]+Z\n" + id)
	if !ok || !want.MatchString(out) {
		t.Errorf("succeeded: %t, said %q", ok, out)
	}
	alice := s.bearer("alice")
	s.eventually("the sale goes on", func() bool { return s.must(s.buy("moutai", alice...)).status == http.StatusAccepted })

	for _, variables := range [][]string{
		{"SALE=nowhere"}, {}, {"SALE="},
		{`SALE="; echo moutai is paused; "`}, {"SALE=`echo moutai`"},
		{"SALE=moutai", "API_PORT=1"},
	} {
		out, ok := s.make("pause", variables...)
		if ok || !strings.HasPrefix(out, "NOT PAUSED: ") || strings.Count(out, "\n") != 1 {
			t.Errorf("%q: succeeded: %t, said %q", variables, ok, out)
		}
	}
}

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
		QueueUrl: s.queueURL(name), AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	visible, _ := strconv.Atoi(out.Attributes["ApproximateNumberOfMessages"])
	hidden, _ := strconv.Atoi(out.Attributes["ApproximateNumberOfMessagesNotVisible"])
	return visible + hidden
}

func TestDeadLettersAreShownAndMovedBack(t *testing.T) {
	t.Parallel()
	s := boot(t, "-parameter", "OrderVisibilityTimeout=9")
	s.open("moutai", 10, 2)
	url := s.queueURL("OrderDeadLetterQueue")
	for _, body := range []string{"not json", `{"v":1,"saleId":"moutai","user":"nobody","claimId":"x"}`} {
		s.sendTo(url, body)
	}
	s.strand("moutai", "alice", time.Second)
	claim, err := ledger.New(s.table(), "LedgerTable", ledger.Options{}).Claim(t.Context(), "moutai", "alice")
	if err != nil {
		t.Fatal(err)
	}
	s.sendTo(url, `{"v":1,"saleId":"moutai","user":"alice","claimId":"`+claim.ID+`"}`)
	out, code := s.operator("redrive")
	for _, want := range []string{"1  poison: not an order message", "1  poison: no such claim", "1  pending: moving it back", "nothing was moved"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, %q is not in: %s", code, want, out)
		}
	}
	if s.depth("OrderDeadLetterQueue") != 3 {
		t.Error("the preview took messages")
	}
	if out, code = s.operator("redrive", "-go"); code != 0 || !strings.Contains(out, "1 moved back to the order queue, 0 deleted") {
		t.Errorf("status %d: %s", code, out)
	}
	s.balanced("moutai")
	if out, code = s.operator("redrive", "-drop", "poison"); code != 0 || !strings.Contains(out, "2 deleted") || s.depth("OrderDeadLetterQueue") != 0 {
		t.Errorf("status %d: %s", code, out)
	}
	if out, code = s.operator("sales"); code != 0 || !strings.Contains(out, "moutai  OPEN") {
		t.Errorf("status %d: %s", code, out)
	}
}
