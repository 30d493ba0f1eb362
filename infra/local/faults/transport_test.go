package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/local/faults"
)

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// unanswered reports whether an error is not an answer of the service.
func unanswered(err error) bool {
	return err != nil && !is[smithy.APIError](err)
}

func status(err error) int {
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// codes are the reasons of a cancellation.
func codes(err error) []string {
	var cancel *types.TransactionCanceledException
	if !errors.As(err, &cancel) {
		return nil
	}
	var codes []string
	for _, r := range cancel.CancellationReasons {
		codes = append(codes, aws.ToString(r.Code))
	}
	return codes
}

// Every fault is what the SDK makes of the real service's answer, directly and
// through a proxy.
func TestFaultsLookReal(t *testing.T) {
	for _, c := range []struct {
		name, faults, kind string
		do                 func(world) error
		want               func(error) bool
		arrives            int
	}{
		{
			"a write conflicts", "conflict=1", "conflict", func(w world) error { return w.put(t, "a") },
			func(err error) bool { return is[*types.TransactionConflictException](err) && status(err) == 400 }, 0,
		},
		{
			"a transaction conflicts", "conflict=1", "conflict", func(w world) error { return w.transact(t, "a", "b", "c") },
			func(err error) bool {
				return len(codes(err)) == 3 && strings.Contains(strings.Join(codes(err), " "), "TransactionConflict")
			}, 0,
		},
		{
			"a read never conflicts", "conflict=1", "", func(w world) error { return w.get(t, "a") },
			func(err error) bool { return err == nil }, 1,
		},
		{
			"a call is throttled", "throttle=1", "throttle", func(w world) error { return w.get(t, "a") },
			func(err error) bool {
				return is[*types.ProvisionedThroughputExceededException](err) || is[*types.ThrottlingException](err)
			}, 0,
		},
		{
			"a server error", "error=1", "error", func(w world) error { return w.put(t, "a") },
			func(err error) bool { return is[*types.InternalServerError](err) && status(err) == 500 }, 0,
		},
		{
			"an answer is lost after the commit", "lost=1", "lost", func(w world) error { return w.transact(t, "a") },
			unanswered, 1,
		},
		{
			"a read is never late", "late=1", "", func(w world) error { return w.get(t, "a") },
			func(err error) bool { return err == nil }, 1,
		},
		{
			"nothing of DynamoDB's happens to a message", "error=1", "", func(w world) error { return w.send(t, "a") },
			func(err error) bool { return err == nil }, 1,
		},
		{
			"nothing happens to what is not a call of data", "error=1", "", func(w world) error {
				_, err := w.table.ListTables(t.Context(), &dynamodb.ListTablesInput{})
				return err
			}, func(err error) bool { return err == nil }, 1,
		},
	} {
		for between, build := range map[string]func(*testing.T, string) world{"client": newWorld, "proxy": proxied} {
			t.Run(c.name+" in a "+between, func(t *testing.T) {
				w := build(t, c.faults)
				if err := c.do(w); !c.want(err) {
					t.Errorf("got %v", err)
				}
				if got := w.count(); got != c.arrives {
					t.Errorf("%d requests arrived, want %d", got, c.arrives)
				}
				if got := w.transport.Counts(); c.kind != "" && got[c.kind] != 1 {
					t.Errorf("counts are %v, want one %s", got, c.kind)
				}
			})
		}
	}
}

func TestALostAnswerIsABrokenConnectionInTheClient(t *testing.T) {
	w := newWorld(t, "lost=1")
	if err := w.put(t, "a"); !errors.Is(err, faults.ErrBroken) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func TestALostAnswerIsAppliedThoughTheCallerGaveUp(t *testing.T) {
	s := &stub{}
	ctx, cancel := context.WithCancel(t.Context())
	tr := &faults.Transport{Config: config(t, "lost=1"), Base: around(func(r *http.Request) (*http.Response, error) {
		cancel()
		return s.RoundTrip(r)
	})}
	_, err := tableAt("http://127.0.0.1", tr).GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("T"), Key: key("a")})
	if !unanswered(err) || s.count() != 1 {
		t.Errorf("got %v, %d arrived", err, s.count())
	}
}

type around func(*http.Request) (*http.Response, error)

