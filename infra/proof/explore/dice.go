package explore

import (
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	localbeacon "flashsale/infra/local/beacon"
	"flashsale/infra/proof/harness"
	"flashsale/shared/beacon"
)

// diceDraft is what a seed draws of the relays of the public dice.
type diceDraft struct {
	relays []relayDraft
	// silent is for how long after it is signed no relay has a round.
	silent time.Duration
}

// relayDraft is one relay: how much later than others it has a round, and the shares of requests
// that fail, are never answered, or are answered with a lie.
type relayDraft struct {
	lag                time.Duration
	fails, hangs, lies float64
}

func drawDice(r *rand.Rand) (d diceDraft) {
	share := func() float64 { return []float64{0, 0, 0.3, 0.9}[r.IntN(4)] }
	for range 1 + r.IntN(3) {
		d.relays = append(d.relays, relayDraft{lag: between(r, 0, 3*time.Second), fails: share() / 2, hangs: share() / 6, lies: share() / 2})
	}
	if sometimes(r, 0.4) {
		d.silent = between(r, 0, 10*time.Minute)
	}
	return d
}

// signer is the beacon of all simulations. It signs with a key of its own as drand does, so that
// functions verify its rounds with the real client, which lies must not get past.
var signer = sync.OnceValue(func() *localbeacon.Relay {
	r, err := localbeacon.New(localbeacon.Options{Seed: "simulation", Genesis: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Now: signsAnything})
	if err != nil {
		panic(err)
	}
	return r
})

// signsAnything is a clock: when a relay has a round is decided there.
func signsAnything() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// relays carry the requests for rounds.
type relays struct {
	n     *network
	draft diceDraft
	known map[uint64]string // signatures, guarded by the network's lock
}

// newRelays gives a world relays.
func newRelays(n *network, d diceDraft) {
	t := &relays{n: n, draft: d, known: map[uint64]string{}}
	var urls []string
	for i := range d.relays {
		urls = append(urls, fmt.Sprintf("https://%d.relay.example", i))
	}
	client, err := beacon.NewRelays(signer().Chain(), urls, t)
	if err != nil {
		panic(err)
	}
	n.world.Chain, n.world.Dice = client.Chain, client
}

// RoundTrip answers a request for a round.
func (t *relays) RoundTrip(q *http.Request) (*http.Response, error) {
	e := harness.CallerOf(q.Context())
	deadline, _ := q.Context().Deadline()
	number, _ := strconv.Atoi(strings.TrimSuffix(q.URL.Host, ".relay.example"))
	d, dice, lie := t.draft.relays[number], 2.0, 0
	t.n.pass(e.Invocation, q.URL.String(), deadline, func(r *rand.Rand) time.Duration {
		latency := between(r, time.Millisecond, 200*time.Millisecond)
		if t.n.faultsOff.Load() {
			return latency
		}
		if dice, lie = r.Float64(), r.IntN(4); dice < d.hangs {
			return time.Minute // which the deadline ends
		}
		return latency
	})
	switch dice -= d.hangs; {
	case e.Dead.Load() || expired(deadline):
		return nil, harness.ErrTimeout
	case q.Context().Err() != nil: // another relay has answered
		return nil, q.Context().Err()
	case dice < d.fails:
		return nil, harness.ErrDown
	}
	round, err := strconv.ParseUint(path.Base(q.URL.Path), 10, 64)
	if err != nil {
		panic(err)
	}
	t.n.mu.Lock()
	defer t.n.mu.Unlock()
	lag := max(d.lag, t.draft.silent)
	if t.n.faultsOff.Load() {
		lag = 0
	}
	status, text := http.StatusOK, ""
	isLie := dice < d.fails+d.lies
	if isLie {
		t.n.watch.counts["lies"]++
	}
	switch {
	case isLie && lie == 0: // the round before under this one's number
		text = answer(round, t.signature(round-1))
	case isLie && lie == 1: // the round before
		text = answer(round-1, t.signature(round-1))
	case isLie && lie == 2: // not on the curve
		text = answer(round, strings.Repeat("5", 2*beacon.SignatureSize))
	case isLie:
		text = "<html>"
	case time.Now().Before(signer().Chain().TimeOf(round).Add(lag)):
		status, text = http.StatusNotFound, "the round has not been signed"
	default:
		text = answer(round, t.signature(round))
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Request: q}, nil
}

func answer(round uint64, signature string) string {
	return fmt.Sprintf(`{"round":%d,"signature":%q}`, round, signature)
}

// signature is a round's; the network's lock is held.
func (t *relays) signature(round uint64) string {
	if t.known[round] == "" {
		w := httptest.NewRecorder()
		signer().ServeHTTP(w, httptest.NewRequest(http.MethodGet, fmt.Sprintf("/%s/public/%d", signer().Chain().Hash, round), nil))
		_, rest, _ := strings.Cut(w.Body.String(), `"signature":"`)
		t.known[round] = rest[:hex.EncodedLen(beacon.SignatureSize)]
	}
	return t.known[round]
}
