package bench

import (
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

func (e endpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, _ := io.ReadAll(r.Body)                                  // fails only if the caller has gone
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".") // "DynamoDB_20120810.GetItem"
	status, answer := http.StatusOK, e[operation]
	switch {
	case operation == "SendMessage":
		answer = sent(request)
	case answer == "":
		status, answer = http.StatusBadRequest, `{"__type":"com.amazonaws#ValidationException","message":"no answer for `+operation+`"}`
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

// openSale is GetItem's answer for an open sale with stock in every shard.
func openSale() string {
	now := time.Now()
	return fmt.Sprintf(`{"Item":{"pk":{"S":"SALE#%s"},"sk":{"S":"SALE"},"name":{"S":"Feitian Moutai"},"opensAt":{"N":"%d"},"closesAt":{"N":"%d"},`+
		`"changedAt":{"N":"0"},"paused":{"BOOL":false},"seeded":{"N":"100000"},"shards":{"N":"%d"},"buckets":{"N":"%d"},"version":{"N":"1"},`+
		`"state":{"S":"OPEN"}}}`, saleID, now.Add(-time.Hour).UnixMilli(), now.Add(24*time.Hour).UnixMilli(), shards, buckets)
}

// accepting endpoints answer a purchase that is accepted.
func accepting() endpoints { return endpoints{"GetItem": openSale(), "TransactWriteItems": `{}`} }

// finalizing endpoints answer for a batch of so many pending claims: found, numbered, confirmed
// and recorded, the same every time.
func finalizing(messages int) endpoints {
	claims, each := make([]string, messages), make([]string, messages)
	for i := range messages {
		user := userOf(i)
		claims[i] = fmt.Sprintf(`{"pk":{"S":"CLAIM#%s#%d"},"sk":{"S":%q},"claimId":{"S":%q},"shard":{"N":"7"},"acceptedAt":{"N":"%d"}}`,
			saleID, sale.BucketOf(user, buckets), user, claimID, time.Now().UnixMilli())
		each[i] = `{"TableName":"` + table + `"}`
	}
	return endpoints{
		"GetItem":               openSale(),
		"BatchGetItem":          `{"Responses":{"` + table + `":[` + strings.Join(claims, ",") + `]},"UnprocessedKeys":{}}`,
		"UpdateItem":            `{"Attributes":{"next":{"N":"100000"}}}`,
		"BatchExecuteStatement": `{"Responses":[` + strings.Join(each, ",") + `]}`,
	}
}
