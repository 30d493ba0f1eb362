package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/dynamotest"
)

// watch looks at the table after every call that may have changed it, and keeps
// what the answers will be judged by: when there was no stock, who got which
// claim when, and what window was written where. The network's lock is held in
// every method.
type watch struct {
	db    *dynamotest.DB
	began time.Time
	// looking tells the table's faults to leave the watch's own reads alone.
	looking bool
	late    map[string]bool // items that a late request may still change

	stock  map[string]int64
	total  int64
	zeros  []span        // when all shards together had nothing; the last may be open
	gone   chan struct{} // holds a token after the last unit was sold
	claims map[string]*held
	// refused are the claim ids of requests that were told no.
	refused map[string]bool
	// windows are those written in the sale and in each shard, in their order.
	windows map[string][]window
	// settled is the window that the newest answered edit left behind; nil while
	// an edit is under way.
	settled *window
	found   []string // the first violations, of
	count   int      // so many
}

// span is a time; to is zero as long as it lasts.
type span struct{ from, to time.Time }

// overlaps reports whether the span has an instant in [from, to].
func (s span) overlaps(from, to time.Time) bool {
	return !s.from.After(to) && (s.to.IsZero() || !s.to.Before(from))
}

// held is a claim as it was first seen.
type held struct {
	id, orderID string
	acceptedAt  time.Time
	at          time.Time
}

// window is what one item said about when a purchase is admitted, and since
// when it said so.
type window struct {
	span
	open              bool // not a draft
	opensAt, closesAt time.Time
	paused            bool
}

func newWatch(db *dynamotest.DB) *watch {
	now := time.Now()
	return &watch{
		db: db, began: now, late: map[string]bool{}, stock: map[string]int64{}, zeros: []span{{from: now}}, gone: make(chan struct{}, 1),
		claims: map[string]*held{}, refused: map[string]bool{}, windows: map[string][]window{},
	}
}

func (w *watch) violate(format string, args ...any) {
	if w.count++; w.count > maxShown {
		return
	}
	w.found = append(w.found, fmt.Sprintf("after %v: ", time.Since(w.began))+fmt.Sprintf(format, args...))
}

// mayWrite is what each function writes, by the beginning of the keys.
var mayWrite = map[function][]string{
	purchasing:  {"STOCK#", "CLAIM#", "SALE#"},
	finalizing:  {"SEQ#", "CLAIM#", "ORDER#"},
	querying:    {},
	seeding:     {"SALE#", "SALES|", "STOCK#"},
	reconciling: {"CLAIM#", "SALES|"},
}

// permitted checks that a function writes only what is its business (P17).
func (w *watch) permitted(f function, keys []string) {
	for _, key := range keys {
		if !slices.ContainsFunc(mayWrite[f], func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			w.violate("P17: %s writes %s", f, key)
		}
	}
}

// after looks at the items that a call wrote, and at those that an earlier one
// may have written late.
func (w *watch) after(keys []string, late bool) {
	for _, key := range keys {
		if late {
			w.late[key] = true
		}
		w.look(key)
	}
	if len(w.late) == 0 {
		return
	}
	for _, key := range sorted(w.late) {
		w.look(key)
	}
	if w.db.Pending() == 0 {
		clear(w.late)
	}
}

// look reads one item past every fault, and compares.
func (w *watch) look(key string) {
	kind, _, _ := strings.Cut(key, "#")
	if kind != "STOCK" && kind != "CLAIM" && !strings.HasSuffix(key, "|SALE") {
		return
	}
	pk, sk, _ := strings.Cut(key, "|")
	w.looking = true
	out, err := w.db.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: aws.String(tableName), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
		},
	})
	w.looking = false
	if err != nil {
		w.violate("the table cannot be read: %v", err)
		return
	}
	switch {
	case out.Item == nil:
	case kind == "STOCK":
		w.lookAtShard(key, out.Item)
	case kind == "CLAIM":
		w.lookAtClaim(sk, out.Item)
	default:
		w.lookAtWindow(key, out.Item)
	}
}

