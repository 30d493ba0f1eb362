package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	rules "flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// aDraw is a draw with three days to enter and one to buy.
func aDraw(users int, stock int64) wish {
	w := wished(users, stock, 500)
	w.drawn, w.enter, w.keep = true, 72*time.Hour, 24*time.Hour
	return w
}

// The plan's counts of a draw are those of the ledger itself.
func TestADrawIsCountedCallByCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(opens))
		db := dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})
		environment := func() *ledger.Ledger { return ledger.New(db, "T", ledger.Options{}) }
		const settle, gap = 15 * time.Minute, time.Minute
		const entrants, units, shards = 6000, 50, 5
		c := sale.Creation{SaleID: "wine", Stock: units, Shards: shards, OpensAt: opens.Add(5 * time.Hour), ClosesAt: opens.Add(50 * time.Hour)}
		c.EnterFrom, c.EnterUntil, c.KeepFor = opens, opens.Add(time.Hour), 2*time.Hour
		l := environment()
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := l.Create(t.Context(), c)
		check(err)
		s, err := l.Sale(t.Context(), "wine")
		check(err)
		plan := drawnAmong(aDraw(entrants, units), advice{shards: shards})
		// within compares the units since the last time with the plan's, of which they must be at
		// least that share.
		within := func(what string, wantWrites, wantReads, share float64) {
			t.Helper()
			writes, reads := db.Consumed()
			for _, u := range []struct{ got, want float64 }{{writes, wantWrites}, {reads, wantReads}} {
				if u.got > u.want || u.got < share*u.want {
					t.Errorf("%s: %v write and %v read units, the plan says %v and %v; %v", what, writes, reads, wantWrites, wantReads, db.Calls())
				}
			}
			db.ResetUsage()
		}
		db.ResetUsage()
		users := make([]string, entrants)
		for i := range users {
			users[i] = fmt.Sprintf("2f1c7c1e-6f0b-4b0e-9f0a-3d1b8a%06d", i)
			_, err := l.Enter(t.Context(), "wine", users[i], settle, nil)
			check(err)
		}
		if writes, reads := db.Consumed(); writes != plan.entering.WriteUnits || reads > 2 {
			t.Errorf("entries: %v write and %v read units, the plan says %v and none", writes, reads, plan.entering.WriteUnits)
		}
		db.ResetUsage()

		time.Sleep(time.Until(c.EnterUntil.Add(settle)))
		head, err := environment().CloseRoll(t.Context(), s, func(at time.Time) uint64 { return uint64(at.Unix()) }, diceTime)
		check(err)
		check(environment().SetSeed(t.Context(), s, rules.Digest{1}, make([]byte, 48)))
		within("the roll", plan.roll.WriteUnits, plan.roll.ReadUnits, 0.7)

		time.Sleep(time.Until(c.OpensAt))
		e := environment()
		state, err := e.DrawState(t.Context(), "wine", gap)
		check(err)
		leaves, err := e.Leaves(t.Context(), s, head.Roll)
		check(err)
		ranks := rules.Ranks(state.Head.Seed, leaves)
		_, err = e.BeginCall(t.Context(), state, ranks, gap)
		check(err)
		call, err := e.FinishCall(t.Context(), "wine", ranks, gap)
		check(err)
		looks := 3 * plan.calling.Invocations
		calls := float64(plan.calls)
		within("a call", plan.calling.WriteUnits/calls, (plan.calling.ReadUnits-looks)/calls, 0.9)

		time.Sleep(gap)
		bought := 0
		for i, leaf := range leavesOf(t, l, users) {
			if bought == 3 || rules.RankOf(state.Head.Seed, leaf).Compare(call.Hi) > 0 {
				continue
			}
			db.ResetUsage()
			_, err := environment().Purchase(t.Context(), ledger.Request{SaleID: "wine", User: users[i]})
			check(err)
			perOrder := plan.buying.ReadUnits/units - pollsOfBuyer*unitsPerPoll
			within("a purchase", 4, perOrder, 0.6)
			bought++
		}
		if bought != 3 {
			t.Errorf("%d purchases were counted", bought)
		}
	})
}

