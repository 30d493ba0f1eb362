package issuer

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// foreignTime bounds a request to another issuer, as API Gateway does.
	foreignTime = 1500 * time.Millisecond
	// keysAge is how long keys are kept, and askPause the shortest time between two looks for a key that is not known.
	keysAge, askPause = time.Minute, time.Second
)

// Foreign is another OpenID provider, whose keys verify the tokens. It is safe for concurrent use.
type Foreign struct {
	url string
	now func() time.Time

	mu    sync.Mutex
	keys  map[string]*rsa.PublicKey
	asked time.Time
	err   error // of the last look
}

// NewForeign returns the provider whose tokens have the issuer address as their iss. It fails for an address that is
// neither https nor on this machine. The provider is asked when the first token comes.
func NewForeign(address string, now func() time.Time) (*Foreign, error) {
	if err := checkAddress(address); err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	return &Foreign{url: address, now: now}, nil
}

// checkAddress accepts https, and http of this machine: whoever can change the keys on their way is everybody.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%q is no address", address)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	isHere := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !isHere) {
		return fmt.Errorf("%q is neither https nor http of this machine", address)
	}
	return nil
}

// Key returns the provider's public key with the id.
func (f *Foreign) Key(kid string) (*rsa.PublicKey, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	age := f.now().Sub(f.asked)
	if age > keysAge || f.keys[kid] == nil && age > askPause {
		f.asked = f.now()
		var keys map[string]*rsa.PublicKey
		if keys, f.err = readKeys(f.url); f.err == nil {
			f.keys = keys
		}
	}
	switch key := f.keys[kid]; {
	case key != nil:
		return key, nil
	case f.err != nil:
		return nil, fmt.Errorf("the issuer's keys cannot be had: %w", f.err)
	}
	return nil, errUnknownKey
}

// readKeys reads the discovery document of an issuer and the RSA keys that it leads to.
func readKeys(issuer string) (map[string]*rsa.PublicKey, error) {
	ctx, cancel := context.WithTimeout(context.Background(), foreignTime)
	defer cancel()
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := read(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", &document); err != nil {
		return nil, err
	}
	if document.Issuer != issuer {
		return nil, fmt.Errorf("the discovery document is of the issuer %q, not of %q", document.Issuer, issuer)
	}
	var set struct {
		Keys []struct {
			ID       string `json:"kid"`
			Type     string `json:"kty"`
			Modulus  string `json:"n"`
			Exponent string `json:"e"`
		} `json:"keys"`
	}
	if err := read(ctx, document.Keys, &set); err != nil {
		return nil, err
	}
	keys := map[string]*rsa.PublicKey{}
	for _, k := range set.Keys {
		n, noModulus := base64.RawURLEncoding.DecodeString(k.Modulus)
		e, noExponent := base64.RawURLEncoding.DecodeString(k.Exponent)
		if k.Type != "RSA" || k.ID == "" || errors.Join(noModulus, noExponent) != nil || len(e) == 0 || len(e) > 4 {
			continue // API Gateway takes RSA alone, and a token that names its key
		}
		keys[k.ID] = &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
	}
	return keys, nil
}

// keyClient follows no redirect to where the keys could be changed on their way.
var keyClient = &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
	if len(via) > 3 {
		return errors.New("too many redirects")
	}
	return checkAddress(r.URL.String())
}}

func read(ctx context.Context, address string, into any) error {
	if err := checkAddress(address); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	a, err := keyClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d", address, a.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(a.Body, 1<<20)).Decode(into); err != nil {
		return fmt.Errorf("%s is not JSON: %w", address, err)
	}
	return nil
}
