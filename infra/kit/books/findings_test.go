package books

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// set changes an attribute of an item that is there; nil removes it.
func (all items) set(k key, name string, v types.AttributeValue) items {
	if all[k][name] = v; v == nil {
		delete(all[k], name)
	}
	return all
}

// drop removes attributes of an item.
func (all items) drop(k key, names ...string) items {
	for _, name := range names {
		delete(all[k], name)
	}
	return all
}

// add adds to a number of an item.
func (all items) add(k key, name string, n int64) items {
	old, _ := strconv.ParseInt(all[k][name].(*types.AttributeValueMemberN).Value, 10, 64)
	return all.set(k, name, number(fmt.Sprint(old+n)))
}

// move puts an item under another key.
func (all items) move(from, to key) {
	all.copy(from, to, nil)
	delete(all, from)
}

// copy puts a copy of an item under another key.
func (all items) copy(from, to key, changes item) {
	it := maps.Clone(all[from])
	it["pk"], it["sk"] = text(to.pk), text(to.sk)
	maps.Copy(it, changes)
	all[to] = it
}

// where is the key of an item of which that is so.
func (all items) where(is func(key) bool) key {
	for k := range all {
		if is(k) {
			return k
		}
	}
	panic("there is no such item")
}

// claim is the key of a user's claim.
func (all items) claim(user string) key {
	return all.where(func(k key) bool { return kindOf(k) == "claim" && k.sk == user })
}

// order is the key of a user's order.
func (all items) order(user string) key {
	c, _ := readClaim(all[all.claim(user)])
	return key{"ORDER#" + c.OrderID, "ORDER"}
}

// pay makes a claim paid at the instant of another attribute.
func (all items) pay(k key, instant string) {
	all[k] = maps.Clone(all[k])
	maps.Copy(all[k], item{"paidAt": all[k][instant], "payment": text("stripe#pi_8"), "amount": number("199900"), "currency": text("CNY")})
}

const (
	salePK = "SALE#moutai"
	hour   = int64(time.Hour / time.Millisecond)
)

var saleKey, listingKey = key{salePK, "SALE"}, key{"SALES", "moutai"}

func shardKey(k int) key { return key{fmt.Sprintf("STOCK#moutai#%d", k), "STOCK"} }

func claimKey(bucket int, user string) key { return key{fmt.Sprintf("CLAIM#moutai#%d", bucket), user} }

func refundKey(reference string) key { return key{"REFUND#moutai", "stripe#" + reference} }

var yes = &types.AttributeValueMemberBOOL{Value: true}

