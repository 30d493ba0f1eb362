package books

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/drawcheck/rules"
)

// Sale is one sale in the books, unchecked, for comparison with the answers that
// clients got. An attribute that is not as documented is zero.
type Sale struct {
	Name              string
	OpensAt, ClosesAt time.Time
	Paused            bool
	Recalled          bool
	Recalling         bool  // it was recalled, and the recall is not complete
	Seeded            int64 // according to the sale item
	Open              bool
	Drained           bool
	Shards            map[int]Shard
	Claims            []Claim          // sorted by bucket and user
	Orders            map[string]Order // by id
	// Refunds are the reasons of payments that must go back, done or not, by payment.
	Refunds map[string]string
	// Draw is read by Glance alone; nil if the sale has none.
	Draw *Draw
}

// Draw is how far the draw of a sale has got, for a display.
type Draw struct {
	EnterFrom time.Time
	rules.Draw
}

// Shard is the stock of one shard.
type Shard struct {
	Stock, Seeded int64
	// Units of released claims, how many of them are back, and how many other shards gave to it, less those that it gave.
	Released, PutBack, Moved int64
}

// Sales returns the ids of all sales that any item names, sorted.
func (b *Books) Sales() []string {
	ids := map[string]bool{}
	for _, items := range b.partitions {
		for _, it := range items {
			kind, of := locate(keyOf(it))
			id := of.get("sale")
			if kind == "order" {
				o, _ := readOrder(it)
				id = o.SaleID
			}
			if id != "" {
				ids[id] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// Sale returns a sale; if there is none, everything in it is empty.
func (b *Books) Sale(saleID string) *Sale {
	s := &Sale{Shards: map[int]Shard{}, Orders: map[string]Order{}, Refunds: map[string]string{}}
	for _, items := range b.partitions {
		for _, it := range items {
			s.take(saleID, it)
		}
	}
	slices.SortFunc(s.Claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), strings.Compare(a.User, b.User))
	})
	return s
}

// take adds an item, if it is one of the sale.
func (s *Sale) take(saleID string, it item) {
	k := keyOf(it)
	if strings.HasPrefix(k.pk, "ROLL#") {
		return // a thousand items, none of which a Sale has
	}
	kind, of := locate(k)
	if kind == "order" {
		if o, _ := readOrder(it); o.SaleID == saleID {
			s.Orders[o.ID] = o
		}
	}
	if of.get("sale") != saleID {
		return
	}
	switch kind {
	case "sale":
		i, _ := readSale(it)
		s.Name, s.Paused, s.Seeded, s.Open, s.Recalled = i.Name, i.Paused, i.Seeded, i.State == "OPEN", i.RecalledAt != 0
		s.OpensAt, s.ClosesAt = time.UnixMilli(i.begins()).UTC(), time.UnixMilli(i.ends()).UTC()
	case "listing":
		listing, _ := readListing(it)
		s.Drained, s.Recalling = listing.Drained, listing.Recalling != 0
	case "shard":
		shard, _ := readShard(it)
		s.Shards[shard.Shard] = Shard{shard.Stock, shard.Seeded, shard.Released, shard.PutBack, shard.Moved}
	case "claim":
		c, _ := readClaim(it)
		s.Claims = append(s.Claims, c)
	case "refund":
		r, _ := readRefund(it)
		s.Refunds[r.Payment] = r.Reason
	}
}

// Glance reads a sale for a display: all shards, and of the claims, in equal parts from
// every bucket, at most about that many. There are no Orders and no Refunds in it. It fails
// with ErrNoSale.
func Glance(ctx context.Context, db DynamoDB, name, saleID string, claims int) (*Sale, error) {
	t := &table{db: db, name: name, sleep: sleep}
	it, err := one(ctx, t, key{"SALE#" + saleID, "SALE"})
	if err != nil {
		return nil, err
	}
	if it == nil {
		return nil, ErrNoSale
	}
	described, _ := readSale(it)
	keys := make([]key, described.Shards)
	for i := range keys {
		keys[i] = key{fmt.Sprintf("STOCK#%s#%d", saleID, i), "STOCK"}
	}
	shards, err := t.get(ctx, keys)
	all := append(slices.Collect(maps.Values(shards)), it)
	for bucket := 0; err == nil && bucket < described.Buckets; bucket++ {
		err = t.partition(ctx, fmt.Sprintf("CLAIM#%s#%d", saleID, bucket), int32(max(1, claims/described.Buckets)), func(items []item) error {
			all = append(all, items...)
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	s := Of(all).Sale(saleID)
	if described.hasDraw() {
		s.Draw = &Draw{EnterFrom: time.UnixMilli(described.EnterFrom).UTC()}
		s.Draw.EnterUntil = time.UnixMilli(described.EnterUntil).UTC()
		err = t.partition(ctx, "DRAW#"+saleID, 0, s.Draw.read)
	}
	return s, err
}

func (d *Draw) read(items []item) error {
	for _, it := range items {
		if keyOf(it).sk == "HEAD" {
			head, _ := readHead(it)
			head.EnterUntil, head.Calls = d.EnterUntil, d.Calls
			d.Draw = head
		} else {
			c, _ := readCall(it)
			d.Calls = append(d.Calls, c.Call)
		}
	}
	return nil
}

// Stock returns the units left in all shards.
func (s *Sale) Stock() int64 {
	left := int64(0)
	for _, shard := range s.Shards {
		left += shard.Stock
	}
	return left
}

// Claim returns the claim of a user, or a claim without an id.
func (s *Sale) Claim(user string) Claim {
	for _, c := range s.Claims {
		if c.User == user {
			return c
		}
	}
	return Claim{}
}

// Unfinished returns the claims that have no order yet.
func (s *Sale) Unfinished() []Claim {
	return slices.DeleteFunc(slices.Clone(s.Claims), func(c Claim) bool { return s.Orders[c.OrderID].ClaimID == c.ClaimID })
}

// Listing is a sale's entry in the list of sales.
type Listing struct {
	SaleID   string
	ClosesAt time.Time
	Drained  bool
	Newer    bool // only a newer version can read the sale
}

// Sales reads the list of sales. What is not as documented is zero, and a finding of the
// sale's recount.
func Sales(ctx context.Context, db DynamoDB, name string) ([]Listing, error) {
	var all []Listing
	err := (&table{db: db, name: name}).partition(ctx, "SALES", 0, func(items []map[string]types.AttributeValue) error {
		for _, it := range items {
			if readable(it) != nil {
				all = append(all, Listing{SaleID: keyOf(it).sk, Newer: true})
				continue
			}
			l, _ := readListing(it)
			all = append(all, Listing{SaleID: keyOf(it).sk, ClosesAt: time.UnixMilli(l.ClosesAt).UTC(), Drained: l.Drained})
		}
		return nil
	})
	return all, err
}
