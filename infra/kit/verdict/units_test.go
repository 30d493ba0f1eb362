package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

func TestWhoWasToldThatTooFewAreLeftWasToldTheTruth(t *testing.T) {
	at := Span{time.UnixMilli(1767225600000), time.UnixMilli(1767225601000)}
	for _, tt := range []struct {
		name      string
		stored    int64 // units of ann's claim
		stock     int64
		left, ask int64 // what bob was told
		want      []string
	}{
		{"three of four are sold, and two are too many", 3, 1, 1, 2, nil},
		{"one is left, and one was asked for", 3, 1, 1, 1, []string{"P1", "P6", "P6"}},
		{"the claim has fewer units than its buyer was told", 2, 2, 1, 3, []string{"P40"}},
		{"as many are left as were asked for", 2, 2, 1, 2, []string{"P1", "P40", "P6"}},
		{"five of four are sold", 5, -1, 1, 2, []string{"P1", "P1"}},
	} {
		h := New(Sale{Units: 4, Shards: 1, Steady: true})
		told := max(3, tt.stored)
		h.Asks("ann", told, true, at, client.Accepted, client.Answer{Claim: client.Claim{ClaimID: "c-ann", Units: told}})
		h.Asks("bob", tt.ask, true, at, client.NotEnough, client.Answer{Left: tt.left})
		claim := ordered("ann")
		claim.Units = tt.stored
		s := &books.Sale{Seeded: 4, Claims: []books.Claim{claim}, Shards: map[int]books.Shard{0: {Seeded: 4, Stock: tt.stock}}}
		var got []string
		for _, f := range slices.Concat(h.Findings(), h.Compare(s)) {
			got = append(got, f.Promise)
		}
		if slices.Sort(got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.name, strings.Join(got, ", "), strings.Join(tt.want, ", "))
		}
	}
}
