package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/shared/eventbus"
	"flashsale/shared/ledger"
)

// images are items for which the functions publish every type of event, and each variant.
var images = []string{
	claimImage(``), claimImage(`,"payWithin":{"N":"0"},"price":{"N":"0"}`),
	claimImage(`,"payWithin":{"N":"1800"},"price":{"N":"89900"},"priceCurrency":{"S":"CNY"}`),
	claimImage(`,"paidAt":{"N":"1799668805000"},"payment":{"S":"stripe#pi_1 ä"}`),
	claimImage(`,"paidAt":{"N":"1799668805000"},"payment":{"S":"stripe#pi_1"},"amount":{"N":"89900"},"currency":{"S":"CNY"},"labels":{"S":"sku=A-38,campaign=双十一"}`),
	claimImage(`,"paidAt":{"N":"1799668805000"},"payment":{"S":"stripe#pi_1"},"amount":{"N":"89900"},"currency":{"S":"CNY"},"cancelledAt":{"N":"1799668806000"},"unit":{"S":"back"}`),
	claimImage(`,"releasedAt":{"N":"1799668805000"},"releasedBy":{"S":"operator"},"unit":{"S":"kept"}`),
	claimImage(`,"releasedAt":{"N":"1799668805000"},"releasedBy":{"S":"expiry"}`),
	claimImage(`,"units":{"N":"2"},"payWithin":{"N":"1800"},"price":{"N":"89900"},"priceCurrency":{"S":"CNY"}`),
	claimImage(`,"releasedAt":{"N":"1799668805000"},"releasedBy":{"S":"buyer"}`),
	claimImage(`,"releasedAt":{"N":"1799668805000"},"releasedBy":{"S":"operator"}`),
	refundImage("moutai", "released", true), refundImage("moutai", "other-payment", true), refundImage("moutai", "amount", true), refundImage("moutai", "recalled", true), refundImage("moutai", "cancelled", true),
	refundImage("", "unknown-order", true), refundImage("", "unknown-order", false),
	`{"pk":{"S":"SALE#moutai"},"sk":{"S":"SALE"},"name":{"S":"m"},"opensAt":{"N":"1799668800000"},"closesAt":{"N":"1799672400000"},"paused":{"BOOL":false},"changedAt":{"N":"0"},
	  "seeded":{"N":"1"},"shards":{"N":"1"},"buckets":{"N":"1"},"empty":{"NS":["0"]},"version":{"N":"1"},"state":{"S":"OPEN"}}`,
	`{"pk":{"S":"SALES"},"sk":{"S":"moutai"},"closesAt":{"N":"1799672400000"},"drained":{"BOOL":true}}`,
	accountImage(`"saleId":{"S":"moutai"},"orderId":{"N":"542537637888000001"},`), accountImage(``),
	changeImage("pause", `,"actor":{"S":"ana"},"verified":{"BOOL":true},"note":{"S":"too hot"}`), changeImage("resume", ``), changeImage("reschedule", ``), changeImage("extend", `,"payUntil":{"N":"1799679600000"}`), changeImage("recall", ``), changeImage("call", `,"actor":{"S":"draw"},"note":{"S":"call 1"}`),
	`{"pk":{"S":"DRAW#moutai"},"sk":{"S":"HEAD"},"roll":{"S":"` + strings.Repeat("0a", 32) + `"},"entrants":{"N":"3"},"round":{"N":"21000000"},"closedAt":{"N":"1799668805000"}}`,
	`{"pk":{"S":"CHANGES#moutai"},"sk":{"S":"0000000012"},"id":{"S":"d-1"},"action":{"S":"describe"},"at":{"N":"1799668805000"},"call":{"S":"c-1"},"about":{"S":"x"}}`,
	`{"pk":{"S":"SALE#moutai"},"sk":{"S":"SEED#second"},"units":{"N":"50"},"at":{"N":"1799668805000"},"action":{"S":"add"},"labels":{"S":"sku=A-38"}}`,
	`{"pk":{"S":"SALE#moutai"},"sk":{"S":"SEED#typo"},"units":{"N":"-50"},"at":{"N":"1799668805000"},"action":{"S":"withdraw"},"actor":{"S":"ana"}}`,
}

