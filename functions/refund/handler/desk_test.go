package handler

import (
	"testing"
	"time"

	"flashsale/functions/refund/provider"
)

func TestOnlyARefusalHaltsForRefusals(t *testing.T) {
	d := &desk{now: time.Now}
	for range maxRefusals {
		d.hear(provider.Answer{Outcome: provider.Refused, Code: "no"}, false)
	}
	if d.hear(provider.Answer{Outcome: provider.Absent}, false) {
		t.Error("that there is no refund halts the provider, for no reason, in the sending whose turn is next")
	}
}