func TestEachKindOfBrokenBooksIsNamed(t *testing.T) {
	w := sold(t)
	now := w.Now()
	whole := w.balanced()
	if whole.Seeded != 11 || whole.Claims != 9 || whole.Stock != 2 || whole.Pending != 1 || whole.Confirmed != 8 ||
		whole.OldestPendingSeconds != 180 || len(whole.Unfinished) > 0 || len(whole.NotLookedFor) > 0 {
		t.Fatalf("untouched: %+v", whole)
	}
	// One shard has units and one is marked empty; both are known by their stock.
	some, none := -1, -1
	marked, _ := readSale(w.items()[saleKey])
	for k := range 5 {
		s, _ := readShard(w.items()[shardKey(k)])
		if s.Stock > 0 {
			some = k
		} else if marked.Empty[k] {
			none = k
		}
	}
	if some < 0 || none < 0 {
		t.Fatalf("no shard with units (%d) or none marked empty (%d)", some, none)
	}
	full, empty := shardKey(some), shardKey(none)
	stock, _ := readShard(w.items()[full])
	bare, _ := readShard(w.items()[empty])

	breakages{
		{"units put into a shard by hand", func(all items) { all.add(full, "stock", 18) }, "P2",
			fmt.Sprintf("shard %d: stock is %d, should be %d (seeded %d - claims %d + put back 0): 18 too many", some, stock.Stock+18, stock.Stock, stock.Seeded, stock.Seeded-stock.Stock)},
		{"a unit gone with seeded - 1 on its shard", func(all items) { all.add(full, "stock", -1).add(full, "seeded", -1) }, "P15", fmt.Sprintf("shard %d: it says that %d units were seeded, should be %d", some, stock.Seeded-1, stock.Seeded)},
		{"a shard below zero", func(all items) { all.add(empty, "stock", -1) }, "P1", fmt.Sprintf("shard %d: stock is -1, below zero", none)},
		{"a shard marked empty that is not there", func(all items) { all.set(saleKey, "empty", &types.AttributeValueMemberNS{Value: []string{"9"}}) }, "P6",
			"shard 9 is marked empty, but the sale has 5 shards"},
		{"a receipt of a shard that is not there", func(all items) { all.copy(key{salePK, "SEED#second-batch#0"}, key{salePK, "SEED#second-batch#5"}, nil) }, "P15",
			`addition "second-batch" has a receipt of shard 5, but the sale has 5 shards`},
		{"an addition of tomorrow", func(all items) { all.add(key{salePK, "SEED#second-batch"}, "at", 24*hour) }, "P15", "which is in the future"},
		{"an edit of tomorrow", func(all items) { all.set(saleKey, "changedAt", number(fmt.Sprint(now.UnixMilli()+24*hour))) }, "P14", "no edit applies until then"},
		{"other buckets", func(all items) { all.add(saleKey, "buckets", -1) }, "P3", "the sale has 1 buckets, should be 2"},
		{"no sale item", func(all items) { delete(all, saleKey) }, "P11", "the sale item is missing"},
		{"drained before its end", func(all items) { all.set(listingKey, "drained", yes) }, "P8", "the sale is drained, but closes at 2026-11-11T21:00:00.000Z"},
		{"drained with an order unfinished", func(all items) { all.set(listingKey, "drained", yes) }, "P8", "the sale is drained with 1 orders unfinished"},

		{"a claim gone, whose order stands", func(all items) { delete(all, all.claim("user-1")) }, "P7", `of "user-1" belongs to no claim: the user has none`},
		{"a claim too many", func(all items) {
			all.copy(all.claim("user-8"), claimKey(bucketOf("eve", 2), "eve"), item{"claimId": text("forged"), "shard": number(fmt.Sprint(none))})
		}, "P1", fmt.Sprintf("shard %d: claims of %d units, but only %d were seeded or moved to it: 1 oversold", none, bare.Seeded+1, bare.Seeded)},
		{"a claim in the wrong bucket", func(all items) { all.move(all.claim("user-1"), claimKey(1-bucketOf("user-1", 2), "user-1")) }, "P3",
			fmt.Sprintf(`a claim of "user-1" lies in bucket %d, where nobody looks for it; the user's bucket is %d`, 1-bucketOf("user-1", 2), bucketOf("user-1", 2))},
		{"a second claim of a user in the other bucket", func(all items) { all.copy(all.claim("user-1"), claimKey(1-bucketOf("user-1", 2), "user-1"), nil) }, "P3",
			`a claim of "user-1" lies in bucket`},
		{"a claim on a shard that is not there", func(all items) { all.set(all.claim("user-1"), "shard", number("7")) }, "P2",
			`the claim of "user-1" names shard 7, but the sale has 5`},
		{"two claims with one id", func(all items) { all.set(all.claim("user-1"), "claimId", all[all.claim("user-2")]["claimId"]) }, "P13", `2 claims have the same claimId: the claim of "user-`},
		{"a pending claim of long ago", func(all items) { all.add(all.claim("user-8"), "acceptedAt", -hour) }, "P8", "1 claims are pending, the oldest for 1h3m0s: more than 5m0s"},

		{"two orders with one number", func(all items) {
			k := all.claim("user-1")
			c, _ := readClaim(all[k])
			next := strconv.FormatUint(c.orderID+1<<32, 10) // the same number a second later
			all.copy(k, claimKey(bucketOf("eve", 2), "eve"), item{"orderId": number(next), "claimId": text("forged")})
			all.copy(all.order("user-1"), key{"ORDER#" + next, "ORDER"}, item{"user": text("eve"), "claimId": text("forged")})
		}, "P7", "2 claims have the same number of a day in their order ids: the claim of "},
		{"an order id of another day", func(all items) {
			before := all.order("user-1")
			all.add(all.claim("user-1"), "orderId", -(24*3600)<<32)
			all.move(before, all.order("user-1"))
		}, "P7", `of "user-1" says that it was confirmed at 2026-11-10T20:01:00.000Z, but its claim was accepted at 2026-11-11T20:00:00.000Z`},
	}.areFound(w)
	t.Run("an order item that has been missing for long", func(t *testing.T) {
		all := w.items()
		delete(all, all.order("user-1"))
		if r := all.recount(t, now); !r.Balanced || !slices.Equal(r.Unfinished, []string{"1 confirmed claims have no order item yet"}) {
			t.Errorf("just now: %+v", r)
		}
		has(t, all.recount(t, now.Add(10*time.Minute)), "P7", "of \"user-1\" has no order item")
	})
	t.Run("nothing at all", func(t *testing.T) {
		if r, err := Of(nil).Recount(t.Context(), "moutai", at(now)); err == nil {
			t.Errorf("got %+v", r)
		}
	})
}

