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
	"net/url"

	jsonv2 "github.com/go-json-experiment/json"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 4 << 10

// service is the other side: POST {"saleId": …, "user": …}, answered by 200 and
// {"eligible": true} or {"eligible": false}. Members of other names are ignored,
// and everything else is a failure.
type service struct {
	url    string
	client *http.Client
}

func newService(text string, transport http.RoundTripper, concurrency int) (service, error) {
	u, err := url.Parse(text)
	if err != nil {
		return service{}, errors.New("read eligibility URL: it is no URL") // the cause would quote it, and a password in it
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return service{}, errors.New("read eligibility URL: it must begin with http:// or https://")
	case u.Hostname() == "" || u.Opaque != "":
		return service{}, errors.New("read eligibility URL: it names no host")
	case u.User != nil:
		return service{}, errors.New("read eligibility URL: it must not hold a user or a password")
	case u.Fragment != "":
		return service{}, errors.New("read eligibility URL: it must not have a fragment")
	}
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		own.MaxIdleConnsPerHost = concurrency
		transport = own
	}
	return service{u.String(), &http.Client{
		Transport: transport,
		// A redirect is an answer like any other: it is not the one that was asked for.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// ask makes one call. Nothing of the buyer's request but the two ids goes along.
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
	switch {
	case err != nil:
		return false, fmt.Errorf("read answer: %w", err)
	case response.StatusCode != http.StatusOK:
		return false, fmt.Errorf("read answer: status %d", response.StatusCode)
	}
	return decode(text)
}

var errAnswer = errors.New(`the answer is not {"eligible": true} or {"eligible": false}`)

func decode(text []byte) (bool, error) {
	var said struct {
		Eligible *bool `json:"eligible"`
	}
	if len(text) > maxAnswer {
		return false, fmt.Errorf("read answer: more than %d bytes", maxAnswer)
	}
	if err := jsonv2.Unmarshal(text, &said); err != nil || said.Eligible == nil {
		return false, errAnswer // what it is instead is not for the log
	}
	return *said.Eligible, nil
}
