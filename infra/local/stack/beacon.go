package stack

import (
	"encoding/json"
	"fmt"
)

// dicePath is where the stack serves the rounds of its own dice. The public ones would keep a
// draw waiting, and need the internet.
const dicePath = "/_local/beacon"

// throw makes a function that asks relays of the public dice ask for the stack's own, unless the stack's
// parameters name relays.
func (s *Stack) throw(env map[string]string) {
	if _, asks := env["DRAW_RELAYS"]; asks && s.o.Parameters["DrawRelays"] == "" {
		chain, err := json.Marshal(s.dice.Chain())
		if err != nil {
			panic(fmt.Sprintf("write the chain of the dice: %v", err)) // it has texts and numbers
		}
		env["DRAW_RELAYS"], env["DRAW_BEACON"] = s.API+dicePath, string(chain)
	}
}
