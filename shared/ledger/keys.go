package ledger

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/orderid"
)

// The keys of the table. Every variable part is a validated id without '#', a
// number or a date, except the user, who stands alone in a sort key: no two
// different things share a key (P13).
const (
	attrPK = "pk"
	attrSK = "sk"
)

// item is a stored item, or a key.
type item = map[string]types.AttributeValue

func key(pk, sk string) item {
	return item{attrPK: str(pk), attrSK: str(sk)}
}

func saleKey(saleID string) item       { return key("SALE#"+saleID, "SALE") }
func createKey(saleID string) item     { return key("SALE#"+saleID, "CREATE") }
func listingKey(saleID string) item    { return key("SALES", saleID) }
func seedKey(saleID, seed string) item { return key("SALE#"+saleID, "SEED#"+seed) }

func seedShardKey(saleID, seed string, shard int) item {
	return key("SALE#"+saleID, "SEED#"+seed+"#"+strconv.Itoa(shard))
}

func stockKey(saleID string, shard int) item {
	return key("STOCK#"+saleID+"#"+strconv.Itoa(shard), "STOCK")
}

func claimKey(saleID string, bucket int, user string) item {
	return key("CLAIM#"+saleID+"#"+strconv.Itoa(bucket), user)
}

func orderKey(id uint64) item { return key("ORDER#"+orderid.String(id), "ORDER") }

func sequenceKey(day string) item { return key("SEQ#"+day, "SEQ") }
