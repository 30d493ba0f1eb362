package streampoller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// play runs a poller in virtual time until story returns, then stops it.
func play(t *testing.T, c Config, s Stream, f *fakeFunction, story func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(t, c, s, f, story) })
}

func run(t *testing.T, c Config, s Stream, f *fakeFunction, story func()) {
	t.Helper()
	p, err := New(c, s, f)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	story()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func sizes(batches []batch) (out []int) {
	for _, b := range batches {
		out = append(out, len(b.pks))
	}
	return out
}

func TestRecordsArriveOnceInBatchesAndInOrder(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	play(t, config(t, func(c *Config) { c.BatchSize = 400 }), s, f, func() {
		s.puts("a", 1050)
		after(time.Second)
		s.put("b")
		after(time.Second)
	})
	if got := sizes(f.seen()); !slices.Equal(got, []int{400, 400, 200, 50, 1}) && !slices.Equal(got, []int{400, 400, 250, 1}) {
		t.Errorf("batches of %v", got)
	}
	for i, pk := range f.keys()[:1050] {
		if pk != fmt.Sprintf("a%d", i) {
			t.Fatalf("record %d is of %s", i, pk)
		}
	}
}

func TestABatchWaitsForItsWindowAtMost(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	play(t, config(t, func(c *Config) { c.BatchSize, c.Window = 10, 5*time.Second }), s, f, func() {
		began := time.Now()
		s.puts("a", 12)
		after(time.Second)
		if got := sizes(f.seen()); !slices.Equal(got, []int{10}) {
			t.Errorf("batches of %v ran at once, want the full one", got)
		}
		after(10 * time.Second)
		got := f.seen()
		if !slices.Equal(sizes(got), []int{10, 2}) || got[1].at.Sub(began) < 5*time.Second || got[1].at.Sub(began) > 6*time.Second {
			t.Errorf("batches of %v, want the rest after the window", sizes(got))
		}
	})
}

func TestEverythingFromTheLowestReportedRecordIsRepeated(t *testing.T) {
	s := newStream()
	first := true
	f := &fakeFunction{answer: func(_ context.Context, b batch) (string, string, error) {
		if first {
			first = false
			return failing(b.numbers[3], b.numbers[1]), "", nil
		}
		return failing(), "", nil
	}}
	play(t, config(t, nil), s, f, func() {
		s.puts("a", 5)
		after(time.Minute)
	})
	if got := f.keys(); !slices.Equal(got, []string{"a0", "a1", "a2", "a3", "a4", "a1", "a2", "a3", "a4"}) {
		t.Errorf("got %v", got)
	}
}

func TestAFailedBatchIsRepeatedWithoutEndAndNothingOvertakesIt(t *testing.T) {
	for name, answer := range map[string]func(batch) (string, string, error){
		"a function error":            func(batch) (string, string, error) { return `{"batchItemFailures":[]}`, "Unhandled", nil },
		"no invocation":               func(batch) (string, string, error) { return "", "", errors.New("throttled") },
		"an answer that is no JSON":   func(batch) (string, string, error) { return "{", "", nil },
		"an unknown record":           func(batch) (string, string, error) { return failing("1"), "", nil },
		"an empty identifier":         func(batch) (string, string, error) { return failing(""), "", nil },
		"an identifier by wrong name": func(batch) (string, string, error) { return `{"batchItemFailures":[{"id":"1"}]}`, "", nil },
		"the first record":            func(b batch) (string, string, error) { return failing(b.numbers[0]), "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStream()
			var healthy atomic.Bool
			f := &fakeFunction{}
			f.answer = func(_ context.Context, b batch) (string, string, error) {
				if healthy.Load() {
					return "", "", nil
				}
				return answer(b)
			}
			c := config(t, nil)
			play(t, c, s, f, func() {
				s.puts("a", 2)
				after(time.Second)
				s.puts("b", 2)
				after(6 * time.Minute)
				n := len(f.seen())
				if n < 60 || n > 160 {
					t.Errorf("%d invocations in six minutes, want pauses of up to 5 s", n)
				}
				for _, b := range f.seen() {
					if !slices.Equal(b.pks, []string{"a0", "a1"}) {
						t.Fatalf("%v ran before the failed batch had succeeded", b.pks)
					}
				}
				if content, err := os.ReadFile(c.Checkpoint); err == nil {
					t.Errorf("the checkpoint is %s", content)
				}
				healthy.Store(true)
				after(20 * time.Second)
			})
			if got := f.keys(); !slices.Equal(got[len(got)-4:], []string{"a0", "a1", "b0", "b1"}) {
				t.Errorf("at the end %v", got[len(got)-4:])
			}
		})
	}
}

