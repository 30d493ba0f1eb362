package ledger

import (
	"errors"
	"slices"
	"testing"
	"time"

	"flashsale/shared/sale"
)

var readAt = time.UnixMilli(1_800_000_000_000).UTC()

// version returns a sale of two shards with the listed ones known to be empty.
func version(n int64, empty ...int) sale.Sale {
	s := sale.Sale{ID: "moutai", State: sale.Open, Shards: 2, Version: n}
	for _, k := range empty {
		s.Empty.Add(k)
	}
	return s
}

// known returns the view of an environment whose first read showed that sale.
func known(s sale.Sale) *view {
	v := newViews().of(s.ID)
	v.accept(v.begin(), true, s, readAt, snapshotAge)
	return v
}

func TestAReadReplacesWhatIsKnownUnlessItIsOlder(t *testing.T) {
	later := readAt.Add(time.Second)
	tests := []struct {
		name    string
		read    int64
		version int64
		readAt  time.Time
		empty   []int // shard 0 is empty in the view, shard 1 in the read
	}{
		{"an older version", 4, 5, readAt, []int{0}},
		{"the same version", 5, 5, later, []int{0, 1}},
		{"a newer version", 6, 6, later, []int{1}},
	}
	take := map[string]func(v *view, s sale.Sale){
		"consistent":            func(v *view, s sale.Sale) { v.accept(v.begin(), true, s, later, snapshotAge) },
		"eventually consistent": func(v *view, s sale.Sale) { v.acceptStale(s, later, snapshotAge) },
	}
	for kind, take := range take {
		for _, tt := range tests {
			t.Run(kind+", "+tt.name, func(t *testing.T) {
				v := known(version(5, 0))
				take(v, version(tt.read, 1))
				got, want := v.load(later), version(tt.version, tt.empty...)
				if got.sale != want || v.readAt != tt.readAt {
					t.Errorf("known is %+v of %v, want %+v of %v", got.sale, v.readAt, want, tt.readAt)
				}
			})
		}
	}
}

func TestAReadThatAnotherOneOvertookCountsOnlyIfItShowsANewerVersion(t *testing.T) {
	tests := []struct {
		name    string
		found   bool
		read    sale.Sale
		version int64
		readAt  time.Time
	}{
		{"no sale", false, sale.Sale{}, 5, readAt.Add(time.Second)},
		{"the same version", true, version(5), 5, readAt.Add(time.Second)},
		{"a newer version", true, version(6), 6, readAt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newViews().of("moutai")
			slow, fast := v.begin(), v.begin()
			v.accept(fast, true, version(5), readAt.Add(time.Second), snapshotAge)
			v.accept(slow, tt.found, tt.read, readAt, snapshotAge)
			if s := v.load(readAt); !s.found || s.sale.Version != tt.version || v.readAt != tt.readAt {
				t.Errorf("known is %+v of %v, want version %d of %v", s.sale, v.readAt, tt.version, tt.readAt)
			}
		})
	}
}

func TestASaleThatIsGoneIsNotKnownAnyMore(t *testing.T) {
	v := known(version(5))
	v.accept(v.begin(), false, sale.Sale{}, readAt, snapshotAge)
	if s := v.load(readAt); s.found || !s.known || s.isOpen() {
		t.Errorf("the sale is still there: %+v", s)
	}
}

func TestOnlyAReadThatBeganLaterConfirmsAnEmptyShard(t *testing.T) {
	// Both reads show version 5. Only the second began after the shard was found empty,
	// so only it proves that the sale was not restocked since (P6).
	v := known(version(5))
	first := v.begin()
	v.observe(5, 0)
	second := v.begin()
	v.accept(first, true, version(5), readAt, snapshotAge)
	if s := v.load(readAt); s.sale.Empty.Has(0) || !s.avoid.Has(0) {
		t.Errorf("after the first read: %+v, want shard 0 avoided and not in the empty set", s)
	}
	v.accept(second, true, version(5), readAt, snapshotAge)
	if s := v.load(readAt); !s.sale.Empty.Has(0) {
		t.Errorf("after the second read: %+v, want shard 0 in the empty set", s)
	}
}

func TestAReadThatShowsAnotherVersionConfirmsNoEmptyShard(t *testing.T) {
	// The sale is restocked after the read has begun, and another read shows that first.
	for name, overtaken := range map[string]bool{"the first to show it": false, "the second": true} {
		v := known(version(5))
		v.observe(5, 0)
		late := v.begin()
		if overtaken {
			v.acceptStale(version(6), readAt, snapshotAge)
		}
		v.accept(late, true, version(6), readAt, snapshotAge)
		if s := v.load(readAt); s.sale.Version != 6 || s.avoid.Len() > 0 {
			t.Errorf("%s: %+v, want version 6 without an empty shard", name, s)
		}
	}
}

