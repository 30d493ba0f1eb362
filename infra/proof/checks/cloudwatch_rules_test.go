package checks

import (
	"fmt"
	"testing"
)

func TestMetricMathIsReadAsCloudWatchDoes(t *testing.T) {
	c := &cloudWatch{from: 1, to: 4, values: map[string]points{
		"a": {1: 10, 2: 20, 4: 40}, "b": {2: 5, 3: 0, 4: 4}, "none": {},
	}}
	for text, want := range map[string]points{
		"a + b":                              {2: 25, 4: 44},
		"a / b":                              {2: 4, 4: 10},
		"100 * FILL(b, 0) / a":               {1: 0, 2: 25, 4: 10},
		"FILL(a, REPEAT)":                    {1: 10, 2: 20, 3: 20, 4: 40},
		"FILL(b, REPEAT)":                    {2: 5, 3: 0, 4: 4},
		"FILL(none, 0)":                      {1: 0, 2: 0, 3: 0, 4: 0},
		"FILL(none, REPEAT)":                 {},
		"SUM([a, b])":                        {1: 10, 2: 25, 3: 0, 4: 44},
		"MAX([a, b])":                        {1: 10, 2: 20, 3: 0, 4: 40},
		"SUM(FILL(METRICS(), 1))":            {1: 12, 2: 26, 3: 2, 4: 45},
		"IF(a >= 20 AND b == 5, a, 0)":       {2: 20, 4: 0},
		"IF(FILL(b, 0) > 4 OR a > 30, 1, 0)": {1: 0, 2: 1, 4: 1},
		"2 - 1 - 1 + a * (1 + 1)":            {1: 20, 2: 40, 4: 80},
	} {
		if got := c.math(text); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// The cases are those of the guide's tables for alarms of three periods.
func TestMissingDataAreTreatedAsCloudWatchDoes(t *testing.T) {
	for _, tt := range []struct {
		data    string // 0 is fine, x breaches, - is missing; the last one is the latest
		m       int
		missing string
		want    bool
	}{
		{"0-x-x", 3, "notBreaching", false},
		{"0-x-x", 3, "breaching", false},
		{"0----", 3, "notBreaching", false},
		{"0----", 3, "breaching", false},
		{"-----", 3, "notBreaching", false},
		{"-----", 3, "breaching", true},
		{"0xx-x", 3, "notBreaching", true},
		{"0xx-x", 3, "breaching", true},
		{"--x--", 3, "notBreaching", false},
		{"--x--", 3, "breaching", true},
		{"0-x-x", 2, "notBreaching", true},
		{"00x0x", 2, "notBreaching", true},
		{"0----", 2, "breaching", true},
		{"----x", 2, "notBreaching", false},
		{"-x--x", 2, "notBreaching", true},
	} {
		data := points{}
		for i, c := range tt.data {
			if c != '-' {
				data[i] = truth(c == 'x')
			}
		}
		a := alarmRule{period: 60, n: 3, m: tt.m, threshold: 1, missing: tt.missing, metrics: map[string]watched{"metric": {}}}
		if got := a.rings(func(watched) points { return data }, len(tt.data)-1); got != tt.want {
			t.Errorf("%s, %d of 3, %s: rings is %t, want %t", tt.data, tt.m, tt.missing, got, tt.want)
		}
	}
}

func TestAPeriodOfManyMinutesEndsWithTheMinuteOfTheEvaluation(t *testing.T) {
	data := points{1: 4, 3: 2, 4: 1, 6: 8}
	for _, tt := range []struct {
		stat   string
		minute int
		want   points
	}{
		{"Sum", 6, points{0: 9, -1: 6}},
		{"Sum", 5, points{0: 3, -1: 4}},
		{"Maximum", 6, points{0: 8, -1: 4}},
		{"SampleCount", 6, points{0: 2, -1: 2}},
	} {
		a := alarmRule{period: 180, n: 1}
		if got := a.periods(watched{stat: tt.stat}, data, tt.minute); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s until minute %d: got %v, want %v", tt.stat, tt.minute, got, tt.want)
		}
	}
}
