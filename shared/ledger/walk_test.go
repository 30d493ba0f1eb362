package ledger_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var walkAll = flag.Bool("walk", false, "walk the large worlds, too")

// This test walks through every state that a small sale can get into, with the real
// ledger. A state is the table and up to so many held requests: writes that a caller has
// sent, of whose fate it knows nothing, and which may be applied at any later time, also
// more than once. A step is one of these:
//
//   - an operation runs to its end;
//   - it runs until one of its writes is applied, and its caller dies;
//   - it runs until one of its writes is sent, its caller dies, and the write is held;
//   - a held write is applied, and still held.
//
// So an operation acts on what it has read at any earlier time, answers are lost, and
// requests come twice and late. Time stands still: every claim is due.
func TestEveryStateOfASaleThatAsksForPayment(t *testing.T) {
	pay := func(user, reference string) operation {
		return func(w *walk, l *ledger.Ledger) error {
			done, err := l.Pay(w.world.Ctx, ledgertest.PaymentOf(w.ids[user], reference))
			if err == nil {
				w.answered("stripe#"+reference, done)
			}
			return err
		}
	}
	payElsewhere := func(user, reference string) operation { // the same payment, of another sale
		return func(w *walk, l *ledger.Ledger) error {
			p := ledgertest.PaymentOf(w.ids[user], reference)
			p.SaleID = "maotai"
			done, err := l.Pay(w.world.Ctx, p)
			if err == nil {
				w.answered("stripe#"+reference, done)
			}
			return err
		}
	}
	cancel := func(user string) operation {
		return func(w *walk, l *ledger.Ledger) error {
			_, err := l.Cancel(w.world.Ctx, "moutai", user)
			return err
		}
	}
	buy := func(user string) operation {
		return func(w *walk, l *ledger.Ledger) error {
			_, err := l.Purchase(w.world.Ctx, ledger.Request{SaleID: "moutai", User: user})
			return err
		}
	}
	release := func(w *walk, l *ledger.Ledger) error {
		listing, err := l.Listing(w.world.Ctx, "moutai")
		if err == nil {
			_, err = l.ReleaseDue(w.world.Ctx, listing, grace)
		}
		return err
	}
	restock := func(w *walk, l *ledger.Ledger) error {
		_, err := l.Add(w.world.Ctx, sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 1})
		return err
	}
	for _, tt := range []struct {
		name   string
		large  bool
		users  []string
		shards int
		held   int
		does   map[string]operation
	}{
		{"one claim, two payments", false, []string{"alice"}, 1, 1, map[string]operation{
			"pay": pay("alice", "pi_1"), "pay again": pay("alice", "pi_2"), "cancel": cancel("alice"), "release": release,
		}},
		{"one payment, reported of two orders and two sales", false, []string{"alice", "bob"}, 1, 1, map[string]operation{
			"pay": pay("alice", "pi_1"), "pay bob": pay("bob", "pi_1"), "pay elsewhere": payElsewhere("alice", "pi_1"), "release": release,
		}},
		{"two shards, three claims", false, []string{"alice", "bob", "carol"}, 2, 1, map[string]operation{
			"pay": pay("alice", "pi_1"), "cancel": cancel("bob"), "release": release,
		}},
		{"units that are sold again", false, []string{"alice", "bob"}, 2, 1, map[string]operation{
			"release": release, "buy": buy("dora"),
		}},
		{"one claim, two payments, two requests held", true, []string{"alice"}, 1, 2, map[string]operation{
			"pay": pay("alice", "pi_1"), "pay again": pay("alice", "pi_2"), "cancel": cancel("alice"), "release": release,
		}},
		{"units that are cancelled and sold again", true, []string{"alice", "bob"}, 2, 1, map[string]operation{
			"cancel": cancel("bob"), "release": release, "buy": buy("dora"), "restock": restock,
		}},
		{"two shards, three claims, everything", true, []string{"alice", "bob", "carol"}, 2, 1, map[string]operation{
			"pay": pay("alice", "pi_1"), "pay again": pay("alice", "pi_2"), "cancel": cancel("alice"), "pay bob": pay("bob", "pi_3"),
			"release": release, "buy": buy("dora"), "restock": restock,
		}},
	} {
		if tt.large && !*walkAll {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // on a slow machine no call times out
				w := newWalk(t, tt.users, tt.shards, tt.held, tt.does)
				w.run()
				t.Logf("%d states, %d steps", len(w.visited), w.steps)
			})
		})
	}
}

// operation is something that a caller does with a ledger without a memory.
type operation func(*walk, *ledger.Ledger) error

// walk is a walk through all states.
type walk struct {
	t       *testing.T
	world   *ledgertest.World
	db      *dynamotest.DB
	shards  int
	most    int // held requests
	does    map[string]operation
	ids     map[string]uint64 // order ids by user
	visited map[[sha256.Size]byte]bool
	queue   []state
	steps   int
	path    string
	answers map[string]bool // of the current step, by payment: it is to be refunded
}

