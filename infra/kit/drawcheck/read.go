package drawcheck

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/drawcheck/rules"
)

const (
	// readers is how many pages of a roll are read at once, and tries how often each is asked
	// for, with pauses from firstPause, twice as long each time, or as long as the API asks for.
	readers    = 8
	tries      = 7
	firstPause = 100 * time.Millisecond
	maxPause   = 10 * time.Second
)

// Read reads a draw from an API, without credentials, and tells progress how many pages it has.
func Read(ctx context.Context, api *client.Client, saleID string, progress func(pages, of int64)) (*Published, error) {
	p := &Published{Chain: Quicknet}
	if u, err := url.Parse(api.API); err == nil && client.Loopback(u.Hostname()) {
		if err := readLocalDice(ctx, api, &p.Chain); err != nil {
			return nil, fmt.Errorf("read the local stack's dice: %w", err)
		}
	}
	body, err := get(ctx, api, "/sales/"+url.PathEscape(saleID))
	if err != nil {
		return nil, fmt.Errorf("read sale %s: %w", saleID, err)
	}
	if p.Sale, err = readSale(body); err == nil && p.Sale.SaleID != saleID {
		err = fmt.Errorf("the answer is about sale %q", p.Sale.SaleID)
	}
	if err != nil {
		return nil, fmt.Errorf("sale %s: %w", saleID, err)
	}
	if p.Sale.Round == 0 {
		return p, nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	var done atomic.Int64
	for i := range p.Pages {
		group.Go(func() error {
			body, err := get(ctx, api, fmt.Sprintf("/sales/%s/roll/%02x", url.PathEscape(saleID), i))
			if err == nil {
				p.Pages[i], err = readPage(body)
			}
			if err != nil {
				return fmt.Errorf("page %02x of the roll: %w", i, err)
			}
			progress(done.Add(1), rules.Pages)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return p, nil
}

// readLocalDice gets the chain of a stack on this machine, which has dice of its own. An API
// elsewhere is not asked for its dice: whoever could choose them could choose the order.
func readLocalDice(ctx context.Context, api *client.Client, chain *Chain) error {
	a, err := api.Send(ctx, http.MethodGet, "/_local/health", "")
	if err != nil {
		return err
	}
	var health struct {
		Beacon *Chain `json:"beacon"`
	}
	if a.Status == http.StatusOK && json.Unmarshal(a.Body, &health) == nil && health.Beacon != nil {
		*chain = *health.Beacon
	}
	return nil
}

// ErrNone means that the API answers that there is no such sale, ErrNoDraw that the sale has no draw.
var ErrNone, ErrNoDraw = errors.New("there is none"), errors.New("the sale has no draw")

// get reads an address, again if it is busy or throttled.
func get(ctx context.Context, api *client.Client, path string) ([]byte, error) {
	for try := 1; ; try++ {
		a, err := api.Send(ctx, http.MethodGet, path, "")
		passes := err != nil || a.Status == http.StatusTooManyRequests || a.Status >= http.StatusInternalServerError
		if err == nil && a.Status != http.StatusOK {
			if err = errors.New("the API answered " + a.String()); a.Status == http.StatusNotFound && a.Code != "" {
				err = fmt.Errorf("%w: the API answered %s", ErrNone, a.Code)
			}
		}
		if err == nil || !passes || try == tries {
			return a.Body, err
		}
		select {
		case <-time.After(min(max(a.RetryAfter, firstPause<<(try-1)), maxPause)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Sale is a sale with a draw, as GET /sales/{saleId} shows it.
type Sale struct {
	rules.Draw
	OpensAt, ClosesAt time.Time
	AsOf              time.Time // by the API's clock
}

// readSale reads the answer of GET /sales/{saleId}.
func readSale(body []byte) (s Sale, err error) {
	var page struct {
		SaleID                 string
		OpensAt, ClosesAt, Now time.Time
		Draw                   *struct {
			rules.Draw
			Roll, Seed *rules.Digest
			Signature  string
		}
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return s, fmt.Errorf("read sale: %w", err)
	}
	d := page.Draw
	switch {
	case d == nil:
		return s, ErrNoDraw
	case (d.Roll == nil) != (d.Round == 0) || (d.Roll == nil) != d.ClosedAt.IsZero():
		return s, errors.New("read sale: of roll, round and closedAt it shows only a part")
	case (d.Seed == nil) != (d.Signature == ""):
		return s, errors.New("read sale: of seed and signature it shows one alone")
	}
	s = Sale{Draw: d.Draw, OpensAt: page.OpensAt, ClosesAt: page.ClosesAt, AsOf: page.Now}
	s.SaleID = page.SaleID
	if d.Roll != nil {
		s.Draw.Roll = *d.Roll
	}
	if d.Seed != nil {
		s.Draw.Seed = *d.Seed
		if s.Draw.Signature, err = hex.DecodeString(d.Signature); err != nil {
			return s, fmt.Errorf("read sale: the signature: %w", err)
		}
	}
	return s, nil
}

// readPage reads the answer of GET /sales/{saleId}/roll/{page}.
func readPage(body []byte) ([]rules.Leaf, error) {
	var page struct{ Leaves *[]rules.Leaf }
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	if page.Leaves == nil {
		return nil, errors.New("read page: it has no leaves")
	}
	return slices.Clone(*page.Leaves), nil // all are held, and the decoder's have room for a quarter more
}
