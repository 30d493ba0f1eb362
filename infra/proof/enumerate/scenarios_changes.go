package enumerate

import (
	"slices"
	"strings"

	"flashsale/infra/proof/harness"
)

// changeScenarios are the scenarios in which operators change a sale under ids of their own.
var changeScenarios = []scenario{
	{
		name: "one pause by two operators", stock: 1, shards: 1,
		act:   func(r *run) { r.during(func() { r.change(pauseEvent) }, func() { r.change(pauseEvent) }) },
		check: func(r *run) { r.checkChanges("one") },
	},
	{
		// If its answer is lost, the pause is repeated after the resumption, which it must not undo.
		name: "a resumption during a pause", stock: 1, shards: 1,
		act: func(r *run) {
			r.during(func() {
				r.withoutFaults(func() { r.change(`{"action":"resume","saleId":"` + harness.SaleID + `","changeId":"two"}`) })
			}, func() { r.change(pauseEvent) })
		},
		check: func(r *run) { r.checkChanges("one", "two") },
	},
	{
		name: "a pause and an addition under one id", stock: 1, shards: 1,
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.change(pauseEvent) }) }, func() {
				r.change(`{"action":"add","saleId":"` + harness.SaleID + `","seedId":"one","stock":1}`)
			})
		},
		check: func(r *run) { r.checkChanges("one") },
	},
}

const pauseEvent = `{"action":"pause","saleId":"` + harness.SaleID + `","changeId":"one"}`

// change asks for a change until it is made or refused, and counts who is told that it was made for
// them.
func (r *run) change(event string) {
	answer, _ := r.seed(event)
	if r.told[event] += 0; answer.Applied {
		r.told[event]++
	}
}

// checkChanges expects that the changes with these ids were made, each once and told to one caller
// at most (P32), and that a repeat changes nothing (P9).
func (r *run) checkChanges(want ...string) {
	var made []string
	for _, it := range r.DB.Items(harness.TableName) {
		if strings.HasPrefix(harness.Text(it["pk"]), "CHANGES#") {
			made = append(made, harness.Text(it["id"]))
		}
		if seed, ok := strings.CutPrefix(harness.Text(it["sk"]), "SEED#"); ok && !strings.Contains(seed, "#") {
			made = append(made, seed)
		}
	}
	if slices.Sort(made); !slices.Equal(made, want) {
		r.violate("P32: the changes %q were made, want %q", made, want)
	}
	before := r.DB.Dump()
	for _, event := range harness.Sorted(r.told) {
		if answer, _ := r.seed(event); answer.Applied || r.told[event] > 1 {
			r.violate("P32: %d callers were told that %s was made for them, and then %t", r.told[event], event, answer.Applied)
		}
	}
	if after := r.DB.Dump(); after != before {
		r.violate("P9: repeated changes changed the table from\n%s to\n%s", before, after)
	}
}
