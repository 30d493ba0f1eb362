package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/clock"
	"flashsale/shared/ledger/table"
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

func TestAnOlderReadReplacesNothing(t *testing.T) {
	later := readAt.Add(time.Second)
	for kind, take := range map[string]func(v *view, s sale.Sale){
		"consistent":            func(v *view, s sale.Sale) { v.accept(v.begin(), true, s, later, snapshotAge) },
		"eventually consistent": func(v *view, s sale.Sale) { v.acceptStale(s, later, snapshotAge) },
	} {
		v := known(version(5, 0))
		if take(v, version(4, 1)); v.load(later).sale != version(5, 0) || v.readAt != readAt {
			t.Errorf("%s: known is %+v of %v", kind, v.load(later).sale, v.readAt)
		}
		if take(v, version(5, 1)); v.load(later).sale != version(5, 0, 1) || v.readAt != later {
			t.Errorf("%s: after the same version %+v of %v, want both shards empty, of %v", kind, v.load(later).sale, v.readAt, later)
		}
	}
}

func TestAReadThatAnotherOneOvertookCountsOnlyIfItShowsANewerVersion(t *testing.T) {
	for _, tt := range []struct {
		name    string
		found   bool
		read    sale.Sale
		version int64
		readAt  time.Time
	}{
		{"no sale", false, sale.Sale{}, 5, readAt.Add(time.Second)},
		{"the same version", true, version(5), 5, readAt.Add(time.Second)},
		{"a newer version", true, version(6), 6, readAt},
	} {
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

func TestAReadThatShowsAnotherVersionForgetsTheEmptyShards(t *testing.T) {
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
	if other, news := v.news(4), v.news(5); other != nil || !slices.Equal(news, []int{1}) {
		t.Errorf("news under version 4: %v, and under version 5, which is known: %v; want none, and shard 1", other, news)
	}
	v.accept(v.begin(), true, version(5), readAt, snapshotAge)
	if s := v.load(readAt); s.sale.Empty.Has(1) || !s.avoid.Has(1) {
		t.Errorf("after a read that does not list shard 1: %+v, want it avoided and not in the empty set (P6)", s)
	}
	v.accept(v.begin(), true, version(5, 1), readAt, snapshotAge)
	listed, avoided := v.isEmpty(1)
	if news := v.news(5); news != nil || !listed || !avoided {
		t.Errorf("after a read that lists shard 1: news %v, listed %t, avoided %t; want it listed and avoided", news, listed, avoided)
	}
	nothing := newViews().of("moutai")
	nothing.observe(0, 0)
	if s := nothing.load(readAt); s.avoid.Len() > 0 {
		t.Errorf("shards of an unknown sale are avoided: %v", s.avoid)
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

func TestTheClientOfAFunctionMakesOneAttemptPerCall(t *testing.T) {
	t.Setenv("TABLE_NAME", "")
	if l, err := FromEnv(aws.Config{}, clock.Wall); l != nil || err == nil {
		t.Errorf("without its table: %v, %v", l, err)
	}
	t.Setenv("TABLE_NAME", "Ledger")
	l, err := FromEnv(aws.Config{}, clock.Wall)
	if err != nil {
		t.Fatal(err)
	}
	if n := l.table.API.(*dynamodb.Client).Options().Retryer.MaxAttempts(); n != 1 {
		t.Errorf("the client makes up to %d attempts, want 1 (P16)", n)
	}
}

// exhausted is a table that takes no write.
type exhausted struct{ API }

func (exhausted) BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	return nil, &types.ProvisionedThroughputExceededException{}
}

func TestAStarvedStatementIsTriedMoreOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		longest := New(exhausted{}, "Ledger", Options{Random: func() float64 { return 1 }})
		start := time.Now()
		errs := longest.table.Execute(t.Context(), make([]types.BatchStatementRequest, 1))
		want := (20 + 40 + 80 + 160 + 3*200 + 16*50) * time.Millisecond
		if took := time.Since(start); table.Judge(errs[0]) != table.Hopeless || took != want {
			t.Errorf("%v after %v, want busy after %v", errs[0], took, want)
		}
	})
}

func TestACallIsGivenUpAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := table.Attempt(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		if table.Judge(err) != table.Unknown || time.Since(start) != time.Second {
			t.Errorf("%v after %v, want an unknown outcome after 1 s", err, time.Since(start))
		}
	})
}

