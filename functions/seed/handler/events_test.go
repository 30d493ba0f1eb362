package handler

import (
	"fmt"
	"testing"

	"flashsale/shared/sale"
)

func TestEveryEventOfThisFunctionDoesItsPart(t *testing.T) {
	// In this order they are the life of one sale. The clock stands still, so each edit
	// without an instant is a millisecond later than the previous one.
	holds := func(paused bool, changedAt string) string {
		return fmt.Sprintf(`,"applied":true,"paused":%t,"opensAt":"2026-01-01T00:00:00.000Z","closesAt":"2036-01-01T00:00:00.000Z","changedAt":%q}`,
			paused, changedAt)
	}
	tests := [][2]string{ // names and answers
		{"seed-create.json", `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`},
		{"seed-pause-scheduled.json", `{"saleId":"moutai","seeded":100,"shards":5` + holds(true, "2026-01-01T12:00:00.000Z")},
		{"seed-pause.json", `{"saleId":"moutai","seeded":100,"shards":5` + holds(true, "2026-01-02T00:00:00.000Z")},
		{"seed-add.json", `{"saleId":"moutai","seeded":150,"shards":5,"applied":true}`},
		{"seed-withdraw.json", `{"saleId":"moutai","seeded":130,"shards":5,"applied":true,"withdrawn":20}`},
		{"seed-resume.json", `{"saleId":"moutai","seeded":130,"shards":5` + holds(false, "2026-01-02T00:00:00.001Z")},
		{"seed-reschedule.json", `{"saleId":"moutai","seeded":130,"shards":5` + holds(false, "2026-01-02T00:00:00.002Z")},
		{"seed-describe.json", `{"saleId":"moutai","seeded":130,"shards":5,"applied":true,"name":"Feitian Moutai 2026","about":"53 % vol., 500 ml.\nA numbered bottle.","link":"https://shop.example/moutai"}`},
		{"seed-recall.json", `{"saleId":"moutai","seeded":130,"shards":5,"applied":true,"paused":true,"opensAt":"2026-01-01T00:00:00.000Z",` +
			`"closesAt":"2036-01-01T00:00:00.000Z","changedAt":"2026-01-02T00:00:00.003Z","recalledAt":"2026-01-02T00:00:00.003Z"}`},
	}
	in(t, func(t *testing.T, f *function) {
		for _, tt := range tests {
			f.succeed(t, event(t, tt[0]), tt[1])
		}
		f.refuse(t, event(t, "seed-invalid.json"), sale.InvalidRequest)
	})
}
