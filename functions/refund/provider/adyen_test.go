package provider

import "testing"

const adyenMade = `{"merchantAccount":"ShopCN","paymentPspReference":"QFQTPCQ8HXSKGK82","reference":"` + someID + `","pspReference":"JDD6LKT8MBLZNN84","status":"received"}`

func TestAdyenIsAskedForAReversalUnderOneKey(t *testing.T) {
	p, calls := serve(t, Adyen, said{201, adyenMade, nil})
	p.Send(t.Context(), request(Adyen))
	calls()[0].is(t, "POST", "/adyen/v71/payments/QFQTPCQ8HXSKGK82/reversals", `{"merchantAccount":"ShopCN","reference":"`+someID+`"}`,
		"X-Api-Key: AQE,\"x", "Idempotency-Key: "+someID, "Content-Type: application/json")
	for _, reference := range []string{"", "..", "A/cancels?", "A#"} {
		r := request(Adyen)
		if r.Reference = reference; p.Send(t.Context(), r).Code != "reference" || len(calls()) != 1 {
			t.Errorf("%q is a reference, %d requests", reference, len(calls()))
		}
	}
	if p.Account() != "live:ShopCN" || p.Ask(t.Context(), request(Adyen)).Outcome != Unknown || len(calls()) != 1 {
		t.Errorf("account %s, %d requests", p.Account(), len(calls()))
	}
}

func TestWhatAdyensAnswersMean(t *testing.T) {
	one := func(status int, want string, changes ...string) fate {
		return fate{[]said{{status, members(adyenMade, changes...), nil}}, want}
	}
	says := func(status int, code, want string, transient ...string) fate {
		a := said{status, `{"status":422,"errorCode":"` + code + `","message":"Words.","errorType":"validation","pspReference":"X"}`, nil}
		if transient != nil {
			a.header = map[string]string{"Transient-Error": transient[0]}
		}
		return fate{[]said{a}, want}
	}
	const accepted, other = "accepted JDD6LKT8MBLZNN84", "unknown not-its-answer*"
	meet(t, Adyen, false, map[string]fate{
		"it was received":           one(201, accepted),
		"it was received, with 200": one(200, accepted),
		"another state":             one(201, other, "status", `"refused"`),
		"a state that is a number":  one(201, other, "status", `200`),
		"without an id":             one(201, other, "pspReference", `""`),
		"another payment's":         one(201, other, "paymentPspReference", `"QFQTPCQ8HXSKGK83"`),
		"another merchant's":        one(201, other, "merchantAccount", `"ShopUS"`),
		"another request's":         one(201, other, "reference", `"`+otherID+`"`),
		"a wrong key":               says(401, "000", "halted 000 Words."),
		"a key without rights":      says(403, "010", "halted 010 Words."),
		"a refusal":                 says(422, "167", "refused 167 Words."),
		"a wrong request":           says(400, "702", "refused 702 Words."),
		"no such payment":           says(404, "", "refused HTTP 404 Words."),
		"a refusal for now":         says(422, "900", "unknown 900 Words.", "true"),
		"a refusal, not for now":    says(422, "167", "refused 167 Words.", "false"),
		"in progress":               says(422, "704", "unknown 704 Words."),
		"a limit":                   says(429, "29_001", "busy 29_001 Words."),
	})
}