func TestASaleThatAsksForPaymentIsRecounted(t *testing.T) {
	w := settled(t)
	r := w.balanced()
	if r.Claims != 11 || r.Pending != 1 || r.Confirmed != 10 || r.Paid != 2 || r.Unpaid != 1 || r.Released != 7 || r.RefundsDue != 2 ||
		r.Stock != 14-11+6 || strings.Join(r.Unfinished, "; ") != "1 released units are not back in stock yet" {
		t.Errorf("got %+v", r)
	}
}

// breakages are changes of a balanced table, each with the finding that names it.
type breakages []struct {
	name          string
	breaks        func(items)
	promise, part string
}

func (all breakages) areFound(w *world) {
	for _, b := range all {
		w.T.Run(b.name, func(t *testing.T) {
			table := w.items()
			b.breaks(table)
			has(t, table.recount(t, w.Now()), b.promise, b.part)
		})
	}
}

func TestEachKindOfBrokenPaymentIsNamed(t *testing.T) {
	breakages{
		{"paid and released", func(all items) { all.pay(all.claim("user-3"), "releasedAt") }, "P20", `the claim of "user-3" is paid and released`},
		{"pending and paid", func(all items) { all.pay(all.claim("user-10"), "acceptedAt") }, "P20", `the claim of "user-10" is paid or released, and has no order`},
		{"put back twice", func(all items) { all.add(shardKey(0), "putBack", 5).add(shardKey(0), "stock", 5) }, "P2", "units put back, but"},
		{"one payment of two orders", func(all items) { all.set(all.claim("user-2"), "payment", text("stripe#pi_1")) }, "P24",
			`2 claims and refunds have the same payment: the claim of "user-`},
		{"its order's payment and a refund", func(all items) { all.move(refundKey("pi_3"), refundKey("pi_1")) }, "P24",
			`the same payment: the claim of "user-0", the refund REFUND#moutai, stripe#pi_1`},
		{"unknown, and its order's payment", func(all items) { all.move(key{"REFUND#", "stripe#pi_6"}, key{"REFUND#", "stripe#pi_1"}) }, "P24",
			`the same payment: the claim of "user-0", the refund REFUND#, stripe#pi_1`},
		{"another amount than the price", func(all items) { all.add(all.claim("user-2"), "amount", 1) }, "P24",
			`the claim of "user-2" was paid by 199901 CNY, but the price is 199900 CNY`},
	}.areFound(settled(t))
}

