package stack

import (
	"net/http/httptest"
	"testing"
	"time"

	"flashsale/shared/beacon"
)

func TestAFunctionAsksTheStacksOwnDiceUnlessRelaysAreNamed(t *testing.T) {
	d, err := openDice()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d.handler())
	defer server.Close()
	s := &Stack{API: server.URL, dice: d}
	env := map[string]string{"DRAW_RELAYS": "", "DRAW_GAP_SECONDS": "60"}
	s.throw(env)
	for name, value := range env {
		t.Setenv(name, value)
	}
	relays, err := beacon.FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := relays.Signature(t.Context(), relays.Chain.RoundAt(time.Now())-1); err != nil {
		t.Error(err)
	}
	s.o.Parameters = map[string]string{"DrawRelays": "https://relay.example"}
	named, other := map[string]string{"DRAW_RELAYS": "https://relay.example"}, map[string]string{}
	s.throw(named)
	s.throw(other)
	if len(named) != 1 || named["DRAW_RELAYS"] != "https://relay.example" || len(other) != 0 {
		t.Errorf("named relays become %v, and a function that asks nobody gets %v", named, other)
	}
}
