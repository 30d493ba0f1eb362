package metrics

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"flashsale/functions/operate/stack"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// What PurchaseFunction logs is what OperateFunction asks CloudWatch for.
func TestAPurchaseThatIsLoggedIsCountedInItsMinute(t *testing.T) {
	for name, value := range map[string]string{
		"STACK_NAME": "shop", "ORDER_QUEUE_URL": "x", "DEAD_LETTER_QUEUE_URL": "x", "SCHEDULE_QUEUE_URL": "x", "RECONCILE_FUNCTION": "x",
	} {
		t.Setenv(name, value)
	}
	m := &Metrics{}
	now := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	from := now
	log := telemetry.New(writer(func(line []byte) { _, _ = m.Write(append([]byte("PurchaseFunction | "), line...)) }), "purchase", func() time.Time { return now })
	for _, answer := range []struct {
		result string
		at     time.Duration
		times  int
	}{{"accepted", -time.Second, 5}, {"accepted", 0, 3}, {"accepted", 59 * time.Second, 1}, {"sold-out", time.Minute, 2}, {"accepted", 2 * time.Minute, 7}, {"accepted", 3 * time.Minute, 9}} {
		now = from.Add(answer.at)
		for range answer.times {
			_ = log.Run(t.Context(), "purchase", func(context.Context, *telemetry.Event) error { return nil }, func(e *telemetry.Event, _ sale.Code) { e.CountBy("purchases", "result", answer.result) })
		}
	}
	_, _ = m.Write([]byte("SeedFunction | not JSON \"purchases\":1 {\n"))
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	around, err := stack.FromEnv(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := around.Purchases(t.Context(), from, 3, []string{"accepted", "sold-out", "busy"})
	if err != nil {
		t.Fatal(err)
	}
	for result, want := range map[string][]int64{"accepted": {4, 0, 7}, "sold-out": {0, 2, 0}, "busy": {0, 0, 0}} {
		if !slices.Equal(got[result], want) {
			t.Errorf("%s by minute: got %v, want %v", result, got[result], want)
		}
	}
}

type writer func(line []byte)

func (w writer) Write(line []byte) (int, error) { w(line); return len(line), nil }