// state is the table and the requests that may still be applied.
type state struct {
	table *dynamotest.Snapshot
	held  []request
	path  string
}

// request is a write that was sent.
type request struct {
	text  string
	apply func(context.Context) error
}

func newWalk(t *testing.T, users []string, shards, most int, does map[string]operation) *walk {
	world, db, _ := faulty(t)
	world.Ctx = t.Context() // without a limit
	w := &walk{t: t, world: world, db: db, shards: shards, most: most, does: does, ids: map[string]uint64{}, visited: map[[sha256.Size]byte]bool{}}
	world.OpenUnpaid(int64(max(len(users), shards)), shards)
	for _, user := range users {
		w.ids[user] = world.Ordered(user)[0]
	}
	world.Pass(payWithin + grace)
	w.arrive(nil, "")
	return w
}

func (w *walk) run() {
	for len(w.queue) > 0 && !w.t.Failed() {
		s := w.queue[0]
		w.queue = w.queue[1:]
		w.finish(s)
		for _, name := range slices.Sorted(maps.Keys(w.does)) {
			w.operate(s, name, w.does[name])
		}
		for _, r := range s.held {
			w.db.Restore(s.table)
			_ = r.apply(w.world.Ctx) // refused or not
			w.steps++
			w.arrive(s.held, s.path+"\n  late: "+r.text)
		}
	}
}

// operate lets an operation run to its end, and cuts it off at each of its writes.
func (w *walk) operate(s state, name string, do operation) {
	caller := w.act(s, do, "", false)
	w.arrive(s.held, s.path+"\n  "+name)
	for _, write := range caller.writes {
		w.act(s, do, write, false)
		w.arrive(s.held, s.path+"\n  "+name+" until "+write)
		if len(s.held) == w.most {
			continue
		}
		if caller := w.act(s, do, write, true); caller.sent != nil {
			w.arrive(append(slices.Clone(s.held), *caller.sent), s.path+"\n  "+name+" sends "+write)
		}
	}
}

// act runs an operation in a state until that write, if it is not "", which is held or
// applied.
func (w *walk) act(s state, do operation, until string, hold bool) *caller {
	w.db.Restore(s.table)
	w.answers, w.path = map[string]bool{}, s.path
	c := &caller{API: w.db, until: until, hold: hold, times: map[string]int{}}
	err := do(w, w.world.EnvironmentOver(c))
	w.steps++
	if until == "" && sale.CodeOf(err) == sale.Internal {
		w.t.Errorf("an operation fails: %v%s", err, s.path)
	}
	return c
}

// arrive checks the state that the table is in, and notes it if it is new.
func (w *walk) arrive(held []request, path string) {
	var texts []string
	for _, r := range held {
		texts = append(texts, r.text)
	}
	slices.Sort(texts)
	key := sha256.Sum256([]byte(w.db.Dump() + strings.Join(texts, "\n")))
	if w.visited[key] {
		return
	}
	w.visited[key] = true
	w.path = path
	w.check()
	w.queue = append(w.queue, state{w.db.Snapshot(), held, path})
}

// answered expects what an answer says of a payment, and that nothing else is so (P24).
func (w *walk) answered(payment string, done ledger.Settlement) {
	refund := w.db.Item(table, "REFUND#moutai", payment) != nil || w.db.Item(table, "REFUND#", payment) != nil
	if (done.Refund != nil) != refund {
		w.t.Errorf("the answer to %s is %+v, its refund is due: %t%s", payment, done, refund, w.path)
	}
}

// check expects the promises of the table.
func (w *walk) check() {
	claims, released, payments, guards := map[int64]int64{}, map[int64]int64{}, map[string]int{}, 0
	number := func(it map[string]types.AttributeValue, name string) (n int64) {
		if v, ok := it[name].(*types.AttributeValueMemberN); ok {
			_, _ = fmt.Sscan(v.Value, &n)
		}
		return n
	}
	var empty []string
	for _, it := range w.db.Items(table) {
		pk, sk := it["pk"].(*types.AttributeValueMemberS).Value, it["sk"].(*types.AttributeValueMemberS).Value
		switch kind, _, _ := strings.Cut(pk, "#"); {
		case kind == "CLAIM":
			claims[number(it, "shard")]++
			if it["releasedAt"] != nil {
				released[number(it, "shard")]++
			}
			if it["releasedAt"] != nil && it["paidAt"] != nil {
				w.t.Errorf("the claim of %s is paid and released (P20)%s", sk, w.path)
			}
			if p, ok := it["payment"].(*types.AttributeValueMemberS); ok {
				payments[p.Value]++
			}
		case kind == "REFUND":
			payments[sk]++
		case kind == "PAYMENT":
			guards++
		case sk == "SALE":
			if set, ok := it["empty"].(*types.AttributeValueMemberNS); ok {
				empty = set.Value
			}
		}
	}
	if guards != len(payments) {
		w.t.Errorf("%d payments, %d guards (P24)%s", len(payments), guards, w.path)
	}
	for payment, n := range payments {
		if n != 1 || w.db.Item(table, "PAYMENT#"+payment, "PAYMENT") == nil {
			w.t.Errorf("%s is recorded %d times (P24)%s", payment, n, w.path)
		}
	}
	for k := range int64(w.shards) {
		it := w.db.Item(table, fmt.Sprintf("STOCK#moutai#%d", k), "STOCK")
		stock, putBack := number(it, "stock"), number(it, "putBack")
		switch {
		case stock < 0 || stock+claims[k] != number(it, "seeded")+putBack:
			w.t.Errorf("shard %d has %d in stock, %d claims, %d put back (P2)%s", k, stock, claims[k], putBack, w.path)
		case number(it, "released") != released[k] || putBack < 0 || putBack > released[k]:
			w.t.Errorf("shard %d counts %d of %d released claims, %d put back (P23)%s", k, number(it, "released"), released[k], putBack, w.path)
		case stock > 0 && slices.Contains(empty, fmt.Sprint(k)):
			w.t.Errorf("shard %d has units and is marked empty (P6)%s", k, w.path)
		}
	}
}

