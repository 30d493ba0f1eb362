package ledgertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// look reads for the test itself, past what an engine's faults refuse.
func look[I, O any](ctx context.Context, call func(context.Context, I, ...func(*dynamodb.Options)) (O, error), in I) (out O, err error) {
	for range 50 {
		if out, err = call(ctx, in); err == nil {
			break
		}
	}
	return out, err
}

// Item reads an item as it lies in the table; nil if there is none.
func (w *World) Item(pk, sk string) map[string]types.AttributeValue {
	w.T.Helper()
	out, err := look(w.Ctx, w.Engine.API.GetItem, &dynamodb.GetItemInput{
		TableName: &w.Engine.Table, ConsistentRead: aws.Bool(true), Key: attributes(map[string]any{"pk": pk, "sk": sk}),
	})
	w.Succeeds(nil, err)
	return out.Item
}

// Number reads a number attribute.
func (w *World) Number(pk, sk, attribute string) int64 {
	w.T.Helper()
	it := w.Item(pk, sk)
	if _, ok := it[attribute].(*types.AttributeValueMemberN); !ok {
		w.T.Fatalf("%s %s has no number %s", pk, sk, attribute)
	}
	return numberOf(it, attribute)
}

// Stock is the units left in the shards 0…n-1.
func (w *World) Stock(n int) []int64 {
	w.T.Helper()
	left := make([]int64, n)
	for k := range n {
		left[k] = w.Number(fmt.Sprintf("STOCK#moutai#%d", k), "STOCK", "stock")
	}
	return left
}

// Claims counts the units of the sale's claims, per shard.
func (w *World) Claims(shards int) map[int64]int64 {
	w.T.Helper()
	count := map[int64]int64{}
	for bucket := range sale.BucketsFor(shards) {
		for _, it := range w.Partition(fmt.Sprintf("CLAIM#moutai#%d", bucket)) {
			count[numberOf(it, "shard")] += unitsOf(it)
		}
	}
	return count
}

// unitsOf is how many units a claim has.
func unitsOf(claim map[string]types.AttributeValue) int64 { return max(1, numberOf(claim, "units")) }

// Partition reads every item under one partition key.
func (w *World) Partition(pk string) []map[string]types.AttributeValue {
	w.T.Helper()
	in := &dynamodb.QueryInput{
		TableName: &w.Engine.Table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
	}
	var all []map[string]types.AttributeValue
	for {
		out, err := look(w.Ctx, w.Engine.API.Query, in)
		w.Succeeds(nil, err)
		all = append(all, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return all
		}
	}
}

// Settled checks P1 to P3 and P20 over the table: per shard, stock and claims are what was seeded and
// put back and has moved there, and the units of the claims that have ended, but for kept ones, are counted.
func (w *World) Settled(shards int) {
	w.T.Helper()
	claims, released, moved := w.Claims(shards), map[int64]int64{}, int64(0)
	for bucket := range sale.BucketsFor(shards) {
		for _, it := range w.Partition(fmt.Sprintf("CLAIM#moutai#%d", bucket)) {
			if (it["releasedAt"] != nil || it["cancelledAt"] != nil) && value(it["unit"]) != "kept" {
				released[numberOf(it, "shard")] += unitsOf(it)
			}
			check(w.T, it["releasedAt"] == nil || it["paidAt"] == nil, "claim %v is paid and released (P20)", it)
		}
	}
	for k := range int64(shards) {
		it := w.Item(fmt.Sprintf("STOCK#moutai#%d", k), "STOCK")
		stock, seeded, putBack := numberOf(it, "stock"), numberOf(it, "seeded"), numberOf(it, "putBack")
		moved += numberOf(it, "moved")
		if stock < 0 || stock+claims[k] != seeded+putBack+numberOf(it, "moved") || numberOf(it, "released") != released[k] || putBack > released[k] {
			w.T.Errorf("shard %d: %d units of claims, %d of them released: %v", k, claims[k], released[k], it)
		}
	}
	same(w.T, moved, 0, "units that have moved")
}

func numberOf(it map[string]types.AttributeValue, name string) (n int64) {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		_, _ = fmt.Sscan(v.Value, &n)
	}
	return n
}

// everything is the items of the sale's table that a call could touch: of several shards
// and buckets the first.
func (w *World) everything() string {
	w.T.Helper()
	return w.textOf("SALE#moutai", "CLAIM#moutai#0", "SEQ#2026-11-11", "SALE#unknown", "CLAIM#unknown#0", "SALES", "STOCK#moutai#0", "GROUP#shoe", "CANCELLED#moutai")
}

// textOf is the items of these partitions as text.
func (w *World) textOf(partitions ...string) (text string) {
	w.T.Helper()
	for _, pk := range partitions {
		for _, it := range w.Partition(pk) {
			text += strings.Join(flat(it), " ") + "\n"
		}
	}
	return text
}

// value is an attribute value as text.
func value(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberNS:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberSS:
		return fmt.Sprint(slices.Sorted(slices.Values(v.Value)))
	}
	return fmt.Sprintf("%T", v)
}

