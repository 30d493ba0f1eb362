package streampoller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/wait"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
	"flashsale/infra/local/eventsource/eventsourcetest"
)

// TestTheEnginesStreamIsPolled is in real time.
func TestTheEnginesStreamIsPolled(t *testing.T) {
	e := enginetest.Start(t)
	client := engine.Client(e.Endpoint())
	arn := enginetest.Ensure(t, client, enginetest.Streamed("orders"))
	put := func(pks ...string) { t.Helper(); enginetest.Put(t, client, "orders", pks...) }
	c := config(t, func(c *Config) {
		c.StreamARN, c.BatchSize = arn, 3
		c.Filters = []string{`{"dynamodb":{"NewImage":{"pk":{"S":[{"prefix":"a"}]}},"OldImage":{"pk":{"S":[{"exists":false}]}}}}`}
	})
	run := func(f *fakeFunction, story func(got func(want ...string))) {
		t.Helper()
		eventsourcetest.Run(t, poller(t, c, engine.StreamsClient(e.Endpoint()), f).Run, func() {
			story(func(want ...string) {
				t.Helper()
				wait.Until(t, 10*time.Second, strings.Join(want, ", "), func() bool { return slices.Equal(f.Keys(), want) })
			})
		})
	}
	failed := false
	first := &fakeFunction{Answer: func(_ context.Context, b batch) (string, string, error) {
		if i := slices.Index(b.Keys, "a2"); i >= 0 && !failed {
			failed = true
			return eventsourcetest.Failing(b.IDs[i]), "", nil
		}
		return eventsourcetest.Failing(), "", nil
	}}
	put("a0", "b0", "a1")
	run(first, func(got func(...string)) {
		got("a0", "a1")
		put("a2")
		got("a0", "a1", "a2", "a2")
	})
	put("b1", "a3")
	run(&fakeFunction{}, func(got func(...string)) {
		got("a3")
		put("a4", "a0")
		put("a5")
		got("a3", "a4", "a5")
	})
}
