package simulate

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnEnvironmentIsFrozenBetweenItsInvocations(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		e := newWorld(nil, nil).start(querying, 0)
		run := func(context.Context) { time.Sleep(time.Second) }
		e.invoke(run)
		time.Sleep(time.Minute)
		e.invoke(run)
		if e.frozen != time.Minute {
			t.Errorf("frozen for %v, want the minute between the two", e.frozen)
		}
	})
}
