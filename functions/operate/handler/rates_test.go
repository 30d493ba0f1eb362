package handler

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
)

func TestTheLastHourOfPurchasesIsToldByTheWholeMinute(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		time.Sleep(90 * time.Second) // into a minute
		f.stack.counted = map[string]int64{"accepted": 1, "sold-out": 20, "already-ordered": 3, "not-enough": 2000, "sale-paused": 400, "busy": 5, "internal": 60, "unauthorized": 7}
		each := func(n int) string { return strings.TrimSuffix(strings.Repeat(fmt.Sprint(n, ","), 60), ",") }
		f.shows(t, event(t, "operate-purchases.json"), fmt.Sprintf(`{"asOf":"2026-01-01T00:01:30.000Z","from":"2025-12-31T23:01:00.000Z","every":60,"accepted":[%s],"refused":[%s],"busy":[%s]}`,
			each(1), each(2423), each(65)))
		f.stack.fault = errors.New("throttled")
		refused(t, f.Ask(t, t.Context(), event(t, "operate-purchases.json")), 503, sale.Busy)
	})
}
