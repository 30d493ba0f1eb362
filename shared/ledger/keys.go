package ledger

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// The keys of the table. Every variable part is a validated id without '#', a number or
// a date, except the user, which is a sort key of its own: no two things share a key
// (P13).
const (
	attrPK = "pk"
	attrSK = "sk"
	// attrMinReader may be in any item: the version that its reader needs.
	attrMinReader = "minReader"
)

// item is a stored item, or a key.
type item = map[string]types.AttributeValue

func key(pk, sk string) item {
	return item{attrPK: str(pk), attrSK: str(sk)}
}

// identity is a key in comparable form.
type identity struct{ pk, sk string }

// identityOf returns the zero identity for anything but a key of this table.
func identityOf(k item) identity {
	pk, _ := k[attrPK].(*types.AttributeValueMemberS)
	sk, _ := k[attrSK].(*types.AttributeValueMemberS)
	if pk == nil || sk == nil {
		return identity{}
	}
	return identity{pk.Value, sk.Value}
}

func saleKey(saleID string) item       { return key("SALE#"+saleID, "SALE") }
func createKey(saleID string) item     { return key("SALE#"+saleID, "CREATE") }
func listingKey(saleID string) item    { return key("SALES", saleID) }
func seedKey(saleID, seed string) item { return key("SALE#"+saleID, seedHeads+seed) }

func seedShardKey(saleID, seed string, shard int) item {
	return key("SALE#"+saleID, seedHead(seed)+strconv.Itoa(shard))
}

// seedHeads begins the sort keys of all additions and withdrawals, and of their receipts.
const seedHeads = "SEED#"

func seedHead(seed string) string { return seedHeads + seed + "#" }

func changesPK(saleID string) string { return "CHANGES#" + saleID }

// changeKey returns the key of an edit in its sale's trail. The numbers are padded, so that
// they sort.
func changeKey(saleID string, number int64) item {
	return key(changesPK(saleID), fmt.Sprintf("%010d", number))
}

// withdrawalKey returns the key of a withdrawal's step, counted from 0.
func withdrawalKey(saleID, seed string, step int) item {
	return key("SALE#"+saleID, withdrawalHead(seed)+strconv.Itoa(step))
}

// withdrawalHeads begins the sort keys of all withdrawals' steps.
const withdrawalHeads = "WITHDRAWN#"

func withdrawalHead(seed string) string { return withdrawalHeads + seed + "#" }

var stockSK = str("STOCK")

func stockKey(saleID string, shard int) item {
	return item{attrPK: str("STOCK#" + saleID + "#" + strconv.Itoa(shard)), attrSK: stockSK}
}

func claimKey(saleID string, bucket int, user string) item {
	return key(claimPK(saleID, bucket), user)
}

func claimPK(saleID string, bucket int) string {
	return "CLAIM#" + saleID + "#" + strconv.Itoa(bucket)
}

// groupGuardKey returns the key of the guard of a user in a group of sales. Its bucket depends
// on the user alone: the sales of a group have different numbers of buckets.
func groupGuardKey(group, user string) item {
	return key("GUARD#"+group+"#"+strconv.Itoa(sale.BucketOf(user, guardBuckets)), user)
}

// guardBuckets spreads the guards of a group, which are written as often as the units of
// all its sales are asked for. It never changes.
const guardBuckets = 1024

func groupKey(group string) item { return key("GROUP#"+group, "GROUP") }

const (
	orderPKHead = "ORDER#"
	orderSK     = "ORDER"
)

// orderPK ends with the id as orderid.String writes it.
func orderPK(id uint64) string {
	pk := append(make([]byte, 0, 32), orderPKHead...)
	return string(strconv.AppendUint(pk, id, 10))
}

func orderKey(id uint64) item { return key(orderPK(id), orderSK) }

// refundKey returns the key of a refund due. The sale id is "" if the order is unknown.
func refundKey(saleID, payment string) item { return key("REFUND#"+saleID, payment) }

// paymentKey returns the key of a payment's guard. The payment's id is bounded by
// sale.MaxReference, far below DynamoDB's 2,048 bytes for a partition key.
func paymentKey(payment string) item { return key("PAYMENT#"+payment, "PAYMENT") }

// entryKey returns the key of a user's entry in a draw. A leaf's page is its first byte, so
// the entries of a page are one partition, and the pages of a roll can be made one by one.
func entryKey(saleID string, page byte, user string) item { return key(entryPK(saleID, page), user) }

func entryPK(saleID string, page byte) string { return "ENTRY#" + saleID + "#" + pageName(page) }

// leafKeyKey returns the key of the secret that receipts are made with. It is in a partition of
// its own, because everything else about a draw is public.
func leafKeyKey(saleID string) item { return key("DRAWKEY#"+saleID, "KEY") }

func drawPK(saleID string) string { return "DRAW#" + saleID }

func drawHeadKey(saleID string) item { return key(drawPK(saleID), "HEAD") }

// callHead begins the sort keys of a draw's calls.
const callHead = "CALL#"

// callKey returns the key of a call. The numbers are padded, so that they sort.
func callKey(saleID string, number int64) item {
	return key(drawPK(saleID), fmt.Sprintf("%s%010d", callHead, number))
}

func rollPK(saleID string) string { return "ROLL#" + saleID }

// rollKey returns the key of a part of a page.
func rollKey(saleID string, page byte, part int) item {
	return key(rollPK(saleID), pageName(page)+"#"+strconv.Itoa(part))
}

func pageName(page byte) string { return fmt.Sprintf("%02x", page) }

func sequenceKey(day string) item { return key("SEQ#"+day, "SEQ") }
