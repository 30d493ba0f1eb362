package provider

import (
	"strings"
	"testing"
)

// stripeMade is the refund of the request.
const stripeMade = `{"object":"refund","id":"re_1","payment_intent":"pi_1","amount":179900,"currency":"cny","status":"succeeded","failure_reason":null,"metadata":{"flashsale":"` + someID + `"}}`

func stripeError(status int, kind, code, words string) said {
	return said{status, `{"error":{"type":"` + kind + `","code":"` + code + `","message":"` + words + `","charge":"ch_1"}}`, nil}
}

func stripeList(more string, all ...string) said {
	return said{200, `{"object":"list","url":"/v1/refunds","has_more":` + more + `,"data":[` + strings.Join(all, ",") + `]}`, nil}
}

func TestStripeIsAskedForTheWholeSumUnderOneKey(t *testing.T) {
	headers := []string{"Authorization: Bearer rk_live_51Abc", "Stripe-Version: 2025-03-31.basil"}
	p, calls := serve(t, Stripe, said{200, stripeMade, nil})
	p.Send(t.Context(), request(Stripe))
	calls()[0].is(t, "POST", "/stripe/v1/refunds", "amount=179900&metadata%5Bflashsale%5D="+someID+"&payment_intent=pi_1",
		append(headers, "Idempotency-Key: "+someID, "Content-Type: application/x-www-form-urlencoded")...)
	p.Ask(t.Context(), request(Stripe))
	calls()[1].is(t, "GET", "/stripe/v1/refunds?limit=100&payment_intent=pi_1", "", append(headers, "Idempotency-Key: ")...)
	if p.Account() != "live" {
		t.Errorf("the account is %s", p.Account())
	}
	for code, want := range map[string]string{"ISK": "amount=17990000&", "UGX": "amount=17990000&", "MGA": "amount=1799&", "JPY": "amount=179900&", "KWD": "amount=179900&"} {
		r := request(Stripe)
		r.Currency = code
		if p.Send(t.Context(), r); !strings.HasPrefix(calls()[len(calls())-1].body, want) {
			t.Errorf("%s: %s, want %s", code, calls()[len(calls())-1].body, want)
		}
	}
	sent := len(calls())
	for _, code := range []string{"MGA", "ZZZ", "cny"} {
		r := request(Stripe)
		r.Amount, r.Currency = 179950, code
		if a := p.Send(t.Context(), r); a.Outcome != Refused || a.Code != "currency" || len(calls()) != sent {
			t.Errorf("179950 %s: %+v after %d requests", code, a, len(calls())-sent)
		}
	}
}

func TestWhatStripesAnswersMean(t *testing.T) {
	const done, failed = " | done re_1 179900 CNY 2026-11-29T04:00:00Z", " | failed re_1 179900 CNY 2026-11-29T04:00:00Z"
	one := func(want string, changes ...string) fate {
		return fate{[]said{{200, members(stripeMade, changes...), nil}}, want}
	}
	refused := func(status int, kind, code, want string) fate {
		return fate{[]said{stripeError(status, kind, code, "Words.")}, want}
	}
	const request, other = "invalid_request_error", "unknown not-its-answer*"
	byHand := members(stripeMade, "id", `"re_2"`, "amount", "100", "flashsale", `"by hand"`)
	again := stripeError(400, request, "charge_already_refunded", "Words.")
	modes := "No such payment_intent: 'pi_1'; a similar object exists in live mode, but a test mode key was used to make this request."
	meet(t, Stripe, false, map[string]fate{
		"it succeeded":         one("accepted re_1" + done),
		"it is under way":      one("accepted re_1", "status", `"pending"`),
		"the buyer must act":   one("accepted re_1", "status", `"requires_action"`),
		"it failed":            one("refused re_1 failed expired_or_canceled_card"+failed, "status", `"failed"`, "failure_reason", `"expired_or_canceled_card"`),
		"it was canceled":      one("refused re_1 canceled"+failed, "status", `"canceled"`),
		"a state unheard of":   one(other, "status", `"reversed"`),
		"another request's":    one(other, "flashsale", `"`+otherID+`"`),
		"another payment's":    one(other, "payment_intent", `"pi_2"`),
		"another sum":          one(other, "amount", "179901"),
		"another currency":     one(other, "currency", `"usd"`),
		"no refund":            one(other, "object", `"charge"`),
		"without an id":        one(other, "id", `""`),
		"a wrong key":          refused(401, request, "", "halted "+request+" Words."),
		"an expired key":       refused(400, request, "api_key_expired", "halted api_key_expired Words."),
		"a key without rights": refused(403, request, "", "halted "+request+" Words."),
		"another mode's key":   {[]said{stripeError(404, request, "resource_missing", modes)}, "halted resource_missing " + modes},
		"a refusal":            refused(400, request, "charge_disputed", "refused charge_disputed Words."),
		"no such payment":      refused(404, request, "resource_missing", "halted other-account Words."),
		"the key's other use":  refused(400, "idempotency_error", "", "unknown idempotency_error Words."),
		"Stripe's error":       refused(400, "api_error", "", "unknown api_error Words."),
		"a limit":              refused(429, request, "rate_limit", "busy rate_limit Words."),

		"it was made before":            {[]said{again, stripeList("false", byHand, stripeMade)}, "accepted re_1 | done re_2 100 CNY 2026-11-29T04:00:00Z" + done},
		"others gave all back":          {[]said{again, stripeList("false", byHand)}, "refused charge_already_refunded Words. | done re_2 100 CNY 2026-11-29T04:00:00Z"},
		"all is back, and not told how": {[]said{again, {500, "", nil}}, "unknown HTTP 500"},
	})
	meet(t, Stripe, true, map[string]fate{
		"it is there":             {[]said{stripeList("false", stripeMade)}, "accepted re_1" + done},
		"it is there, and failed": {[]said{stripeList("false", members(stripeMade, "status", `"failed"`))}, "refused re_1 failed" + failed},
		"it is not there":         {[]said{stripeList("false", byHand)}, "absent | done re_2 100 CNY 2026-11-29T04:00:00Z"},
		"there is none":           {[]said{stripeList("false")}, "absent"},
		"there are more":          {[]said{stripeList("true", byHand)}, "unknown too-many*"},
		"another payment's":       {[]said{stripeList("false", members(byHand, "payment_intent", `"pi_2"`))}, other},
		"without a list":          {[]said{{200, `{"object":"list","has_more":false}`, nil}}, other},
		"no such payment":         refused(404, request, "resource_missing", "halted other-account Words."),
		"a key without rights":    refused(403, request, "", "halted "+request+" Words."),
	})
}
