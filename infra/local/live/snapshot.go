package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/drawcheck/rules"
)

// demoSale is the sale that the stack itself opens.
const demoSale = "demo"

const (
	// readTime bounds the reads of one snapshot, countTime a recount.
	readTime  = 2 * time.Second
	countTime = 30 * time.Second
	// Bounds of what is read and shown.
	maxClaims = 1000
	maxSales  = 30
	maxOrders = 12
	maxShards = 60
	maxNotes  = 5
	maxEvents = 6
)

type snapshot struct {
	At        time.Time  `json:"at"`
	Sales     []string   `json:"sales"`
	Sale      *saleView  `json:"sale,omitempty"`
	Queue     depth      `json:"queue"`
	Dead      depth      `json:"dead"`
	Purchases purchases  `json:"purchases"`
	Events    *eventView `json:"events,omitempty"`
	Accidents []accident `json:"accidents"`
	Broken    *broken    `json:"broken,omitempty"`
	Crowd     *crowdView `json:"crowd,omitempty"`
	Receipt   *receipt   `json:"receipt,omitempty"`
	Problem   string     `json:"problem,omitempty"`
}

type saleView struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	State     string    `json:"state"`
	OpensAt   time.Time `json:"opensAt"`
	ClosesAt  time.Time `json:"closesAt"`
	Seeded    int64     `json:"seeded"`
	Left      int64     `json:"left"`
	Sold      int64     `json:"sold"`
	Pending   int       `json:"pending"`
	Confirmed int       `json:"confirmed"`
	Paid      int       `json:"paid"`
	Expired   int       `json:"expired"`
	Cancelled int       `json:"cancelled"`
	// Partial: not all claims were read, so the counts of orders are too low.
	Partial bool        `json:"partial"`
	Shards  []shardView `json:"shards"`
	// MoreShards are not in Shards.
	MoreShards int         `json:"moreShards"`
	Draw       *drawView   `json:"draw,omitempty"`
	Orders     []orderView `json:"orders"`
}

type shardView struct {
	Left   int64 `json:"left"`
	Seeded int64 `json:"seeded"`
}

// drawView is where a draw is. Until is zero if that depends on more than the time.
type drawView struct {
	Phase    string    `json:"phase"`
	Until    time.Time `json:"until,omitzero"`
	Entrants int64     `json:"entrants"`
	// Of the newest call; zero before the first.
	Call   int       `json:"call"`
	From   time.Time `json:"from,omitzero"`
	Kept   int64     `json:"kept"` // units, when the people were called
	Bought int       `json:"bought"`
}

type orderView struct {
	User       string    `json:"user"`
	Shard      int       `json:"shard"`
	AcceptedAt time.Time `json:"acceptedAt"`
	OrderID    string    `json:"orderId,omitempty"`
	State      string    `json:"state"`
}

// depth is how many messages wait in a queue and how many are being processed.
type depth struct {
	Waiting  int `json:"waiting"`
	InFlight int `json:"inFlight"`
}

// receipt is the result of a recount, in short.
type receipt struct {
	*books.Receipt
	Problem string `json:"problem,omitempty"`
	of      string // the state that was counted
}

// watched is what is remembered of a sale that somebody looks at.
type watched struct {
	state   string // at the last snapshot
	receipt *receipt
	asked   bool // for another recount
}

// read reads the sale with the id, or if it is empty, the first open one.
func (v *View) read(ctx context.Context, saleID string) snapshot {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	now := time.Now()
	s := snapshot{At: now.UTC(), Purchases: v.meter.since(now.Add(-window)), Accidents: accidents}
	note := func(err error) {
		if err != nil && s.Problem == "" {
			s.Problem = err.Error()
		}
	}
	var err error
	s.Sales, err = v.openSales(ctx, now)
	note(err)
	if saleID == "" && len(s.Sales) > 0 {
		saleID = s.Sales[0]
	}
	if saleID != "" {
		found, err := books.Glance(ctx, v.o.DB, v.o.Table, saleID, maxClaims)
		if err == nil {
			s.Sale = view(saleID, found, now)
		} else if errors.Is(err, books.ErrNoSale) {
			err = fmt.Errorf("there is no sale %q", saleID)
		}
		note(err)
	}
	s.Events = v.events()
	s.Queue, err = v.depth(ctx, v.o.OrderQueue)
	note(err)
	s.Dead, err = v.depth(ctx, v.o.DeadLetterQueue)
	note(err)
	return s
}

// openSales are the sales that have not closed, the demonstration sale first, then those
// that close last.
func (v *View) openSales(ctx context.Context, now time.Time) ([]string, error) {
	all, err := books.Sales(ctx, v.o.DB, v.o.Table)
	all = slices.DeleteFunc(all, func(l books.Listing) bool { return l.Drained || !l.ClosesAt.After(now) })
	slices.SortStableFunc(all, func(a, b books.Listing) int {
		switch {
		case a.SaleID == demoSale:
			return -1
		case b.SaleID == demoSale:
			return 1
		}
		return b.ClosesAt.Compare(a.ClosesAt)
	})
	ids := []string{}
	for _, l := range all[:min(len(all), maxSales)] {
		ids = append(ids, l.SaleID)
	}
	return ids, err
}