// attributes are the values of an update, each an int, an instant or a string.
func attributes(values map[string]any) map[string]types.AttributeValue {
	all := map[string]types.AttributeValue{}
	for name, value := range values {
		switch v := value.(type) {
		case time.Time:
			all[name] = &types.AttributeValueMemberN{Value: strconv.FormatInt(v.UnixMilli(), 10)}
		case int:
			all[name] = &types.AttributeValueMemberN{Value: strconv.Itoa(v)}
		case string:
			all[name] = &types.AttributeValueMemberS{Value: v}
		}
	}
	return all
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func one() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}}
}

// tamper changes an item behind the ledger's back.
func (w *World) tamper(pk, sk, update string, values map[string]types.AttributeValue) {
	w.T.Helper()
	in := &dynamodb.UpdateItemInput{
		TableName: &w.Engine.Table, UpdateExpression: &update, Key: attributes(map[string]any{"pk": pk, "sk": sk}), ExpressionAttributeValues: values,
	}
	for _, reserved := range []string{"shard", "cursor", "empty", "unit"} {
		if strings.Contains(update, "#"+reserved) {
			in.ExpressionAttributeNames = map[string]string{"#" + reserved: reserved}
		}
	}
	w.Succeeds(look(w.Ctx, w.Engine.API.UpdateItem, in))
}

// place writes an item behind the ledger's back.
func (w *World) place(it map[string]types.AttributeValue) {
	w.T.Helper()
	w.Succeeds(look(w.Ctx, w.Engine.API.PutItem, &dynamodb.PutItemInput{TableName: &w.Engine.Table, Item: it}))
}

// moved is an item under another key.
func moved(it map[string]types.AttributeValue, pk, sk string) map[string]types.AttributeValue {
	out := maps.Clone(it)
	out["pk"], out["sk"] = &types.AttributeValueMemberS{Value: pk}, &types.AttributeValueMemberS{Value: sk}
	return out
}

func text(s string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{":x": &types.AttributeValueMemberS{Value: s}}
}

// needs sets the version that an item's reader needs.
func (w *World) needs(pk, sk string, version any) {
	w.T.Helper()
	w.tamper(pk, sk, "SET minReader = :v", attributes(map[string]any{":v": version}))
}

func keyOf(it ledger.Image) string {
	return it["pk"].(*types.AttributeValueMemberS).Value + " " + it["sk"].(*types.AttributeValueMemberS).Value
}

type stored = map[string]types.AttributeValue

// table is every item by its key.
type table map[string]stored

func (w *World) table() table {
	w.T.Helper()
	all := table{}
	in := &dynamodb.ScanInput{TableName: &w.Engine.Table, ConsistentRead: aws.Bool(true)}
	for more := true; more; more = len(in.ExclusiveStartKey) > 0 {
		page, err := look(w.Ctx, w.Engine.API.(maintenance.Scanner).Scan, in)
		w.Succeeds(nil, err)
		for _, it := range page.Items {
			all[keyOf(it)] = it
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
	return all
}

// becomes makes the table hold those items and no others. The world's own environment forgets what it has read.
func (w *World) becomes(want table) {
	w.T.Helper()
	for key, it := range w.table() {
		if want[key] == nil {
			w.remove(it)
		}
	}
	for _, it := range want {
		w.place(it)
	}
	w.Ledger = w.Environment()
}

func (w *World) remove(it stored) {
	w.T.Helper()
	w.Succeeds(look(w.Ctx, w.Engine.API.TransactWriteItems, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Delete: &types.Delete{TableName: &w.Engine.Table, Key: stored{"pk": it["pk"], "sk": it["sk"]}}},
	}}))
}

func flat(it stored) (all []string) {
	for name, v := range it {
		all = append(all, name+"="+value(v))
	}
	slices.Sort(all)
	return all
}

// allPaused expects that no shard sells.
func (w *World) allPaused(shards int) {
	w.T.Helper()
	for k := range shards {
		same(w.T, value(w.Item(fmt.Sprintf("STOCK#moutai#%d", k), "STOCK")["paused"]), "true", "shard %d", k)
	}
}

// hasNumber expects a number attribute.
func (w *World) hasNumber(want int64, pk, sk, attribute string) {
	w.T.Helper()
	same(w.T, w.Number(pk, sk, attribute), want, "%s of %s %s", attribute, pk, sk)
}

// hasNoItem expects that there is no such item.
func (w *World) hasNoItem(pk, sk string) {
	w.T.Helper()
	it := w.Item(pk, sk)
	check(w.T, it == nil, "%s %s is %v, want no such item", pk, sk, it)
}

// unchanged expects that the table is as everything has said before.
func (w *World) unchanged(before string) {
	w.T.Helper()
	same(w.T, w.everything(), before)
}

// guardOf is the partition of a user's guard in the group shoe.
func guardOf(user string) string { return fmt.Sprint("GUARD#shoe#", sale.BucketOf(user, 1024)) }
