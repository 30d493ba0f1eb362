package operator

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestABuyersStoryIsPrintedInItsOrder(t *testing.T) {
	for said, want := range map[string]string{
		`{"state":"CONFIRMED","claimId":"C1","lines":[{"at":"2026-11-11T12:00:00.000Z","text":"accepted: claim C1"},{"at":"2026-11-11T12:00:02.000Z","text":"confirmed: order 7"}],"forBuyer":"your order is 7"}`: "2026-11-11T12:00:00.000Z  accepted: claim C1\n2026-11-11T12:00:02.000Z  confirmed: order 7\nfor the buyer: your order is 7\n",
		`{"state":"PENDING","claimId":"C1","lines":[{"at":"2026-11-11T12:00:00.000Z","text":"accepted: claim C1"},{"text":"pending for 2m41s"}],"forBuyer":"its number will follow"}`:                             "2026-11-11T12:00:00.000Z  accepted: claim C1\nnow                       pending for 2m41s: it is on its way\nfor the buyer: its number will follow\n",
		`{"state":"NONE","lines":[{"text":"Alice has no claim in sale moutai"},{"at":"2026-11-11T12:00:30.000Z","text":"3 units were added"}],"forBuyer":"no order was accepted"}`:                                "Alice has no claim in sale moutai\n2026-11-11T12:00:30.000Z  3 units were added\nfor the buyer: no order was accepted\n",
	} {
		var s story
		if err := json.Unmarshal([]byte(said), &s); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if s.print(&out, func() string { return "it is on its way" }); out.String() != want {
			t.Errorf("%s is printed as\n%swant\n%s", said, &out, want)
		}
	}
}
