package handler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/sale"
)

// A sale that opens before the dice can be there would open without anybody who may buy.
func TestASaleWithADrawOpensNoEarlierThanItsDiceAreThere(t *testing.T) {
	lead := testledger.DrawTimes.Lead()
	enterUntil := testledger.Began.Add(48 * time.Hour)
	for early, want := range map[time.Duration]sale.Code{0: "ok", time.Millisecond: sale.InvalidRequest} {
		in(t, func(t *testing.T, f *function) {
			f.handler.Drawing(lead)
			request := fmt.Sprintf(`{"action":"create","saleId":"moutai","opensAt":%q,"closesAt":"2036-01-01T00:00:00Z","stock":100,`+
				`"enterFrom":"2026-01-02T00:00:00Z","enterUntil":%q,"keepHours":24}`,
				enterUntil.Add(lead-early).Format(time.RFC3339Nano), enterUntil.Format(time.RFC3339))
			answer, failure := f.invoke(t, t.Context(), []byte(request))
			if got := f.Logged(t, "outcome"); got != string(want) {
				t.Errorf("%s early: %s, %v", early, answer, failure)
			}
			if want != "ok" {
				if failure == nil || !strings.Contains(failure.Message, "4560 seconds after enterUntil") {
					t.Errorf("the refusal is %v", failure)
				}
				return
			}
			if s := f.sale(); !s.HasDraw() || s.KeepFor != 24*time.Hour || !s.EnterUntil.Equal(enterUntil) {
				t.Errorf("the sale is %+v", s)
			}
		})
	}
}