func TestEachKindOfBrokenSendingIsNamed(t *testing.T) {
	w := settled(t)
	sending := w.items().where(func(k key) bool { return k.pk == "SENDS" })
	unknown := key{"REFUND#", "stripe#pi_6"}
	said := func(k key, name, old, new string) func(items) {
		return func(all items) {
			was := all[k][name].(*types.AttributeValueMemberS).Value
			all.set(k, name, text(strings.Replace(was, old, new, 1)))
		}
	}
	sent := func(k key, sent string) func(items) {
		return func(all items) { all.set(k, "sent", text(sent)) }
	}
	another := sending.sk + "2"
	breakages{
		{"accepted without a refund", said(refundKey("pi_3"), "sent", `"re_1"`, `""`), "P19", "sent is accepted without a refund"},
		{"unknown with a refund", said(unknown, "sent", `"account"`, `"refund":"re_1","account"`), "P19", "sent is accepted without a refund, or has one without"},
		{"another id", said(unknown, "sent", `"id":"`, `"id":"0`), "P19", "sent has no id"},
		{"unknown without an instant", said(unknown, "sent", `"at"`, `"tries":1,"was"`), "P19", "sent is not as documented"},
		{"sent before it was due", said(unknown, "sent", `"at":1`, `"at":`), "P19", "sent has no id, or an instant before at"},
		{"a lease of tomorrow", said(unknown, "sent", `"lease":1`, `"lease":2`), "P24", "was recorded, sent or made at"},
		{"an id of a refusal", said(unknown, "sent", "unknown", "refused"), "P19", "sent has the id of a request that has an answer"},
		{"no such state", said(unknown, "sent", "unknown", "done"), "P19", "sent has no such state"},
		{"nobody who sent it", sent(unknown, `{"state":"refused"}`), "P19", "sent is by no sending"},
		{"tries below 0", sent(unknown, `{"tries":-1}`), "P19", "tries below 0"},
		{"sent to nobody who can send it", func(all items) { all.copy(unknown, key{"REFUND#", "square#pi_6"}, nil) }, "P19", "of a payment that cannot be sent"},
		{"an accepted one that has failed", func(all items) {
			all.set(refundKey("pi_3"), "money", number("1")).set(refundKey("pi_3"), "failures", number("1"))
			all[accountKey("stripe#pi_3")] = item{
				"pk": text("MONEY#stripe#pi_3"), "sk": text("MONEY"), "v": number("1"), "saleId": text("moutai"), "orderId": all[refundKey("pi_3")]["orderId"],
				"refunds": text(`{"re_1":{"state":"failed","amount":1,"currency":"CNY","heard":{"failed":1}}}`),
			}
		}, "P43", "the refund re_1 of stripe#pi_3 is said to be accepted, but has failed"},
		{"by nobody's press", said(unknown, "sent", "#press", "#other"), "P42", "stripe#pi_6 was sent by " + strings.Replace(sending.sk, "press", "other", 1)},
		{"more than was looked at", func(all items) { all.set(sending, "count", number("1")).drop(sending, "progress") }, "P42", "was to send 1 refunds, and has sent 2 at least"},
		{"a larger sum than was looked at", func(all items) { all.set(sending, "sums", text(`{"CNY":199901}`)).drop(sending, "progress") }, "P42", "was to send 199901 CNY, and has sent 399800 at least"},
		{"what was not asked for", func(all items) { all.set(sending, "scope", text(`{"saleId":"moutai"}`)) }, "P42", "has sent the refund REFUND#, stripe#pi_6, which it is not about"},
		{"two scopes", said(sending, "scope", "{", `{"saleId":"moutai",`), "P19", "scope is several"},
		{"taken beyond the count", said(sending, "progress", `"taken":2`, `"taken":3`), "P19", "it has taken more than its count"},
		{"taken beyond the sums", said(sending, "progress", `"CNY":`, `"CNY":1`), "P19", "it has taken more than its sums"},
		{"of nothing", func(all items) { all.set(sending, "sums", text(`{}`)) }, "P19", "sums are none"},
		{"stopped and ended", func(all items) {
			all.set(sending, "stoppedAt", all[sending]["endedAt"]).set(sending, "stoppedBy", text("kim"))
		}, "P19", "it was stopped, and has ended"},
		{"of a list of long ago", func(all items) { all.add(sending, "at", 2*hour) }, "P19", "asOf is not of the hour before at"},
		{"of tomorrow", func(all items) { all.copy(sending, key{"SENDS", another}, item{"endedAt": number("1794600000000")}) }, "P42", "which is in the future"},
	}.areFound(w)
}

func TestAClaimThatNobodyReleasesIsFound(t *testing.T) {
	w := settled(t)
	w.Pass(35*time.Minute + 24*time.Hour)
	has(t, w.items().recount(t, w.Now()), "P22", "1 claims are unpaid, the oldest was to be paid 24h7m0s ago")
	all := w.items()
	all.set(listingKey, "drained", yes)
	has(t, all.recount(t, w.Now()), "P22", "drained with 1 claims unpaid and 1 released units not in stock")
}

