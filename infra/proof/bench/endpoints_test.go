package bench

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"flashsale/shared/sale"
)

const (
	table    = "Ledger"
	saleID   = "moutai"
	shards   = 50
	buckets  = 13
	claimID  = "5LJQBKBVNQ2XRCM7KD3V4HTYWA"
	queueURL = "https://sqs.eu-central-1.amazonaws.com/123456789012/OrderQueue"
)

// endpoints answer the operations of DynamoDB and SQS, each with constant JSON. They cost
// little, because their cost is on both sides of every comparison.
type endpoints map[string]string

// getSale is the GetItem of a sale, as opposed to that of a claim.
const getSale = "GetItem SALE"

func (e endpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, _ := io.ReadAll(r.Body)                                  // fails only if the caller has gone
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".") // "DynamoDB_20120810.GetItem"
	if operation == "GetItem" && bytes.Contains(request, []byte(`"SALE#`)) {
		operation = getSale
	}
	status, answer := http.StatusOK, e[operation]
	switch {
	case operation == "SendMessage":
		answer = sent(request)
	case answer == "":
		answer = `{"__type":"com.amazonaws#ValidationException","message":"no answer for ` + operation + `"}`
	}
	if strings.HasPrefix(answer, `{"__type"`) {
		status = http.StatusBadRequest
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(answer))), 10)) // which the client checks
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
}

// sent acknowledges a message with the digest of its body, which the client compares.
func sent(request []byte) string {
	var in struct{ MessageBody string }
	_ = json.Unmarshal(request, &in) // the client refuses any other digest
	return fmt.Sprintf(`{"MessageId":"380f4dc3-3844-4c8a-8806-2b1fbd872a04","MD5OfMessageBody":"%x"}`, md5.Sum([]byte(in.MessageBody)))
}

// openSale is GetItem's answer for an open sale; empty are its shards without stock.
func openSale(empty string) string {
	now := time.Now()
	return fmt.Sprintf(`{"Item":{"pk":{"S":"SALE#%s"},"sk":{"S":"SALE"},"name":{"S":"Feitian Moutai"},"opensAt":{"N":"%d"},"closesAt":{"N":"%d"},`+
		`"changedAt":{"N":"0"},"paused":{"BOOL":false},"seeded":{"N":"100000"},"shards":{"N":"%d"},"buckets":{"N":"%d"},"version":{"N":"1"},`+
		`"state":{"S":"OPEN"}%s}}`, saleID, now.Add(-time.Hour).UnixMilli(), now.Add(24*time.Hour).UnixMilli(), shards, buckets, empty)
}

// claimItem is the claim of a user; its other attributes follow.
func claimItem(user, others string) string {
	return fmt.Sprintf(`{"pk":{"S":"CLAIM#%s#%d"},"sk":{"S":%q},"claimId":{"S":%q},"shard":{"N":"7"},"acceptedAt":{"N":"%d"}%s}`,
		saleID, sale.BucketOf(user, buckets), user, claimID, time.Now().UnixMilli(), others)
}

const ordered = `,"orderId":{"N":"407422741651947521"}`

// accepting endpoints answer a purchase that is accepted.
func accepting() endpoints { return endpoints{getSale: openSale(""), "TransactWriteItems": `{}`} }

// refusing endpoints cancel a purchase, because its user holds a confirmed claim.
func refusing() endpoints {
	return endpoints{getSale: openSale(""), "TransactWriteItems": `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",` +
		`"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]",` +
		`"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"The conditional request failed","Item":` +
		claimItem(userOf(0), ordered) + `}]}`}
}

// soldOut endpoints have a sale without stock, in which the user has no claim.
func soldOut() endpoints {
	empty := make([]string, shards)
	for k := range empty {
		empty[k] = strconv.Quote(strconv.Itoa(k))
	}
	return endpoints{getSale: openSale(`,"empty":{"NS":[` + strings.Join(empty, ",") + `]}`), "GetItem": `{}`}
}

// holding endpoints have a user's confirmed claim.
func holding() endpoints {
	return endpoints{getSale: openSale(""), "GetItem": `{"Item":` + claimItem(userOf(0), ordered) + `}`}
}

// finalizing endpoints answer for a batch of so many pending claims: found, numbered, confirmed
// and recorded, the same every time.
func finalizing(messages int) endpoints {
	claims, each := make([]string, messages), make([]string, messages)
	for i := range messages {
		claims[i] = claimItem(userOf(i), "")
		each[i] = `{"TableName":"` + table + `"}`
	}
	return endpoints{
		getSale:                 openSale(""),
		"BatchGetItem":          `{"Responses":{"` + table + `":[` + strings.Join(claims, ",") + `]},"UnprocessedKeys":{}}`,
		"UpdateItem":            `{"Attributes":{"next":{"N":"100000"}}}`,
		"BatchExecuteStatement": `{"Responses":[` + strings.Join(each, ",") + `]}`,
	}
}
