package live

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
)

const (
	// crowdSize buyers, as the page calls them, click within arrival, more and more of them every second, up to
	// clicks times each, with at most inFlight requests at a time.
	crowdSize = 1000
	clicks    = 3
	inFlight  = 32
	arrival   = 15 * time.Second
	// rushTime bounds a rush, with its sign-in.
	rushTime = 90 * time.Second
)

type crowd struct {
	mu      sync.Mutex
	seen    crowdView
	winners map[string]bool // claims of its buyers
}

type crowdView struct {
	SaleID         string `json:"saleId"`
	Buyers         int    `json:"buyers"`
	SignedIn       int    `json:"signedIn"`
	Clicks         int    `json:"clicks"`
	Answered       int    `json:"answered"`
	Winners        int    `json:"winners"`
	AlreadyOrdered int    `json:"alreadyOrdered"`
	SoldOut        int    `json:"soldOut"`
	GaveUp         int    `json:"gaveUp"`
	Running        bool   `json:"running"`
	Problem        string `json:"problem,omitempty"`
}

func (c *crowd) running() bool { return c.view().Running }

func (c *crowd) view() *crowdView {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	return &seen
}

// newCrowd makes buyers whose names no other crowd has, and who click in the order of the
// slice: at a rate that rises steadily from 0.
func newCrowd(buyers int) []rush.Buyer {
	name := strings.ToLower(rand.Text()[:4])
	var seed [8]byte
	_, _ = rand.Read(seed[:])
	all := rush.Plan(uint64(seed[0])<<8|uint64(seed[1]), buyers, clicks)
	for i := range all {
		all[i].User = fmt.Sprintf("rush-%s-%04d", name, i+1)
		all[i].At = time.Duration(math.Sqrt((float64(i)+0.5)/float64(buyers)) * float64(arrival))
	}
	return all
}

// send lets a crowd rush for the sale. It reports false while another one does.
func (v *View) send(saleID string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ctx.Err() != nil || v.crowd != nil && v.crowd.running() {
		return false
	}
	all := newCrowd(crowdSize)
	c := &crowd{winners: map[string]bool{}, seen: crowdView{SaleID: saleID, Buyers: crowdSize, Clicks: rush.TotalClicks(all), Running: true}}
	v.crowd = c
	v.work.Go(func() {
		ctx, cancel := context.WithTimeout(v.ctx, rushTime)
		defer cancel()
		err := c.run(ctx, v, all)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.seen.Running = false; err != nil {
			c.seen.Problem = err.Error()
		}
	})
	return true
}

func (c *crowd) run(ctx context.Context, v *View, all []rush.Buyer) error {
	users := make([]string, len(all))
	for i, b := range all {
		users[i] = b.User
	}
	tokens, err := v.o.Client.Tokens(ctx, users, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen.SignedIn++
	})
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Token = tokens[i]
	}
	r := rush.Rush{API: v.o.Client, SaleID: c.seen.SaleID, Crowd: all, InFlight: inFlight, Seen: func(t rush.Try) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.Final || t.GaveUp {
			c.count(t.Outcome, t.Answer.Claim.ClaimID)
		}
	}}
	r.Run(ctx, func() {})
	return nil
}

// count counts the final answer to a click, "" for none. A buyer whose first answers were lost may learn of
// the unit by "already ordered" only. The caller holds the lock.
func (c *crowd) count(o client.Outcome, claim string) {
	c.seen.Answered++
	switch {
	case o == client.SoldOut:
		c.seen.SoldOut++
	case o != client.Accepted && o != client.AlreadyOrdered:
		c.seen.GaveUp++
	case c.winners[claim]:
		c.seen.AlreadyOrdered++
	default:
		c.winners[claim] = true
		c.seen.Winners++
	}
}
