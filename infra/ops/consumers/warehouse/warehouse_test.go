package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/consumers/internal/lives"
	"flashsale/shared/eventbus"
)

func TestTheExportSaysHowAnOrderStandsInWhicheverOrderItsEventsCome(t *testing.T) {
	for name, l := range lives.All() {
		amount := map[bool]string{true: "899.00,CNY", false: ","}[l.Payment != ""]
		cell := func(text string) string {
			if text == "" {
				return ""
			}
			return `"'` + strings.ReplaceAll(text, ";", ";'") + `"`
		}
		want := strings.Join([]string{cell("moutai"), cell("523415642750058497"), cell(l.User), l.State, cell(l.Since.Format(time.RFC3339)), cell(l.Payment), amount, cell("sku=0042"), l.Held, fmt.Sprint(max(1, l.Events[0].Units))}, ",")
		for _, all := range lives.InEveryOrder(l.Events) {
			w := &warehouse{db: dynamotest.New(dynamotest.Table{Name: "Orders", PK: "orderId"}), table: "Orders"}
			for _, e := range slices.Concat(lives.Others(), all) {
				if err := w.handle(t.Context(), lives.Delivered(e)); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			if err := w.export(t.Context(), &out); err != nil {
				t.Fatal(err)
			}
			if got := "\ufeffsale,order,user,state,since,payment,amount,currency,labels,held,units\n" + want + "\n"; got != out.String() {
				t.Fatalf("%s, in the order %v: got\n%s\nwant\n%s", name, all, &out, got)
			}
		}
	}
}

// Whoever exports while a consumer has died in between, before the event is delivered again, must not deliver one of two.
func TestNoExportHasAnOrderWithoutItsUnits(t *testing.T) {
	paid := lives.Delivered(lives.All()["two units, paid and recalled"].Events[1])
	for writes := range 3 {
		db := dynamotest.New(dynamotest.Table{Name: "Orders", PK: "orderId"})
		w, made := &warehouse{db: db, table: "Orders"}, 0
		db.Fault = dynamotest.On("UpdateItem", "", func(dynamotest.Call) dynamotest.Fault {
			if made++; made > writes {
				return dynamotest.Fault{Kind: dynamotest.ServerError}
			}
			return dynamotest.Fault{}
		})
		if err := w.handle(t.Context(), paid); err == nil && writes < 2 {
			t.Errorf("after %d writes, the event is not delivered again", writes)
		}
		var out bytes.Buffer
		if err := w.export(t.Context(), &out); err != nil || strings.HasSuffix(out.String(), ",1\n") {
			t.Errorf("after %d writes: %s (%v), want 2 units", writes, &out, err)
		}
	}
}

func TestWhatCannotBeReadOrKeptIsAnError(t *testing.T) {
	w := &warehouse{db: dynamotest.New(dynamotest.Table{Name: "Orders", PK: "orderId"}), table: "none"}
	of := lives.All()["paid"].Events
	for _, detail := range []string{`{"schemaVersion":3,"id":"x"}`, string(eventbus.Detail(of[0]))} {
		if err := w.handle(t.Context(), events.EventBridgeEvent{DetailType: "OrderConfirmed", Detail: []byte(detail)}); err == nil {
			t.Errorf("%s was dropped", detail)
		}
	}
	if err := w.export(t.Context(), &bytes.Buffer{}); err == nil {
		t.Error("a table that is not there was exported")
	}
}
