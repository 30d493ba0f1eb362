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
		ask := func(who, text string) (body string, status int) {
			r := f.Ask(t, t.Context(), event(t, "operate-create.json", groups("[flashsale-operator]"), user(who), func(r *events.APIGatewayV2HTTPRequest) { r.Body = strings.Replace(r.Body, `"stock": 10`, text, 1) }))
			return r.Body, r.StatusCode
		}
		for i, who := range []string{"kim", "kim", "lee"} {
			got, _ := ask(who, `"stock": 10`)
			if want := map[bool]string{true: "true", false: "false"}[i == 0]; !strings.Contains(got, `"seeded":10,"shards":1,"applied":`+want) || !strings.Contains(got, `"changeId":"create-1","seen":"0.0.`) {
				t.Errorf("%s, request %d: %s", who, i, got)
			}
		}
		// A page that was signed out meanwhile asks under another id.
		r := f.Ask(t, t.Context(), event(t, "operate-create.json", func(r *events.APIGatewayV2HTTPRequest) { r.Body = strings.Replace(r.Body, "create-1", "create-2", 1) }))
		if !strings.Contains(r.Body, `"applied":false,"changeId":"create-2"`) {
			t.Errorf("the same contents under another id: %s", r.Body)
		}
		if got, status := ask("lee", `"stock": 11`); status != 409 || !strings.Contains(got, "the sale was created before with other contents, by kim on 2") {
			t.Errorf("another creation: %d %s", status, got)
		}
		changes, _, err := f.Ledger().Trail(t.Context(), "lamp", 10)
		if err != nil || len(changes) != 1 || changes[0].Action != sale.Created || changes[0].Actor != "kim" || !changes[0].Verified || changes[0].Note != "for the fair" ||
			changes[0].ID != "create-1" || changes[0].Units != 10 || changes[0].At.IsZero() {
			t.Errorf("the trail is %+v (%v)", changes, err)
		}
		for _, wrong := range []string{`"stok": 10`, `"stock": 10, "actor": "kim"`, `"stock": 0`, `"stock": 10, "seedId": "x"`, `"stock": 10, "price": 5`} {
			if got, status := ask("kim", wrong); status != 400 {
				t.Errorf("%s: %d %s", wrong, status, got)
			}
		}
		for _, text := range []string{`{"action":"pause","saleId":"lamp","id":"x"}`, `{"action":"create","saleId":"lamp"}`} {
			refused(t, f.Ask(t, t.Context(), event(t, "operate-create.json", body(text))), 400, sale.InvalidRequest)
		}
	})
}
