package sqspoller

import (
	"context"
	"testing"
	"time"
)

func TestStoppingLetsARunningInvocationFinishAndDeletesItsMessages(t *testing.T) {
	q := &fakeQueue{}
	f := &fakeFunction{answer: func(ctx context.Context, _ []string) (string, string, error) {
		select {
		case <-time.After(5 * time.Second):
			return "", "", nil
		case <-ctx.Done():
			return "", "", ctx.Err()
		}
	}}
	q.send(15)
	play(t, Config{BatchSize: 10, Concurrency: 1}, q, f, func() { after(time.Second) })
	if left, runs := len(q.left()), len(f.seen()); left != 5 || runs != 1 {
		t.Errorf("%d messages left after %d runs, want the 5 that were never received", left, runs)
	}
}

func TestStoppingAbandonsAnInvocationAfterTheGracePeriod(t *testing.T) {
	q := &fakeQueue{}
	var waited time.Duration
	f := &fakeFunction{answer: func(ctx context.Context, _ []string) (string, string, error) {
		began := time.Now()
		<-ctx.Done()
		waited = time.Since(began)
		return "", "", ctx.Err()
	}}
	q.send(1)
	play(t, Config{BatchSize: 10, Concurrency: 1}, q, f, func() { after(time.Second) })
	if waited != 11*time.Second {
		t.Errorf("the invocation went on for %v, want 1 s and the grace period of 10 s", waited)
	}
	if left := len(q.left()); left != 1 {
		t.Errorf("%d messages left, want the unfinished one", left)
	}
}

func TestStoppingInsideAWindowRunsWhatWasReceived(t *testing.T) {
	q, f := &fakeQueue{}, &fakeFunction{}
	q.send(2)
	play(t, Config{BatchSize: 25, Window: time.Minute, Concurrency: 1}, q, f, func() { after(time.Second) })
	if left, runs := len(q.left()), len(f.seen()); left != 0 || runs != 1 {
		t.Errorf("%d messages left after %d runs, want none after one", left, runs)
	}
}

func TestAConfigurationThatLambdaWouldRefuseIsRefused(t *testing.T) {
	good := Config{QueueURL: "u", QueueARN: "a", Function: "f", BatchSize: 10, Concurrency: 1}
	if _, err := New(good, nil, nil); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no queue":                        func(c *Config) { c.QueueURL = "" },
		"no function":                     func(c *Config) { c.Function = "" },
		"an empty batch":                  func(c *Config) { c.BatchSize = 0 },
		"a batch of 10,001":               func(c *Config) { c.BatchSize = 10001 },
		"a large batch without a window":  func(c *Config) { c.BatchSize = 11 },
		"a window of more than 5 minutes": func(c *Config) { c.Window = 6 * time.Minute },
		"no concurrency":                  func(c *Config) { c.Concurrency = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			change(&c)
			if _, err := New(c, nil, nil); err == nil {
				t.Error("accepted")
			}
		})
	}
}