func TestEachKindOfBrokenRecallIsNamed(t *testing.T) {
	unpaid := func(all items) { all.drop(all.claim("user-1"), "releasedAt", "releasedBy") }
	breakages{
		{"an order that is neither released nor paid", unpaid, "P35", "the recall is complete, but 1 orders are neither released nor to be refunded, and 0 have no id"},
		{"an order without an id", func(all items) { all.drop(all.claim("user-1"), "releasedAt", "releasedBy", "orderId") }, "P35", "but 0 orders are neither released nor to be refunded, and 1 have no id"},
		{"a paid order without its refund", func(all items) {
			delete(all.drop(all.claim("user-0"), "refunds"), refundKey("pi_1"))
		}, "P35", "the recall is complete, but 1 orders"},
		{"a paid order whose refund has another reason", func(all items) { all.set(refundKey("pi_1"), "reason", text("other-payment")) }, "P35", "the recall is complete, but 1 orders"},
		{"a refund without a recall", func(all items) { all.set(saleKey, "recalledAt", nil) }, "P35", "because of a recall, but the sale was not recalled"},
		{"a sale that sells again", func(all items) { all.set(saleKey, "paused", &types.AttributeValueMemberBOOL{}) }, "P35", "and it is paused: false"},
		{"a recall in the list alone", func(all items) {
			all.drop(saleKey, "recalledAt", "recallNote").set(listingKey, "recalling", number("1794427200000"))
		}, "P35", "the list of sales says that the sale is being recalled, but"},
		{"another recall in the list", func(all items) { all.set(listingKey, "recalling", number("1794427200000")) }, "P35", "the list of sales says that the sale was recalled at"},
		{"drained too early", func(all items) {
			all.set(listingKey, "recalling", all[saleKey]["recalledAt"]).set(listingKey, "drained", yes)
		}, "P35", "the sale is drained, but its recall is not complete"},
	}.areFound(recalledSale(t))
}

func TestEachKindOfBrokenCancellationIsNamed(t *testing.T) {
	w := cancelledSale(t)
	if r := w.balanced(); r.Paid != 1 || r.Released != 3 || r.Unpaid != 2 || r.RefundsDue != 2 {
		t.Fatalf("untouched: %+v", r)
	}
	entry := func(all items, user string) key {
		return key{"CANCELLED#moutai", strings.TrimPrefix(all.order(user).pk, "ORDER#")}
	}
	breakages{
		{"nobody who has cancelled it", func(all items) { delete(all, entry(all, "user-1")) }, "P37", "the sale counts 4 to 4 cancelled orders, but 3 are"},
		{"a paid order that is not cancelled", func(all items) { all.drop(all.claim("user-0"), "cancelledAt", "unit") }, "P37", "3 claims are cancelled by an operator, but of 4 it is stored by whom"},
		{"a cancelled order whose payment stays", func(all items) { delete(all, refundKey("pi_0")) }, "P37", "but stripe#pi_0 does not go back because of that"},
		{"a refund of an order that is not cancelled", func(all items) { all.drop(all.claim("user-0"), "cancelledAt") }, "P37", "because its order is cancelled, but the order"},
		{"a refund whose failure is not told", func(all items) { all.drop(refundKey("pi_0"), "failures") }, "P41", "stripe#pi_0 it is said: {Money:1794427324003 Back:0 Failures:0 Stuck:true"},
		{"an order whose money is back, and nobody is told", func(all items) { all.drop(all.claim("user-5"), "refundedAt") }, "P41", "stripe#pi_5 is back as a whole, says its account"},
		{"an account that is gone", func(all items) { delete(all, accountKey("stripe#pi_5")) }, "P41", "of stripe#pi_5 is applied, but there is no account"},
		{"an account of nothing", func(all items) { all.copy(accountKey("stripe#pi_5"), accountKey("stripe#pi_7"), nil) }, "P41", "but it has no guard"},
		{"a cancellation of before the payment", func(all items) { all.add(all.claim("user-0"), "cancelledAt", -hour) }, "P37", "was cancelled at 2026-11-11T19:"},
	}.areFound(w)
}

