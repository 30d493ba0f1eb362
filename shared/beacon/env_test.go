package beacon

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestTheEnvironmentDescribesTheRelays(t *testing.T) {
	_, own := ownChain(t)
	text, err := json.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	const local = "http://127.0.0.1:3000/_local/beacon"
	for _, tt := range []struct {
		name, relays, beacon string
		want                 string // the relays; "" for an error
		chain                Chain
	}{
		{"nothing is set", "", "", "[https://api.drand.sh https://api2.drand.sh https://api3.drand.sh https://drand.cloudflare.com]", Quicknet},
		{"one relay", "https://relay.example.com", "", "[https://relay.example.com]", Quicknet},
		{"two relays", "https://a.example.com,https://b.example.com/drand", "", "[https://a.example.com https://b.example.com/drand]", Quicknet},
		{"a relay on this machine", local, "", "[" + local + "]", Quicknet},
		{"a chain on this machine", local, string(text), "[" + local + "]", own},
		{"an empty relay", "https://relay.example.com,", "", "", Chain{}},
		{"a chain with the public relays", "", string(text), "", Chain{}},
		{"a chain with a relay elsewhere", "https://relay.example.com", string(text), "", Chain{}},
		{"a chain with one relay elsewhere", local + ",https://relay.example.com", string(text), "", Chain{}},
		{"a chain with a host that is named like this machine", "https://127.0.0.1.example.com", string(text), "", Chain{}},
		{"a chain that is not JSON", local, "{", "", Chain{}},
		{"a chain without a key", local, `{"hash":"` + own.Hash + `","genesis":1,"period":3}`, "", Chain{}},
		{"a chain with something else", local, string(text[:len(text)-1]) + `,"scheme":"bls"}`, "", Chain{}},
	} {
		t.Setenv("DRAW_RELAYS", tt.relays)
		t.Setenv("DRAW_BEACON", tt.beacon)
		r, err := FromEnv()
		if (err != nil) != (tt.want == "") || err == nil && (fmt.Sprint(r.urls) != tt.want || r.Chain != tt.chain) {
			t.Errorf("%s: got %+v (%v), want %s of %v", tt.name, r, err, tt.want, tt.chain)
		}
	}
}
