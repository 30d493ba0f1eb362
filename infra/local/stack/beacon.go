package stack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"flashsale/infra/local/beacon"
)

// dicePath is where the stack serves the rounds of its own dice. The public ones would keep a
// draw waiting, and need the internet.
const dicePath = "/_local/beacon"

// dice are the stack's own, which are the same after a restart.
type dice struct {
	*beacon.Relay
	chain string // as JSON
}

func openDice() (d dice, err error) {
	d.Relay, err = beacon.New(beacon.Options{Seed: "the local stack's dice", Genesis: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		return d, err
	}
	text, err := json.Marshal(d.Chain())
	if err != nil {
		return d, fmt.Errorf("write the chain of the dice: %w", err)
	}
	d.chain = string(text)
	return d, nil
}

func (d dice) handler() http.Handler { return http.StripPrefix(dicePath, d.Relay) }

// throw makes a function that asks relays of the public dice ask for these, unless the stack's
// parameters name relays.
func (s *Stack) throw(env map[string]string) {
	if _, asks := env["DRAW_RELAYS"]; asks && s.o.Parameters["DrawRelays"] == "" {
		env["DRAW_RELAYS"], env["DRAW_BEACON"] = s.API+dicePath, s.dice.chain
	}
}
