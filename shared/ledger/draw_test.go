package ledger_test

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var entrants = flag.Int("entrants", 100_000, "how many people enter the largest draw")

const (
	drawGap    = time.Minute
	drawSettle = 15 * time.Minute
)

// counted calls f, and expects its calls and its write and read units.
func counted(t *testing.T, db *dynamotest.DB, what string, writes, reads float64, want map[string]int, f func()) {
	t.Helper()
	db.ResetUsage()
	f()
	gotWrites, gotReads := db.Consumed()
	if got := db.Calls(); !maps.Equal(got, want) || gotWrites != writes || gotReads != reads {
		t.Errorf("%s: %v, %v write and %v read units; want %v, %v, %v", what, got, gotWrites, gotReads, want, writes, reads)
	}
}

func TestWhatADrawCosts(t *testing.T) {
	w, db, _ := faulty(t)
	const shards = 100
	c := w.Drawn(200, shards)
	w.Create(c)
	w.Pass(c.EnterFrom.Sub(w.Now()))
	users := make([]string, 400)
	entered := w.Environment()
	enter := func(i int) {
		users[i] = "user-" + strconv.Itoa(i)
		if _, err := entered.Enter(w.Ctx, "moutai", users[i], drawSettle, nil); err != nil {
			t.Fatal(err)
		}
	}
	counted(t, db, "the first entry of an environment", 1, 2, map[string]int{"GetItem": 2, "PutItem": 1}, func() { enter(0) })
	counted(t, db, "any other entry", 1, 0, map[string]int{"PutItem": 1}, func() { enter(1) })
	for i := 2; i < len(users); i++ {
		w.Pass(time.Second)
		enter(i)
	}
	w.Pass(c.EnterUntil.Add(drawSettle).Sub(w.Now()))
	s := drawState(t, w).Sale
	var head draw.Head
	var err error
	closes := func() {
		if head, err = w.Environment().CloseRoll(w.Ctx, s, func(at time.Time) uint64 { return uint64(at.Unix()) }, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	closes()
	counted(t, db, "a look at a roll that is closed", 0, 1, map[string]int{"GetItem": 1}, closes)
	remove(t, db, "DRAW#moutai", "HEAD") // as if it had been cut off
	counted(t, db, "the closing of a roll whose pages are stored", 1, 258, map[string]int{"GetItem": 2, "Query": 256, "PutItem": 1}, closes)
	query := w.Environment()
	shows := func() {
		if _, err := query.RollPage(w.Ctx, s, 0); err != nil {
			t.Error(err)
		}
	}
	counted(t, db, "the first page of a roll", 0, 1.5, map[string]int{"Query": 2}, shows)
	counted(t, db, "a page again", 0, 0, map[string]int{}, shows)
	public := w.Environment()
	shown := func() {
		if d, err := public.Draw(w.Ctx, s); err != nil || !d.IsClosed() {
			t.Errorf("got %+v (%v)", d, err)
		}
	}
	counted(t, db, "the draw", 0, 1, map[string]int{"Query": 1}, shown)
	w.Pass(2*time.Second - time.Millisecond)
	counted(t, db, "the draw, just before two seconds later", 0, 0, map[string]int{}, shown)
	w.Pass(time.Millisecond)
	counted(t, db, "the draw two seconds later", 0, 1, map[string]int{"Query": 1}, shown)
	seed := draw.SeedOf("moutai", head.Roll, sha256.Sum256([]byte("signature")))
	if err := w.Environment().SetSeed(w.Ctx, s, seed, []byte("signature")); err != nil {
		t.Fatal(err)
	}
	w.Pass(c.OpensAt.Sub(w.Now()))
	leaves, err := w.Environment().Leaves(w.Ctx, s, head.Roll)
	if err != nil {
		t.Fatal(err)
	}
	ranks := draw.Ranks(seed, leaves)
	function := w.Environment()
	var state ledger.DrawState
	var call draw.Call
	counted(t, db, "a look at a draw whose call is due", 0, 102, map[string]int{"GetItem": 2, "BatchGetItem": 1}, func() {
		state, err = function.DrawState(w.Ctx, "moutai", drawGap)
	})
	if err != nil || !state.HasStock {
		t.Fatalf("got %+v (%v)", state, err)
	}
	// A transaction costs twice as much as its writes: the sale, the trail, the call, and the look
	// for a seed that has the change's id.
	counted(t, db, "the beginning of a call", 8, 2, map[string]int{"GetItem": 1, "Query": 1, "TransactWriteItems": 1}, func() {
		if begun, err := function.BeginCall(w.Ctx, state, ranks, drawGap); err != nil || !begun {
			t.Fatal(begun, err)
		}
	})
	counted(t, db, "the rest of a call of 100 shards", 101, 102, map[string]int{"GetItem": 2, "UpdateItem": 101, "BatchGetItem": 1}, func() {
		call, err = function.FinishCall(w.Ctx, "moutai", ranks, drawGap)
	})
	if err != nil || !call.Complete || call.Stock != 200 {
		t.Fatalf("got %+v (%v)", call, err)
	}
	counted(t, db, "a look at a draw during a call", 0, 2, map[string]int{"GetItem": 2}, func() { drawStateOf(t, w, function) })

	w.Pass(call.From.Sub(w.Now()))
	slices.SortFunc(users, func(a, b string) int { return rankOf(w, seed, a).Compare(rankOf(w, seed, b)) })
	buy := func(l *ledger.Ledger, user string, want sale.Code) {
		t.Helper()
		_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user, CallGap: drawGap})
		w.Refused(want, err)
	}
	// The sale, the call, the head, the key and a part of the roll.
	l := w.Environment()
	counted(t, db, "the first purchase of an environment", 4, 4, map[string]int{"GetItem": 5, "TransactWriteItems": 1}, func() { buy(l, users[0], "") })
	page := pageOf(w, users[0])
	for _, user := range users[1:200] {
		if pageOf(w, user) != page {
			counted(t, db, "another purchase", 4, 0.5, map[string]int{"GetItem": 1, "TransactWriteItems": 1}, func() { buy(l, user, "") })
			break
		}
	}
	// The sale must be read consistently once before it refuses.
	counted(t, db, "the first refusal of whoever is not called", 0, 1, map[string]int{"GetItem": 1}, func() { buy(l, users[300], sale.NotYourTurn) })
	counted(t, db, "any other", 0, 0, map[string]int{}, func() { buy(l, users[301], sale.NotYourTurn) })

	w.Pass(call.Until.Add(drawGap).Sub(w.Now()))
	state = drawState(t, w)
	if begun, err := function.BeginCall(w.Ctx, state, ranks, drawGap); err != nil || !begun {
		t.Fatal(begun, err)
	}
	if call, err = function.FinishCall(w.Ctx, "moutai", ranks, drawGap); err != nil {
		t.Fatal(err)
	}
	w.Pass(call.From.Sub(w.Now()))
	l = w.Environment()
	buy(l, users[199], sale.TurnOver)
	// A winner whose answer was lost does not hear that the turn is over. Its part is remembered,
	// the look for the claim costs half a unit.
	buy(l, users[0], sale.AlreadyOrdered)
	counted(t, db, "whose turn is over, again", 0, 0.5, map[string]int{"GetItem": 1}, func() { buy(l, users[199], sale.TurnOver) })
}

