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
	calls(t, db, what, want, f)
	if gotWrites, gotReads := db.Consumed(); gotWrites != writes || gotReads != reads {
		t.Errorf("%s: %v write and %v read units; want %v, %v", what, gotWrites, gotReads, writes, reads)
	}
}

// calls calls f, and expects its calls of the table.
func calls(t *testing.T, db *dynamotest.DB, what string, want map[string]int, f func()) {
	t.Helper()
	db.ResetUsage()
	f()
	if got := db.Calls(); !maps.Equal(got, want) {
		t.Errorf("%s: calls %v, want %v", what, got, want)
	}
}

func TestWhatPeopleInADrawCost(t *testing.T) {
	w, db, _ := faulty(t)
	c := w.Drawn(200, 100)
	w.Create(c)
	w.Pass(c.EnterFrom.Sub(w.Now()))
	entering := w.Environment()
	enter := func(user string) func() {
		return func() {
			if _, err := entering.Enter(w.Ctx, "moutai", user, drawSettle, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	counted(t, db, "the first entry of an environment", 1, 2, map[string]int{"GetItem": 2, "PutItem": 1}, enter("alice"))
	counted(t, db, "any other entry", 1, 0, map[string]int{"PutItem": 1}, enter("bob"))

	w, db, _ = faulty(t)
	_, users, ranks := w.Rolled(func(*sale.Creation) {}, 200, 100, 400)
	begin := func() (call draw.Call) {
		begun, err := w.Ledger.BeginCall(w.Ctx, drawState(t, w), ranks, drawGap)
		if err == nil {
			call, err = w.Ledger.FinishCall(w.Ctx, "moutai", ranks, drawGap)
		}
		if err != nil || !begun || !call.Complete {
			t.Fatalf("got %t, %+v (%v)", begun, call, err)
		}
		w.Pass(call.From.Sub(w.Now()))
		return call
	}
	s, public, page := w.Current(), w.Environment(), pageOf(w, users[0])
	shows := func() {
		if _, err := public.RollPage(w.Ctx, s, page); err != nil {
			t.Error(err)
		}
	}
	shown := func() {
		if d, err := public.Draw(w.Ctx, s); err != nil || !d.IsClosed() {
			t.Errorf("got %+v (%v)", d, err)
		}
	}
	counted(t, db, "the first page of a roll", 0, 1.5, map[string]int{"Query": 2}, shows)
	counted(t, db, "a page again, and the draw", 0, 0, map[string]int{}, func() { shows(); shown() })
	w.Pass(2*time.Second - time.Millisecond)
	counted(t, db, "the draw, just before two seconds later", 0, 0, map[string]int{}, shown)
	w.Pass(time.Millisecond)
	counted(t, db, "the draw two seconds later", 0, 1, map[string]int{"Query": 1}, shown)

	call := begin()
	l := w.Environment()
	buys := func(user string, want sale.Code) func() {
		return func() {
			_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user, CallGap: drawGap})
			w.Refused(want, err)
		}
	}
	// The sale, the call, the head, the key and a part of the roll.
	counted(t, db, "the first purchase of an environment", 4, 4, map[string]int{"GetItem": 5, "TransactWriteItems": 1}, buys(users[0], ""))
	other := slices.IndexFunc(users, func(user string) bool { return pageOf(w, user) != page })
	counted(t, db, "another purchase", 4, 0.5, map[string]int{"GetItem": 1, "TransactWriteItems": 1}, buys(users[other], ""))
	// The sale must be read consistently once before it refuses.
	counted(t, db, "the first refusal of whoever is not called", 0, 1, map[string]int{"GetItem": 1}, buys(users[300], sale.NotYourTurn))
	counted(t, db, "any other", 0, 0, map[string]int{}, buys(users[301], sale.NotYourTurn))

	w.Pass(call.Until.Add(drawGap).Sub(w.Now()))
	begin()
	l = w.Environment()
	buys(users[199], sale.TurnOver)()
	// A winner whose answer was lost does not hear that the turn is over. Its part is remembered,
	// the look for the claim costs half a unit.
	buys(users[0], sale.AlreadyOrdered)()
	counted(t, db, "whose turn is over, again", 0, 0.5, map[string]int{"GetItem": 1}, buys(users[199], sale.TurnOver))
}

func TestACrowdReadsAnIncompleteCallTwiceASecondAndACompleteOneOnce(t *testing.T) {
	w, db, _ := faulty(t)
	_, users, ranks := w.Rolled(func(*sale.Creation) {}, 2, 1, 8)
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
	d, err := w.Environment().DrawState(w.Ctx, "moutai", drawGap)
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
	ranks, err := l.Ranks(w.Ctx, s, state.Head)
	if err != nil {
		t.Fatal(err)
	}
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
	if len(ranks) != *entrants || took > 2*time.Minute {
		t.Errorf("%d ranks, in %v", len(ranks), took)
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