func TestEachKindOfBrokenTrailIsNamed(t *testing.T) {
	const trail = "CHANGES#moutai"
	first, third := key{trail, "0000000001"}, key{trail, "0000000003"}
	breakages{
		{"an entry beyond", func(all items) { all.add(saleKey, "edits", -1) }, "P32", "the trail has an edit 3, but the sale has 2"},
		{"one id twice", func(all items) { all[third]["id"] = all[first]["id"] }, "P32", `edits 1 and 3 have the id "claim-4": it was applied twice`},
	}.areFound(drained(t))
}

func TestEachKindOfBrokenExtensionIsNamed(t *testing.T) {
	w := extendedSale(t)
	if r := w.balanced(); r.Released != 5 || r.Paid != 1 || r.Stock != 8 {
		t.Fatalf("untouched: %+v", r)
	}
	entry := key{"CHANGES#moutai", "0000000001"}
	breakages{
		{"expired in the time that was given", func(all items) { all.add(all.claim("user-3"), "releasedAt", -hour) }, "P38",
			`the claim of "user-3" expired at 2026-11-11T21:34:00.000Z, although edit 1 of 2026-11-11T20:32:00.000Z had given until 2026-11-11T22:32:00.000Z`},
		{"time that was taken back", func(all items) {
			all.copy(entry, key{entry.pk, "0000000002"}, item{"id": text("x2"), "payUntil": number("1794432720001")})
			all.add(key{entry.pk, "0000000002"}, "at", hour).add(saleKey, "changedAt", hour).add(saleKey, "edits", 1).add(saleKey, "version", 1)
		}, "P38", "edit 2 takes back time to pay that was given before: 2026-11-11T2"},
		{"an extension that pauses", func(all items) { all.set(entry, "paused", yes) }, "P32", "leaves the sale paused: true"},
	}.areFound(w)
}

func TestAnOrderThatExpiredInItsLateDaysAfterTheEndIsFound(t *testing.T) {
	w := lateSale(t)
	if r := w.balanced(); r.Released != 2 || r.Paid != 3 || r.Stock != 1 {
		t.Fatalf("untouched: %+v", r)
	}
	breakages{
		{"too early", func(all items) { all.add(all.claim("user-4"), "releasedAt", -5*hour) }, "P39",
			`the claim of "user-4" expired at 2026-11-13T02:30:00.000Z, after the end of the sale, and could be paid late until 2026-11-13T06:00:00.000Z`},
	}.areFound(w)
}

func TestARecallThatIsUnderWayIsUnfinishedUntilItIsLate(t *testing.T) {
	w := newWorld(t)
	w.Open(14, 5)
	w.Confirmed(w.buy(0, 3))
	w.Succeeds(w.Ledger.Recall(w.Ctx, sale.Recall{SaleID: "moutai"}))
	late := recallTime + 5*time.Minute // and Options.Overdue
	w.Pass(late)
	if r := w.balanced(); r.Unpaid != 3 || !strings.Contains(strings.Join(r.Unfinished, "\n"), "3 orders are neither released nor to be refunded, and 0 have no id") {
		t.Errorf("got %+v", r)
	}
	w.Pass(time.Second)
	has(t, w.items().recount(t, w.Now()), "P35", "3 orders are neither released nor to be refunded, 10m1s after the recall")
	w.ReleasesBy(w.Ledger)
	if r := w.balanced(); r.Released != 3 || len(r.Unfinished) > 0 {
		t.Errorf("got %+v", r)
	}
}