func TestACrowdReadsAnIncompleteCallTwiceASecondAndACompleteOneOnce(t *testing.T) {
	w, db, _ := faulty(t)
	users, ranks := w.Rolled(func(*sale.Creation) {}, 2, 1, 8)
	if begun, err := w.Environment().BeginCall(w.Ctx, drawState(t, w), ranks, drawGap); err != nil || !begun {
		t.Fatal(begun, err)
	}
	w.Pass(drawGap)
	l := w.Environment()
	comes := func() {
		_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: users[0], CallGap: drawGap})
		w.Refused(sale.Busy, err)
	}
	counted(t, db, "the first purchase of an environment", 0, 1.5, map[string]int{"GetItem": 2}, comes) // the sale and the call
	w.Pass(499 * time.Millisecond)
	counted(t, db, "a purchase within half a second", 0, 0, map[string]int{}, comes)
	w.Pass(time.Millisecond)
	counted(t, db, "a purchase after it", 0, 1, map[string]int{"GetItem": 1}, comes)
	if call, err := w.Environment().FinishCall(w.Ctx, "moutai", ranks, drawGap); err != nil || !call.Complete {
		t.Fatalf("got %+v (%v)", call, err)
	}
	w.Pass(500 * time.Millisecond)
	uncalled := func() {
		_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: users[7], CallGap: drawGap})
		w.Refused(sale.NotYourTurn, err)
	}
	uncalled()
	w.Pass(500 * time.Millisecond)
	counted(t, db, "a purchase half a second after a complete call was read", 0, 0, map[string]int{}, uncalled)
}

