package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/shared/sale"
)

const (
	// tokensTime bounds the fetching of tokens.
	tokensTime = 5 * time.Minute
	// saleTime is longer than any run.
	saleTime = 2 * time.Hour
	// maxToken is the longest token, in bytes; API Gateway accepts no longer header.
	maxToken = 8 << 10
)

// place is what a run needs before it starts.
type place struct {
	sale   string
	stock  int // 0 if unknown
	system client.System
	tokens []string // one for each visit
}

// prepare finds the sale and the tokens, or makes them on the local stack.
func prepare(ctx context.Context, o options, visits []visit, bar progress) (place, error) {
	p := place{sale: o.sale, stock: o.stock}
	if o.sale == "" {
		p.stock = o.stockFor(visits)
	}
	if o.sale != "" && !sale.ValidID(o.sale) {
		return p, fmt.Errorf("%q is not a sale id", o.sale)
	}
	p.system.Client = newClient(o.url, o.inflight, o.allowRemote)
	// An API on this machine need not be a local stack; on another machine, do not look for one.
	var err error
	if !o.allowRemote {
		found, missing := client.Find(ctx, o.url, client.Options{Transport: transport(o.inflight, false)})
		if missing == nil {
			p.system = found
		} else if o.tokensFile == "" || o.sale == "" {
			return p, missing
		}
	}
	if o.tokensFile != "" {
		f, err := os.Open(o.tokensFile)
		if err != nil {
			return p, fmt.Errorf("open tokens: %w", err)
		}
		defer f.Close()
		p.tokens, err = readTokens(f, len(visits))
		return p, err
	}
	if p.tokens, err = fetchTokens(ctx, p.system.Client, len(visits), bar); err != nil || o.sale != "" {
		return p, err
	}
	// Last, so that the sale opens when the run starts.
	within := time.Duration(0)
	if o.payments {
		within = payWithin
	}
	name := "load"
	if o.demo {
		name, within = "demo", 0 // a sale of its own asks for payment
	}
	p.sale = newSaleID(name)
	now := time.Now()
	return p, p.system.Seed(ctx, client.Sale{
		ID: p.sale, Name: name, Stock: p.stock, Shards: min(o.shards, p.stock),
		OpensAt: now.Add(-time.Second), ClosesAt: now.Add(saleTime), PayWithin: within,
	})
}

// fetchTokens gets a token for each buyer.
func fetchTokens(ctx context.Context, c *client.Client, n int, bar progress) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, tokensTime)
	defer cancel()
	one, end := bar.step("tokens", n)
	defer end()
	users := make([]string, n)
	for i := range users {
		users[i] = userName(i)
	}
	return c.Tokens(ctx, users, one)
}

// userName is the user of a visit. A token from a file has another user, whom only its reader
// knows.
func userName(i int) string { return fmt.Sprintf("buyer-%06d", i) }

func newSaleID(name string) string { return name + "-" + strings.ToLower(rand.Text()[:12]) }

// readTokens reads a token for each buyer, one per line. It ignores the rest; with too few,
// two buyers would be the same user.
func readTokens(r io.Reader, buyers int) ([]string, error) {
	var tokens []string
	seen := map[string]bool{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxToken)
	for n := 1; len(tokens) < buyers && lines.Scan(); n++ {
		token := strings.TrimSpace(lines.Text())
		switch {
		case token == "":
			continue
		case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
			return nil, fmt.Errorf("read tokens: line %d is not a token", n)
		case seen[token]:
			return nil, fmt.Errorf("read tokens: line %d repeats a token", n)
		}
		seen[token] = true
		tokens = append(tokens, token)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	if len(tokens) < buyers {
		return nil, fmt.Errorf("read tokens: the schedule has %d buyers but the file only %d tokens: use a lower rate or a shorter duration", buyers, len(tokens))
	}
	return tokens, nil
}

// newClient makes the client that all buyers share.
func newClient(address string, inflight int, allowRemote bool) *client.Client {
	return client.New(address, client.Options{Transport: transport(inflight, allowRemote)})
}

// transport connects only to this machine unless allowRemote is set.
func transport(inflight int, allowRemote bool) *http.Transport {
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
		MaxIdleConnsPerHost: inflight, MaxIdleConns: inflight, IdleConnTimeout: time.Minute,
		// No HTTP/2: requests sharing a connection would wait for each other inside the
		// generator.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
}
