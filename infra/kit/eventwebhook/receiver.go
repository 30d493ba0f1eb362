// Package eventwebhook sends order events to the back end of a shop by HTTPS, signed as www.standardwebhooks.com says.
package eventwebhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/shared/sale"
)

// Timeout is how long a receiver may take for an answer. The specification recommends 15 to 30 s.
const Timeout = 20 * time.Second

// LocalSecret signs the events of the local stack, so that any receiver on this machine can verify them.
const LocalSecret = "whsec_bG9jYWwtb3JkZXItZXZlbnQtc2VjcmV0"

// The bytes of a secret. The specification allows others; these need no padding in base64, which some libraries
// demand and others refuse.
var secretSizes = map[int]bool{24: true, 48: true}

// Receiver is an address to which events are sent. It is safe for concurrent use.
type Receiver struct {
	// Host is that of the address. The whole address is not for logs: it may have a key in it.
	Host    string
	address string
	keys    []*standardwebhooks.Webhook
	// Client makes the requests, and follows no redirect: who has the new address has not been given the events.
	Client *http.Client
}

// NewReceiver returns the receiver at the address. secrets are its signing secrets, with a comma between them: one,
// or while it changes two. No error quotes a secret or what follows the host in an address.
func NewReceiver(address, secrets string) (*Receiver, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("the address is no URL") // err quotes it
	case u.User != nil:
		return nil, errors.New("the address has a user name or a password: the signature takes their place")
	case u.Hostname() == "" || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())):
		return nil, errors.New("the address must begin with https:// (http:// is for this machine)")
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return nil, fmt.Errorf("the address has the port %s, and there is none above 65535", port)
		}
	}
	r := &Receiver{Host: u.Host, address: address}
	all := strings.Split(secrets, ",")
	if len(all) > 2 {
		return nil, fmt.Errorf("there are %d secrets: give one, or two while it changes", len(all))
	}
	for _, secret := range all {
		text, isSecret := strings.CutPrefix(strings.TrimSpace(secret), "whsec_")
		key, err := base64.StdEncoding.DecodeString(text)
		if !isSecret || err != nil || !secretSizes[len(key)] {
			return nil, errors.New("a secret must be whsec_ and 24 or 48 bytes in base64, such as of `openssl rand -base64 24`")
		}
		signer, _ := standardwebhooks.NewWebhookRaw(key) // it never fails
		r.keys = append(r.keys, signer)
	}
	r.Client = &http.Client{
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return r, nil
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// Answer is what a receiver says.
type Answer struct {
	Status int
	// Text is the beginning of the answer on one line, or why there is none.
	Text string
	// RetryAfter is how long it asks to wait; 0 if it does not.
	RetryAfter time.Duration
}

// IsAccepted reports whether the receiver has the event: it answers any 2xx, whatever else it says.
func (a Answer) IsAccepted() bool { return a.Status/100 == 2 }

// IsGone reports whether the receiver wants no events any more.
func (a Answer) IsGone() bool { return a.Status == http.StatusGone }

func (a Answer) String() string {
	if a.Status == 0 {
		return a.Text
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", a.Status, http.StatusText(a.Status), a.Text))
}

// maxAnswer is how much of an answer is read, and noted.
const maxAnswer = 200

// Send tries once to deliver the message. now is the instant that it signs.
func (r *Receiver) Send(ctx context.Context, m Message, now time.Time) Answer {
	body, err := json.Marshal(m)
	if err != nil {
		return Answer{Text: oneLine(err.Error())}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address, bytes.NewReader(body))
	if err != nil {
		return Answer{Text: "the address is no URL"}
	}
	id := headerID(m.ID)
	var signatures []string
	for _, key := range r.keys {
		signature, _ := key.Sign(id, now, body) // it never fails
		signatures = append(signatures, signature)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "flashsale/" + sale.ProgramVersion,
		standardwebhooks.HeaderWebhookID:        id,
		standardwebhooks.HeaderWebhookTimestamp: strconv.FormatInt(now.Unix(), 10),
		// In one line: many libraries read the first line of a header alone.
		standardwebhooks.HeaderWebhookSignature: strings.Join(signatures, " "),
	} {
		request.Header.Set(name, value)
	}
	// net/http then sends an event again at once, over another connection, if the one that it has used before turns out to
	// be closed: the header itself, without a value, is not sent.
	request.Header["Idempotency-Key"] = nil
	response, err := r.Client.Do(request)
	if err != nil {
		if about, ok := errors.AsType[*url.Error](err); ok {
			err = about.Err // without the address
		}
		return Answer{Text: oneLine(err.Error())}
	}
	defer response.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // the status has decided
	return Answer{response.StatusCode, oneLine(string(said)), retryAfter(response.Header.Get("Retry-After"), now)}
}

// oneLine is a text without line breaks and other characters that a log or a terminal would obey.
func oneLine(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' || 0x7f <= c && c < 0xa0 || c == 0x2028 || c == 0x2029 {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
	return strings.Join(strings.Fields(text), " ")
}

// retryAfter reads either form of the header (RFC 9110, 10.2.3).
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
