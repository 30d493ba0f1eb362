package live

import (
	"slices"
	"testing"
	"time"
)

func TestEveryAnswerOfTheLastMinuteIsInItsSecond(t *testing.T) {
	now := time.Unix(1_800_000_059, 500e6)
	m := &meter{}
	for _, then := range []struct {
		ago     time.Duration
		answers []string
	}{
		{90 * time.Second, []string{"accepted", "busy"}}, {time.Minute, []string{"accepted"}}, {59 * time.Second, []string{"accepted"}},
		{time.Second, []string{"sold-out", "already-ordered", "busy", "internal", "status 502", "status 429"}},
		{0, slices.Repeat([]string{"accepted"}, 3*maxSamples)},
	} {
		for _, outcome := range then.answers {
			m.add(sample{at: now.Add(-then.ago), outcome: outcome})
		}
	}
	p := m.since(now.Add(-window))
	for name, line := range map[string]struct{ got, first, last []int }{
		"accepted": {p.Accepted, []int{1, 0}, []int{0, 3 * maxSamples}}, "refused": {p.Refused, []int{0, 0}, []int{3, 0}}, "busy": {p.Busy, []int{0, 0}, []int{3, 0}},
	} {
		if len(line.got) != 60 || !slices.Equal(line.got[:2], line.first) || !slices.Equal(line.got[58:], line.last) {
			t.Errorf("%s: got %v, want %v first and %v last", name, line.got, line.first, line.last)
		}
	}
}
