package load

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/target"
)

const (
	// tokensTime bounds the fetching of tokens.
	tokensTime = 5 * time.Minute
	// afterwards is how long a rehearsal's sale stays open after the last arrival, for retries.
	afterwards = 10 * time.Minute
	// maxToken is the longest token, in bytes; API Gateway accepts no longer header.
	maxToken = 8 << 10
)

// trial is what a run needs before it starts.
type trial struct {
	sale   string
	stock  int
	system client.System
	at     target.Target // where it was found
}

// prepare finds the system, finds or makes the visits' tokens, and makes the sale.
func prepare(ctx context.Context, o options, visits []visit, stderr io.Writer) (t trial, err error) {
	t = trial{stock: o.stockFor(visits)}
	if o.tokens != nil {
		if err := readTokens(o.tokens, visits); err != nil {
			return t, err
		}
	}
	w, err := o.where.Wanted()
	if err != nil {
		return t, err
	}
	w.Transport = transport(o.allowRemote)
	if t.at, err = target.Find(ctx, w); err != nil {
		return t, err
	}
	t.system = t.at.System
	if o.tokens == nil {
		if err := fetchTokens(ctx, t.system.Client, visits, stderr); err != nil {
			return t, err
		}
	}
	// Last, so that the sale opens when the run starts.
	made := client.Sale{Name: "rehearsal", Stock: t.stock, Shards: min(o.shards, t.stock), MaxPerOrder: int(o.units.most)}
	t.sale = made.Name + "-" + strings.ToLower(rand.Text()[:12])
	now := time.Now()
	made.ID, made.OpensAt, made.ClosesAt = t.sale, now.Add(-time.Second), now.Add(o.duration+afterwards)
	return t, t.system.Seed(ctx, made)
}

// fetchTokens gets a token for each buyer.
func fetchTokens(ctx context.Context, c *client.Client, visits []visit, stderr io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, tokensTime)
	defer cancel()
	one, end := step(stderr, "tokens", len(visits))
	defer end()
	var users []string
	for _, v := range visits {
		users = append(users, v.User)
	}
	tokens, err := c.Tokens(ctx, users, one)
	for i, token := range tokens {
		visits[i].Token = token
	}
	return err
}

// userName is the user of a visit. A token from a file has another user, whom only its reader
// knows.
func userName(i int) string { return fmt.Sprintf("buyer-%06d", i) }

// readTokens reads a token for each buyer, one per line. It ignores the rest; with too few,
// two buyers would be the same user.
func readTokens(from io.Reader, visits []visit) error {
	text, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	n, seen := 0, map[string]bool{}
	for line, token := range strings.Split(string(text), "\n") {
		token = strings.TrimSpace(token)
		switch {
		case token == "" || n == len(visits):
			continue
		case len(token) > maxToken, strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
			return fmt.Errorf("read tokens: line %d is not a token", line+1)
		case seen[token]:
			return fmt.Errorf("read tokens: line %d repeats a token", line+1)
		}
		seen[token] = true
		visits[n].Token = token
		n++
	}
	if n < len(visits) {
		return fmt.Errorf("read tokens: the schedule has %d buyers but the file only %d tokens: use a lower rate or a shorter duration", len(visits), n)
	}
	return nil
}

// transport connects only to this machine unless allowRemote is set.
func transport(allowRemote bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !allowRemote {
		// Check the dialled address, after redirects and name resolution.
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(address)
			if err != nil || !client.Loopback(host) {
				return fmt.Errorf("dial %s: %w", address, errRemote)
			}
			return nil
		}
	}
	var proxy func(*http.Request) (*url.URL, error) // no proxy for this machine
	if allowRemote {
		proxy = http.ProxyFromEnvironment
	}
	return &http.Transport{
		DialContext: dialer.DialContext, Proxy: proxy, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: inFlight, MaxIdleConns: inFlight, IdleConnTimeout: time.Minute,
		// No HTTP/2: requests sharing a connection would wait for each other inside the
		// generator.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
}