func (f around) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestThrottlingSaysWhyInTheWayOfEachError(t *testing.T) {
	w := newWorld(t, "throttle=1")
	met := map[string]bool{}
	for range 40 {
		var provisioned *types.ProvisionedThroughputExceededException
		var general *types.ThrottlingException
		switch err := w.get(t, "a"); {
		case errors.As(err, &provisioned):
			met["provisioned"] = len(provisioned.ThrottlingReasons) == 1
		case errors.As(err, &general):
			met["general"] = len(general.ThrottlingReasons) == 1
		}
		for _, code := range codes(w.transact(t, "a", "b")) {
			met[code] = true
		}
	}
	for _, want := range []string{"provisioned", "general", "None", "ThrottlingError", "ProvisionedThroughputExceeded"} {
		if !met[want] {
			t.Errorf("never met %s with reasons: %v", want, met)
		}
	}
}

func TestASendFailsBeforeOrAfterItWasSent(t *testing.T) {
	w := newWorld(t, "send=1")
	const calls = 40
	for range calls {
		switch err := w.send(t, "hello"); {
		case err == nil:
			t.Error("a send succeeded")
		case is[smithy.APIError](err) && status(err) != 500:
			t.Errorf("refused with %v", err)
		}
	}
	counts := w.transport.Counts()
	if counts["send-failed"]+counts["send-lost"] != calls || counts["send-failed"] == 0 || counts["send-lost"] != w.count() || w.count() == 0 {
		t.Errorf("counts are %v, %d arrived", counts, w.count())
	}
	if _, err := w.queue.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: aws.String("q"), ReceiptHandle: aws.String("r")}); err != nil {
		t.Errorf("another call of the queue: %v", err)
	}
}

func TestABatchOfReadsInATransactionConflicts(t *testing.T) {
	w := newWorld(t, "conflict=1")
	_, err := w.table.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: aws.String("T"), Key: key("a")}},
	}})
	if diff := cmp.Diff([]string{"TransactionConflict"}, codes(err)); diff != "" {
		t.Errorf("reasons of %v (-want +got):\n%s", err, diff)
	}
}

func TestARequestArrivesAsItWasSent(t *testing.T) {
	direct, through := newWorld(t, ""), proxied(t, "latency=1ms,inflight=1ms")
	for _, w := range []world{direct, through} {
		for _, err := range []error{w.put(t, "a"), w.get(t, "b"), w.send(t, "hello")} {
			if err != nil {
				t.Error(err)
			}
		}
	}
	if diff := cmp.Diff(direct.seen, through.seen); diff != "" {
		t.Errorf("direct and proxied differ (-direct +proxied):\n%s", diff)
	}
}

// The same seed gives the same faults for the same sequence of calls, another seed
// others; the shares are right.
func TestTheSeedDecides(t *testing.T) {
	const calls = 400
	run := func(seed int) (string, map[string]int) {
		s := &stub{}
		tr := &faults.Transport{Base: s, Config: config(t, fmt.Sprintf("conflict=0.2,throttle=0.1,error=0.1,lost=0.1,send=0.5,seed=%d", seed))}
		w := world{s, tr, tableAt("http://127.0.0.1", tr), queueAt("http://127.0.0.1", tr)}
		var log strings.Builder
		for i := range calls {
			err := w.transact(t, "a", "b", "c")
			if i%4 == 0 {
				err = w.send(t, "hello")
			}
			fmt.Fprintln(&log, is[*types.InternalServerError](err), unanswered(err), codes(err), status(err))
		}
		return log.String(), tr.Counts()
	}
	first, counts := run(7)
	again, countsAgain := run(7)
	if first != again || cmp.Diff(counts, countsAgain) != "" {
		t.Errorf("equal seeds decide differently: %v, %v", counts, countsAgain)
	}
	if other, _ := run(8); other == first {
		t.Error("another seed decides equally")
	}
	for kind, share := range map[string]float64{"conflict": 0.2, "throttle": 0.1, "error": 0.1, "lost": 0.1} {
		if got := float64(counts[kind]) / calls; got < share/2 || got > share*2 {
			t.Errorf("%s: a share of %g, want about %g", kind, got, share)
		}
	}
}

func TestADelayedCallHonoursItsContext(t *testing.T) {
	s := &stub{}
	tr := &faults.Transport{Base: s, Config: faults.Config{Latency: 1 << 62}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tableAt("http://127.0.0.1", tr).GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("T"), Key: key("a")})
	if !errors.Is(err, context.Canceled) || s.count() != 0 {
		t.Errorf("got %v, %d arrived", err, s.count())
	}
}
