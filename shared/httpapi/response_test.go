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
		Headers:    Headers{ContentType: "application/json", CacheControl: "no-store", Version: sale.Release},
		Body:       `{"name":"<茅台> & \u2028"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if got := JSON(200, math.NaN()); got.StatusCode != 500 || got.Body != `{"code":"internal"}` {
		t.Errorf("a body that cannot be encoded: %d %s", got.StatusCode, got.Body)
	}
}

func TestTimesAreRFC3339InUTCWithMilliseconds(t *testing.T) {
	beijing := time.FixedZone("CST", 8*3600)
	tests := map[string]time.Time{
		"2026-11-11T12:00:00.000Z": time.Date(2026, 11, 11, 20, 0, 0, 0, beijing),
		"2026-11-11T12:00:00.999Z": time.Date(2026, 11, 11, 12, 0, 0, 999_999_999, time.UTC),
	}
	for want, instant := range tests {
		if got := Time(instant); got != want {
			t.Errorf("Time = %s, want %s", got, want)
		}
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

func TestJitterStaysBetweenItsBounds(t *testing.T) {
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		d := Jitter(time.Second, 3*time.Second)
		least, most = min(least, d), max(most, d)
	}
	if least < time.Second || most >= 3*time.Second || most-least < time.Second {
		t.Errorf("1,000 durations from %s to %s, want them spread over 1 s to 3 s", least, most)
	}
}
