package scheduler

import (
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestExpressionsAreDueWhenAWSSaysSo(t *testing.T) {
	for _, c := range []struct {
		name, expression, after string
		want                    []string
	}{
		{"at is due once", "at(2026-11-11T20:00:00)", "2026-11-11T19:59:59Z", []string{"2026-11-11T20:00:00Z"}},
		{"at in the past is never due", "at(2026-11-11T20:00:00)", "2026-11-11T20:00:00Z", nil},
		{"a rate of one minute", "rate(1 minute)", "2026-01-01T00:00:30Z", []string{"2026-01-01T00:01:30Z", "2026-01-01T00:02:30Z"}},
		{"a rate of hours", "rate(36 hours)", "2026-01-01T00:00:00Z", []string{"2026-01-02T12:00:00Z", "2026-01-04T00:00:00Z"}},
		{"cron at a time of day", "cron(15 10 * * ? *)", "2026-01-01T10:15:00Z", []string{"2026-01-02T10:15:00Z"}},
		{"cron on the days of a range", "cron(0 9 ? * MON-FRI *)", "2026-01-02T09:00:00Z", []string{"2026-01-05T09:00:00Z", "2026-01-06T09:00:00Z"}},
		{"days of the week begin with Sunday as 1", "cron(0 0 ? * 1 *)", "2026-01-01T00:00:00Z", []string{"2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"}},
		{"every second day of the week from Monday", "cron(0 0 ? * 2/2 *)", "2026-01-04T00:00:00Z", []string{"2026-01-05T00:00:00Z", "2026-01-07T00:00:00Z", "2026-01-09T00:00:00Z", "2026-01-12T00:00:00Z"}},
		{"Saturday by name", "cron(0 0 ? * sat *)", "2026-01-01T00:00:00Z", []string{"2026-01-03T00:00:00Z"}},
		{"the last day of the week is Saturday", "cron(0 0 ? * L *)", "2026-01-01T00:00:00Z", []string{"2026-01-03T00:00:00Z", "2026-01-10T00:00:00Z"}},
		{"the last Friday of the month", "cron(0 0 ? * 6L *)", "2026-01-01T00:00:00Z", []string{"2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"}},
		{"the second Tuesday of the month", "cron(0 0 ? * 3#2 *)", "2026-01-01T00:00:00Z", []string{"2026-01-13T00:00:00Z", "2026-02-10T00:00:00Z"}},
		{"the last day of the month", "cron(0 0 L * ? *)", "2026-01-31T00:00:00Z", []string{"2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"}},
		{"the last weekday of the month", "cron(0 0 LW * ? *)", "2026-01-01T00:00:00Z", []string{"2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"}},
		{"the weekday nearest the 3rd", "cron(0 0 3W * ? *)", "2026-01-01T00:00:00Z", []string{"2026-01-02T00:00:00Z", "2026-02-03T00:00:00Z"}},
		{"every ten minutes from the first", "cron(1/10 * * * ? *)", "2026-01-01T00:50:00Z", []string{"2026-01-01T00:51:00Z", "2026-01-01T01:01:00Z"}},
		{"lists, ranges and months by name", "cron(0,30 8-9 1 JAN,mar ? 2026)", "2026-01-01T08:30:00Z", []string{"2026-01-01T09:00:00Z", "2026-01-01T09:30:00Z", "2026-03-01T08:00:00Z"}},
		{"a year that is over", "cron(0 0 1 1 ? 2020)", "2026-01-01T00:00:00Z", nil},
		{"a day that does not exist", "cron(0 0 31 2 ? *)", "2026-01-01T00:00:00Z", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := Parse(c.expression)
			if err != nil {
				t.Fatal(err)
			}
			after := at(t, c.after)
			for _, want := range c.want {
				got, ok := e.Next(after)
				if !ok || !got.Equal(at(t, want)) {
					t.Fatalf("after %v: %v %v, want %v", after, got.UTC(), ok, want)
				}
				after = got
			}
			if len(c.want) == 0 || c.expression[:2] == "at" {
				if got, ok := e.Next(after); ok {
					t.Errorf("due at %v, want never", got)
				}
			}
		})
	}
}

func TestExpressionsThatAWSWouldRefuseAreRefused(t *testing.T) {
	for _, expression := range []string{
		"", "daily", "rate(5 minutes", "at()", "at(2026-11-11)", "at(2026-11-11T20:00:00Z)", "at(2026-11-11T20:00:00.5)", "at(2026-13-01T00:00:00)",
		"rate(0 minutes)", "rate(1 minutes)", "rate(2 minute)", "rate(-1 days)", "rate(1.5 hours)", "rate(5 seconds)", "rate(999999 days)",
		"cron(0 9 * * *)", "cron(0 9 * * * *)", "cron(0 9 ? * ? *)", "cron(0 9 1 * MON *)", "cron(? 9 * * ? *)", "cron(60 9 * * ? *)",
		"cron(0 24 * * ? *)", "cron(0 22-2 * * ? *)", "cron(0 0 ? * SUN-SUN *)", "cron(0 0 0 * ? *)", "cron(0 0 ? * 0 *)", "cron(0 0 ? * 8 *)", "cron(0 0 ? * 3#6 *)",
		"cron(0 0 ? 13 MON *)", "cron(0 0 ? JANUARY MON *)", "cron(0 0 L-3 * ? *)", "cron(0 0 L,1 * ? *)", "cron(0 0 * * ? 1969)",
		"cron(*/0 * * * ? *)", "cron(1,,2 * * * ? *)", "cron(+1 * * * ? *)", "cron(@daily)", "cron(0 0 1 * ? * *)",
	} {
		if _, err := Parse(expression); err == nil {
			t.Errorf("%q was accepted", expression)
		}
	}
}
