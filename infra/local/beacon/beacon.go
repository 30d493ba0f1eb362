// Package beacon replaces the public dice during development: one relay of a chain whose key it
// has itself, so that a draw need not wait for the real ones and works without the internet.
//
// It answers as a relay of drand does. Whoever has the seed of its key knows all rounds in
// advance, so functions take its chain only from a relay on their own machine.
package beacon

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/cloudflare/circl/ecc/bls12381"

	"flashsale/shared/beacon"
)

// Relay signs the rounds of a chain and serves them. It is safe for concurrent use.
type Relay struct {
	chain  beacon.Chain
	group  [sha256.Size]byte // of drand's networks the hash of their first members
	secret bls12381.Scalar
	routes http.ServeMux
}

const (
	// seed is what the key is made of, so that a chain goes on after a restart.
	seed = "the local stack's dice"
	// period is from one round to the next, in seconds.
	period = 3
	// id is the chain's name among drand's.
	id = "flashsale-local"
)

// genesis is when round 1 is signed.
var genesis = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func New() (*Relay, error) {
	r := &Relay{}
	secret := sha256.Sum256([]byte(seed))
	r.secret.SetBytes(secret[:])
	var key bls12381.G2
	key.ScalarMult(&r.secret, bls12381.G2Generator())
	r.group = sha256.Sum256(key.BytesCompressed())
	// The chain's hash as drand's networks and their clients compute it.
	text := binary.BigEndian.AppendUint32(nil, period)
	text = binary.BigEndian.AppendUint64(text, uint64(genesis.Unix()))
	hash := sha256.Sum256(slices.Concat(text, key.BytesCompressed(), r.group[:], []byte(id)))
	r.chain = beacon.Chain{
		Hash: hex.EncodeToString(hash[:]), Key: hex.EncodeToString(key.BytesCompressed()), Genesis: genesis.Unix(), Period: period,
	}
	if err := r.chain.Check(); err != nil {
		return nil, fmt.Errorf("make chain: %w", err)
	}
	r.routes.HandleFunc("GET /"+r.chain.Hash+"/info", r.info)
	r.routes.HandleFunc("GET /"+r.chain.Hash+"/public/{round}", r.serve)
	return r, nil
}

// Chain is the relay's chain. As JSON it is the value of DRAW_BEACON.
func (r *Relay) Chain() beacon.Chain { return r.chain }

// info is what drand's clients ask for first.
func (r *Relay) info(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"public_key":"%s","period":%d,"genesis_time":%d,"hash":"%s","groupHash":"%x","schemeID":"bls-unchained-g1-rfc9380","metadata":{"beaconID":"%s"}}`,
		r.chain.Key, r.chain.Period, r.chain.Genesis, r.chain.Hash, r.group, id)
}

// ServeHTTP answers GET /HASH/info, and GET /HASH/public/ROUND: 404 before the round's time. "latest" and 0, which
// means the same to a relay of drand, are unknown to it: nobody may ask for them.
func (r *Relay) ServeHTTP(w http.ResponseWriter, q *http.Request) { r.routes.ServeHTTP(w, q) }

func (r *Relay) serve(w http.ResponseWriter, q *http.Request) {
	round, err := strconv.ParseUint(q.PathValue("round"), 10, 64)
	switch {
	case err != nil:
		http.Error(w, "the round is not a number", http.StatusBadRequest)
	case round == 0 || time.Now().Before(r.chain.TimeOf(round)):
		w.Header().Set("Cache-Control", "must-revalidate, no-cache, max-age=0")
		http.Error(w, "the round has not been signed", http.StatusNotFound)
	default:
		signature := r.sign(round)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=604800, immutable")
		fmt.Fprintf(w, `{"round":%d,"randomness":"%x","signature":"%x"}`, round, beacon.Randomness(signature), signature)
	}
}

// sign signs a round by the scheme bls-unchained-g1-rfc9380.
func (r *Relay) sign(round uint64) []byte {
	message := sha256.Sum256(binary.BigEndian.AppendUint64(nil, round))
	var point bls12381.G1
	point.Hash(message[:], []byte("BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"))
	point.ScalarMult(&r.secret, &point)
	return point.BytesCompressed()
}