func TestWithoutPartialResponsesTheAnswerIsNotRead(t *testing.T) {
	s := newStream()
	f := &fakeFunction{answer: func(_ context.Context, b batch) (string, string, error) { return failing(b.numbers[0]), "", nil }}
	play(t, config(t, func(c *Config) { c.ReportBatchItemFailures = false }), s, f, func() {
		s.puts("a", 3)
		after(time.Minute)
	})
	if got := f.keys(); len(got) != 3 {
		t.Errorf("got %v", got)
	}
}

func TestItemsRunAtOnceAndEachInItsOrder(t *testing.T) {
	s := newStream()
	stuck := fmt.Sprintf("%021d", 1) // the first of item0
	f := &fakeFunction{}
	f.answer = func(_ context.Context, b batch) (string, string, error) {
		time.Sleep(10 * time.Millisecond)
		if slices.Contains(b.numbers, stuck) {
			return failing(stuck), "", nil
		}
		return failing(), "", nil
	}
	c := config(t, func(c *Config) { c.Parallel, c.BatchSize = 3, 7 })
	play(t, c, s, f, func() {
		for range 20 {
			s.puts("item", 12)
		}
		after(10 * time.Minute)
	})
	if f.most != 3 {
		t.Errorf("%d batches ran at once, want 3", f.most)
	}
	// The lanes of other items are done, and the progress is not beyond the record that fails.
	seen := map[string]map[string]bool{}
	last := map[string]string{}
	for _, b := range f.seen() {
		for i, pk := range b.pks {
			if seen[pk] == nil {
				seen[pk] = map[string]bool{}
			}
			if !seen[pk][b.numbers[i]] && b.numbers[i] < last[pk] {
				t.Errorf("%s: record %s after %s", pk, b.numbers[i], last[pk])
			}
			seen[pk][b.numbers[i]], last[pk] = true, max(last[pk], b.numbers[i])
		}
	}
	complete := 0
	for _, numbers := range seen {
		if len(numbers) == 20 {
			complete++
		}
	}
	if complete == 0 || complete == 12 || len(seen["item0"]) == 20 {
		t.Errorf("%d of 12 items are complete, and item0 has %d of 20: want only the lane of item0 to wait", complete, len(seen["item0"]))
	}
	if done, err := openCheckpoint(c.Checkpoint, fakeARN); err != nil || done.of("shard-1").After >= stuck {
		t.Errorf("the checkpoint is %v, %v, beyond %s", done.of("shard-1"), err, stuck)
	}
}

func TestAProcessThatDiesRepeatsWhatWasNotDoneAndNothingElse(t *testing.T) {
	s := newStream()
	c := config(t, func(c *Config) { c.BatchSize = 2 })
	dead := false
	f := &fakeFunction{}
	f.answer = func(ctx context.Context, b batch) (string, string, error) {
		if dead = dead || slices.Contains(b.pks, "a4"); dead {
			<-ctx.Done()
			return "", "", ctx.Err()
		}
		return failing(), "", nil
	}
	c.Grace = time.Millisecond
	play(t, c, s, f, func() {
		s.puts("a", 8)
		after(time.Second)
	})
	again := &fakeFunction{}
	play(t, c, s, again, func() { after(time.Second) })
	if got := again.keys(); !slices.Equal(got, []string{"a4", "a5", "a6", "a7"}) {
		t.Errorf("after the restart came %v", got)
	}
	third := &fakeFunction{}
	play(t, c, s, third, func() { after(time.Second) })
	if got := third.keys(); len(got) != 0 {
		t.Errorf("after a restart with nothing new came %v", got)
	}
	c.StreamARN += "9" // the table was created anew
	if p, err := New(c, s, third); err != nil || p.done.of("shard-1") != (progress{}) {
		t.Errorf("another stream begins at %+v, %v", p.done.of("shard-1"), err)
	}
}

func TestStoppingLetsARunningInvocationFinishAndStartsNoOther(t *testing.T) {
	s := newStream()
	f := &fakeFunction{answer: func(ctx context.Context, _ batch) (string, string, error) {
		select {
		case <-time.After(5 * time.Second):
			return "", "", nil
		case <-ctx.Done():
			return "", "", ctx.Err()
		}
	}}
	c := config(t, func(c *Config) { c.BatchSize = 2 })
	play(t, c, s, f, func() {
		s.puts("a", 4)
		after(time.Second)
	})
	if done, err := openCheckpoint(c.Checkpoint, fakeARN); err != nil || !strings.HasSuffix(done.of("shard-1").After, "02") || len(f.seen()) != 1 {
		t.Errorf("%v, %v after %d batches, want the first one done", done.of("shard-1"), err, len(f.seen()))
	}
}

