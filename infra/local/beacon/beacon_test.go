package beacon

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"flashsale/shared/beacon"
)

var genesis = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// serve starts the relay of a chain whose clock stands at the given time after its genesis.
func serve(t *testing.T, after time.Duration, change func(*Options)) (*Relay, string) {
	t.Helper()
	o := Options{Seed: "test", Genesis: genesis, Now: func() time.Time { return genesis.Add(after) }}
	if change != nil {
		change(&o)
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/_local/beacon", r))
	t.Cleanup(server.Close)
	return r, server.URL + "/_local/beacon"
}

func status(t *testing.T, url string) int {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func TestOnlyANumberedRoundOfTheChainIsServedFromItsTimeOn(t *testing.T) {
	for _, round := range []uint64{1, 100} {
		at := time.Duration(round-1) * 3 * time.Second
		for after, want := range map[time.Duration]int{at - time.Nanosecond: 404, at: 200, at + time.Hour: 200} {
			r, url := serve(t, after, nil)
			if got := status(t, fmt.Sprintf("%s/%s/public/%d", url, r.Chain().Hash, round)); got != want {
				t.Errorf("round %d, after %s: %d, want %d", round, after, got, want)
			}
		}
	}
	r, url := serve(t, time.Hour, nil)
	below := url + "/" + r.Chain().Hash
	for path, want := range map[string]int{
		below + "/public/0": 404, below + "/public/latest": 400, below + "/public/-1": 400, below + "/info": 200, url + "/public/1": 404,
		fmt.Sprintf("%s/public/%d", below, uint64(math.MaxUint64)): 404, url + "/" + beacon.Quicknet.Hash + "/public/1": 404,
	} {
		if got := status(t, path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

func TestASeedMakesOneChain(t *testing.T) {
	first, _ := serve(t, 0, nil)
	again, _ := serve(t, time.Hour, nil)
	other, _ := serve(t, 0, func(o *Options) { o.Seed = "other" })
	if first.Chain() != again.Chain() || first.Chain().Hash == other.Chain().Hash || first.Chain().Key == other.Chain().Key {
		t.Errorf("the chains of one seed are %+v and %+v, of another %+v", first.Chain(), again.Chain(), other.Chain())
	}
}
