package stack

import (
	"bytes"
	"maps"
	"net/http/httptest"
	"testing"
	"time"

	"flashsale/shared/beacon"
)

func TestAFunctionAsksTheStacksOwnDiceWhichAreTheSameAfterARestart(t *testing.T) {
	var first []byte // the signature of round 1
	for range 2 {
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
		if relays.Chain.Period != 3 || relays.Chain.Genesis != time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix() {
			t.Errorf("the chain is %+v", relays.Chain)
		}
		next := relays.Chain.RoundAt(time.Now())
		if _, err := relays.Signature(t.Context(), next-1); err != nil {
			t.Error(err)
		}
		if signature, err := relays.Signature(t.Context(), next+20); err == nil {
			t.Errorf("what is signed in a minute is there: %x", signature)
		}
		if signature, err := relays.Signature(t.Context(), 1); err != nil || first != nil && !bytes.Equal(signature, first) {
			t.Errorf("round 1 is %x (%v), and was %x", signature, err, first)
		} else {
			first = signature
		}
	}
}

func TestNamedRelaysAndOtherFunctionsStayAsTheyAre(t *testing.T) {
	d, err := openDice()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ parameters, env map[string]string }{
		"named relays":                {map[string]string{"DrawRelays": "https://relay.example"}, map[string]string{"DRAW_RELAYS": "https://relay.example"}},
		"a function that asks nobody": {nil, map[string]string{"TABLE_NAME": "T"}},
	} {
		got := maps.Clone(tt.env)
		(&Stack{API: "http://127.0.0.1:3000", dice: d, o: Options{Parameters: tt.parameters}}).throw(got)
		if !maps.Equal(got, tt.env) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
