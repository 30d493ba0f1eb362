package telemetry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// embeddedIn returns a line's embedded metrics without the time.
func embeddedIn(t *testing.T, fields map[string]any) any {
	t.Helper()
	aws, ok := fields["_aws"].(map[string]any)
	if !ok || aws["Timestamp"] != 1_800_000_000_000.0 || len(aws) != 2 {
		t.Fatalf("_aws = %v", fields["_aws"])
	}
	return aws["CloudWatchMetrics"]
}

func filed(dimensions []any, metrics ...any) any {
	return map[string]any{"Namespace": "flashsale", "Dimensions": []any{dimensions}, "Metrics": metrics}
}

func named(name, unit string) any { return map[string]any{"Name": name, "Unit": unit} }

func TestMetricsAreEmbeddedTheWayCloudWatchReadsThem(t *testing.T) {
	byService, byResult := []any{"service"}, []any{"service", "result"}
	byStack, byStackAndResult := []any{"stack", "service"}, []any{"stack", "service", "result"}
	for _, tt := range []struct {
		name string
		tell func(*Event)
		want []any
		line map[string]any // values besides the directives
	}{
		{
			"those of a stack are filed under it",
			func(e *Event) { e.Metric("unsent", Count, 1); e.CountBy("purchases", "result", "accepted") },
			[]any{filed(byStack, named("unsent", "Count")), filed(byStackAndResult, named("purchases", "Count"))},
			map[string]any{"stack": "flashsale-dev", "service": "purchase", "purchases": 1.0, "result": "accepted"},
		},
		{
			"metrics around a count stay apart from it",
			func(e *Event) {
				e.Metric("unsent", Count, 1)
				e.CountBy("purchases", "result", "sold-out")
				e.Metric("oldestPendingSeconds", Seconds, 7)
			},
			[]any{
				filed(byService, named("unsent", "Count"), named("oldestPendingSeconds", "Seconds")),
				filed(byResult, named("purchases", "Count")),
			},
			map[string]any{"unsent": 1.0, "purchases": 1.0, "result": "sold-out", "oldestPendingSeconds": 7.0},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stack, _ := tt.line["stack"].(string)
			t.Setenv("STACK_NAME", stack)
			l, out := newLog(t)
			_, cancel, e := l.Begin(t.Context())
			defer cancel()
			tt.tell(e)
			e.End("purchase", "", nil)
			fields := fieldsOf(t, out)
			if diff := cmp.Diff(tt.want, embeddedIn(t, fields)); diff != "" {
				t.Errorf("directives (-want +got):\n%s", diff)
			}
			for name, want := range tt.line {
				if fields[name] != want {
					t.Errorf("%s = %v beside the directives, want %v", name, fields[name], want)
				}
			}
		})
	}
}
