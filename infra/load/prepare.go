package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"flashsale/shared/sale"
)

const (
	// tokensTime bounds the fetching of tokens, seedTime the making of the sale.
	tokensTime = 5 * time.Minute
	seedTime   = time.Minute
	// fetchers is how many tokens are fetched at once: signing costs a processor.
	fetchers = 16
	// maxToken is the longest token, in bytes; API Gateway takes no longer header.
	maxToken = 8 << 10
)

// place is what a run needs before its clock starts.
type place struct {
	sale    string
	stock   int // 0 if not known
	local   bool
	apiPort string   // of the local stack
	tokens  []string // one for each visit
}

// prepare finds the sale and the tokens, or makes them on the local stack.
func prepare(ctx context.Context, o options, c *client, visits []visit, bar progress) (place, error) {
	p := place{sale: o.sale, stock: o.stock}
	if o.sale == "" {
		p.stock = o.stockFor(visits)
	}
	if o.sale != "" && !sale.ValidID(o.sale) {
		return p, fmt.Errorf("%q is no sale id", o.sale)
	}
	var h health
	if o.tokensFile == "" || o.sale == "" {
		var err error
		if h, err = c.health(ctx); err != nil {
			return p, fmt.Errorf("no local stack answers at %s (make run starts one): %w", o.url, err)
		}
	} else if !o.allowRemote && o.table == "" {
		h, _ = c.health(ctx) // an API on this machine need not be our stack
	}
	if p.local = h.API != ""; p.local {
		u, err := url.Parse(o.url)
		if err != nil {
			return p, fmt.Errorf("read address: %w", err)
		}
		p.apiPort = cmp.Or(u.Port(), "80")
	}
	if o.tokensFile != "" {
		f, err := os.Open(o.tokensFile)
		if err != nil {
			return p, fmt.Errorf("open tokens: %w", err)
		}
		defer f.Close()
		if p.tokens, err = readTokens(f, len(visits)); err != nil {
			return p, err
		}
		return p, nil
	}
	var err error
	if p.tokens, err = c.fetchTokens(ctx, len(visits), bar); err != nil {
		return p, err
	}
	if o.sale != "" {
		return p, nil
	}
	// Last, so that the sale opens when the clock starts.
	p.sale = "load-" + strings.ToLower(rand.Text()[:12])
	lambda := cmp.Or(o.lambda, h.Lambda)
	if err := checkTarget(lambda, false); err != nil {
		return p, err
	}
	return p, c.create(ctx, lambda, p.sale, p.stock, min(o.shards, p.stock), time.Now())
}

// readTokens reads as many tokens as there are buyers, one per line. More are
// not needed; fewer would make two buyers the same person.
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
			return nil, fmt.Errorf("read tokens: line %d is no token", n)
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
		return nil, fmt.Errorf("read tokens: the schedule has %d buyers and the file %d tokens: take a lower rate or a shorter time", buyers, len(tokens))
	}
	return tokens, nil
}

// health is what a local stack says of itself.
type health struct {
	API    string `json:"api"`
	Lambda string `json:"lambda"`
}

func (c *client) health(ctx context.Context) (health, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var h health
	status, _, body, err := c.do(ctx, http.MethodGet, c.url+"/_local/health", nil, nil)
	if err != nil {
		return h, err
	}
	if status != http.StatusOK || json.Unmarshal(body, &h) != nil || h.API == "" {
		return health{}, fmt.Errorf("no health there: %s", short(status, body))
	}
	return h, nil
}

// fetchTokens gets a token for each buyer.
func (c *client) fetchTokens(ctx context.Context, n int, bar progress) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, tokensTime)
	defer cancel()
	step := bar.step("tokens", n)
	defer step.end()
	tokens, next := make([]string, n), make(chan int)
	failed := make(chan error, fetchers)
	var wg sync.WaitGroup
	for range fetchers {
		wg.Go(func() {
			for i := range next {
				var err error
				if tokens[i], err = c.token(ctx, fmt.Sprintf("load-%06d", i)); err != nil {
					failed <- err
					cancel()
					return
				}
				step.one()
			}
		})
	}
feed:
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	select {
	case err := <-failed:
		return nil, err
	default:
		return tokens, ctx.Err()
	}
}

// token is a signed access token for the user, longer valid than any run.
func (c *client) token(ctx context.Context, user string) (string, error) {
	status, _, body, err := c.do(ctx, http.MethodGet, c.url+"/_local/token?ttl=7200&sub="+url.QueryEscape(user), nil, nil)
	if err != nil {
		return "", fmt.Errorf("get token: %w", err)
	}
	if status != http.StatusOK || len(body) == 0 {
		return "", fmt.Errorf("get token: the stack answered %d", status)
	}
	return string(body), nil
}

// create makes a sale through the Lambda Invoke API.
func (c *client) create(ctx context.Context, lambda, id string, stock, shards int, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, seedTime)
	defer cancel()
	payload, err := json.Marshal(map[string]any{
		"action": "create", "saleId": id, "name": "Load", "stock": stock, "shards": shards,
		"opensAt":  now.Add(-time.Second).UTC().Format(time.RFC3339),
		"closesAt": now.Add(2 * time.Hour).UTC().Format(time.RFC3339),
	})
	if err != nil {
		return fmt.Errorf("create sale: %w", err)
	}
	status, header, body, err := c.do(ctx, http.MethodPost, lambda+"/2015-03-31/functions/SeedFunction/invocations", payload, nil)
	if err != nil {
		return fmt.Errorf("create sale: %w", err)
	}
	if status != http.StatusOK || header.Get("X-Amz-Function-Error") != "" {
		return errors.New("create sale: SeedFunction answered " + short(status, body))
	}
	return nil
}
