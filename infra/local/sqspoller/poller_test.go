package sqspoller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/local/eventsource"
)

// play runs a poller in virtual time until story returns, then stops it.
func play(t *testing.T, c Config, q *fakeQueue, f *fakeFunction, story func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c.QueueURL, c.QueueARN, c.Function, c.Region = "url", "arn", "F", "us-east-1"
		p, err := New(c, q, f)
		if err != nil {
			t.Fatal(err)
		}
		f.start = time.Now()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		story()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	})
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func sizes(batches []batch) []int {
	var out []int
	for _, b := range batches {
		out = append(out, len(b.ids))
	}
	return out
}

func TestAFullBatchDoesNotWaitForItsWindow(t *testing.T) {
	q, f := &fakeQueue{}, &fakeFunction{}
	q.send(60)
	play(t, Config{BatchSize: 25, Window: 5 * time.Second, Concurrency: 5}, q, f, func() {
		after(time.Millisecond)
		if got := sizes(f.seen()); !slices.Equal(got, []int{25, 25}) {
			t.Errorf("batches of %v ran at once, want two full ones", got)
		}
		after(6 * time.Second)
		if got := sizes(f.seen()); !slices.Equal(got, []int{25, 25, 10}) {
			t.Errorf("batches of %v ran, want the rest after the window", got)
		}
	})
	if got := q.left(); len(got) != 0 {
		t.Errorf("%v stayed in the queue", got)
	}
}

func TestABatchRunsWhenItsWindowEnds(t *testing.T) {
	q, f := &fakeQueue{}, &fakeFunction{}
	play(t, Config{BatchSize: 25, Window: 2500 * time.Millisecond, Concurrency: 1}, q, f, func() {
		q.send(1)
		after(time.Second)
		q.send(2)
		after(time.Second)
		if got := f.seen(); len(got) != 0 {
			t.Errorf("%v ran inside the window", got)
		}
		after(time.Second)
	})
	got := f.seen()
	if len(got) != 1 || len(got[0].ids) != 3 || got[0].at < 2500*time.Millisecond || got[0].at > 2700*time.Millisecond {
		t.Errorf("got %v, want one batch of 3 after 2.5 s", got)
	}
}

func TestWithoutAWindowABatchIsWhatOneReceiveGives(t *testing.T) {
	q, f := &fakeQueue{}, &fakeFunction{}
	q.send(12)
	play(t, Config{BatchSize: 10, Concurrency: 3}, q, f, func() { after(time.Millisecond) })
	got := sizes(f.seen())
	slices.Sort(got)
	if !slices.Equal(got, []int{2, 10}) {
		t.Errorf("batches of %v, want 10 and 2", got)
	}
}

func TestReportedMessagesComeBackAfterTheirVisibilityTimeoutAndOthersDoNot(t *testing.T) {
	q := &fakeQueue{}
	first := true
	f := &fakeFunction{answer: func(_ context.Context, ids []string) (string, string, error) {
		if first {
			first = false
			return fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q}]}`, ids[1]), "", nil
		}
		return `{"batchItemFailures":[]}`, "", nil
	}}
	q.send(3)
	play(t, Config{BatchSize: 10, ReportBatchItemFailures: true, Concurrency: 1}, q, f, func() {
		after(visibility - time.Second)
		if got := q.left(); !slices.Equal(got, []string{"m2"}) {
			t.Errorf("%v left, want only the reported message", got)
		}
		after(2 * time.Second)
	})
	got := f.seen()
	if len(got) != 2 || !slices.Equal(got[1].ids, []string{"m2"}) || got[1].at < visibility {
		t.Errorf("batches %v, want m2 again after %v", got, visibility)
	}
	if left := q.left(); len(left) != 0 {
		t.Errorf("%v left, want none", left)
	}
}

func TestNothingIsDeletedWhenTheWholeBatchFails(t *testing.T) {
	for name, answer := range map[string]func(context.Context, []string) (string, string, error){
		"a function error": func(context.Context, []string) (string, string, error) {
			return `{"batchItemFailures":[]}`, "Unhandled", nil
		},
		"an invocation that did not happen": func(context.Context, []string) (string, string, error) {
			return "", "", errors.New("throttled")
		},
		"a response that is not JSON": func(context.Context, []string) (string, string, error) {
			return "{", "", nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			q, f := &fakeQueue{}, &fakeFunction{answer: answer}
			q.send(4)
			play(t, Config{BatchSize: 10, ReportBatchItemFailures: true, Concurrency: 2}, q, f, func() { after(visibility + time.Second) })
			if left := q.left(); len(left) != 4 {
				t.Errorf("%v left, want all four", left)
			}
			if got := sizes(f.seen()); !slices.Equal(got, []int{4, 4}) {
				t.Errorf("batches of %v, want the same again after the visibility timeout", got)
			}
		})
	}
}

func TestWithoutPartialFailuresTheResponseIsNotRead(t *testing.T) {
	q := &fakeQueue{}
	f := &fakeFunction{answer: func(_ context.Context, ids []string) (string, string, error) {
		return fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q}]}`, ids[0]), "", nil
	}}
	q.send(2)
	play(t, Config{BatchSize: 10, Concurrency: 1}, q, f, func() { after(time.Second) })
	if left := q.left(); len(left) != 0 {
		t.Errorf("%v left, want none", left)
	}
}

func TestNoMessageIsReceivedBeforeItCanRun(t *testing.T) {
	q := &fakeQueue{}
	f := &fakeFunction{answer: func(context.Context, []string) (string, string, error) {
		time.Sleep(3 * time.Second)
		return "", "", nil
	}}
	q.send(50)
	play(t, Config{BatchSize: 10, Concurrency: 2}, q, f, func() {
		after(time.Second)
		if got := q.inFlight(); got != 20 {
			t.Errorf("%d messages in flight, want the 20 that are running", got)
		}
		after(20 * time.Second)
	})
	if f.most != 2 || len(q.left()) != 0 {
		t.Errorf("%d batches at once and %d messages left, want 2 and 0", f.most, len(q.left()))
	}
}

func TestAnEngineThatIsDownIsAskedAgainWithGrowingPauses(t *testing.T) {
	q, f := &fakeQueue{}, &fakeFunction{}
	q.setDown(true)
	play(t, Config{BatchSize: 10, Concurrency: 1}, q, f, func() {
		after(time.Minute)
		if got := q.calls(); got < 12 || got > 40 {
			t.Errorf("%d receives in a minute without an engine, want pauses up to %v", got, eventsource.LastPause)
		}
		q.send(1)
		q.setDown(false)
		after(eventsource.LastPause)
	})
	if left := q.left(); len(left) != 0 {
		t.Errorf("%v left after the engine came back", left)
	}
}

func TestADeletionThatFailedIsTriedAgain(t *testing.T) {
	q, f := &fakeQueue{failDelete: 2}, &fakeFunction{}
	q.send(1)
	play(t, Config{BatchSize: 1, Concurrency: 1}, q, f, func() { after(5 * time.Second) })
	if left, runs := q.left(), len(f.seen()); len(left) != 0 || runs != 1 {
		t.Errorf("%v left after %d runs, want it deleted after one", left, runs)
	}
}
