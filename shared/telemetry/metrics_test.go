package telemetry_test

import (
	"bytes"
	"testing"

	"flashsale/shared/clock"
	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

// Metrics around a count stay apart from it.
func TestMetricsAreEmbeddedTheWayCloudWatchReadsThem(t *testing.T) {
	for stack, by := range map[string]string{"": "service", "flashsale-dev": "stack, service"} {
		t.Setenv("STACK_NAME", stack)
		var out bytes.Buffer
		_, cancel, e := telemetry.New(&out, "purchase", clock.Wall).Begin(t.Context())
		defer cancel()
		e.Metric("unsent", telemetry.Count, 1)
		e.CountBy("purchases", "result", "sold-out")
		e.Metric("oldestPendingSeconds", telemetry.Seconds, 7)
		e.End("purchase", "", nil)
		line, err := telemetrytest.Parse(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"level": "INFO", "message": "purchase", "service": "purchase", "coldStart": true, "outcome": "ok",
			"unsent": 1.0, "purchases": 1.0, "result": "sold-out", "oldestPendingSeconds": 7.0,
		}
		if stack != "" {
			want["stack"] = stack
		}
		if diff := line.Diff(want, map[string]string{"unsent": "Count by " + by, "oldestPendingSeconds": "Seconds by " + by, "purchases": "Count by " + by + ", result"}); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	}
}