func TestWhatNoFilterLetsThroughIsDone(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	c := config(t, func(c *Config) {
		c.Filters = []string{`{"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"a"}]}}}}`, `{"dynamodb":{"Keys":{"pk":{"S":["c1"]}}}}`}
	})
	play(t, c, s, f, func() {
		s.puts("b", 3)
		s.puts("a", 2)
		s.puts("c", 3)
		after(time.Second)
		s.put("z")
		after(2 * time.Second)
		// A process that is killed here does not read them again.
		if done, err := openCheckpoint(c.Checkpoint, fakeARN); err != nil || !strings.HasSuffix(done.of("shard-1").After, "009") {
			t.Errorf("the checkpoint is %v, %v", done.of("shard-1"), err)
		}
	})
	if got := f.keys(); !slices.Equal(got, []string{"a0", "a1", "c1"}) {
		t.Errorf("got %v", got)
	}
}

func TestAChildIsReadAfterAllOfItsParent(t *testing.T) {
	s := newStream()
	f := &fakeFunction{answer: func(context.Context, batch) (string, string, error) {
		time.Sleep(3 * time.Second)
		return "", "", nil
	}}
	c := config(t, func(c *Config) { c.BatchSize = 2 })
	play(t, c, s, f, func() {
		s.puts("a", 5)
		s.split()
		s.puts("b", 2)
		s.split()
		s.puts("c", 1)
		after(time.Minute)
	})
	if got := f.keys(); !slices.Equal(got, []string{"a0", "a1", "a2", "a3", "a4", "b0", "b1", "c0"}) || f.most != 1 {
		t.Errorf("got %v, %d at once", got, f.most)
	}
	again := &fakeFunction{}
	play(t, c, s, again, func() {
		s.put("d")
		after(time.Minute)
	})
	if got := again.keys(); !slices.Equal(got, []string{"d"}) {
		t.Errorf("after a restart came %v", got)
	}
}

func TestAShardThatEndedIsNotDoneBeforeItsRecordsAre(t *testing.T) {
	s := newStream()
	f := &fakeFunction{answer: func(context.Context, batch) (string, string, error) {
		time.Sleep(3 * time.Second)
		return "", "", nil
	}}
	c := config(t, func(c *Config) { c.BatchSize = 2 })
	s.puts("a", 5)
	s.split()
	s.puts("b", 1)
	play(t, c, s, f, func() { after(time.Second) })
	play(t, c, s, f, func() { after(time.Minute) })
	if got := f.keys(); !slices.Equal(got, []string{"a0", "a1", "a2", "a3", "a4", "b0"}) {
		t.Errorf("got %v", got)
	}
}

func TestExpiredIteratorsAndAStreamThatIsDownLoseNothing(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	play(t, config(t, nil), s, f, func() {
		s.put("a")
		after(time.Second)
		s.setDown(true)
		before := s.called()
		after(20 * time.Minute)
		if n := s.called() - before; n < 200 || n > 600 {
			t.Errorf("%d calls in 20 minutes without a stream, want pauses of up to 5 s", n)
		}
		s.put("b")
		s.setDown(false)
		after(10 * time.Second)
	})
	if got := f.keys(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v", got)
	}
}

func TestReadingGoesOnWithTheOldestRecordThatIsLeft(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	c := config(t, nil)
	play(t, c, s, f, func() {
		s.put("a")
		after(time.Second)
	})
	// synctest's clocks begin anew: what is older than a day is deleted here.
	s.mu.Lock()
	s.shards[0].records = nil
	s.mu.Unlock()
	play(t, c, s, f, func() {
		s.put("b")
		after(time.Minute)
	})
	if got := f.keys(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v", got)
	}
}

func TestAConfigurationThatLambdaWouldRefuseIsRefused(t *testing.T) {
	if _, err := New(config(t, nil), nil, nil); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no stream": func(c *Config) { c.StreamARN = "" }, "no source": func(c *Config) { c.SourceARN = "" },
		"no function": func(c *Config) { c.Function = "" }, "no checkpoint": func(c *Config) { c.Checkpoint = "" },
		"an empty batch": func(c *Config) { c.BatchSize = 0 }, "a batch of 10,001": func(c *Config) { c.BatchSize = 10001 },
		"a window of more than 5 minutes": func(c *Config) { c.Window = 5*time.Minute + 1 },
		"no parallel batch":               func(c *Config) { c.Parallel = 0 }, "11 parallel batches": func(c *Config) { c.Parallel = 11 },
		"an unknown filter": func(c *Config) { c.Filters = []string{`{"eventName":["INSERT"]}`} },
		"a checkpoint that is no checkpoint": func(c *Config) {
			c.Checkpoint += "/F.json"
			if err := os.MkdirAll(c.Checkpoint, 0o755); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(config(t, change), nil, nil); err == nil {
				t.Error("accepted")
			}
		})
	}
}
