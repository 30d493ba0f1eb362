package beacon

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// answer is how a relay answers.
type answer struct {
	after  time.Duration
	status int // 200 if 0
	body   string
	stuck  bool   // the body does not end
	moved  string // Location
	err    error  // it cannot be reached
}

// network are the relays by host. A relay that is not there cannot be reached.
type network struct {
	mu    sync.Mutex
	relay map[string]answer
	asked []string
	open  int // requests whose answer has not been closed
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.asked = append(n.asked, r.Method+" "+r.URL.String())
	a, known := n.relay[r.URL.Host]
	n.mu.Unlock()
	if !known {
		a.err = fmt.Errorf("no such host %s", r.URL.Host)
	}
	select {
	case <-time.After(a.after):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if a.err != nil {
		return nil, a.err
	}
	n.count(1)
	header := http.Header{}
	if a.moved != "" {
		header.Set("Location", a.moved)
	}
	return &http.Response{StatusCode: max(a.status, 200), Header: header, Request: r, Body: &body{n, r.Context(), strings.NewReader(a.body), a.stuck}}, nil
}

func (n *network) count(change int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open += change
}

type body struct {
	of    *network
	ctx   context.Context
	text  io.Reader
	stuck bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if err == io.EOF && b.stuck {
		<-b.ctx.Done()
		err = b.ctx.Err()
	}
	return n, err
}

func (b *body) Close() error {
	b.of.count(-1)
	return nil
}

// saying is the answer of a relay about a round, in the form in which quicknet's give it.
func saying(round uint64, signature string) answer {
	return answer{body: fmt.Sprintf(`{"round":%d,"randomness":"1466a6cd24e327188770752f6134001c64d6efcc590ccc26b721611ad96f165a","signature":%q}`, round, signature)}
}

// padded is a good answer of that length.
func padded(length int) answer {
	a := saying(1000, published[1000])
	a.body += strings.Repeat(" ", length-len(a.body))
	return a
}

// outcome is what came of a question, how long it took, and which requests were made.
type outcome struct {
	signature []byte
	err       error
	took      time.Duration
	asked     []string
}

func (o outcome) isGood(t *testing.T) bool {
	return o.err == nil && string(o.signature) == string(decode(t, published[1000]))
}

// ask asks relays that answer so for round 1000, in virtual time.
func ask(t *testing.T, answers ...answer) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &network{relay: map[string]answer{}}
		var urls []string
		for i, a := range answers {
			host := fmt.Sprintf("relay%d.example.com", i)
			n.relay[host] = a
			urls = append(urls, "https://"+host)
		}
		r, err := NewRelays(Quicknet, urls, n)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		o.signature, o.err = r.Signature(t.Context(), 1000)
		o.took, o.asked = time.Since(begun), n.asked
		if n.open != 0 {
			t.Errorf("%d answers are left open", n.open)
		}
	})
	return o
}

func TestARelayIsAskedForTheRoundOfTheChain(t *testing.T) {
	o := ask(t, padded(maxAnswer))
	if !o.isGood(t) {
		t.Errorf("the signature is %x, %v", o.signature, o.err)
	}
	if want := "[GET https://relay0.example.com/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971/public/1000]"; fmt.Sprint(o.asked) != want {
		t.Errorf("asked %v, want %s", o.asked, want)
	}
}

// What a relay may say instead of the signature of round 1000.
var others = map[string]answer{
	"it has not the round yet":            {status: http.StatusNotFound},
	"it has moved":                        {status: http.StatusFound, moved: "https://relay.example.com/latest"},
	"it says so with another status":      {status: http.StatusAccepted, body: saying(1000, published[1000]).body},
	"it cannot be reached":                {err: io.ErrUnexpectedEOF},
	"it never answers":                    {after: time.Hour, body: saying(1000, published[1000]).body},
	"its answer does not end":             {body: saying(1000, published[1000]).body, stuck: true},
	"its answer is too long":              padded(maxAnswer + 1),
	"its answer is endless":               {body: strings.Repeat("[", 1<<20)},
	"its answer has two rounds":           {body: `{"round":1000,"round":1000,"signature":"` + published[1000] + `"}`},
	"it answers with the latest round":    saying(21_000_000, published[21_000_000]),
	"it calls another round's this":       saying(1000, published[1001]),
	"it calls this another round's":       saying(1001, published[1000]),
	"its signature is not hexadecimal":    saying(1000, "0x"+published[1000]),
	"a digit of its signature is changed": saying(1000, published[1000][:2*SignatureSize-1]+"8"),
}

func TestWhateverARelaySaysOnlyTheRoundsSignatureIsTaken(t *testing.T) {
	for name, other := range others {
		if o := ask(t, other); o.err == nil || o.signature != nil || o.took > timeout || len(o.asked) != 1 {
			t.Errorf("%s: the signature is %x after %s: asked %v", name, o.signature, o.took, o.asked)
		}
		if o := ask(t, other, other, saying(1000, published[1000])); !o.isGood(t) || o.took > 0 || len(o.asked) != 3 {
			t.Errorf("%s: with a good relay, too: the signature is %x, %v after %s: asked %v", name, o.signature, o.err, o.took, o.asked)
		}
	}
}

func TestTheFirstGoodAnswerEndsTheOtherRequests(t *testing.T) {
	slow := saying(1000, published[1000])
	slow.after = 2 * time.Second
	fast := saying(1000, published[1000])
	fast.after = time.Second
	if o := ask(t, slow, fast, slow); !o.isGood(t) || o.took != time.Second {
		t.Errorf("it took %s: %v", o.took, o.err)
	}
}

func TestWhenAllRelaysAreDownTheErrorNamesEach(t *testing.T) {
	err := ask(t, answer{status: 503}, answer{status: 404}, answer{err: io.ErrUnexpectedEOF}).err
	for _, part := range []string{"round 1000", "relay0.example.com: status 503", "relay1.example.com: status 404", "relay2.example.com", "unexpected EOF"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, want %q in it", err, part)
		}
	}
}

func TestARelayIsReachedByHTTPSOrOnThisMachine(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://api.drand.sh": true, "https://api.drand.sh/": true, "https://relay.example.com/drand": true, "https://10.0.0.1:8443": true,
		"http://127.0.0.1:3000/_local/beacon": true, "http://localhost:3000": true, "http://[::1]:3000": true,
		"http://api.drand.sh": false, "http://127.0.0.1.example.com": false, "http://localhost.example.com": false, "http://10.0.0.1": false,
		"": false, "api.drand.sh": false, "//api.drand.sh": false, "https://": false, "https:api.drand.sh": false, "ftp://127.0.0.1": false,
		"https://user:secret@api.drand.sh": false, "https://api.drand.sh?round=1": false, "https://api.drand.sh#1": false, "https://api.drand.sh:port": false,
	} {
		if _, err := NewRelays(Quicknet, []string{text}, nil); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	for n, ok := range map[int]bool{0: false, maxRelays: true, maxRelays + 1: false} {
		if _, err := NewRelays(Quicknet, slices.Repeat([]string{"https://api.drand.sh"}, n), nil); (err == nil) != ok {
			t.Errorf("%d relays: %v", n, err)
		}
	}
	if _, err := NewRelays(Chain{}, []string{"https://api.drand.sh"}, nil); err == nil {
		t.Error("a chain without a key is accepted")
	}
}
