package change

import "slices"

// fields lists the fields of each action besides action and saleId.
var fields = map[string][]string{
	"create": {
		"name", "opensAt", "closesAt", "stock", "shards", "ordersPerSecond", "maxStock", "maxPerOrder", "payWithin",
		"lateDays", "price", "currency", "extras", "labels", "limitGroup", "image", "about", "link", "enterFrom",
		"enterUntil", "keepHours",
	},
	"add":        {"seedId", "stock", "actor", "note", "version"},
	"withdraw":   {"seedId", "stock", "actor", "note", "version"},
	"pause":      {"at", "actor", "note", "changeId"},
	"resume":     {"at", "actor", "note", "changeId", "version"},
	"reschedule": {"opensAt", "closesAt", "until", "at", "actor", "note", "changeId", "version"},
	"extend":     {"until", "at", "actor", "note", "changeId", "version"},
	"describe":   {"name", "image", "about", "link", "actor", "note", "changeId", "version"},
	"recall":     {"actor", "note", "changeId"},
	"cancel":     {"orderId", "expected", "unit", "actor", "note", "changeId"},
}

// Takes returns the fields of an action's request besides action and saleId.
func Takes(action string) []string { return slices.Clone(fields[action]) }

// operated lists the fields of each action on the operators' API besides action, id and note. A
// pause and a recall always get through, and the cancellation of an order says which state is expected: they
// take no version. The others need it.
var operated = map[string][]string{
	"add":        {"stock", "version"},
	"withdraw":   {"stock", "version"},
	"pause":      {},
	"resume":     {"version"},
	"reschedule": {"opensAt", "closesAt", "until", "version"},
	"extend":     {"until", "version"},
	"describe":   {"name", "image", "about", "link", "version"},
	"recall":     {},
	"cancel":     {"orderId", "expected", "unit"},
}
