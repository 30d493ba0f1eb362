package scenario

import (
	"time"

	"flashsale/infra/lab/fleet"
	"flashsale/infra/lab/shop"
)

const (
	// patience is generous: on a loaded machine a slow strategy shall crawl,
	// and only one that is stuck shall stall.
	patience = 12 * time.Second
	// enginePatience covers an engine's restart, too.
	enginePatience = 14 * time.Second
	arrival        = 100 * time.Millisecond
)

// anywhere is the first server whose purchases pass one of these points that often, or a moment
// after so many of the answers.
func anywhere(pass int, share float64) (all []Trigger) {
	for _, point := range []shop.Point{shop.Read, shop.Taken, shop.Recorded} {
		for server := range shop.DefaultServers {
			all = append(all, at(server, point, pass))
		}
	}
	return append(all, answered(0, share))
}

func All() []Scenario {
	return []Scenario{
		{
			Name: "calm", Does: "80 buyers for 20 units, quick user checks, nothing fails",
			Stock: 20, Buyers: 80, Within: arrival, Patience: patience,
		},
		{
			Name: "slow-check", Does: "the incident: at the opening a user check takes longer than a lock lasts",
			Stock: 60, Buyers: 160, Within: arrival, SlowFor: 800 * time.Millisecond, Patience: patience,
		},
		{
			Name: "last-units", Does: "the incident's end: slow user checks at the opening, and half a lock's life between reading and taking the last units",
			Stock: 24, Buyers: 90, Within: arrival, SlowFor: 800 * time.Millisecond, Patience: patience,
			Slow: []fleet.Slow{{Point: shop.Read, From: 5, To: 12, Pause: shop.LockTTL / 2}},
		},
		{
			Name: "server-killed", Does: "application servers are killed in the middle of a purchase and come back",
			Stock: 60, Buyers: 40, Within: arrival, Later: 80, LaterWithin: 2 * arrival, Patience: patience,
			Faults: []Fault{
				{KillServer, []Trigger{at(0, shop.Locked, 3), answered(0, 0.3)}},
				{KillServer, []Trigger{at(1, shop.Queued, 2), at(1, shop.Taken, 2), answered(1, 0.5)}},
				{KillServer, []Trigger{at(2, shop.Recorded, 2), answered(2, 0.7)}},
			},
		},
		{
			Name: "winner-asks-again", Does: "servers are killed when the last orders are recorded: winners without an answer click again after the end",
			Stock: 12, Buyers: 60, Within: arrival, Later: 30, LaterWithin: arrival, Patience: patience,
			Faults: []Fault{
				{KillServer, []Trigger{at(0, shop.Recorded, 3), answered(0, 0.2)}},
				{KillServer, []Trigger{at(1, shop.Recorded, 4), answered(1, 0.3)}},
			},
		},
		{
			Name: "frozen-at-the-end", Does: "an application server stands still when the last units go, between reading the stock and taking a unit",
			Stock: 12, Buyers: 60, Within: arrival, Later: 30, LaterWithin: arrival, Patience: patience,
			Faults: []Fault{
				{FreezeServer, anywhere(4, 0.2)},
			},
		},
		{
			Name: "engine-killed", Does: "the engine is killed in the middle of a purchase and comes back",
			Stock: 40, Buyers: 40, Within: arrival, Later: 60, LaterWithin: arrival, Patience: enginePatience,
			Faults: []Fault{
				{KillEngine, []Trigger{at(0, shop.Queued, 3), at(0, shop.Taken, 3), at(0, shop.Recorded, 3), answered(0, 0.3)}},
			},
		},
		{
			Name: "answers-lost", Does: "the engines do what they are asked, and the connection breaks under every fifth of 40 answers",
			Stock: 30, Buyers: 40, Within: arrival, Later: 40, LaterWithin: arrival, Patience: patience,
			Faults: []Fault{{LoseAnswers, []Trigger{answered(0, 0.1)}}},
		},
		{
			Name: "frozen-clicks", Does: "one buyer clicks 15 times at once, and the server of the first click that gets on stands still",
			Stock: 40, Buyers: 20, Within: arrival, Clicks: 15, Ahead: 30 * time.Millisecond, Later: 60, LaterWithin: arrival, Patience: patience,
			Faults: []Fault{
				{FreezeServer, anywhere(1, 0.3)},
			},
		},
		{
			Name: "server-added", Does: "an application server is added while the sale runs",
			Stock: 60, Buyers: 30, Within: arrival, Later: 100, LaterWithin: 3 * arrival, Patience: patience,
			Faults: []Fault{{AddServer, []Trigger{answered(0, 0.3)}}},
		},
		{
			Name: "fifteen-clicks", Does: "one buyer clicks 15 times at once",
			Stock: 60, Buyers: 20, Within: arrival, Clicks: 15, Ahead: 30 * time.Millisecond, Check: 50 * time.Millisecond, Patience: patience,
		},
		{
			Name: "fifteen-clicks-scarce", Does: "one buyer's 15 clicks come first, for 4 units that 40 others want as well",
			Stock: 4, Buyers: 40, Within: arrival, Clicks: 15, Ahead: 250 * time.Millisecond, Check: 30 * time.Millisecond, Patience: patience,
		},
		{
			Name: "two-each", Does: "40 pairs come for 21 units, two each, a server is killed, and then ten come who want one",
			Stock: 21, Buyers: 40, Within: arrival, Later: 10, LaterWithin: arrival, Pairs: true, Patience: patience,
			Faults: []Fault{{KillServer, []Trigger{answered(0, 0.7)}}},
		},
	}
}