// finish expects that passes alone release and put back all that is left (P22).
func (w *walk) finish(s state) {
	for range 2 {
		w.act(s, w.does["release"], "", false)
		s.table = w.db.Snapshot()
	}
	for user := range w.ids {
		it := w.db.Item(table, "CLAIM#moutai#0", user)
		if it["paidAt"] == nil && it["releasedAt"] == nil {
			w.t.Errorf("%s has neither paid nor is released (P22)%s", user, s.path)
		}
	}
	for k := range w.shards {
		it := w.db.Item(table, fmt.Sprintf("STOCK#moutai#%d", k), "STOCK")
		if fmt.Sprint(it["released"]) == "" || it["released"].(*types.AttributeValueMemberN).Value != it["putBack"].(*types.AttributeValueMemberN).Value {
			w.t.Errorf("shard %d: %v released, %v put back (P22)%s", k, it["released"], it["putBack"], s.path)
		}
	}
}

// caller is a caller's access to the table until it dies: with the write of that name,
// or never. Of releases of several shards, which run at the same time, it makes only the
// one of that name.
type caller struct {
	ledger.API
	until string
	hold  bool

	mu     sync.Mutex
	times  map[string]int
	writes []string
	dead   bool
	sent   *request
}

// errCallerDied ends an operation at once.
var errCallerDied = &smithy.GenericAPIError{Code: "ValidationException", Message: "the caller died"}

func reads[I, O any](c *caller, ctx context.Context, call func(context.Context, I, ...func(*dynamodb.Options)) (O, error), in I) (O, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		var none O
		return none, errCallerDied
	}
	return call(ctx, in)
}

func writes[I, O any](c *caller, ctx context.Context, name string, call func(context.Context, I, ...func(*dynamodb.Options)) (O, error), in I) (O, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var none O
	if c.dead {
		return none, errCallerDied
	}
	c.times[name]++
	kind := name
	name = fmt.Sprintf("%s (%d)", name, c.times[name])
	if name != c.until && isRelease(kind) && isRelease(c.until) {
		return none, errCallerDied
	}
	c.writes = append(c.writes, name)
	if name != c.until {
		return call(ctx, in)
	}
	c.dead = true
	if !c.hold {
		_, _ = call(ctx, in)
		return none, errCallerDied
	}
	text, err := json.Marshal(in)
	if err != nil {
		panic(err) // requests are plain data
	}
	c.sent = &request{string(text), func(ctx context.Context) error {
		_, err := call(ctx, in)
		return err
	}}
	return none, errCallerDied
}

func isRelease(name string) bool { return strings.HasPrefix(name, "release ") }

func (c *caller) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return reads(c, ctx, c.API.GetItem, in)
}

func (c *caller) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return reads(c, ctx, c.API.BatchGetItem, in)
}

func (c *caller) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return reads(c, ctx, c.API.Query, in)
}

func (c *caller) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return writes(c, ctx, "put "+nameOf(in.Item), c.API.PutItem, in)
}

func (c *caller) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return writes(c, ctx, "update "+nameOf(in.Key), c.API.UpdateItem, in)
}

func (c *caller) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	var names []string
	for _, action := range in.TransactItems {
		switch {
		case action.Update != nil:
			names = append(names, nameOf(action.Update.Key))
		case action.Put != nil:
			names = append(names, nameOf(action.Put.Item))
		}
	}
	verb := "transact "
	if first := in.TransactItems[0].Update; first != nil && strings.Contains(*first.UpdateExpression, "#released") {
		verb = "release "
	}
	return writes(c, ctx, verb+strings.Join(names, ", "), c.API.TransactWriteItems, in)
}

func nameOf(key map[string]types.AttributeValue) string {
	return key["pk"].(*types.AttributeValueMemberS).Value + " " + key["sk"].(*types.AttributeValueMemberS).Value
}
