package drawcheck

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"flashsale/infra/kit/drawcheck/rules"
)

// vectors is a draw that a third implementation has computed.
type vectors struct {
	Sale     string
	LeafKey  string
	Entrants []struct {
		User  string
		Nonce rules.Nonce
		Leaf  rules.Leaf
		Rank  rules.Rank
	}
	Roll      rules.Digest
	Round     uint64
	Signature string
	Seed      rules.Digest
	Calls     []struct {
		Lo     rules.Rank
		Hi     rules.Rank
		Units  int64
		Called int64
	}
}

func readVectors(t testing.TB) (v vectors) {
	t.Helper()
	text, err := os.ReadFile("../../../shared/draw/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// drawn is the draw of the vectors as it is published: the round is one of quicknet.
func (v vectors) drawn(t testing.TB) *Published {
	t.Helper()
	signed := Quicknet.TimeOf(v.Round)
	s := Sale{OpensAt: signed.Add(time.Hour), Draw: rules.Draw{
		SaleID: v.Sale, EnterUntil: signed.Add(-2 * time.Hour), ClosedAt: signed.Add(-time.Hour),
		Roll: v.Roll, Entrants: int64(len(v.Entrants)), Round: v.Round, Seed: v.Seed, Signature: bytesOf(t, v.Signature),
	}}
	from := s.OpensAt
	for i, c := range v.Calls {
		from = from.Add(time.Second)
		published := rules.Call{Number: int64(i + 1), From: from, Until: from.Add(time.Hour), Lo: c.Lo, Hi: &c.Hi, Stock: c.Units, Open: i == len(v.Calls)-1}
		if c.Called > 0 {
			from = published.Until
		}
		s.Calls = append(s.Calls, published)
	}
	s.ClosesAt = s.Calls[len(s.Calls)-1].Until
	var pages [rules.Pages][]rules.Leaf
	for _, e := range v.Entrants {
		pages[e.Leaf[0]] = append(pages[e.Leaf[0]], e.Leaf)
	}
	for _, page := range pages {
		slices.SortFunc(page, rules.Leaf.Compare)
	}
	return &Published{s, Quicknet, pages}
}

func TestTheOrderIsThatOfTwoOtherImplementations(t *testing.T) {
	v := readVectors(t)
	p := v.drawn(t)
	r := p.Check()
	if len(r.Wrong) > 0 || len(r.Pending) > 0 {
		t.Errorf("wrong: %q, pending: %q", r.Wrong, r.Pending)
	}
	key := bytesOf(t, v.LeafKey)
	for _, e := range v.Entrants {
		if nonce := rules.NonceOf(key, e.User); nonce != e.Nonce || rules.LeafOf(e.User, nonce) != e.Leaf {
			t.Errorf("%s: nonce %s and leaf %s, want %s and %s", e.User, nonce, rules.LeafOf(e.User, nonce), e.Nonce, e.Leaf)
		}
		if turn := r.Turn(e.Leaf); !turn.OnRoll || turn.Rank != e.Rank {
			t.Errorf("%s: %+v, want rank %s", e.User, turn, e.Rank)
		}
	}
	for i, c := range v.Calls {
		if r.Called[i] != c.Called {
			t.Errorf("call %d called %d people, want %d", i+1, r.Called[i], c.Called)
		}
	}
}