func leavesOf(t *testing.T, l *ledger.Ledger, users []string) (leaves []rules.Leaf) {
	t.Helper()
	for _, user := range users {
		entry, err := l.Entry(t.Context(), "wine", user, 15*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, entry.Leaf)
	}
	return leaves
}

func TestADrawSpreadsWhatARushWantsAtOnce(t *testing.T) {
	d := drawnAmong(aDraw(1_000_000, 10_000), advice{shards: 100})
	// A page of the roll each, at a random moment of an hour.
	if want := 1e6 / 3600; math.Abs(d.requests-want) > 1e-6 {
		t.Errorf("%v requests in the busiest second, want %v", d.requests, want)
	}
	if d.calls != 7 { // for 10,000, 2,000, 400, 80, 16, 4 and 1 of which four fifths come
		t.Errorf("%d calls, want 7", d.calls)
	}
	// The buyer's part of the roll has 977 leaves, 8 blocks of 4 KB: it costs half of a consistent read.
	if want := 1e4 * (pollsOfBuyer*unitsPerPoll + readsPerTurn + 4); d.buying.ReadUnits != want {
		t.Errorf("the purchases read %v units, want %v", d.buying.ReadUnits, want)
	}
	u := d.all()
	if want := 1e6 + 2e6 + 3e4; u.Requests != want {
		t.Errorf("%v requests, want %v", u.Requests, want)
	}
	if d.environments > 20 || d.writes > 100 || u.WriteUnits < 1e6 || u.WriteUnits > 1.2e6 {
		t.Errorf("%+v", d)
	}
	short := aDraw(1_000_000, 10_000)
	short.enter = time.Hour
	if d := drawnAmong(short, advice{shards: 100}); math.Abs(d.requests-rush*1e6/3600) > 1e-6 || d.environments != 1+math.Ceil(rush*1e6/3600*enterTime.Seconds()) {
		t.Errorf("with an hour to enter %v requests and %v environments", d.requests, d.environments)
	}
	few := drawnAmong(aDraw(10, 500), advice{shards: 1})
	if few.all().QueueCalls != 30 {
		t.Errorf("ten people buy %v units", few.all().QueueCalls/3)
	}
	front := aDraw(1_000_000, 10_000)
	front.front = true
	if d := drawnAmong(front, advice{shards: 100}); d.checking.EdgeRequests != 2e6 || d.checking.Requests >= 2e6 {
		t.Errorf("with a front: %+v", d.checking)
	}
}

func TestADrawIsPrintedBesideTheRush(t *testing.T) {
	w := aDraw(1_000_000, 10_000)
	a := advise(w)
	r := course{orders: 10_000, requests: 1e6, busiest: 101_854, writeUnits: 132_683}
	var out bytes.Buffer
	printDrawing(&out, w, a, r)
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"entering for 72h0m0s, 24h0m0s to buy", "requests in the busiest second 278 101,854", "environments at once 5 up to 50", "write units 1,092,384", "132,683",
		"1,000,000 entries $2.25", "2,000,000 looks at roll and seed $3.19", "7 calls $0.0", "10,000 orders $0.12", "Storing the roll takes at least 32s",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	p := summary(w, a, r)
	encoded, err := json.Marshal(p)
	if err != nil || p.Draw == nil || p.Draw.RushRequestsPerSecond != 101_854 || p.Draw.RushEnvironments != a.concurrency || p.Draw.RequestsPerSecond != 277.8 || p.Draw.Calls != 7 {
		t.Errorf("%s, %v", encoded, err)
	}
}

func TestADrawsTimesOutOfRangeAreRefused(t *testing.T) {
	for arguments, works := range map[string]bool{
		"-draw": true, "-draw -enter 1m -keep 168h": true,
		"-enter 1h": false, "-draw -enter 1s": false, "-draw -enter 2161h": false, "-draw -keep 30m": false, "-draw -keep 90m": false, "-draw -keep 169h": false,
	} {
		if _, _, err := parse(strings.Fields("-users 10 -stock 1 -peak 1 "+arguments), io.Discard); (err == nil) != works {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}
