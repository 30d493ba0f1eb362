#!/bin/bash
# How much went back? An event of Stripe (charge.refunded) and a refund, by Stripe's own library for Go.
#
# One would guess: Event.GetObjectValue, which gives a member of the event's object as a text, gives a whole number's digits, as the
# event has them; and a refund that was written as JSON and read again is the same refund.
# It is so:
# - An amount of 1,000,000 or more (10,000.00 yuan) has an exponent: 1499000 is "1.499e+06", which strconv.ParseInt refuses, and a shop
#   that sells cheaper things never sees it. Each time (created) is "1.764324e+09". GetPreviousValue does the same.
# - A charge or payment intent that is an id is written as a whole object of zeros. Who reads it has a charge of which nothing was paid or
#   refunded, and a refund's charge that Stripe was asked to expand looks no different. Read from Stripe itself, such a charge has its id.
#
# Needs Go 1.25 or newer, and the module proxy.
set -euo pipefail
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$made"
export GOFLAGS=-mod=mod CGO_ENABLED=0

cat >main.go <<'EOF2'
package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/stripe/stripe-go/v84"
)

func main() {
	for _, amount := range []int{999999, 1000000, 1499000, 1234567} {
		var e stripe.Event
		if err := json.Unmarshal(fmt.Appendf(nil, `{"id":"evt_1","object":"event","type":"charge.refunded","created":1764324000,"data":{"object":{
			"id":"ch_1","object":"charge","created":1764324000,"currency":"cny","amount":%d,"amount_refunded":%[1]d,"payment_intent":"pi_1"
			},"previous_attributes":{"amount_refunded":0}}}`, amount), &e); err != nil {
			fmt.Println(err)
			return
		}
		said := e.GetObjectValue("amount_refunded")
		_, err := strconv.ParseInt(said, 10, 64)
		fmt.Printf("amount_refunded %d: %q, a whole number: %v; created %q\n", amount, said, err == nil, e.GetObjectValue("created"))
	}

	var refund, again stripe.Refund
	if err := json.Unmarshal([]byte(`{"id":"re_1","object":"refund","amount":149900,"currency":"cny","charge":"ch_1","status":"succeeded"}`), &refund); err != nil {
		fmt.Println(err)
		return
	}
	written, err := json.Marshal(refund)
	fmt.Println("written with a charge of zeros:", err == nil && strings.Contains(string(written), `"charge":{"amount":0,"amount_captured":0,"amount_refunded":0,`))
	err = json.Unmarshal(written, &again)
	fmt.Printf("read again: %v, amount %d, charge %s, paid %v, refunded %v\n", err, again.Amount, again.Charge.ID, again.Charge.Paid, again.Charge.Refunded)
}
EOF2
{ go mod init try && go get github.com/stripe/stripe-go/v84@v84.4.1 && go mod tidy; } >log 2>&1 || { cat log >&2; exit 1; }
{ go list -m github.com/stripe/stripe-go/v84; go run .; } | tee /dev/stderr | diff - <(cat <<'EOF2'
github.com/stripe/stripe-go/v84 v84.4.1
amount_refunded 999999: "999999", a whole number: true; created "1.764324e+09"
amount_refunded 1000000: "1e+06", a whole number: false; created "1.764324e+09"
amount_refunded 1499000: "1.499e+06", a whole number: false; created "1.764324e+09"
amount_refunded 1234567: "1.234567e+06", a whole number: false; created "1.764324e+09"
written with a charge of zeros: true
read again: <nil>, amount 149900, charge ch_1, paid false, refunded false
EOF2
)
