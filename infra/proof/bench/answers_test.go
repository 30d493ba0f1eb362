package bench

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"flashsale/shared/sale"
)

const (
	table  = "Ledger"
	saleID = "moutai"
	shards = 50
	// buckets of the sale that every case buys from.
	buckets = 13
)

// saleAnswer is GetItem's answer for an open sale with stock in every shard or in none.
func saleAnswer(soldOut bool) answer {
	now := time.Now()
	empty := ""
	if soldOut {
		ks := make([]string, shards)
		for k := range ks {
			ks[k] = strconv.Quote(strconv.Itoa(k))
		}
		empty = `,"empty":{"NS":[` + strings.Join(ks, ",") + `]}`
	}
	return answerOf(http.StatusOK, fmt.Sprintf(`{"Item":{"pk":{"S":"SALE#%s"},"sk":{"S":"SALE"},"name":{"S":"Feitian Moutai"},`+
		`"opensAt":{"N":"%d"},"closesAt":{"N":"%d"},"changedAt":{"N":"0"},"paused":{"BOOL":false},"seeded":{"N":"100000"},`+
		`"shards":{"N":"%d"},"buckets":{"N":"%d"},"version":{"N":"1"},"state":{"S":"OPEN"}%s}}`,
		saleID, now.Add(-time.Hour).UnixMilli(), now.Add(24*time.Hour).UnixMilli(), shards, buckets, empty))
}

// claimText is a claim item, confirmed if it has an order id.
func claimText(pk, user, orderID string) string {
	text := fmt.Sprintf(`{"pk":{"S":%q},"sk":{"S":%q},"claimId":{"S":%q},"shard":{"N":"7"},"acceptedAt":{"N":"%d"}`,
		pk, user, claimID, time.Now().UnixMilli())
	if orderID != "" {
		text += `,"orderId":{"N":"` + orderID + `"}`
	}
	return text + "}"
}

const (
	claimID = "5LJQBKBVNQ2XRCM7KD3V4HTYWA"
	orderID = "407422741651947521"
)

// takenAnswer cancels a purchase: its user already holds a confirmed claim.
func takenAnswer() answer {
	return answerOf(http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",`+
		`"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]",`+
		`"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"The conditional request failed","Item":`+
		claimText(claimKey("alice"), "alice", orderID)+`}]}`)
}

func done() answer { return answerOf(http.StatusOK, `{}`) }

func claimKey(user string) string {
	return fmt.Sprintf("CLAIM#%s#%d", saleID, sale.BucketOf(user, buckets))
}

// finalizeEndpoints answer for a batch of pending claims of these users: found,
// numbered, confirmed and recorded, the same every time.
func finalizeEndpoints(users []string) endpoints {
	items := make([]string, len(users))
	for i, user := range users {
		items[i] = claimText(claimKey(user), user, "")
	}
	each := make([]string, len(users))
	for i := range each {
		each[i] = `{"TableName":"` + table + `"}`
	}
	return endpoints{
		getSale:                 saleAnswer(false),
		"BatchGetItem":          answerOf(http.StatusOK, `{"Responses":{"`+table+`":[`+strings.Join(items, ",")+`]},"UnprocessedKeys":{}}`),
		"UpdateItem":            answerOf(http.StatusOK, `{"Attributes":{"next":{"N":"100000"}}}`),
		"PutItem":               done(),
		"BatchExecuteStatement": answerOf(http.StatusOK, `{"Responses":[`+strings.Join(each, ",")+`]}`),
		"TransactWriteItems":    done(),
	}
}
