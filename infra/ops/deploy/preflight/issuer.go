package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// issuerTime bounds one request to an issuer. API Gateway waits 1.5 s for a JWKS
	// endpoint.
	issuerTime = 5 * time.Second
	// maxDocument is the maximum length of a document, in bytes.
	maxDocument = 1 << 20
)

// Discovery reads an issuer's documents as API Gateway does: over https, first the discovery
// document, then the keys at its jwks_uri.
type Discovery struct{ Client *http.Client }

// Check reads the issuer's discovery document and its keys. The error says why API Gateway
// would refuse all tokens.
func (d Discovery) Check(ctx context.Context, issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("not an https address, which API Gateway requires")
	}
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := d.get(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", &document); err != nil {
		return err
	}
	if document.Issuer != issuer {
		return fmt.Errorf("its discovery document names another issuer: %q", document.Issuer)
	}
	if !strings.HasPrefix(document.Keys, "https://") {
		return fmt.Errorf("its discovery document names no https jwks_uri: %q", document.Keys)
	}
	var keys struct {
		Keys []struct {
			Type string `json:"kty"`
		} `json:"keys"`
	}
	if err := d.get(ctx, document.Keys, &keys); err != nil {
		return err
	}
	for _, k := range keys.Keys {
		if k.Type == "RSA" {
			return nil
		}
	}
	return fmt.Errorf("it publishes no RSA key, and API Gateway accepts only RSA")
}

func (d Discovery) get(ctx context.Context, address string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, issuerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("call issuer: %w", err)
	}
	response, err := d.Client.Do(request)
	if err != nil {
		return fmt.Errorf("call issuer: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument))
	if err != nil {
		return fmt.Errorf("call issuer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d", address, response.StatusCode)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s is not JSON: %w", address, err)
	}
	return nil
}
