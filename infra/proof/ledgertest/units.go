package ledgertest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// openUnits creates a sale whose orders may be of up to most units.
func (w *World) openUnits(stock int64, shards, most int, changes ...func(*sale.Creation)) sale.Creation {
	w.T.Helper()
	c := w.Sale(stock, shards)
	c.MaxPerOrder = most
	for _, change := range changes {
		change(&c)
	}
	w.Create(c)
	return c
}

// takes asks for so many units in an environment.
func (w *World) takes(l *ledger.Ledger, user, key string, units int64) (ledger.PurchaseResult, error) {
	return l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user, Key: key, Units: units})
}

// insists is takes of somebody who repeats while they are told busy, in new environments.
func (w *World) insists(user, key string, units int64) (p ledger.PurchaseResult, err error) {
	for range 60 {
		if p, err = w.takes(w.Environment(), user, key, units); sale.CodeOf(err) != sale.Busy {
			break
		}
	}
	return p, err
}

// startingAt is a user whose first shard of so many is that one.
func startingAt(shard, shards int, name string) string {
	for i := 0; ; i++ {
		if user := fmt.Sprint(name, "-", i); sale.ShardFor(user, 0, &sale.Set{}, shards) == shard {
			return user
		}
	}
}

// got expects an order of so many units.
func (w *World) got(user string, units int64) sale.Claim {
	w.T.Helper()
	c := w.Accepted(w.insists(user, "", units)).Claim
	stored, err := w.Environment().Claim(w.Ctx, "moutai", user)
	check(w.T, err == nil && c.UnitCount() == units && stored.Units == c.Units && stored.MinReader == sale.ReadsUnits,
		"%s asks for %d: got %+v, stored %+v (%v)", user, units, c, stored, err)
	return c
}

// notEnough expects the refusal of a purchase because fewer units were left.
func (w *World) notEnough(left int64, err error) {
	w.T.Helper()
	e := w.Refused(sale.NotEnough, err)
	same(w.T, e.Left, left, "left")
}

// blind is an environment whose plain reads of several items show no stock.
func (w *World) blind() *ledger.Ledger {
	return w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
		out, err := call()
		if page, ok := out.(*dynamodb.BatchGetItemOutput); ok && op == "BatchGetItem" && err == nil {
			for _, it := range page.Responses[w.Engine.Table] {
				if it["stock"] != nil {
					it["stock"] = number(0)
				}
			}
		}
		return out, err
	})
}

