package harness

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnEnvironmentIsFrozenBetweenItsInvocations(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		e := NewWorld(nil, nil).Start(Querying, 0)
		run := func(context.Context) { time.Sleep(time.Second) }
		e.Invoke(run)
		time.Sleep(time.Minute)
		e.Invoke(run)
		if e.frozen != time.Minute {
			t.Errorf("frozen for %v, want the minute between the two", e.frozen)
		}
	})
}
