package draw

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"

	"flashsale/shared/beacon"
)

// vectors is a draw from its entrants to its calls. vectors.py printed it and says what it means.
type vectors struct {
	About      string            `json:"about"`
	Sale       string            `json:"sale"`
	LeafKey    string            `json:"leafKey"`
	Entrants   []entrant         `json:"entrants"`
	Pages      map[string]string `json:"pages"`
	EmptyPage  string            `json:"emptyPage"`
	Roll       string            `json:"roll"`
	Round      uint64            `json:"round"`
	Signature  string            `json:"signature"`
	Randomness string            `json:"randomness"`
	Seed       string            `json:"seed"`
	Calls      []call            `json:"calls"`
}

type entrant struct {
	User  string `json:"user"`
	Nonce string `json:"nonce"`
	Leaf  string `json:"leaf"`
	Rank  string `json:"rank"`
}

type call struct {
	Lo     string `json:"lo"`
	Units  int64  `json:"units"`
	Hi     string `json:"hi"`
	Called int64  `json:"called"`
}

// follow computes anew what follows from the sale, its key, users, round, signature and units.
func (v vectors) follow(t *testing.T) vectors {
	t.Helper()
	key, err := hex.DecodeString(v.LeafKey)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := hex.DecodeString(v.Signature)
	if err != nil {
		t.Fatal(err)
	}
	if err := beacon.Quicknet.Verify(v.Round, signature); err != nil {
		t.Error(err)
	}
	var pages [Pages][]Leaf
	var leaves []Leaf
	for i, e := range v.Entrants {
		nonce := NonceOf(key, e.User)
		leaf := LeafOf(e.User, nonce)
		v.Entrants[i].Nonce, v.Entrants[i].Leaf = nonce.String(), leaf.String()
		leaves, pages[leaf.Page()] = append(leaves, leaf), append(pages[leaf.Page()], leaf)
	}
	var digests [Pages]Digest
	v.Pages, v.EmptyPage = map[string]string{}, PageDigest(nil).String()
	for i, page := range pages {
		slices.SortFunc(page, Leaf.Compare)
		if digests[i] = PageDigest(page); len(page) > 0 {
			v.Pages[fmt.Sprintf("%02x", i)] = digests[i].String()
		}
	}
	roll, randomness := RollDigest(&digests), beacon.Randomness(signature)
	seed := SeedOf(v.Sale, roll, randomness)
	v.Roll, v.Randomness, v.Seed = roll.String(), hex.EncodeToString(randomness[:]), seed.String()
	ranks := Ranks(seed, leaves)
	for i, rank := range ranks {
		v.Entrants[i].Rank = rank.String()
	}
	var lo Rank
	for i, c := range v.Calls {
		hi, called := NthAbove(ranks, lo, c.Units)
		v.Calls[i] = call{lo.String(), c.Units, hi.String(), called}
		lo = hi
	}
	return v
}

func TestTheOrderIsThatOfAnotherImplementation(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var inputs, want vectors
	if err := errors.Join(json.Unmarshal(text, &inputs), json.Unmarshal(text, &want)); err != nil {
		t.Fatal(err)
	}
	if got := inputs.follow(t); !reflect.DeepEqual(got, want) {
		t.Errorf("from the same inputs follows\n%+v\nwant\n%+v", got, want)
	}
	if len(want.Entrants) < 40 || len(want.Calls) < 5 {
		t.Errorf("the vectors have %d entrants and %d calls", len(want.Entrants), len(want.Calls))
	}
}