func TestWhatAnEnvironmentRemembersIsBounded(t *testing.T) {
	l := New(nil, "Ledger", Options{})
	all := make([]*view, maxViews+10)
	for i := range all {
		id := fmt.Sprint("sale-", i)
		all[i] = l.views.of(id)
		l.remaining.Put(edition{id, 1}, Remaining{}, readAt, readAt.Add(1))
	}
	for i := len(all) - 1; i >= 0; i-- { // requesting an evicted sale evicts another one
		id := fmt.Sprint("sale-", i)
		if known := l.views.of(id) == all[i]; known != (i >= 10) {
			t.Fatalf("of %d sales the snapshot of number %d is remembered: %t", len(all), i, known)
		}
		if _, known := l.remaining.Get(edition{id, 1}, readAt); known != (i >= 10) {
			t.Fatalf("of %d sales the count of number %d is remembered: %t", len(all), i, known)
		}
	}
	for i := range 2*maxRecent + 10 {
		l.remember(sale.Claim{SaleID: "moutai", User: fmt.Sprint(i)}, false, readAt)
		_, oldest := l.recent.Get(buyer{"moutai", fmt.Sprint(i - maxRecent + 1)}, readAt)
		_, forgotten := l.recent.Get(buyer{"moutai", fmt.Sprint(i - maxRecent)}, readAt)
		if oldest != (i >= maxRecent-1) || forgotten {
			t.Fatalf("after %d claims the oldest of %d is remembered: %t, the one before: %t", i+1, maxRecent, oldest, forgotten)
		}
	}
}

func TestALedgerThatIsGivenNoClockAgesByTheWallClock(t *testing.T) {
	if now := New(nil, "Ledger", Options{}).now(); now != now.Round(0) {
		t.Errorf("%v has a monotonic reading: it stands still while the environment is frozen", now)
	}
}

// No two keys are the same, whatever ids and users they are made of (P13).
func TestKeysAreInjectiveAndBounded(t *testing.T) {
	ids := []string{"s", "s-1", "1", "11", "CREATE", "SALE", strings.Repeat("i", sale.MaxID)}
	users := []string{"s", "a#USER#b", "SALE", "1", "1#s", "é", "e\u0301", strings.Repeat("𠀀", sale.MaxUser)}
	made := map[table.Identity]string{}
	is := func(what string, key table.Item) {
		id := table.IdentityOf(key)
		if len(id.PK) > 2048 || len(id.SK) > 1024 || id.PK == "" || id.SK == "" {
			t.Errorf("the key of %s, %q %q, is out of DynamoDB's bounds", what, id.PK, id.SK)
		}
		if made[id] != "" {
			t.Errorf("%s and %s have the key %v", made[id], what, id)
		}
		made[id] = what
	}
	for _, id := range ids {
		is("sale "+id, table.SaleKey(id))
		is("creation "+id, table.CreateKey(id))
		is("listing "+id, table.ListingKey(id))
		for _, seed := range ids {
			is("seed "+id+" "+seed, table.SeedKey(id, seed))
		}
		for _, user := range users {
			is("guard "+id+" "+user, table.GroupGuardKey(id, user))
		}
		for _, n := range []int{0, 1, 11, 111, sale.MaxShards - 1} {
			of := fmt.Sprint(id, " ", n)
			is("stock "+of, table.StockKey(id, n))
			for _, seed := range ids {
				is("receipt "+of+" "+seed, table.SeedShardKey(id, seed, n))
				is("step "+of+" "+seed, table.WithdrawalKey(id, seed, n))
			}
			for _, user := range users {
				is("claim "+of+" "+user, table.ClaimKey(id, n, user))
			}
		}
	}
	for _, id := range []uint64{1, 7, 1<<32 | 1, 1<<63 - 1} {
		is(fmt.Sprint("order ", id), table.OrderKey(id))
	}
}

func TestAnOldClaimIsDueAgainSoonEnoughForTheRepairBound(t *testing.T) {
	for _, age := range []time.Duration{time.Hour, 8 * time.Hour, 30 * 24 * time.Hour} {
		now := readAt.Add(age)
		c := sale.Claim{AcceptedAt: readAt, ResentAt: now}
		if now = now.Add(RepairBound - ResendBound); resendDue(c, now, false) || !resendDue(c, now.Add(1), false) {
			t.Errorf("%v old: due %t, a moment later %t", age, resendDue(c, now, false), resendDue(c, now.Add(1), false))
		}
	}
}
