package replies

import (
	"net/http"
	"testing"
	"time"
)

func TestAnAnswerTellsItsClaimAndWhy(t *testing.T) {
	held := Claim{ClaimID: "c", SaleID: "s", State: "PENDING"}
	for _, tt := range []struct {
		name, body, code string
		claim            Claim
	}{
		{"an acceptance", `{"claimId":"c","saleId":"s","state":"PENDING"}`, "", held},
		{"a problem with the claim inside", `{"code":"already-ordered","claim":{"claimId":"c","saleId":"s","state":"PENDING"}}`, "already-ordered", held},
		{"a problem without one", `{"code":"sold-out"}`, "sold-out", Claim{}},
		{"a claim of another shape", `{"claimId":1,"code":"x"}`, "", Claim{}},
		{"no JSON", `<html>`, "", Claim{}},
	} {
		if code, claim := Read([]byte(tt.body)); code != tt.code || claim != tt.claim {
			t.Errorf("%s: got %q, %+v", tt.name, code, claim)
		}
	}
}

func TestThePauseIsInWholeSecondsOrThereIsNone(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "2": 2 * time.Second, "": -1, "-1": -1, "1.5": -1, "99999": -1} {
		got, ok := RetryAfter(http.Header{"Retry-After": {text}})
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: got %v, %t", text, got, ok)
		}
	}
}
