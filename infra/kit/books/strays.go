package books

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
)

// readStrays scans the table for orders without a claim, for shards and claims beyond
// the sale's, for items of an undocumented kind or of no sale, and for other sales that are
// not listed.
func (p *pass) readStrays(ctx context.Context) (err error) {
	if p.whyNoScan != "" { // as the first pass has found
		return nil
	}
	s := strays{pass: p, exist: map[string]bool{}, listed: map[string]bool{}, named: map[string]string{}}
	p.whyNoScan, err = p.scan(ctx, func(items []item) error {
		s.orders, s.guards, s.barred, s.accounts = nil, nil, nil, nil
		for _, it := range items {
			s.take(it)
		}
		if p.buckets == 0 { // there is neither the sale nor its creation, which is a finding
			return nil
		}
		return cmp.Or(p.checkGuards(ctx, s.guards), p.checkBars(ctx, s.barred), p.checkOwners(ctx, s.orders), p.checkAccounts(ctx, s.accounts))
	})
	if err != nil || p.whyNoScan != "" {
		return err
	}
	for _, saleID := range slices.Sorted(maps.Keys(s.named)) {
		p.findIf(!s.exist[saleID], "P13", "no sale "+saleID, "%s belongs to sale %q, which does not exist", s.named[saleID], saleID)
	}
	for _, saleID := range slices.Sorted(maps.Keys(s.exist)) {
		p.findIf(!s.listed[saleID] && saleID != p.saleID, "P8", "not listed "+saleID,
			"sale %q is not on the list of sales: reconcile neither audits it nor sends a lost message again, and a recount of all sales leaves it out", saleID)
	}
	return nil
}

// strays is the state of one scan.
type strays struct {
	*pass
	exist, listed map[string]bool   // sales
	named         map[string]string // sales named by an item, and the item

	// Of a page, what is sound and of the sale or of none.
	orders []Order
	guards []guardItem
	barred []barredUser

	accounts []accountItem
}

// take checks one item.
func (s *strays) take(it item) {
	k := keyOf(it)
	kind, of := locate(k)
	saleID := of.get("sale")
	if saleID != "" {
		s.name(saleID, k)
	}
	isOurs := saleID == s.saleID
	switch kind {
	case "listing":
		s.listed[saleID] = true
	case "sale":
		s.exist[saleID] = true
	case "draw", "call", "leaf key", "part", "entry":
		s.findIf(isOurs && s.before.hasSale && !s.lasting().hasDraw(), "P13", "drawn "+k.pk+" "+k.sk, "the item %s, %s is of a draw, and the sale has none", k.pk, k.sk)
	case "shard":
		n, _ := strconv.Atoi(of.get("shard"))
		s.findIf(isOurs && n >= s.n, "P2", "stray "+k.pk, "%s is there, but the sale has shards 0 to %d only: nobody can buy its units", k.pk, s.n-1)
	case "claim":
		n, _ := strconv.Atoi(of.get("bucket"))
		s.findIf(isOurs && n >= s.buckets, "P3", "stray "+k.pk+" "+k.sk,
			"a claim of %q lies in %s, but the sale has buckets 0 to %d only: nobody looks for it there", k.sk, k.pk, s.buckets-1)
	case "order":
		if o, problem := readOrder(it); s.belongs(it, o.SaleID, problem) {
			s.orders = append(s.orders, o)
		}
	case "guard":
		if g, problem := readGuard(it); s.belongs(it, g.SaleID, problem) {
			s.guards = append(s.guards, g)
		}
	case "account":
		if a, problem := readAccount(it); s.belongs(it, a.SaleID, problem) {
			s.accounts = append(s.accounts, a)
		}
	case "barred user":
		if g, problem := readBarred(it); s.belongs(it, g.SaleID, problem) {
			s.barred = append(s.barred, g)
		}
	case "group":
		s.takeGroup(it)
	case "refund", "unknown refund":
		_, problem := readRefund(it)
		s.belongs(it, saleID, problem)
	case "sending":
		_, problem := readSending(it)
		s.malformed(it, problem)
	case "sequence":
		sound(s.pass, it, readSequence)
	case "":
		s.malformed(it, "no such item is documented")
	}
}

// belongs checks an item that names its sale, "" for none, and reports whether it is sound, and of
// the sale or of none.
func (s *strays) belongs(it item, saleID, problem string) bool {
	isOurs := saleID == s.saleID || saleID == ""
	if isOurs {
		s.malformed(it, problem)
	}
	if saleID != "" {
		s.name(saleID, keyOf(it))
	}
	return isOurs && problem == ""
}

func (s *strays) name(saleID string, k key) {
	if _, known := s.named[saleID]; !known && len(s.named) < remembered {
		s.named[saleID] = "the item " + k.pk + ", " + k.sk
	}
}

// WithoutSales looks for an item of a sale in a table whose list of sales is empty, and says
// if it could not. A refund of an unknown order is of no sale, nor is a sending, and
// neither is the guard of its payment, nor its account.
func WithoutSales(ctx context.Context, db DynamoDB, name string, full bool) (found []Finding, notLookedFor []string, err error) {
	enough := errors.New("an item was found")
	whyNot, err := (&table{db: db, name: name, full: full}).scan(ctx, func(items []item) error {
		for _, it := range items {
			k := keyOf(it)
			if kind, _ := locate(k); kind != "unknown refund" && kind != "sending" && (kind != "guard" && kind != "account" || isThere(it, "saleId")) {
				found = []Finding{{"P8", "the item " + k.pk + ", " + k.sk + " is there, but the list of sales is empty: nobody reconciles its sale"}}
				return enough
			}
		}
		return nil
	})
	if whyNot != "" {
		notLookedFor = []string{"whether an item is left of a sale that is not listed: " + whyNot}
	}
	if errors.Is(err, enough) {
		err = nil
	}
	return found, notLookedFor, err
}

// checkOwners finds the orders of a page that have no claim.
func (p *pass) checkOwners(ctx context.Context, orders []Order) error {
	return lookUp(ctx, p, orders, func(o Order) key { return p.claimKey(o.User) }, func(o Order, it item) {
		if it == nil {
			p.find("P7", "order "+o.ID, "order %s of %q belongs to no claim: the user has none", o.ID, o.User)
			return
		}
		c, _ := readClaim(it)
		has := "has order " + c.OrderID
		if c.OrderID == "" {
			has = "is pending and will get a second order"
		}
		p.findIf(c.OrderID != o.ID, "P7", "order "+o.ID, "order %s of %q belongs to no claim: the user's claim %s %s", o.ID, o.User, c.ClaimID, has)
	})
}

// shardName is a shard's name in findings.
func shardName(k int) string { return "shard " + strconv.Itoa(k) }