func TestAShardIsSeenEmptyOnlyUnderTheVersionThatIsKnown(t *testing.T) {
	v := known(version(5))
	v.observe(4, 0)
	v.observe(5, 1)
	if s := v.load(readAt); s.avoid.Has(0) || !s.avoid.Has(1) {
		t.Errorf("avoided: %v, want shard 1 alone", s.avoid)
	}
	if v.isNews(4, 0) || !v.isNews(5, 1) {
		t.Error("a shard is news under the version that is known, and under no other")
	}
	nothing := newViews().of("moutai")
	nothing.observe(0, 0)
	if s := nothing.load(readAt); s.avoid.Len() > 0 {
		t.Errorf("shards of an unknown sale are avoided: %v", s.avoid)
	}
}

func TestAThingIsFreshUntilItReachesItsAge(t *testing.T) {
	for passed, want := range map[time.Duration]bool{-1: false, 0: true, time.Second - 1: true, time.Second: false} {
		if isFresh(readAt.Add(passed), readAt, time.Second) != want {
			t.Errorf("after %v: fresh is %v, want %v", passed, !want, want)
		}
	}
}

func TestThePauseAfterFailedReadsDoublesUntilHalfASecond(t *testing.T) {
	v := newViews().of("moutai")
	if v.isBackingOff(readAt) {
		t.Error("a pause before anything has failed")
	}
	for _, ms := range []time.Duration{30, 60, 120, 240, 480, 500, 500, 500, 500, 500, 500} {
		v.recordRead(errors.New("no answer"), readAt)
		for passed, want := range map[time.Duration]bool{-1: false, 0: true, ms*time.Millisecond - 1: true, ms * time.Millisecond: false} {
			if v.isBackingOff(readAt.Add(passed)) != want {
				t.Errorf("%d failures, %v later: pausing is %v, want %v", v.failed, passed, !want, want)
			}
		}
	}
}

func TestASnapshotIsReadAnewAfterOneAndAHalfSecondsMoreOrLess(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 1350, 0.5: 1500, 1: 1650} {
		l := New(nil, "Ledger", Options{Random: func() float64 { return random }})
		if age := l.snapshotAge().Round(time.Microsecond); age != want*time.Millisecond {
			t.Errorf("random number %v: %v, want %v ms", random, age, int64(want))
		}
	}
}

func TestADraftIsNotOpen(t *testing.T) {
	draft := snapshot{known: true, found: true, sale: sale.Sale{State: sale.Draft}}
	nothing := snapshot{sale: sale.Sale{State: sale.Open}}
	open := snapshot{known: true, found: true, sale: sale.Sale{State: sale.Open}}
	if draft.isOpen() || nothing.isOpen() || !open.isOpen() {
		t.Errorf("open: the draft %v, no sale %v, the sale %v; want the last one alone", draft.isOpen(), nothing.isOpen(), open.isOpen())
	}
}

func TestAShardIsNotClosedWhileReadsOfTheSalePause(t *testing.T) {
	l := New(nil, "Ledger", Options{Now: func() time.Time { return readAt }})
	v := known(version(5))
	v.recordRead(errors.New("throttled"), readAt) // it pauses
	p := purchasing{ledger: l, view: v}
	if tries := p.closingTries(t.Context(), 5, 0); tries != 0 {
		t.Errorf("%d tries to close the shard, want none", tries)
	}
}

func TestTheNextPassLooksAtTheOrdersOfTheLastTwoMinutesAndThoseThatAreMissing(t *testing.T) {
	many := make([]uint64, maxAbsent)
	for name, tt := range map[string]struct {
		pass       Audit
		wantFrom   time.Time
		wantAbsent []uint64
	}{
		"nothing is missing": {Audit{Absent: []uint64{7}}, readAt.Add(-2 * time.Minute), nil},
		"some are missing": {
			Audit{Missing: 2, Absent: []uint64{7}, StillAbsent: []uint64{7, 8}}, readAt.Add(-2 * time.Minute), []uint64{7, 8},
		},
		"too many are missing": {
			Audit{Missing: maxAbsent + 1, OrdersFrom: readAt.Add(-time.Hour), Absent: []uint64{7}, StillAbsent: many},
			readAt.Add(-time.Hour), []uint64{7},
		},
	} {
		tt.pass.Began = readAt
		if next := tt.pass.Next(); !next.OrdersFrom.Equal(tt.wantFrom) || !slices.Equal(next.Absent, tt.wantAbsent) {
			t.Errorf("%s: from %v and %v, want %v and %v", name, next.OrdersFrom, next.Absent, tt.wantFrom, tt.wantAbsent)
		}
	}
}