func TestEachKindOfBrokenWithdrawalOrLimitIsNamed(t *testing.T) {
	w := withdrawn(t)
	if r := w.balanced(); r.Seeded != 5 || r.Stock != 1 || r.Claims != 4 || len(r.Unfinished)+len(r.NotLookedFor) > 0 {
		t.Fatalf("untouched: %+v", r)
	}
	step := func(number string) key { return key{salePK, "WITHDRAWN#typo#" + number} }
	breakages{
		{"a step of a shard that is not there", func(all items) { all.add(step("0"), "shard", 5) }, "P15",
			`withdrawal "typo" took units from shard 5, but the sale has 5 shards`},
		{"a step too many", func(all items) { all.copy(step("0"), step("4"), nil) }, "P15", `withdrawal "typo" of 5 units has a step 4 after its end`},
		{"more than was asked for", func(all items) { all.add(key{salePK, "SEED#typo"}, "units", 2) }, "P15", `withdrawal "typo" of 3 units took 5: 2 too many`},
		{"an addition with steps", func(all items) { all.add(key{salePK, "SEED#typo"}, "units", 10) }, "P15", `"typo" is an addition or a withdrawal, but has receipts of both`},
		{"a withdrawal with receipts of shards", func(all items) { all.add(key{salePK, "SEED#again"}, "units", -4) }, "P15",
			`"again" is an addition or a withdrawal, but has receipts of both`},
	}.areFound(w)
}

func TestASaleForANewerReleaseIsNotRecountedAndHidesNoOther(t *testing.T) {
	for _, k := range []key{{"SALE#moutai", "SALE"}, {"SALES", "moutai"}} {
		w := newWorld(t)
		w.Open(8, 2)
		c := w.Sale(4, 1)
		c.SaleID = "other"
		w.Create(c)
		for _, version := range []int64{reads, reads + 1} {
			it := w.Item(k.pk, k.sk)
			add := version
			if it["minReader"] != nil {
				add = 1
			}
			w.Succeeds(nil, w.db.Tamper(w.Ctx, tableName, k.pk, k.sk, "minReader", add))
			isNewer := version > reads
			_, err := Recount(w.Ctx, w.db, tableName, "moutai", at(w.Now()))
			says := fmt.Sprintf("needs version %d, and this recount reads version %d", reads+1, reads)
			if errors.Is(err, ErrNewerVersion) != isNewer || isNewer && !strings.Contains(err.Error(), says) {
				t.Errorf("%v at version %d: %v", k, version, err)
			}
			if _, err := Recount(w.Ctx, w.db, tableName, "other", at(w.Now())); err != nil {
				t.Errorf("%v at version %d, another sale: %v", k, version, err)
			}
		}
		list, err := Sales(w.Ctx, w.db, tableName)
		if err != nil || len(list) != 2 || list[0].Newer != (k.pk == "SALES") || list[1].Newer || list[0].SaleID != "moutai" {
			t.Errorf("%v: the list is %+v (%v)", k, list, err)
		}
	}
}

func TestWhatNoOrderOfAGroupExplainsIsAFinding(t *testing.T) {
	w := grouped(t)
	guard := func(group, user, claimID string) item {
		k := barredKey(group, user)
		return item{"pk": text(k.pk), "sk": text(k.sk), "saleId": text("moutai"), "claimId": text(claimID), "minReader": number("3")}
	}
	for want, it := range map[string]item{
		`"user-9" is barred from group "shoe" by claim claim-9, but has no such claim`: guard("shoe", "user-9", "claim-9"),
		`"user-0" is barred from group "hat" by claim claim-1, but has no such claim`:  guard("hat", "user-0", "claim-1"),
		`group "hat" names the sale, which is of group "shoe"`: {
			"pk": text("GROUP#hat"), "sk": text("GROUP"), "sales": &types.AttributeValueMemberSS{Value: []string{"moutai"}},
		},
	} {
		all := w.items()
		all[keyOf(it)] = it
		has(t, all.recount(t, w.Now()), "P34", want)
	}
}

func TestAGlanceReadsEveryShardAndAsManyClaimsAsItMay(t *testing.T) {
	w := newWorld(t)
	w.Open(60, 6)
	w.Confirmed(w.buy(0, 12)[:5])
	for most, want := range map[int]int{1000: 12, 4: 4} {
		got, err := Glance(w.Ctx, w.db, tableName, "moutai", most)
		if err != nil || len(got.Claims) != want || len(got.Shards) != 6 || got.Stock() != 48 {
			t.Errorf("a glance at %d claims sees %+v (%v), want %d", most, got, err, want)
		}
	}
	for _, none := range []string{"other", "", "no/id"} {
		if _, err := Glance(w.Ctx, w.db, tableName, none, 4); !errors.Is(err, ErrNoSale) {
			t.Errorf("%q: %v, want %v", none, err, ErrNoSale)
		}
	}
}
