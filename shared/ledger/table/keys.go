package table

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

func KeyOf(it Item) Item { return Item{PK: it[PK], SK: it[SK]} }

// The keys of the table. Every variable part is a validated id without '#', a number or
// a date, except the user, which is a sort key of its own: no two things share a key
// (P13).
const (
	PK = "pk"
	SK = "sk"
	// MinReader may be in any item: the version that its reader needs.
	MinReader = "minReader"
)

// Item is a stored item, or a key.
type Item = map[string]types.AttributeValue

func Key(pk, sk string) Item {
	return Item{PK: S(pk), SK: S(sk)}
}

// Identity is a key in comparable form.
type Identity struct{ PK, SK string }

// IdentityOf returns the zero identity for anything but a key of this table.
func IdentityOf(k Item) Identity {
	pk, _ := k[PK].(*types.AttributeValueMemberS)
	sk, _ := k[SK].(*types.AttributeValueMemberS)
	if pk == nil || sk == nil {
		return Identity{}
	}
	return Identity{pk.Value, sk.Value}
}

func SaleKey(saleID string) Item { return Key("SALE#"+saleID, "SALE") }

func CreateKey(saleID string) Item { return Key("SALE#"+saleID, "CREATE") }

func ListingKey(saleID string) Item { return Key("SALES", saleID) }

func SeedKey(saleID, seed string) Item { return Key("SALE#"+saleID, SeedHeads+seed) }

func SeedShardKey(saleID, seed string, shard int) Item {
	return Key("SALE#"+saleID, SeedHead(seed)+strconv.Itoa(shard))
}

// SeedHeads begins the sort keys of all additions and withdrawals, and of their steps.
const SeedHeads = "SEED#"

func SeedHead(seed string) string { return SeedHeads + seed + "#" }

func ChangesPK(saleID string) string { return "CHANGES#" + saleID }

// ChangeKey returns the key of an edit in its sale's trail. The numbers are padded, so that
// they sort.
func ChangeKey(saleID string, number int64) Item {
	return Key(ChangesPK(saleID), fmt.Sprintf("%010d", number))
}

// CancelledKey returns the key of what is stored of an order's cancellation by an operator.
func CancelledKey(saleID string, orderID uint64) Item {
	return Key("CANCELLED#"+saleID, strconv.FormatUint(orderID, 10))
}

// WithdrawalKey returns the key of a withdrawal's step, counted from 0.
func WithdrawalKey(saleID, seed string, step int) Item {
	return Key("SALE#"+saleID, WithdrawalHead(seed)+strconv.Itoa(step))
}

// WithdrawalHeads begins the sort keys of all withdrawals' steps.
const WithdrawalHeads = "WITHDRAWN#"

func WithdrawalHead(seed string) string { return WithdrawalHeads + seed + "#" }

var stockSK = S("STOCK")

func StockKey(saleID string, shard int) Item {
	return Item{PK: S("STOCK#" + saleID + "#" + strconv.Itoa(shard)), SK: stockSK}
}

// StockKeys returns the keys of a sale's shards.
func StockKeys(s sale.Sale) []Item {
	keys := make([]Item, s.Shards)
	for k := range keys {
		keys[k] = StockKey(s.ID, k)
	}
	return keys
}

func ClaimKey(saleID string, bucket int, user string) Item {
	return Key(ClaimPK(saleID, bucket), user)
}

func ClaimPK(saleID string, bucket int) string {
	return "CLAIM#" + saleID + "#" + strconv.Itoa(bucket)
}

// GroupGuardKey returns the key of the guard of a user in a group of sales. Its bucket depends
// on the user alone: the sales of a group have different numbers of buckets.
func GroupGuardKey(group, user string) Item {
	return Key("GUARD#"+group+"#"+strconv.Itoa(sale.BucketOf(user, guardBuckets)), user)
}

// guardBuckets spreads the guards of a group, which are written as often as the units of
// all its sales are asked for. It never changes.
const guardBuckets = 1024

func GroupKey(group string) Item { return Key("GROUP#"+group, "GROUP") }

const (
	OrderPKHead = "ORDER#"
	OrderSK     = "ORDER"
)

// OrderPK ends with the id as orderid.String writes it.
func OrderPK(id uint64) string { return OrderPKHead + strconv.FormatUint(id, 10) }

func OrderKey(id uint64) Item { return Key(OrderPK(id), OrderSK) }

// RefundKey returns the key of a refund due. The sale id is "" if the order is unknown.
func RefundKey(saleID, payment string) Item { return Key("REFUND#"+saleID, payment) }

// PaymentKey returns the key of a payment's guard. The payment's id is bounded by
// sale.MaxReference, far below DynamoDB's 2,048 bytes for a partition key.
func PaymentKey(payment string) Item { return Key("PAYMENT#"+payment, "PAYMENT") }

// EntryKey returns the key of a user's entry in a draw. A leaf's page is its first byte, so
// the entries of a page are one partition, and the pages of a roll can be made one by one.
func EntryKey(saleID string, page byte, user string) Item { return Key(EntryPK(saleID, page), user) }

func EntryPK(saleID string, page byte) string { return "ENTRY#" + saleID + "#" + PageName(page) }

// LeafKeyKey returns the key of the secret that entries are made with. It is in a partition of
// its own, because everything else about a draw is public.
func LeafKeyKey(saleID string) Item { return Key("DRAWKEY#"+saleID, "KEY") }

func DrawPK(saleID string) string { return "DRAW#" + saleID }

func DrawHeadKey(saleID string) Item { return Key(DrawPK(saleID), "HEAD") }

// CallHead begins the sort keys of a draw's calls.
const CallHead = "CALL#"

// CallKey returns the key of a call. The numbers are padded, so that they sort.
func CallKey(saleID string, number int64) Item {
	return Key(DrawPK(saleID), fmt.Sprintf("%s%010d", CallHead, number))
}

func RollPK(saleID string) string { return "ROLL#" + saleID }

// RollKey returns the key of a part of a page.
func RollKey(saleID string, page byte, part int) Item {
	return Key(RollPK(saleID), PageName(page)+"#"+strconv.Itoa(part))
}

func PageName(page byte) string { return fmt.Sprintf("%02x", page) }

func SequenceKey(day string) Item { return Key("SEQ#"+day, "SEQ") }
