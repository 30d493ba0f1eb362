package handler

import (
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/sale"
)

// The same request again, by whomever, changes nothing; another one under the same id is told who was first.
func TestACreationIsInTheTrailWithItsAuthorAndCountsOnce(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		by := func(who, old, new string) []byte {
			return event(t, "operate-create.json", user(who), func(r *events.APIGatewayV2HTTPRequest) { r.Body = strings.Replace(r.Body, old, new, 1) })
		}
		const stock, was = `"stock": 10`, `{"seeded":10,"shards":1,"applied":false,"changeId":"create-1","version":"0.0.2b98a2a9"}`
		f.shows(t, by("kim", "", ""), strings.Replace(was, "false", "true", 1))
		f.shows(t, by("kim", "", ""), was)
		f.shows(t, by("lee", "", ""), was)
		f.shows(t, by("kim", "create-1", "create-2"), strings.Replace(was, "create-1", "create-2", 1)) // a page that was signed out meanwhile
		if r := f.Ask(t, t.Context(), by("lee", stock, `"stock": 11`)); r.StatusCode != 409 || !strings.Contains(r.Body, "the sale was created before with other contents, by kim on 2") {
			t.Errorf("another creation: %d %s", r.StatusCode, r.Body)
		}
		f.shows(t, event(t, "operate-trail.json", path("saleId", "lamp")), `{"changes":[{"action":"create","actor":"kim","verified":true,"note":"for the fair","id":"create-1","units":10}]}`)
		for _, wrong := range []string{`"stok": 10`, `"stock": 10, "actor": "kim"`, `"stock": 0`, `"stock": 10, "seedId": "x"`, `"stock": 10, "price": 5`} {
			refused(t, f.Ask(t, t.Context(), by("kim", stock, wrong)), 400, sale.InvalidRequest)
		}
	})
}
