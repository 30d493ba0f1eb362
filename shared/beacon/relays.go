package beacon

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"flashsale/shared/invocation"
)

const (
	// maxRelays bounds the requests that are made at once.
	maxRelays = 16
	// maxAnswer is the most that is read of an answer, in bytes. One has about 250.
	maxAnswer = 4 << 10
	// timeout bounds all requests for a round. A relay keeps a request for the next round
	// waiting until it is signed.
	timeout = 5 * time.Second
)

// Relays hand on the signatures of a chain. They are not trusted: what they say is verified, so
// the worst that they can do together is to say nothing. It is safe for concurrent use.
type Relays struct {
	Chain  Chain
	urls   []*url.URL
	client *http.Client
}

// NewRelays returns the relays at the given URLs: https, or http on loopback. transport carries
// the requests; nil means one of its own, which verifies certificates.
func NewRelays(chain Chain, urls []string, transport http.RoundTripper) (*Relays, error) {
	if err := chain.Check(); err != nil {
		return nil, err
	}
	if len(urls) == 0 || len(urls) > maxRelays {
		return nil, fmt.Errorf("read relays: there are %d, want 1 to %d", len(urls), maxRelays)
	}
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		transport = own
	}
	r := &Relays{Chain: chain, client: &http.Client{
		Transport: transport,
		// Redirects are not followed: they would lead to an unchecked host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("read relays: %w", err)
		}
		if u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u)) ||
			u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("read relays: %q is not https://HOST, or http://HOST on loopback", text)
		}
		r.urls = append(r.urls, u)
	}
	return r, nil
}

// isLoopback reports whether the URL's host is this machine. Names other than localhost are
// not resolved: the result may change between the check and the request.
func isLoopback(u *url.URL) bool {
	address, err := netip.ParseAddr(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || err == nil && address.IsLoopback()
}

// Signature asks all relays for a round at once and returns the first signature that verifies.
// It does so only for that round: what a relay calls its latest one could be chosen by whoever
// chooses the moment. An error says that no relay has the signature yet, or none can be
// reached, and why; the signature is as good when it is got later.
func (r *Relays) Signature(ctx context.Context, round uint64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var asked invocation.Group
	var mu sync.Mutex // guards found and failed
	var found []byte
	var failed error
	for _, u := range r.urls {
		asked.Go(func() {
			signature, err := r.ask(ctx, u, round)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && found == nil {
				found = signature
				cancel()
			}
			failed = errors.Join(failed, err)
		})
	}
	// All answers are awaited, even after a good one, which cancels the other requests: none may
	// go on in an environment that is frozen.
	asked.Wait()
	if found == nil {
		return nil, fmt.Errorf("get signature of round %d: %w", round, failed)
	}
	return found, nil
}

// ask asks one relay for a round, and verifies its answer.
func (r *Relays) ask(ctx context.Context, relay *url.URL, round uint64) ([]byte, error) {
	address := relay.JoinPath(r.Chain.Hash, "public", strconv.FormatUint(round, 10))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask relay: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK { // 404 or 425 before the round
		return nil, fmt.Errorf("ask relay %s: status %d", relay.Host, response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", relay.Host, err)
	}
	signature, err := r.read(text, round)
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", relay.Host, err)
	}
	return signature, nil
}

// read returns the signature of an answer if it is that of the round.
func (r *Relays) read(text []byte, round uint64) ([]byte, error) {
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("it has more than %d bytes", maxAnswer)
	}
	var said struct {
		Round     uint64 `json:"round"`
		Signature string `json:"signature"`
	}
	if err := jsonv2.Unmarshal(text, &said); err != nil {
		return nil, errors.New("it is not JSON of a round and its signature")
	}
	if said.Round != round {
		return nil, fmt.Errorf("it is about round %d", said.Round)
	}
	signature, err := hex.DecodeString(said.Signature)
	if err != nil {
		return nil, errors.New("the signature is not hexadecimal")
	}
	return signature, r.Chain.Verify(round, signature)
}
