package faults_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/local/faults"
)

// inBubble is a world in this goroutine's virtual time: the SDK's client calls
// the stub without a network.
func inBubble(t *testing.T, faulty string) world {
	t.Helper()
	s := &stub{}
	tr := &faults.Transport{Base: s, Config: config(t, faulty)}
	return world{s, tr, tableAt("http://127.0.0.1", tr), queueAt("http://127.0.0.1", tr)}
}

func TestItemsOfATransactionAreBusyForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := inBubble(t, "inflight=10ms")
		for _, step := range []struct {
			name  string
			after time.Duration
			do    func() error
			want  []string // reasons; nil for success
		}{
			{"the first takes its items", 0, func() error { return w.transact(t, "a", "b", "c") }, nil},
			{"one that meets two of them is told which", 0, func() error { return w.transact(t, "x", "b", "y", "c") },
				[]string{"None", "TransactionConflict", "None", "TransactionConflict"}},
			{"the refused one took nothing", 0, func() error { return w.transact(t, "x", "y") }, nil},
			{"other items are free", 9 * time.Millisecond, func() error { return w.transact(t, "d") }, nil},
			{"the items are free after their time", time.Millisecond, func() error { return w.transact(t, "c", "a") }, nil},
			{"reads do not meet them", 0, func() error { return w.get(t, "a") }, nil},
			{"the later one is still in its own time", 8 * time.Millisecond, func() error { return w.transact(t, "d") },
				[]string{"TransactionConflict"}},
		} {
			time.Sleep(step.after)
			err := step.do()
			if diff := cmp.Diff(step.want, codes(err)); diff != "" || (step.want == nil) != (err == nil) {
				t.Errorf("%s: %v\n%s", step.name, err, diff)
			}
		}
		if err := w.put(t, "d"); !is[*types.TransactionConflictException](err) {
			t.Errorf("a write that meets a transaction: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
		if err := w.put(t, "d"); err != nil {
			t.Errorf("a write after it: %v", err)
		}
		if err := w.put(t, "d"); err != nil {
			t.Errorf("writes do not meet each other: %v", err)
		}
		if got := w.transport.Counts()["inflight"]; got != 3 {
			t.Errorf("%d conflicts in flight were counted, want 3", got)
		}
	})
}

func TestALateRequestIsAppliedAfterItsCallerWasAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := inBubble(t, "late=1,lateby=2s")
		if err := w.put(t, "a"); !errors.Is(err, faults.ErrBroken) {
			t.Errorf("got %v", err)
		}
		if w.count() != 0 {
			t.Error("it was applied at once")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if w.count() != 1 || w.transport.Counts()["late"] != 1 {
			t.Errorf("%d arrived after its delay, counts %v", w.count(), w.transport.Counts())
		}
	})
}

func TestALateTransactionMeetsWhatIsInFlightWhenItArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := inBubble(t, "late=1,lateby=1s,inflight=1m")
		for range 3 {
			if err := w.transact(t, "a"); !unanswered(err) {
				t.Errorf("got %v", err)
			}
		}
		if err := w.transport.Close(); err != nil {
			t.Error(err)
		}
		if w.count() != 1 || w.transport.Counts()["inflight"] != 2 {
			t.Errorf("%d arrived, counts %v", w.count(), w.transport.Counts())
		}
	})
}

func TestCloseLeavesNothingToHappenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := inBubble(t, "late=1,lateby=1m")
		start := time.Now()
		const calls = 300 // more than may wait
		for range calls {
			if err := w.put(t, "a"); err == nil {
				t.Error("a late request was answered")
			}
		}
		counts := w.transport.Counts()
		if counts["late"] == 0 || counts["error"] == 0 || counts["late"]+counts["error"] != calls {
			t.Errorf("counts are %v: too many waiting are refused", counts)
		}
		if err := w.transport.Close(); err != nil {
			t.Error(err)
		}
		if w.count() != counts["late"] || time.Since(start) != 0 {
			t.Errorf("%d of %d arrived, %v later", w.count(), counts["late"], time.Since(start))
		}
		if err := w.put(t, "a"); !is[*types.InternalServerError](err) {
			t.Errorf("late after Close: %v", err)
		}
		if err := w.transport.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestLatencyIsDrawnUpToItsMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := inBubble(t, "latency=100ms")
		var least, most time.Duration = time.Hour, 0
		for range 200 {
			start := time.Now()
			if err := w.get(t, "a"); err != nil {
				t.Error(err)
			}
			least, most = min(least, time.Since(start)), max(most, time.Since(start))
		}
		if least > 10*time.Millisecond || most < 90*time.Millisecond || most > 100*time.Millisecond {
			t.Errorf("between %v and %v", least, most)
		}
	})
}
