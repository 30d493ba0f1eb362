package beacon

import (
	"errors"
	"fmt"
	"os"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// relays are quicknet's public ones, of two operators.
const relays = "https://api.drand.sh,https://api2.drand.sh,https://api3.drand.sh,https://drand.cloudflare.com"

// FromEnv returns the relays that the environment variables describe: those of quicknet, if
// DRAW_RELAYS, a list of URLs separated by commas, is empty. It fails for invalid values, so
// that a misconfigured function fails at start (P19).
//
// DRAW_BEACON is another chain, as JSON. It is for a stack on one machine, which cannot wait
// for the real dice, and is refused unless all relays are on loopback.
func FromEnv() (*Relays, error) {
	text := os.Getenv("DRAW_RELAYS")
	if text == "" {
		text = relays
	}
	chain := Quicknet
	other := os.Getenv("DRAW_BEACON")
	if other != "" {
		chain = Chain{}
		if err := jsonv2.Unmarshal([]byte(other), &chain, jsonv2.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("DRAW_BEACON: %w", err)
		}
	}
	r, err := NewRelays(chain, strings.Split(text, ","), nil)
	if err != nil {
		return nil, fmt.Errorf("DRAW_RELAYS and DRAW_BEACON: %w", err)
	}
	for _, u := range r.urls {
		if other != "" && !isLoopback(u) {
			return nil, errors.New("DRAW_BEACON: a chain other than quicknet must have its relays on loopback")
		}
	}
	return r, nil
}
