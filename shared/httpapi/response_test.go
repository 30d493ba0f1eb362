package httpapi

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/sale"
)

func TestAnAnswerIsJSONThatNobodyMayStore(t *testing.T) {
	got := JSON(200, map[string]string{"name": "<茅台> & \u2028"})
	want := Response{
		StatusCode: 200,
		Headers:    Headers{ContentType: "application/json", CacheControl: "no-store", Version: sale.ProgramVersion},
		Body:       `{"name":"<茅台> & \u2028"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if got := JSON(200, math.NaN()); got.StatusCode != 500 || got.Body != `{"code":"internal"}` {
		t.Errorf("a body that cannot be encoded: %d %s", got.StatusCode, got.Body)
	}
}

func TestRetryAfterIsInWholeSecondsNotTooEarlyAndAtMostADay(t *testing.T) {
	tests := map[time.Duration]string{
		-time.Hour: "1", 0: "1", 1: "1", time.Second: "1", time.Second + 1: "2",
		1999 * time.Millisecond: "2", time.Minute: "60", 24 * time.Hour: "86400", 87_600 * time.Hour: "86400",
	}
	for d, want := range tests {
		if got := Seconds(d); got != want {
			t.Errorf("Seconds(%s) = %s, want %s", d, got, want)
		}
	}
}
