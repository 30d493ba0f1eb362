package simulate

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	publishhandler "flashsale/functions/publish/handler"
	"flashsale/infra/proof/harness"
)

// streamDraft is what a seed draws of the stream and the bus.
type streamDraft struct {
	lanes, batch  int
	latency, skew time.Duration
	// The shares of outside calls that are refused, whose answer is lost, that are applied
	// late, and at which the environment dies or hangs until its timeout.
	refused, lost, late, crash, hang float64
	// entries is the share of a call's entries that fail.
	entries float64
	// forgotten is the share of batches whose checkpoint is lost, again of those that are
	// delivered again while they may still be handled.
	forgotten, again float64
	// freeze is the share of invocations after which an environment is not used for long.
	freeze float64
	// poison is the share of records that come with one that can never be published,
	// refusedForever that of events that the bus never takes.
	poison, refusedForever float64
	// outage is when the bus begins to be down, 0 for never. hangs: it does not answer
	// then, instead of failing at once.
	outage time.Duration
	hangs  bool
	// unchanged: there are also records of items that did not change.
	unchanged bool
}

// outageTime is how long an outage of the bus lasts.
const outageTime = time.Hour

func drawStream(r *rand.Rand, c conditions) streamDraft {
	rate := func(much float64) float64 { return []float64{0, much / 5, much}[r.IntN(3)] }
	if c.publishes {
		rate = func(much float64) float64 { return much }
	}
	d := streamDraft{
		lanes: 1 + r.IntN(4), batch: 1 + r.IntN(100), latency: between(r, 2*time.Millisecond, 40*time.Millisecond), skew: c.skew,
		refused: rate(0.3), lost: rate(0.1), late: rate(0.05), crash: rate(0.05), hang: rate(0.02), entries: rate(0.2),
		forgotten: rate(0.2), again: rate(0.1), freeze: rate(0.1), poison: rate(0.05), refusedForever: rate(0.02), unchanged: sometimes(r, 0.2),
	}
	if sometimes(r, 0.03) || c.publishes {
		d.outage, d.hangs = between(r, time.Second, time.Minute), sometimes(r, 0.5)
	}
	return d
}

// publisher is one execution environment of PublishFunction.
type publisher struct {
	*harness.Environment
	stream  *stream
	chance  *rand.Rand
	handler *publishhandler.Handler
}

// startPublisher makes a cold environment.
func (l *lane) startPublisher() *publisher {
	p := &publisher{
		Environment: &harness.Environment{Function: harness.Publishing}, stream: l.stream,
		chance: rand.New(rand.NewPCG(l.chance.Uint64(), l.chance.Uint64())),
	}
	p.handler = harness.NewPublisher(p.Environment, p, p.chance.Float64, between(l.chance, -l.draft.skew, l.draft.skew))
	return p
}

// PutEvents is the bus with everything that may go wrong with a call.
func (p *publisher) PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (out *eventbridge.PutEventsOutput, err error) {
	if d := p.stream.draft; d.outage > 0 && time.Since(p.stream.began)-d.outage < outageTime && time.Since(p.stream.began) >= d.outage {
		if d.hangs {
			<-ctx.Done()
			return nil, harness.ErrTimeout
		}
		return nil, harness.ErrDown
	}
	fails := func(int) string { return "" }
	if !p.stream.faultsOff.Load() {
		share, r := p.stream.draft.entries, rand.New(rand.NewPCG(p.chance.Uint64(), 0))
		fails = func(int) string {
			if !sometimes(r, share) {
				return ""
			}
			return []string{"InternalFailure", "ThrottlingException"}[r.IntN(2)]
		}
	}
	err = p.call(ctx, func() (err error) {
		out, err = p.stream.bus.Put(in, fails)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// SendMessage is the failure queue.
func (p *publisher) SendMessage(ctx context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (out *sqs.SendMessageOutput, err error) {
	err = p.call(ctx, func() (err error) {
		out, err = p.stream.bus.Store(in)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// call makes an outside call, unless something goes wrong.
func (p *publisher) call(ctx context.Context, do func() error) error {
	if p.Dead.Load() {
		runtime.Goexit()
	}
	d, r := p.stream.draft, p.chance
	before, after, dice := between(r, 0, d.latency), between(r, 0, d.latency), r.Float64()
	if p.stream.faultsOff.Load() {
		dice = 1
	}
	happens := func(share float64) bool {
		dice -= share
		return dice < 0 && dice >= -share
	}
	if !lasts(ctx, before) {
		return harness.ErrTimeout
	}
	switch {
	case happens(d.refused):
		return harness.ErrDown
	case happens(d.crash / 2):
		p.Die()
	case happens(d.hang):
		time.Sleep(time.Until(p.Deadline))
		p.Die()
	case happens(d.late):
		late := between(r, 0, 20*time.Minute) // as of an environment that is frozen meanwhile
		p.stream.all.Go(func() {
			time.Sleep(late)
			_ = do() // nobody hears of it
		})
		return harness.ErrTimeout
	}
	err := do()
	switch {
	case happens(d.lost):
		return harness.ErrTimeout
	case happens(d.crash / 2):
		p.Die()
	case !lasts(ctx, after):
		return harness.ErrTimeout
	}
	return err
}

// lasts reports whether the context lasts for that long, and waits.
func lasts(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
