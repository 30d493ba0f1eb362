package change

import "slices"

// fields lists the fields of each action besides action and saleId.
var fields = map[string][]string{
	"create": {
		"name", "opensAt", "closesAt", "stock", "shards", "ordersPerSecond", "maxStock", "payWithin", "lateDays", "price",
		"currency", "labels", "limitGroup", "image", "about", "link", "enterFrom", "enterUntil", "keepHours",
	},
	"add":        {"seedId", "stock", "actor", "note", "seen"},
	"withdraw":   {"seedId", "stock", "actor", "note", "seen"},
	"pause":      {"at", "actor", "note", "changeId"},
	"resume":     {"at", "actor", "note", "changeId", "seen"},
	"reschedule": {"opensAt", "closesAt", "until", "at", "actor", "note", "changeId", "seen"},
	"extend":     {"until", "at", "actor", "note", "changeId", "seen"},
	"describe":   {"name", "image", "about", "link", "actor", "note", "changeId", "seen"},
	"recall":     {"actor", "note", "changeId"},
	"cancel":     {"orderId", "saw", "unit", "actor", "note", "changeId"},
}

// Takes returns the fields of an action's request besides action and saleId.
func Takes(action string) []string { return slices.Clone(fields[action]) }

// operated lists the fields of each action on the operators' API besides action, id and note. A
// pause and a recall always get through, and the cancellation of an order says what was seen of that: they
// take no seen. The others need it.
var operated = map[string][]string{
	"add":        {"stock", "seen"},
	"withdraw":   {"stock", "seen"},
	"pause":      {},
	"resume":     {"seen"},
	"reschedule": {"opensAt", "closesAt", "until", "seen"},
	"extend":     {"until", "seen"},
	"describe":   {"name", "image", "about", "link", "seen"},
	"recall":     {},
	"cancel":     {"orderId", "saw", "unit"},
}
