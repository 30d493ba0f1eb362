package handler

import (
	"context"
	"regexp"
	"strings"
	"time"

	"flashsale/shared/sale"
)

// Ledger is what the page reads of the ledger.
type Ledger interface {
	Sale(ctx context.Context, saleID string) (sale.Sale, error)
	Sales(ctx context.Context, group string) ([]sale.Sale, error)
}

// goods is what a link to the page shows of what is sold. A group has the name that its sales
// share, and the rest of the first one.
type goods struct {
	Name, About string
	Image       string // "" unless the page's policy allows it
	HasPrice    bool
}

const (
	// patience is how long a page waits for its goods, without which it works as well.
	patience = 500 * time.Millisecond
	// rest is how long a ledger that did not answer is not asked: while it is down, only one page a second waits.
	rest = time.Second
	// aboutLength is the most that previews of links show, in characters.
	aboutLength = 200
)

func (h *Handler) oneSale(ctx context.Context, saleID string) ([]sale.Sale, error) {
	s, err := h.ledger.Sale(ctx, saleID)
	return []sale.Sale{s}, err
}

// goodsOf returns what is sold under an id; nothing if there is no such sale. It reports whether that is known: it
// is not while the ledger does not answer.
func (h *Handler) goodsOf(
	ctx context.Context, id string, sales func(ctx context.Context, id string) ([]sale.Sale, error),
) (g goods, known bool) {
	now := h.now()
	if id == "" {
		return g, true
	}
	if now.UnixNano() < h.asksAgain.Load() {
		return g, false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := sales(ctx, id)
	if err != nil {
		if ctx.Err() != nil {
			h.asksAgain.Store(now.Add(rest).UnixNano())
		}
		code := sale.CodeOf(err)
		return g, code == sale.SaleNotFound || code == sale.GroupNotFound
	}
	first := all[0]
	g = goods{Name: first.Name, About: strings.Join(strings.Fields(first.About), " "), HasPrice: first.Price > 0}
	for _, s := range all[1:] {
		g.Name = common(g.Name, s.Name)
	}
	if g.Name = strings.TrimSpace(joint.ReplaceAllString(g.Name, "")); len(all) == 1 || g.Name == "" {
		g.Name = first.Name
	}
	if about := []rune(g.About); len(about) > aboutLength {
		g.About = string(about[:aboutLength-1]) + "…"
	}
	if strings.HasPrefix(first.Image, h.imageOrigin+"/") { // an address has a scheme
		g.Image = first.Image
	}
	return g, true
}

// joint is what joins the name that sales share to the rest, as in "Trail Runner · size 42".
var joint = regexp.MustCompile(`(\s-|\s*[,，·:：–])\s*\S*\s*$`)

// common returns the words with which both names begin.
func common(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == len(a) {
		return a
	}
	return a[:strings.LastIndexByte(a[:n], ' ')+1]
}
