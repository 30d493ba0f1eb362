package dynamotest

import (
	"strings"
	"sync"
)

// Throughout fails each call of that operation ("" is any) on an item that has that text in its key, but for the first ones:
// after them the item answers nobody any more. In a batch it spares the other items, as DynamoDB
// does. met counts the calls on the item.
func Throughout(op, key string, first int) (fault func(Call) Fault, met func() int) {
	var mu sync.Mutex
	calls := 0
	met = func() int {
		mu.Lock()
		defer mu.Unlock()
		return calls
	}
	return func(c Call) Fault {
		var items []int
		for i, k := range c.Keys {
			if (op == "" || op == c.Op) && strings.Contains(k, key) {
				items = append(items, i)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if items == nil {
			return Fault{}
		}
		if calls++; calls <= first {
			return Fault{}
		}
		if c.Op == "BatchGetItem" {
			return Fault{Kind: Unprocessed, Items: items}
		}
		return Fault{Kind: Throttle, Items: items}
	}, met
}
