package explore

import (
	"context"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"time"

	"flashsale/infra/proof/harness"
	"flashsale/shared/beacon"
)

// diceDraft is what a seed draws of the public dice: how long after it is signed they have a round,
// and the share of requests that fail.
type diceDraft struct {
	lag   time.Duration
	fails float64
}

func drawDice(r *rand.Rand) diceDraft {
	d := diceDraft{lag: between(r, 0, 3*time.Second), fails: []float64{0, 0, 0.15, 0.5}[r.IntN(4)]}
	if sometimes(r, 0.4) {
		d.lag = between(r, 0, 10*time.Minute)
	}
	return d
}

// dice are the public dice of a simulation. That of what their relays say only the signature of the
// round is taken is tested in shared/beacon.
type dice struct {
	n     *network
	draft diceDraft
}

// Signature returns the signature of a round: any bytes, always the same ones.
func (d *dice) Signature(ctx context.Context, round uint64) ([]byte, error) {
	return harness.Intercept(ctx, harness.CallerOf(ctx), harness.Point{Op: "Signature"}, func() ([]byte, error) {
		lag := d.draft.lag
		switch {
		case d.n.faultsOff.Load():
			lag = 0
		case d.n.random() < d.draft.fails:
			return nil, harness.ErrDown
		}
		if time.Now().Before(beacon.Quicknet.TimeOf(round).Add(lag)) {
			return nil, errors.New("the round has not been signed")
		}
		signature := sha512.Sum512(binary.BigEndian.AppendUint64(nil, round))
		return signature[:beacon.SignatureSize], nil
	})
}
