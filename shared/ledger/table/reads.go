package table

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Under returns the items of a sale whose sort key begins with head. With them a
// repeat costs one read instead of a cancelled transaction per shard.
func (t *Table) Under(ctx context.Context, saleID, head string) (map[Identity]Item, error) {
	items, err := t.QueryAll(ctx, PatientTries, Headed(SaleKey(saleID)[PK], head))
	if err != nil {
		return nil, err
	}
	found := map[Identity]Item{}
	for _, it := range items {
		found[IdentityOf(it)] = it
	}
	return found, nil
}

// ClaimPage reads the page of a bucket's claims after that user, or its first page if
// that is "": at most that many claims, or as many as DynamoDB returns if most is 0.
func (t *Table) ClaimPage(
	ctx context.Context, saleID string, bucket int, after string, most int32,
) (*dynamodb.QueryOutput, error) {
	in := Partition(ClaimKey(saleID, bucket, "")[PK])
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	if most > 0 {
		in.Limit = &most
	}
	return t.QueryPage(ctx, in, after)
}

// PageEnd returns where the page after out begins: the bucket and its last user read.
func PageEnd(out *dynamodb.QueryOutput, bucket int) (int, string, error) {
	if len(out.LastEvaluatedKey) == 0 {
		return bucket + 1, "", nil
	}
	r := Reader{Item: out.LastEvaluatedKey}
	after := r.Text(SK)
	return bucket, after, sale.AsInternal(r.Err)
}

// claimsAtOnce bounds a page of ClaimItems, because decoded claims are many times as large as stored
// ones, of which DynamoDB returns a megabyte.
const claimsAtOnce = 500

// ClaimItems passes the items of a sale's claims to report, a page at a time, in the order of
// buckets and users.
func (t *Table) ClaimItems(ctx context.Context, s sale.Sale, report func([]Item) error) error {
	for bucket, after := 0, ""; bucket < s.Buckets; {
		out, err := t.ClaimPage(ctx, s.ID, bucket, after, claimsAtOnce)
		if err != nil {
			return err
		}
		if err := report(out.Items); err != nil {
			return err
		}
		if bucket, after, err = PageEnd(out, bucket); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) RefundItems(ctx context.Context, saleID string) ([]Item, error) {
	return t.QueryAll(ctx, PatientTries, Partition(RefundKey(saleID, "")[PK]))
}

// ShardItems passes the item of each shard of a sale to report, nil if there is none. It holds one batch of them at a
// time, because a sale may have a thousand, and many sales are read at once.
func (t *Table) ShardItems(ctx context.Context, s sale.Sale, report func(k int, it Item) error) error {
	k := 0
	for keys := range slices.Chunk(StockKeys(s), BatchKeys) {
		stored, err := t.GetAll(ctx, keys)
		if err != nil {
			return err
		}
		for range keys {
			if err := report(k, stored[IdentityOf(StockKey(s.ID, k))]); err != nil {
				return err
			}
			k++
		}
	}
	return nil
}

// Shards reads the shards of a sale.
func (t *Table) Shards(ctx context.Context, s sale.Sale) ([]Shard, error) {
	shards := make([]Shard, s.Shards)
	return shards, t.ShardItems(ctx, s, func(k int, it Item) (err error) {
		if shards[k], err = ReadShard(it); err != nil {
			return sale.AsInternal(fmt.Errorf("shard %d: %w", k, err))
		}
		return nil
	})
}

// OpenSale reads the sale from the table and not from a snapshot. A draft
// counts as not found.
func (t *Table) OpenSale(ctx context.Context, saleID string) (sale.Sale, error) {
	it, err := t.GetWithin(ctx, PatientTries, SaleKey(saleID))
	if err != nil {
		return sale.Sale{}, err
	}
	if it == nil {
		return sale.Sale{}, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	s, err := ReadSale(it)
	if err != nil {
		return sale.Sale{}, sale.AsInternal(err)
	}
	if s.State != sale.Open {
		return sale.Sale{}, &sale.Error{
			Code: sale.SaleNotFound, Detail: "the sale is still being created",
			Err: &sale.DraftError{OpensAt: s.OpensAt, ClosesAt: s.ClosesAt},
		}
	}
	return s, nil
}

// Edits returns the entries of a sale's edits, the oldest first.
func (t *Table) Edits(ctx context.Context, tries int, saleID string) ([]Item, error) {
	return t.EditsAfter(ctx, tries, saleID, 0)
}

// EditsAfter returns the entries of the edits after that number.
func (t *Table) EditsAfter(ctx context.Context, tries int, saleID string, number int64) ([]Item, error) {
	in := Partition(S(ChangesPK(saleID)))
	if number > 0 {
		in.ExclusiveStartKey = ChangeKey(saleID, number)
	}
	return t.QueryAll(ctx, tries, in)
}

// Seedings returns the heads of a sale's additions and withdrawals, without their steps.
func (t *Table) Seedings(ctx context.Context, saleID string) ([]Item, error) {
	found, err := t.Under(ctx, saleID, SeedHeads)
	maps.DeleteFunc(found, func(id Identity, _ Item) bool { return !IsSeeding(id) })
	return slices.Collect(maps.Values(found)), err
}