func view(id string, found *books.Sale, now time.Time) *saleView {
	s := &saleView{
		ID: id, Name: found.Name, State: state(found, now), OpensAt: found.OpensAt, ClosesAt: found.ClosesAt,
		Shards: []shardView{}, Orders: []orderView{},
	}
	for i := range len(found.Shards) {
		shard := found.Shards[i]
		s.Left += shard.Stock
		s.Seeded += shard.Seeded
		if len(s.Shards) < maxShards {
			s.Shards = append(s.Shards, shardView{shard.Stock, shard.Seeded})
		}
	}
	s.Draw = drawOf(found, now)
	s.MoreShards = len(found.Shards) - len(s.Shards)
	s.Sold = s.Seeded - s.Left
	slices.SortFunc(found.Claims, func(a, b books.Claim) int {
		return cmp.Or(b.AcceptedAt.Compare(a.AcceptedAt), cmp.Compare(a.User, b.User))
	})
	units := int64(0)
	for i, c := range found.Claims {
		units += c.Count()
		is := c.State()
		switch is {
		case "PENDING":
			s.Pending++
		case "CONFIRMED":
			s.Confirmed++
		case "PAID":
			s.Paid++
		case "EXPIRED":
			s.Expired++
		case "CANCELLED":
			s.Cancelled++
		}
		if i < maxOrders {
			s.Orders = append(s.Orders, orderView{c.User, c.Shard, c.AcceptedAt, c.OrderID, is})
		}
	}
	// The claims are read after the shards, so there may be more of them.
	s.Partial = s.Sold > units
	return s
}

func state(s *books.Sale, now time.Time) string {
	switch {
	case !s.Open:
		return "being created"
	case s.Paused:
		return "paused"
	case now.Before(s.OpensAt):
		return "not open yet"
	case !now.Before(s.ClosesAt):
		return "closed"
	case s.Stock() == 0:
		return "sold out"
	case s.Draw != nil && !isCalling(s.Draw.Calls, now):
		return "between calls"
	}
	return "open"
}

// isCalling reports whether somebody may buy in a call.
func isCalling(calls []rules.Call, now time.Time) bool {
	return slices.ContainsFunc(calls, func(c rules.Call) bool {
		return (c.Open || c.Hi != nil) && !now.Before(c.From) && now.Before(c.Until)
	})
}

// drawOf is where the draw of a sale is; nil if it has none.
func drawOf(s *books.Sale, now time.Time) *drawView {
	if s.Draw == nil {
		return nil
	}
	d := &drawView{Entrants: s.Draw.Entrants, Call: len(s.Draw.Calls)}
	var c rules.Call
	if d.Call > 0 {
		c = s.Draw.Calls[d.Call-1]
		d.From, d.Kept = c.From, c.Stock
		for _, claim := range s.Claims {
			if !claim.AcceptedAt.Before(c.From) && claim.AcceptedAt.Before(c.Until) {
				d.Bought++
			}
		}
	}
	switch {
	case now.Before(s.Draw.EnterFrom):
		d.Phase, d.Until = "nobody may enter yet", s.Draw.EnterFrom
	case now.Before(s.Draw.EnterUntil):
		d.Phase, d.Until = "people enter", s.Draw.EnterUntil
	case s.Draw.Round == 0:
		d.Phase = "entering is over, the roll is not closed"
	case s.Draw.Seed == rules.Digest{}:
		d.Phase = "the roll is closed, waiting for the dice"
	case !now.Before(s.ClosesAt):
		d.Phase = "over"
	case d.Call == 0:
		d.Phase = "the dice are known, waiting for the first call"
	case !now.Before(c.Until):
		d.Phase = "waiting for the next call"
	case c.Open:
		d.Phase, d.Until = "open call, for anybody", c.Until
	case c.Hi == nil || now.Before(c.From):
		d.Phase, d.Until = "people are being called", c.Until
	default:
		d.Phase, d.Until = "the called may buy", c.Until
	}
	return d
}

func (v *View) depth(ctx context.Context, queue string) (d depth, err error) {
	const waiting, inFlight = types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	out, err := v.o.Queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &queue, AttributeNames: []types.QueueAttributeName{waiting, inFlight},
	})
	if err != nil {
		return d, fmt.Errorf("read queue: %w", err)
	}
	d.Waiting, _ = strconv.Atoi(out.Attributes[string(waiting)])
	d.InFlight, _ = strconv.Atoi(out.Attributes[string(inFlight)])
	return d, nil
}

// fingerprint changes with everything that a receipt depends on.
func (s *saleView) fingerprint() string {
	return fmt.Sprint(s.Seeded, s.Left, s.Pending, s.Confirmed, s.Paid, s.Expired, s.Cancelled, s.State)
}

// recounted returns the latest receipt of a sale. It starts a recount when the sale has changed
// since its receipt and not since the last snapshot, or when somebody asked for one; one at a time.
// The caller holds the lock.
func (v *View) recounted(s *saleView) *receipt {
	w := v.sales[s.ID]
	if w == nil {
		w = &watched{}
		v.sales[s.ID] = w
	}
	now := s.fingerprint()
	quiet := w.state == now && (v.crowd == nil || !v.crowd.running())
	w.state = now
	due := w.asked || quiet && (w.receipt == nil || w.receipt.of != now)
	if !due || v.counting || v.ctx.Err() != nil {
		return w.receipt
	}
	v.counting, w.asked = true, false
	v.work.Go(func() {
		ctx, cancel := context.WithTimeout(v.ctx, countTime)
		defer cancel()
		counted, err := books.Recount(ctx, v.o.DB, v.o.Table, s.ID, books.Options{})
		r := &receipt{Receipt: counted, of: now}
		if err != nil {
			r.Problem = err.Error()
		} else {
			counted.Findings = counted.Findings[:min(len(counted.Findings), maxNotes)]
			counted.Unfinished = counted.Unfinished[:min(len(counted.Unfinished), maxNotes)]
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.counting, w.receipt = false, r
	})
	return w.receipt
}
