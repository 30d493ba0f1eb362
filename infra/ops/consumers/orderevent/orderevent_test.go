package orderevent

import (
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/eventbus"
	"flashsale/shared/sale"
)

func TestAnEventIsReadAsItIsPublished(t *testing.T) {
	at := time.Date(2026, 11, 11, 12, 0, 0, 5e6, time.UTC)
	got, err := Read(events.EventBridgeEvent{ID: "1", DetailType: "OrderReleased", Detail: eventbus.Detail(sale.Event{
		Type: sale.EventReleased, ID: "OrderReleased:7", OccurredAt: at, SaleID: "moutai", OrderID: 7, ClaimID: "C", User: "alice", State: sale.Expired, ReleasedBy: sale.ByExpiry,
		Labels: "sku=A-38,erp=4711",
	})})
	want := Event{Type: "OrderReleased", SchemaVersion: 1, ID: "OrderReleased:7", OccurredAt: at, SaleID: "moutai", OrderID: "7", ClaimID: "C", User: "alice", State: "EXPIRED", ReleasedBy: "expiry",
		Labels: []string{"sku=A-38", "erp=4711"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}
}

func TestALaterReleasesEventIsReadIfItsVersionIsTheSame(t *testing.T) {
	for detail, readable := range map[string]bool{
		`{"schemaVersion":1,"id":"a","added":{"later":true}}`: true,
		`{"schemaVersion":2,"id":"a"}`:                        false,
		`{"schemaVersion":1}`:                                 false,
		`{"schemaVersion":1,"id":`:                            false,
	} {
		if _, err := Read(events.EventBridgeEvent{Detail: []byte(detail)}); (err == nil) != readable {
			t.Errorf("%s: %v", detail, err)
		}
	}
}
