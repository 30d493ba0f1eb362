package books

import (
	"context"
	"fmt"
	"slices"
)

const (
	// guardBuckets is over how many partition keys the guards of a group lie.
	guardBuckets = 1024
	// maxGroup is the most sales of a group.
	maxGroup = 30
)

// barredUser is GUARD#<group>#<bucket>, <user>: the sale of the group in which the user has ordered.
type barredUser struct {
	group, user   string
	sale, claimID string
	minReader     int64
}

func barredKey(group, user string) key {
	return key{fmt.Sprintf("GUARD#%s#%d", group, bucketOf(user, guardBuckets)), user}
}

func readBarred(it item) (g barredUser, problem string) {
	f := newFields(it)
	_, rest, _ := cutKind(keyOf(it).pk)
	group, _, _ := cutNumber(rest)
	g = barredUser{group: group, user: keyOf(it).sk, sale: f.id("saleId"), claimID: f.id("claimId"), minReader: f.minReader()}
	if !isID(group) || !isUser(g.user) || keyOf(it) != barredKey(group, g.user) {
		f.fail("its key is not that of a user in a group")
	}
	return g, f.end()
}

// checkBarred compares the claims of a page with the guards of their users in the sale's group.
func (p *pass) checkBarred(ctx context.Context, claims []Claim) error {
	group := p.lasting().group
	if group == "" {
		return nil
	}
	keys := make([]key, len(claims))
	for i, c := range claims {
		keys[i] = barredKey(group, c.User)
	}
	found, err := p.get(ctx, keys)
	if err != nil {
		return err
	}
	for i, c := range claims {
		about := "barred " + group + " " + c.User
		it := found[keys[i]]
		if it == nil {
			p.find("P34", about, "%q has the claim %s and no guard in group %q: the user may order in another sale of it", c.User, c.ClaimID, group)
			continue
		}
		g, problem := readBarred(it)
		p.malformed(it, problem)
		if problem == "" && g != (barredUser{group, c.User, p.saleID, c.ClaimID, p.needs()}) {
			p.find("P34", about, "%q has the claim %s, but the user's guard in group %q names claim %s of sale %q, for readers of version %d",
				c.User, c.ClaimID, group, g.claimID, g.sale, g.minReader)
		}
	}
	return nil
}

// checkBars finds the guards of a page, all of the sale, that are not of its group or have no claim.
func (p *pass) checkBars(ctx context.Context, all []barredUser) error {
	if p.buckets == 0 {
		return nil
	}
	keys := make([]key, len(all))
	for i, g := range all {
		keys[i] = key{p.claimPK(bucketOf(g.user, p.buckets)), g.user}
	}
	claims, err := p.get(ctx, keys)
	if err != nil {
		return err
	}
	for i, g := range all {
		if c, _ := readClaim(claims[keys[i]], 0); g.group != p.lasting().group || c.ClaimID != g.claimID {
			p.find("P34", "barred "+g.group+" "+g.user, "%q is barred from group %q by claim %s, but has no such claim in a sale of it", g.user, g.group, g.claimID)
		}
	}
	return nil
}

// readSales reads GROUP#<group>, GROUP: the ids of its sales.
func readSales(it item) (sales []string, problem string) {
	f := newFields(it)
	optional(f, "sealedAt", f.instant)
	_, group, _ := cutKind(keyOf(it).pk)
	sales = f.texts("sales")
	if !isID(group) || keyOf(it).sk != "GROUP" {
		f.fail("its key is no group's")
	}
	if len(sales) == 0 || len(sales) > maxGroup || slices.ContainsFunc(sales, func(id string) bool { return !isID(id) }) {
		f.fail("sales are not 1 to 30 ids")
	}
	return sales, f.end()
}

// readGroup compares the sale with its group.
func (p *pass) readGroup(ctx context.Context) error {
	h, group := &p.after, p.lasting().group
	if h.hasSale && h.hasCreate && h.sale.group != h.create.group {
		p.find("P15", "sale group", "the sale is of group %q, but was created in %q", h.sale.group, h.create.group)
	}
	if group == "" {
		return nil
	}
	at := key{"GROUP#" + group, "GROUP"}
	found, err := p.get(ctx, []key{at})
	if err != nil {
		return err
	}
	sales, problem := readSales(found[at])
	if found[at] != nil {
		p.malformed(found[at], problem)
	}
	if h.sale.sealedAt != 0 && !newFields(found[at]).has("sealedAt") {
		p.find("P34", "group "+group+" sealed", "the sale is sealed, and its group %q is not: whoever was erased may order in a new sale of it", group)
	}
	if !slices.Contains(sales, p.saleID) {
		p.find("P34", "group "+group, "the sale is of group %q, which does not name it: its page does not show the sale", group)
	}
	return nil
}

// takeBarred checks one guard of a user and returns it if it is of the sale.
func (s *strays) takeBarred(it item) (g barredUser, mine bool) {
	g, problem := readBarred(it)
	if mine = g.sale == s.saleID || g.sale == ""; mine {
		s.malformed(it, problem)
	}
	if g.sale != "" {
		s.name(g.sale, keyOf(it))
	}
	return g, mine && problem == ""
}

// takeGroup checks one group.
func (s *strays) takeGroup(it item) {
	sales, problem := readSales(it)
	s.malformed(it, problem)
	for _, id := range sales {
		s.name(id, keyOf(it))
	}
	_, group, _ := cutKind(keyOf(it).pk)
	if slices.Contains(sales, s.saleID) && group != s.lasting().group {
		s.find("P34", "group "+group, "group %q names the sale, which is of group %q", group, s.lasting().group)
	}
}
