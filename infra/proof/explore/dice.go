package explore

import (
	"context"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"flashsale/infra/proof/harness"
	"flashsale/shared/beacon"
)

// diceDraft is what a seed draws of the public dice: how long after it is signed they have a round,
// and the shares of requests that fail or are not answered.
type diceDraft struct {
	lag          time.Duration
	fails, hangs float64
}

func drawDice(r *rand.Rand) diceDraft {
	share := func() float64 { return []float64{0, 0, 0.3, 0.9}[r.IntN(4)] }
	d := diceDraft{lag: between(r, 0, 3*time.Second), fails: share() / 2, hangs: share() / 6}
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

// unanswered is how long a request waits for dice that do not answer.
const unanswered = 5 * time.Second

// Signature returns the signature of a round: any bytes, always the same ones.
func (d *dice) Signature(ctx context.Context, round uint64) ([]byte, error) {
	e := harness.CallerOf(ctx)
	deadline, _ := ctx.Deadline()
	chance := 2.0
	d.n.pass(e.Invocation, fmt.Sprint("round ", round), deadline, func(r *rand.Rand) time.Duration {
		if !d.n.faultsOff.Load() {
			chance = r.Float64()
		}
		if chance < d.draft.hangs {
			return unanswered
		}
		return between(r, time.Millisecond, 200*time.Millisecond)
	})
	lag := d.draft.lag
	if d.n.faultsOff.Load() {
		lag = 0
	}
	switch {
	case e.Dead.Load() || expired(deadline) || chance < d.draft.hangs:
		return nil, harness.ErrTimeout
	case chance < d.draft.hangs+d.draft.fails:
		return nil, harness.ErrDown
	case time.Now().Before(beacon.Quicknet.TimeOf(round).Add(lag)):
		return nil, errors.New("the round has not been signed")
	}
	signature := sha512.Sum512(binary.BigEndian.AppendUint64(nil, round))
	return signature[:beacon.SignatureSize], nil
}