var units = map[string]func(*testing.T, *World){
	"an order takes its units from one shard that has them, in one transaction": func(t *testing.T, w *World) {
		w.openUnits(12, 2, 3, func(c *sale.Creation) {
			c.PayWithin, c.Price, c.Currency, c.Extras = payWithin, 199900, "CNY", true // which need readers of less
		})
		p := w.Accepted(w.takes(w.Ledger, "alice", "k", 3))
		same(t, p.Tries, 1)
		w.got("bob", 1)
		left := w.Stock(2)
		check(t, left[0]+left[1] == 8 && left[p.Claim.Shard] <= 3, "stock %v after 3 of shard %d and 1", left, p.Claim.Shard)
		for _, key := range [][2]string{{"SALE#moutai", "SALE"}, {"SALES", "moutai"}} {
			w.hasNumber(sale.ReadsUnits, key[0], key[1], "minReader")
		}
		check(t, w.Item("STOCK#moutai#0", "STOCK")["moved"] == nil, "units have moved")
		w.Settled(2)
	},
	"an order that no shard can fill is sold by one, to which others give units": func(t *testing.T, w *World) {
		w.openUnits(4, 3, 4) // 2, 1 and 1 units
		c := w.got("alice", 4)
		same(t, c.Shard, 0)
		for k, want := range []int64{2, -1, -1} {
			w.hasNumber(want, fmt.Sprint("STOCK#moutai#", k), "STOCK", "moved")
		}
		w.Refused(sale.SoldOut, errOf(w.takes(w.Environment(), "bob", "", 2)))
		w.Settled(3)
	},
	"who asks for more than are left hears how many, and gets as many": func(t *testing.T, w *World) {
		w.openUnits(5, 3, 8, func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = payWithin, 199900, "CNY" })
		for range 2 { // the second time the environment knows
			_, err := w.takes(w.Ledger, "alice", "k", 6)
			w.notEnough(5, err)
			check(t, w.Refused(sale.NotEnough, err).MayReturn, "units may return")
		}
		p := w.Accepted(w.takes(w.Ledger, "alice", "k", 5))
		check(t, p.Claim.UnitCount() == 5, "got %+v", p.Claim)
		w.Refused(sale.SoldOut, errOf(w.takes(w.Ledger, "bob", "", 1)))
		w.Settled(3)
	},
	"a request for another number of units is another request, whatever its key": func(t *testing.T, w *World) {
		w.openUnits(10, 3, 4)
		first := w.Accepted(w.takes(w.Ledger, "alice", "k", 2))
		for name, l := range map[string]*ledger.Ledger{"the same environment": w.Ledger, "another one": w.Environment()} {
			p := w.Accepted(w.takes(l, "alice", "k", 2))
			check(t, !p.New && p.Claim.ID == first.Claim.ID && p.Claim.Units == 2, "%s: the repeat got %+v", name, p)
			for _, n := range []int64{0, 1, 3} {
				_, err := w.takes(l, "alice", "k", n)
				check(t, w.Refused(sale.AlreadyOrdered, err).Claim.Units == 2, "%s, asked for %d: %v", name, n, err)
			}
		}
	},
	"more units than the sale allows are refused before anything else, and nothing is tried": func(t *testing.T, w *World) {
		w.openUnits(2, 1, 2)
		one := w.Sale(1, 1)
		one.SaleID = "one"
		w.Create(one)
		w.got("alice", 2)
		refuses := func(saleID, user string, n int64) {
			t.Helper()
			p, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: saleID, User: user, Units: n})
			w.Refused(sale.InvalidRequest, err)
			same(t, p.Tries, 0)
		}
		refuses("moutai", "alice", 3)
		refuses("moutai", "bob", 3)
		refuses("one", "bob", 2)
		w.Pass(2 * time.Hour)
		refuses("moutai", "bob", 3)
		w.Refused(sale.SaleNotFound, errOf(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "unknown", User: "bob", Units: 3})))
	},
	"of one unit on each of 100 shards everybody who asks for eight gets eight, as long as they are left": func(t *testing.T, w *World) {
		w.openUnits(100, 100, 8)
		for i := range 12 {
			w.got(fmt.Sprint("user-", i), 8)
		}
		w.notEnough(4, errOf(w.insists("late", "", 8))) // each try lists what is empty
		w.got("late", 4)
		w.Settled(100)
	},
	"60 buyers at once who ask for one to four get every unit, or hear truly that they cannot": func(t *testing.T, w *World) {
		w.openUnits(100, 12, 4)
		var mu sync.Mutex
		least, sold, refused := int64(5), int64(0), 0
		var wait sync.WaitGroup
		for i := range 60 {
			ask := int64(1 + i%4)
			wait.Go(func() {
				p, err := w.insists(fmt.Sprint("user-", i), "k", ask)
				mu.Lock()
				defer mu.Unlock()
				switch sale.CodeOf(err) {
				case "":
					sold += p.Claim.UnitCount()
				case sale.NotEnough, sale.SoldOut:
					refused++
					least = min(least, ask)
				default:
					t.Errorf("user %d: %v", i, err)
				}
			})
		}
		wait.Wait()
		check(t, refused > 0 && sold <= 100 && 100-sold < least, "%d units are sold, %d refused, and somebody who asked for %d", sold, refused, least)
		w.Settled(12)
	},
	"plain reads neither refuse nor close anything": func(t *testing.T, w *World) {
		w.openUnits(3, 3, 3)
		check(t, w.Accepted(w.takes(w.blind(), "alice", "", 2)).Claim.Units == 2, "it is not sold")
		s := w.Current()
		same(t, s.Empty.Len(), 0, "shards that are said to be empty")
		w.got("bob", 1)
		w.Settled(3)
	},
	"a refusal stands until the sale is known to be of another version": func(t *testing.T, w *World) {
		w.openUnits(1, 2, 2, func(c *sale.Creation) { c.Stock = 2 })
		w.got("first", 1)
		_, err := w.takes(w.Ledger, "alice", "", 2)
		w.notEnough(1, err)
		w.Succeeds(w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 2}))
		w.Pass(1700 * time.Millisecond)
		w.Accepted(w.takes(w.Ledger, "alice", "", 2))
	},
	"a unit that is put back while the shards are read is sold, not refused": func(t *testing.T, w *World) {
		w.openUnits(2, 2, 2)
		w.got("first", 1)
		adds := func(id string) {
			w.Succeeds(w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: id, Stock: 1}))
		}
		for _, op := range []string{"BatchGetItem", "TransactGetItems"} {
			user := startingAt(slices.Index(w.Stock(2), 1), 2, op)
			w.Accepted(w.takes(w.Hooked(dynamotest.Before(op, once(func() { adds("during-" + op) }))), user, "", 2))
			adds("after-" + op)
		}
		w.Settled(2)
	},
	"a unit that is added to a shard that is listed as empty while the others are read together is sold, not refused": func(t *testing.T, w *World) {
		w.openUnits(2, 2, 2)
		w.got(startingAt(0, 2, "first"), 1)
		user := startingAt(0, 2, "second") // who closes the shard
		w.Accepted(w.takes(w.Hooked(dynamotest.Before("TransactGetItems", once(func() {
			w.Succeeds(w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}))
		}))), user, "", 2))
		w.Settled(2)
	},
	"a split keeps to the window and the pause flag of each of its shards, and takes all or nothing": func(t *testing.T, w *World) {
		for _, c := range []struct {
			attribute string
			value     types.AttributeValue
			want      sale.Code
		}{
			{"paused", &types.AttributeValueMemberBOOL{Value: true}, sale.Paused},
			{"opensAt", number(w.Now().UnixMilli() + 1), sale.NotOpen},
			{"closesAt", number(w.Now().UnixMilli()), sale.Closed},
			{"opensAt", number(w.Now().UnixMilli()), ""},
		} {
			w.becomes(table{})
			w.openUnits(3, 3, 3)
			edits := w.beforeTransaction(2, func() {
				for _, pk := range []string{"STOCK#moutai#1", "STOCK#moutai#2"} { // the shard that sells is edited last
					w.tamper(pk, "STOCK", "SET "+c.attribute+" = :x", map[string]types.AttributeValue{":x": c.value})
				}
			})
			_, err := w.takes(edits, startingAt(0, 3, "alice"), "", 3)
			hasCode(t, c.want, err, "%s", c.attribute)
			left, want := w.Stock(3), map[bool]int64{true: 0, false: 3}[c.want == ""]
			check(t, left[0]+left[1]+left[2] == want, "%s: stock %v, want %d in all", c.attribute, left, want)
		}
	},
	"a sale that ends while the shards are read sells nothing more, and says that it is over": func(t *testing.T, w *World) {
		c := w.openUnits(2, 2, 3)
		for op, ask := range map[string]int64{"BatchGetItem": 2, "TransactGetItems": 3} {
			w.moment(c.ClosesAt.Add(-time.Second))
			ends := w.Hooked(dynamotest.Before(op, func() { w.moment(c.ClosesAt) }))
			w.Refused(sale.Closed, errOf(w.takes(ends, "alice", "", ask)))
		}
	},
	"a split finds the recall that began meanwhile, and takes nothing; units that a pass has put back meanwhile are sold": func(t *testing.T, w *World) {
		w.openUnits(3, 3, 3, func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = payWithin, 199900, "CNY" })
		w.orderedUnits("early", 1)
		w.Pass(payWithin + grace)
		l := w.beforeTransaction(2, func() { w.releases(1, 1) }) // between the plan and the split of two
		w.Accepted(w.takes(l, startingAt(slices.Index(w.Stock(3), 1), 3, "alice"), "", 2))
		w.Settled(3)
		w.becomes(table{})
		w.openUnits(3, 3, 3)
		l = w.beforeTransaction(2, func() { w.recalls("", true) })
		w.Refused(sale.Paused, errOf(w.takes(l, "alice", "", 3))) // as its shards say
		left := w.Stock(3)
		check(t, left[0]+left[1]+left[2] == 3, "stock %v, want 3 in all", left)
	},
	"a split finds the claim that the user's other click has made meanwhile": func(t *testing.T, w *World) {
		w.openUnits(3, 3, 3)
		clicks := w.beforeTransaction(2, func() { w.got("alice", 1) })
		_, err := w.takes(clicks, "alice", "", 3)
		same(t, w.Refused(sale.AlreadyOrdered, err).Claim.UnitCount(), 1)
		w.Settled(3)
	},
	"a split whose units somebody else takes meanwhile takes others, or is refused": func(t *testing.T, w *World) {
		w.openUnits(4, 4, 2)
		crowd := 0
		slow := w.Hooked(dynamotest.Before("TransactWriteItems", func() {
			if crowd++; crowd == 2 { // between the plan and the split
				w.got("quick-1", 2)
				w.got("quick-2", 1)
			}
		}))
		_, err := w.takes(slow, "alice", "", 2)
		w.notEnough(1, err)
		w.Settled(4)
		w.becomes(table{})
		w.openUnits(3, 3, 3)
		robbed := w.beforeTransaction(2, func() { w.got(startingAt(2, 3, "quick"), 1) }) // of a shard that gives
		_, err = w.takes(robbed, startingAt(0, 3, "alice"), "", 3)
		w.notEnough(2, err)
		w.Settled(3)
	},
	"after a split without an answer nothing is refused, and a repeat finds it": func(t *testing.T, w *World) {
		w.openUnits(3, 3, 3)
		transactions := 0
		loses := w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
			if op != "TransactWriteItems" {
				return call()
			}
			if transactions++; transactions == 2 {
				w.got("quick", 1)
				return nil, errDead
			}
			return call()
		})
		w.Refused(sale.Busy, errOf(w.takes(loses, "alice", "k", 3)))
		w.notEnough(2, errOf(w.insists("alice", "k", 3)))
		w.Refused(sale.Busy, errOf(w.takes(w.forgetful(), "alice", "k", 2)))
		p := w.Accepted(w.insists("alice", "k", 2))
		check(t, !p.New && p.Claim.Units == 2, "the repeat got %+v", p)
		w.Settled(3)
	},
	"whoever has a claim or a guard hears of that before not-enough": func(t *testing.T, w *World) {
		for _, id := range []string{"moutai", "other"} {
			c := w.Sale(2, 2)
			c.SaleID, c.LimitGroup, c.MaxPerOrder = id, "shoe", 3
			w.Create(c)
		}
		w.got("alice", 1)
		w.Refused(sale.AlreadyOrdered, errOf(w.takes(w.Environment(), "alice", "", 3)))
		w.hasNumber(sale.ReadsUnits, guardOf("alice"), "alice", "minReader")
		w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "other", User: "bob", Units: 2}))
		same(t, w.Refused(sale.AlreadyOrdered, errOf(w.takes(w.Environment(), "bob", "", 3))).OtherSale, "other")
	},
	"items that are read together say which of them are missing, and none is read twice": func(t *testing.T, w *World) {
		w.Open(1, 1)
		read := func(keys ...[2]string) (*dynamodb.TransactGetItemsOutput, error) {
			in := &dynamodb.TransactGetItemsInput{}
			for _, k := range keys {
				in.TransactItems = append(in.TransactItems, types.TransactGetItem{
					Get: &types.Get{TableName: &w.Engine.Table, Key: attributes(map[string]any{"pk": k[0], "sk": k[1]})},
				})
			}
			return look(w.Ctx, w.Engine.API.TransactGetItems, in)
		}
		shard := [2]string{"STOCK#moutai#0", "STOCK"}
		out, err := read([2]string{"STOCK#moutai#7", "STOCK"}, shard)
		w.Succeeds(out, err)
		check(t, len(out.Responses) == 2 && len(out.Responses[0].Item) == 0 && numberOf(out.Responses[1].Item, "stock") == 1, "it reads %+v", out.Responses)
		for name, keys := range map[string][][2]string{"twice": {shard, shard}, "none": nil, "101": slices.Repeat([][2]string{shard}, 101)} {
			_, err := read(keys...)
			check(t, err != nil, "%s: it is read", name)
		}
	},
}
