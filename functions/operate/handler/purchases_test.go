package handler

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

func TestTheLastHourOfPurchasesIsToldByTheWholeMinute(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		time.Sleep(90 * time.Second) // into a minute
		f.stack.counted = map[string]int64{"accepted": 1, "sold-out": 20, "already-ordered": 3, "sale-paused": 400, "busy": 5, "internal": 60, "unauthorized": 7}
		r := f.Ask(t, t.Context(), event(t, "operate-purchases.json"))
		var page purchasesPage
		if err := json.Unmarshal([]byte(r.Body), &page); err != nil {
			t.Fatal(r.Body, err)
		}
		if from := httpapi.Time(time.Now().Truncate(time.Minute).Add(-time.Hour)); page.From != from || page.Every != 60 || page.AsOf != httpapi.Time(time.Now()) {
			t.Errorf("from %s by %d seconds, as of %s; want from %s", page.From, page.Every, page.AsOf, from)
		}
		for name, line := range map[string]struct {
			got  []int64
			want int64
		}{"accepted": {page.Accepted, 1}, "refused": {page.Refused, 423}, "busy": {page.Busy, 65}} {
			if want := slices.Repeat([]int64{line.want}, 60); !slices.Equal(line.got, want) {
				t.Errorf("%s: got %v, want %v", name, line.got, want)
			}
		}
		f.stack.fault = errors.New("throttled")
		refused(t, f.Ask(t, t.Context(), event(t, "operate-purchases.json")), 503, sale.Busy)
	})
}
