package drawcheck

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/drawcheck/rules"
)

var entrants = flag.Int("entrants", 20_000, "how many people are on the largest roll")

// A draw of very many people is read over HTTP and checked in seconds; the roll and its order are
// held whole.
func TestADrawOfManyEntrantsIsVerifiedInSeconds(t *testing.T) {
	const stock = 100
	s, _ := readVectors(t).drawn(t)
	var pages [Pages][]Leaf
	for i := range *entrants {
		l := rules.LeafOf(strconv.Itoa(i), Nonce{})
		pages[l[0]] = append(pages[l[0]], l)
	}
	for _, page := range pages {
		slices.SortFunc(page, Leaf.Compare)
	}
	s.Entrants, s.Roll, s.Calls = int64(*entrants), rules.DigestOf(&pages), s.Calls[:1]
	s.Seed = rules.SeedOf(s.ID, s.Roll, s.Signature)
	hi := ordered(s.Seed, &pages)[stock-1]
	c := &s.Calls[0]
	shown := map[string]any{"saleId": s.ID, "now": c.From, "opensAt": s.OpensAt, "closesAt": s.ClosesAt, "draw": map[string]any{
		"enterUntil": s.EnterUntil, "keepHours": 1, "roll": s.Roll.String(), "entrants": s.Entrants, "round": s.Round, "closedAt": s.ClosedAt,
		"seed": s.Seed.String(), "signature": hex.EncodeToString(s.Signature),
		"calls": []any{map[string]any{"call": 1, "from": c.From, "until": c.Until, "lo": Rank{}.String(), "hi": hi.String(), "stock": stock}},
	}}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
	mux.HandleFunc("GET /sales/{id}", func(w http.ResponseWriter, _ *http.Request) { answer(w, shown) })
	mux.HandleFunc("GET /sales/{id}/roll/{page}", func(w http.ResponseWriter, r *http.Request) {
		page, err := strconv.ParseUint(path.Base(r.URL.Path), 16, 8)
		if err != nil {
			t.Error(err)
		}
		texts := make([]string, len(pages[page]))
		for i, l := range pages[page] {
			texts[i] = l.String()
		}
		answer(w, map[string]any{"leaves": texts})
	})
	api := httptest.NewServer(mux)
	defer api.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	published, err := Read(t.Context(), client.New(api.URL, client.Options{}), s.ID, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	read := time.Since(began)
	r := published.Check()
	took := time.Since(began)
	if len(r.Wrong) > 0 || len(r.Pending) > 0 || fmt.Sprint(r.Called) != fmt.Sprint([]int{stock}) {
		t.Errorf("wrong: %q, pending: %q, called: %v", r.Wrong, r.Pending, r.Called)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d entrants: read in %.1f s, checked in %.1f s, %d MB held", *entrants, read.Seconds(), (took - read).Seconds(), held>>20)
	if most := int64(*entrants)*128 + 16<<20; held > most {
		t.Errorf("%d bytes are held, want at most %d", held, most)
	}
	runtime.KeepAlive(r)
}
