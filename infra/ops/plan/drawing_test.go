package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// aDraw is a draw with three days to enter and one to buy.
func aDraw(users int, stock int64) wish {
	w := wished(users, stock, 500)
	w.drawn, w.enter, w.keep = true, 72*time.Hour, 24*time.Hour
	return w
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
	if u := d.all(); u.Requests != 1e6+2e6+3e4 || d.environments > 20 || d.writes > 100 || u.WriteUnits < 1e6 || u.WriteUnits > 1.2e6 {
		t.Errorf("%+v", d)
	}
	short := aDraw(1_000_000, 10_000)
	short.enter = time.Hour
	if d := drawnAmong(short, advice{shards: 100}); math.Abs(d.requests-rush*1e6/3600) > 1e-6 {
		t.Errorf("with an hour to enter %v requests", d.requests)
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