func (w *watch) lookAtShard(key string, it map[string]types.AttributeValue) {
	stock, ok := number(it["stock"])
	if !ok || stock < 0 {
		w.violate("P1: %s has %d units", key, stock)
	}
	before := w.total
	w.total += stock - w.stock[key]
	w.stock[key] = stock
	now := time.Now()
	if before != 0 && w.total == 0 {
		w.zeros = append(w.zeros, span{from: now})
		select {
		case w.gone <- struct{}{}:
		default:
		}
	}
	if before == 0 && w.total != 0 {
		w.zeros[len(w.zeros)-1].to = now
	}
	w.lookAtWindow(key, it)
}

func (w *watch) lookAtClaim(user string, it map[string]types.AttributeValue) {
	id, orderID := text(it["claimId"]), text(it["orderId"])
	known := w.claims[user]
	if known == nil {
		accepted, _ := number(it["acceptedAt"])
		c := &held{id: id, orderID: orderID, acceptedAt: time.UnixMilli(accepted), at: time.Now()}
		w.claims[user] = c
		w.admitted(user, c)
		if w.refused[id] {
			w.violate("P5: a request of %s was refused, and got %s afterwards", user, id)
		}
		return
	}
	if known.id != id {
		w.violate("P3: the claim of %s was %s and is %s", user, known.id, id)
	}
	if known.orderID != "" && known.orderID != orderID {
		w.violate("P7: the order of %s was %s and is %s", user, known.orderID, orderID)
	}
	known.orderID = orderID
}

// refuse notes that a request was told no: none of the claims that it asked for
// is there, and none may come.
func (w *watch) refuse(user string, asked []string) {
	for _, id := range asked {
		w.refused[id] = true
		if c := w.claims[user]; c != nil && c.id == id {
			w.violate("P5: a request of %s was refused, and had got %s", user, id)
		}
	}
}

// admitted checks that a unit left inside of the window that the last edit's
// answer promised (P14).
func (w *watch) admitted(user string, c *held) {
	s := w.settled
	if s == nil {
		return
	}
	if s.paused || c.acceptedAt.Before(s.opensAt.Add(-time.Millisecond)) || !c.acceptedAt.Before(s.closesAt) {
		w.violate("P14: %s got a unit at %v while the sale was %+v", user, c.acceptedAt, *s)
	}
}

func (w *watch) lookAtWindow(key string, it map[string]types.AttributeValue) {
	opens, _ := number(it["opensAt"])
	closes, _ := number(it["closesAt"])
	paused, _ := it["paused"].(*types.AttributeValueMemberBOOL)
	now := window{
		span: span{from: time.Now()}, open: it["state"] == nil || text(it["state"]) == "OPEN",
		opensAt: time.UnixMilli(opens), closesAt: time.UnixMilli(closes), paused: paused != nil && paused.Value,
	}
	all := w.windows[key]
	if len(all) > 0 {
		last := &all[len(all)-1]
		if last.open == now.open && last.opensAt.Equal(now.opensAt) && last.closesAt.Equal(now.closesAt) && last.paused == now.paused {
			return
		}
		last.to = now.from
	}
	w.windows[key] = append(all, now)
}

// wasEmpty reports whether there was an instant in [from, to] without stock.
func (w *watch) wasEmpty(from, to time.Time) bool {
	for i := len(w.zeros) - 1; i >= 0; i-- {
		if w.zeros[i].overlaps(from, to) {
			return true
		}
	}
	return false
}

// wasShut reports whether some item, in [from, to], gave the reason code for
// refusing a purchase at an instant of [call, to]. Clocks may be wrong.
func (w *watch) wasShut(code string, from, call, to time.Time) bool {
	for _, all := range w.windows {
		for _, v := range all {
			if !v.overlaps(from, to) {
				continue
			}
			switch {
			case code == "sale-paused" && v.paused,
				code == "sale-not-open" && call.Add(-maxSkew).Before(v.opensAt),
				code == "sale-closed" && !to.Add(maxSkew).Before(v.closesAt),
				code == "sale-not-found" && !v.open:
				return true
			}
		}
	}
	return code == "sale-not-found" && len(w.windows["SALE#"+saleID+"|SALE"]) == 0
}
