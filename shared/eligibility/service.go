package eligibility

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// maxAnswer is the most that is read of a response body, in bytes.
const maxAnswer = 4 << 10

// service is the operator's service: POST {"saleId": …, "user": …}. A call has one of
// three kinds of outcome.
//
// An answer is 200 with {"eligible": true} or {"eligible": false}, other members
// ignored.
//
// A fault of the service is a connection that fails, a timeout (408 included), 429 and
// any 5xx. Only these count against the breaker, so that an odd answer about a single
// user cannot cut off all others.
//
// Everything else is no answer about this user and says nothing about others
// (errAnswer): a 3xx, another 4xx, another 2xx, a 200 with another body. A 4xx is no
// answer whatever its body says, because an ingress without its service (404), or a
// gateway that refuses our key (401, 403), answers everybody so: as "not eligible" it
// would bar all those buyers.
type service struct {
	url    string
	client *http.Client
}

// CheckURL reports what is wrong with a service's URL, without quoting it: it may hold
// a key. http is allowed on loopback only: on any other network an eavesdropper could
// read who buys, and an attacker could change the answers.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("eligibility URL: not a valid URL") // the cause would quote the URL and a password in it
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("read eligibility URL: it must begin with https://")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("read eligibility URL: it has no host")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, errors.New("read eligibility URL: it must begin with https:// outside of loopback")
	case u.User != nil:
		return nil, errors.New("read eligibility URL: it must not hold a user or a password")
	case u.Fragment != "":
		return nil, errors.New("read eligibility URL: it must not have a fragment")
	}
	return u, nil
}

// isLoopback reports whether the host is this machine. Names other than localhost are
// not resolved: the result may change between the check and the call.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.IsLoopback()
}

func newService(text string, transport http.RoundTripper, concurrency int) (service, error) {
	u, err := parseURL(text)
	if err != nil {
		return service{}, err
	}
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		own.MaxIdleConnsPerHost = concurrency
		transport = own
	}
	return service{u.String(), &http.Client{
		Transport: transport,
		// Redirects are not followed: they would lead to an unchecked host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// ask makes one call. The two ids are all that it sends of the buyer's request.
func (s service) ask(ctx context.Context, saleID, user string) (bool, error) {
	body, err := json.Marshal(struct {
		SaleID string `json:"saleId"`
		User   string `json:"user"`
	}{saleID, user})
	if err != nil {
		return false, fmt.Errorf("encode question: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	// net/http then asks again at once, over another connection, if the one that it has used before turns out to be
	// closed: the header itself, without a value, is not sent.
	r.Header["Idempotency-Key"] = nil
	response, err := s.client.Do(r)
	if err != nil {
		// Not the whole error: it begins with the URL, whose query may hold a key.
		if cause, ok := errors.AsType[*url.Error](err); ok {
			err = cause.Err
		}
		return false, fmt.Errorf("ask service: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch status := response.StatusCode; {
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		return false, fmt.Errorf("read answer: status %d", status)
	case status != http.StatusOK:
		return false, fmt.Errorf("%w: status %d", errAnswer, status)
	case err != nil:
		return false, fmt.Errorf("read answer: %w", err)
	}
	return decode(text)
}

// errAnswer: the service answered, but not about the user.
var errAnswer = errors.New("the service gave no answer about the user")

func decode(text []byte) (bool, error) {
	var said struct {
		Eligible *bool `json:"eligible"`
	}
	if len(text) > maxAnswer {
		return false, fmt.Errorf("%w: more than %d bytes", errAnswer, maxAnswer)
	}
	if err := jsonv2.Unmarshal(text, &said); err != nil || said.Eligible == nil {
		// The body must not get into the log.
		return false, fmt.Errorf(`%w: the body is not {"eligible": true} or {"eligible": false}`, errAnswer)
	}
	return *said.Eligible, nil
}