// accountImage is the account of a payment: a refund that was done and has failed, one of the whole, a total, and a
// dispute in each state.
func accountImage(of string) string {
	const at = `1799668805000`
	quoted := func(text string) string { return strconv.Quote(strings.ReplaceAll(text, "@", at)) }
	return `{"pk":{"S":"MONEY#stripe#pi_1"},"sk":{"S":"MONEY"},"v":{"N":"7"},` + of +
		`"refunds":{"S":` + quoted(`{"re_1":{"state":"failed","amount":89900,"currency":"CNY","heard":{"done":@,"failed":@}},"c":{"state":"done","amount":0,"whole":true,"heard":{"done":@}}}`) + `},
		"total":{"S":` + quoted(`{"amount":89900,"currency":"CNY","heard":@}`) + `},
		"disputes":{"S":` + quoted(`{"dp_1":{"state":"won","rank":3,"heard":{"asked":@,"open":@,"lost":@,"won":@}}}`) + `}}`
}

func changeImage(action, more string) string {
	return fmt.Sprintf(`{"pk":{"S":"CHANGES#moutai"},"sk":{"S":"0000000007"},"id":{"S":"c-1"},"action":{"S":%q},"at":{"N":"1799668805000"},"call":{"S":"c-1"},
	  "paused":{"BOOL":false},"opensAt":{"N":"1799668800000"},"closesAt":{"N":"1799672400000"}%s}`, action, more)
}

func claimImage(more string) string {
	return `{"pk":{"S":"CLAIM#moutai#0"},"sk":{"S":"alice"},"claimId":{"S":"C-1"},"shard":{"N":"0"},"acceptedAt":{"N":"1799668800000"},"orderId":{"N":"542537637888000001"}` + more + `}`
}

func refundImage(of, reason string, ofOrder bool) string {
	order := ""
	if ofOrder {
		order = `"orderId":{"N":"542537637888000001"},`
	}
	return fmt.Sprintf(`{"pk":{"S":"REFUND#%s"},"sk":{"S":"stripe#pi_2"},%s"reason":{"S":%q},"amount":{"N":"199900"},"currency":{"S":"CNY"},"at":{"N":"1799668809000"}}`, of, order, reason)
}

// published are events as EventBridge delivers them: every type that the functions publish, and each variant.
func published(t testing.TB) (all []map[string]any) {
	t.Helper()
	for _, text := range images {
		var image ledger.Image
		if err := json.Unmarshal([]byte(text), &image); err != nil {
			t.Fatal(err)
		}
		var before ledger.Image
		if image["orderId"] != nil && image["claimId"] != nil { // of a claim: it was pending before
			before = maps.Clone(image)
			delete(before, "orderId")
			delete(before, "paidAt")
			delete(before, "releasedAt")
			delete(before, "cancelledAt")
		}
		events, err := ledger.Changes(before, image, time.UnixMilli(1799668810123))
		if err != nil || len(events) == 0 {
			t.Fatalf("%s: %v, %v", text, events, err)
		}
		for _, e := range events {
			all = append(all, delivered(t, string(e.Type), eventbus.Detail(e)))
		}
	}
	return all
}

func delivered(t testing.TB, kind string, detail []byte) map[string]any {
	t.Helper()
	envelope := map[string]any{
		"version": "0", "id": "11112222-3333-4444-5555-666677778888", "detail-type": kind, "source": eventbus.Source, "account": "123456789012",
		"time": "2027-01-11T12:00:05Z", "region": "eu-central-1", "resources": []any{},
	}
	d := json.NewDecoder(bytes.NewReader(detail))
	d.UseNumber()
	var members map[string]any
	if err := d.Decode(&members); err != nil {
		t.Fatal(err)
	}
	envelope["detail"] = members
	return envelope
}