func drawState(t *testing.T, w *ledgertest.World) ledger.DrawState {
	t.Helper()
	return drawStateOf(t, w, w.Environment())
}

func drawStateOf(t *testing.T, w *ledgertest.World, l *ledger.Ledger) ledger.DrawState {
	t.Helper()
	d, err := l.DrawState(w.Ctx, "moutai", drawGap)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// leafOf is what the receipt of a user says.
func leafOf(w *ledgertest.World, user string) draw.Leaf {
	key := w.Item("DRAWKEY#moutai", "KEY")["leafKey"].(*types.AttributeValueMemberB).Value
	return draw.LeafOf(user, draw.NonceOf(key, user))
}

func pageOf(w *ledgertest.World, user string) byte { return leafOf(w, user).Page() }

func rankOf(w *ledgertest.World, seed draw.Digest, user string) draw.Rank {
	return draw.RankOf(seed, leafOf(w, user))
}

// entered is a table whose entries are generated when they are read: among a million items the
// collector would not keep to the limit on a busy machine.
type entered struct {
	*dynamotest.DB
	users [draw.Pages][]string
	at    types.AttributeValue
	read  atomic.Int64 // bytes, in read units of 4 KiB per call
	calls atomic.Int64
}

func (e *entered) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	pk := in.ExpressionAttributeValues[":pk"].(*types.AttributeValueMemberS).Value
	head, ok := strings.CutPrefix(pk, "ENTRY#moutai#")
	if !ok {
		return e.DB.Query(ctx, in, o...)
	}
	page, err := strconv.ParseUint(head, 16, 8)
	if err != nil {
		return nil, err
	}
	users, from := e.users[page], 0
	if after := in.ExclusiveStartKey; after != nil {
		from, _ = slices.BinarySearch(users, after["sk"].(*types.AttributeValueMemberS).Value)
		from++
	}
	to := min(from+int(*in.Limit), len(users))
	out, size := &dynamodb.QueryOutput{}, 0
	for _, user := range users[from:to] {
		out.Items = append(out.Items, map[string]types.AttributeValue{"pk": text(pk), "sk": text(user), "at": e.at})
		size += len("pk") + len(pk) + len("sk") + len(user) + len("at") + 8
	}
	if to < len(users) {
		out.LastEvaluatedKey = map[string]types.AttributeValue{"pk": text(pk), "sk": text(users[to-1])}
	}
	e.calls.Add(1)
	e.read.Add(int64(size+4095) / 4096)
	return out, nil
}

