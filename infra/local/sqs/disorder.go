package sqs

import (
	"math/rand/v2"
	"time"
)

// A Disorder is how far a queue deviates from first in, first out, exactly once. A real
// standard queue may do all of this; an idle local one never would. Shares are between
// 0 (never) and 1 (always).
type Disorder struct {
	Seed      uint64        // of the shares below: equal seeds, equal disorder
	Duplicate float64       // share of deliveries whose message is visible again at once
	Reorder   float64       // share of deliveries that take a message from anywhere in the queue
	Delay     float64       // share of sent messages that become visible later than requested
	MaxDelay  time.Duration // longest such delay
}

// delay returns a sent message's extra delay.
func (d Disorder) delay(chance *rand.Rand) time.Duration {
	if d.Delay <= 0 || d.MaxDelay <= 0 || chance.Float64() >= d.Delay {
		return 0
	}
	return time.Duration(1 + chance.Int64N(int64(d.MaxDelay)))
}

// visibility returns how long a delivered message is hidden from others.
func (d Disorder) visibility(chance *rand.Rand, asked time.Duration) time.Duration {
	if d.Duplicate > 0 && chance.Float64() < d.Duplicate {
		return 0
	}
	return asked
}

// reach is how far into the queue a reordered delivery may go.
const reach = 100

// pick chooses the next message to deliver from those that are visible.
func (d Disorder) pick(chance *rand.Rand, visible []*message) *message {
	i := 0
	if d.Reorder > 0 && chance.Float64() < d.Reorder {
		i = chance.IntN(min(len(visible), reach))
	}
	return visible[i]
}
