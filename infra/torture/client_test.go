package main

import (
	"net/http"
	"testing"
	"time"

	"flashsale/infra/replies"
)

func TestAnswersAreRead(t *testing.T) {
	accepted := `{"claimId":"c1","saleId":"s","state":"PENDING","acceptedAt":"2026-01-01T00:00:05.000Z"}`
	for name, c := range map[string]struct {
		status  int
		body    string
		code    string
		claim   replies.Claim
		unknown bool
	}{
		"accepted":             {202, accepted, "", replies.Claim{ClaimID: "c1", SaleID: "s", State: "PENDING"}, false},
		"already ordered":      {409, `{"code":"already-ordered","claim":` + accepted + `}`, "already-ordered", replies.Claim{ClaimID: "c1", SaleID: "s", State: "PENDING"}, false},
		"sold out":             {409, `{"code":"sold-out"}`, "sold-out", replies.Claim{}, false},
		"busy":                 {503, `{"code":"busy"}`, "busy", replies.Claim{}, true},
		"a function that died": {500, `{"message":"Internal Server Error"}`, "", replies.Claim{}, true},
		"too many at the door": {429, `{"message":"Too Many Requests"}`, "", replies.Claim{}, true},
		"something else":       {200, `nonsense`, "", replies.Claim{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := decode(c.status, http.Header{"Retry-After": {"2"}}, []byte(c.body))
			if r.code != c.code || r.claim != c.claim || r.unknown() != c.unknown || r.retryAfter != 2*time.Second {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestTheSameRequestIsSoonMadeAgain(t *testing.T) {
	for try := range 100 {
		if d := wait(reply{}, try); d < 20*time.Millisecond || d > 400*time.Millisecond {
			t.Errorf("try %d waits %v", try, d)
		}
	}
	if d := wait(reply{retryAfter: time.Hour}, 0); d != time.Second {
		t.Errorf("told to wait for an hour, it waits %v", d)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(202, "1", []byte(`{"claimId":"c1","saleId":"s","state":"PENDING"}`))
	f.Add(409, "-1", []byte(`{"code":"already-ordered","claim":{"claimId":"c1"}}`))
	f.Add(503, "99999", []byte("\xff"))
	f.Fuzz(func(t *testing.T, status int, retryAfter string, body []byte) {
		r := decode(status, http.Header{"Retry-After": {retryAfter}}, body)
		if r.retryAfter < 0 || r.retryAfter > 65535*time.Second {
			t.Errorf("retry after %v", r.retryAfter)
		}
		if len(r.String()) > 700 {
			t.Errorf("a line of %d bytes", len(r.String()))
		}
	})
}
