package main

import (
	"fmt"
	"net/http"
	"strings"

	"flashsale/shared/sale"
)

// buckets of the sale that every case buys from.
const buckets = 13

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
