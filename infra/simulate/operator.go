package simulate

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
)

// operate carries out the operator's commands, one after the other, each until
// it succeeds: as its schedule, or somebody with a checklist, would.
func (m *simulation) operate(commands []command) {
	order := slices.Clone(commands)
	// The creation comes first.
	slices.SortStableFunc(order[1:], func(a, b command) int { return cmp.Compare(a.at, b.at) })
	for _, c := range order {
		pause := time.Until(m.began.Add(c.at))
		if c.whenGone {
			// Whichever comes first, what follows is the same.
			select {
			case <-m.watch.gone:
			case <-time.After(pause):
			}
			pause = c.delay
		}
		m.n.wait("operator", max(time.Millisecond, pause))
		if c.again < 0 {
			m.said[c.number] = c.event(time.Now())
			m.command(c, m.said[c.number], false)
		} else if event := m.said[c.again]; event != "" {
			m.command(c, event, true)
		}
	}
}

// command sends one event until it succeeds.
func (m *simulation) command(c command, event string, repeated bool) {
	if !repeated {
		m.begin(c)
	}
	call := m.since()
	for {
		e := m.pools[seeding].take("operator")
		var out struct {
			Seeded  int64 `json:"seeded"`
			Applied bool  `json:"applied"`
		}
		took, err := e.command(event, &out)
		m.inTime(seeding, took)
		m.pools[seeding].give(e)
		m.write("operator: %s: %+v %v", event, out, err)
		if err == nil {
			if repeated && out.Applied {
				m.violate("P9: applied a second time: %s", event)
			}
			if !repeated {
				m.end(c, call)
			}
			return
		}
		if repeated && codeOf(err) == "conflicting-request" && strings.Contains(event, `"at":`) {
			return // a newer edit stands that says otherwise
		}
		if !errors.Is(err, errDied) && codeOf(err) != "busy" {
			m.violate("P15: %s: %v", event, err)
			return
		}
		m.n.pass(0, "operator", time.Time{}, func(r *rand.Rand) time.Duration { return between(r, time.Second, 5*time.Second) })
	}
}

// codeOf is the code of a function's error.
func codeOf(err error) string {
	var told messages.InvokeResponse_Error
	if errors.As(err, &told) {
		return told.Type
	}
	return ""
}

// begin notes that the window may change from now on.
func (m *simulation) begin(c command) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if c.edit {
		m.watch.settled = nil
	}
}

// end notes that a command was answered: its units are all there, its edit is in
// every shard.
func (m *simulation) end(c command, call int64) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if c.units > 0 {
		m.history.Restocks = append(m.history.Restocks, Restock{Call: call, Return: m.since(), Units: c.units})
	}
	if all := m.watch.windows["SALE#"+saleID+"|SALE"]; c.edit && len(all) > 0 {
		settled := all[len(all)-1]
		m.watch.settled = &settled
	}
}