// A draw of very many people: the roll, the order and the first call, as one run of the draw
// function would make them.
func TestADrawOfManyEntrantsIsOneRun(t *testing.T) {
	const stock, shards = 10_000, 100
	db := &entered{DB: newDB()}
	w := ledgertest.NewWorld(t, ledgertest.Engine{API: db, Table: table})
	c := w.Drawn(stock, shards)
	w.Create(c)
	db.at = number(c.EnterFrom.UnixMilli())
	key := w.Item("DRAWKEY#moutai", "KEY")["leafKey"].(*types.AttributeValueMemberB).Value
	for i := range *entrants {
		user := fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i) // as long as a user id of Cognito
		page := draw.LeafOf(user, draw.NonceOf(key, user)).Page()
		db.users[page] = append(db.users[page], user)
	}
	w.Pass(c.EnterUntil.Add(drawSettle).Sub(w.Now()))
	s := drawState(t, w).Sale

	step := measured(t, db)
	head, err := w.Environment().CloseRoll(w.Ctx, s, func(at time.Time) uint64 { return uint64(at.Unix()) }, time.Hour)
	if err != nil || head.Entrants != int64(*entrants) {
		t.Fatalf("got %+v (%v)", head, err)
	}
	took := step("the roll")
	seed := draw.SeedOf("moutai", head.Roll, sha256.Sum256([]byte("signature")))
	if err := w.Environment().SetSeed(w.Ctx, s, seed, []byte("signature")); err != nil {
		t.Fatal(err)
	}
	w.Pass(c.OpensAt.Sub(w.Now()))
	state := drawState(t, w)

	step = measured(t, db)
	l := w.Environment()
	leaves, err := l.Leaves(w.Ctx, s, head.Roll)
	if err != nil {
		t.Fatal(err)
	}
	ranks := draw.Ranks(seed, leaves)
	took += step("the order")
	step = measured(t, db)
	if begun, err := l.BeginCall(w.Ctx, state, ranks, drawGap); err != nil || !begun {
		t.Fatal(begun, err)
	}
	call, err := l.FinishCall(w.Ctx, "moutai", ranks, drawGap)
	if err != nil || !call.Complete {
		t.Fatalf("got %+v (%v)", call, err)
	}
	took += step("the call")
	called := 0
	for _, rank := range ranks {
		if rank.Compare(call.Hi) <= 0 {
			called++
		}
	}
	if called != stock {
		t.Errorf("%d are called for %d units", called, stock)
	}
	if len(leaves) != *entrants || took > 2*time.Minute {
		t.Errorf("%d leaves, in %v", len(leaves), took)
	}
}

// The memory of the draw function: its GOGC and GOMEMLIMIT in template.yaml, and its MemorySize,
// both in bytes and less what the runtime and the program take.
const (
	functionGCPercent   = 400
	functionMemoryLimit = 400<<20 - 64<<20
	functionMemory      = 512<<20 - 64<<20
)

// measured begins to measure a step, and returns what ends it: it logs the step and returns how
// long it took. The memory is that of the step alone, garbage included.
func measured(t *testing.T, db *entered) func(step string) time.Duration {
	t.Helper()
	read := func(name string) uint64 {
		sample := []metrics.Sample{{Name: name}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	heap := func() uint64 { return read("/memory/classes/heap/objects:bytes") }
	debug.FreeOSMemory()
	held := read("/memory/classes/total:bytes") - read("/memory/classes/heap/released:bytes")
	percent, limit := debug.SetGCPercent(functionGCPercent), debug.SetMemoryLimit(int64(held)+functionMemoryLimit)
	before, stop, peak := heap(), make(chan struct{}), make(chan uint64)
	go func() {
		highest := uint64(0)
		for {
			select {
			case <-stop:
				peak <- highest
				return
			case <-time.After(5 * time.Millisecond):
				highest = max(highest, heap())
			}
		}
	}()
	db.ResetUsage()
	db.read.Store(0)
	db.calls.Store(0)
	began := time.Now()
	return func(step string) time.Duration {
		t.Helper()
		took := time.Since(began)
		close(stop)
		grown := int64(max(<-peak, heap())) - int64(before)
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
		calls := db.Calls()
		calls["Query"] += int(db.calls.Load())
		writes, reads := db.Consumed()
		t.Logf("%s of %d: %.1f s, %v, %.0f write and %.0f read units, %d MB", step, *entrants, took.Seconds(), calls, writes,
			reads+float64(db.read.Load()), grown>>20)
		if grown > functionMemory {
			t.Errorf("%s needs %d MB", step, grown>>20)
		}
		return took
	}
}
