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
	Group, User     string
	SaleID, ClaimID string
	MinReader       int64
}

func barredKey(group, user string) key {
	return key{fmt.Sprintf("GUARD#%s#%d", group, bucketOf(user, guardBuckets)), user}
}

var readBarred = reader("barred user", func(f *fields, g *barredUser) {
	f.failIf(keyOf(f.item) != barredKey(g.Group, g.User), "its key is not that of a user in a group")
})

// checkBarred compares the claims of a page with the guards of their users in the sale's group.
func (p *pass) checkBarred(ctx context.Context, claims []Claim) error {
	group := p.lasting().LimitGroup
	if group == "" {
		return nil
	}
	return lookUp(ctx, p, claims, func(c Claim) key { return barredKey(group, c.User) }, func(c Claim, it item) {
		about := "barred " + group + " " + c.User
		if it == nil {
			p.find("P34", about, "%q has the claim %s and no guard in group %q: the user may order in another sale of it", c.User, c.ClaimID, group)
			return
		}
		g, problem := readBarred(it)
		p.malformed(it, problem)
		p.findIf(problem == "" && g != (barredUser{group, c.User, p.saleID, c.ClaimID, p.needs()}), "P34", about, "%q has the claim %s, but the user's guard in group %q names claim %s of sale %q, for readers of version %d",
			c.User, c.ClaimID, group, g.ClaimID, g.SaleID, g.MinReader)
	})
}

// checkBars finds the guards of a page, all of the sale, that are not of its group or have no claim.
func (p *pass) checkBars(ctx context.Context, all []barredUser) error {
	return lookUp(ctx, p, all, func(g barredUser) key { return p.claimKey(g.User) }, func(g barredUser, it item) {
		c, _ := readClaim(it)
		p.findIf(g.Group != p.lasting().LimitGroup || c.ClaimID != g.ClaimID, "P34", "barred "+g.Group+" "+g.User,
			"%q is barred from group %q by claim %s, but has no such claim in a sale of it", g.User, g.Group, g.ClaimID)
	})
}

// groupItem is GROUP#<group>, GROUP: the ids of its sales.
type groupItem struct {
	Group    string
	Sales    []string
	SealedAt int64
}

var readSales = reader("group", func(f *fields, g *groupItem) {
	f.failIf(len(g.Sales) == 0 || len(g.Sales) > maxGroup, "sales are not 1 to 30")
})

// readGroup compares the sale with its group.
func (p *pass) readGroup(ctx context.Context) error {
	h, group := &p.after, p.lasting().LimitGroup
	if group == "" {
		return nil
	}
	it, err := one(ctx, p, key{"GROUP#" + group, "GROUP"})
	if err != nil {
		return err
	}
	g, problem := readSales(it)
	if it != nil {
		p.malformed(it, problem)
	}
	p.findIf(h.sale.SealedAt != 0 && g.SealedAt == 0, "P34", "group "+group+" sealed",
		"the sale is sealed, and its group %q is not: whoever was erased may order in a new sale of it", group)
	p.findIf(!slices.Contains(g.Sales, p.saleID), "P34", "group "+group, "the sale is of group %q, which does not name it: its page does not show the sale", group)
	return nil
}

// takeGroup checks one group.
func (s *strays) takeGroup(it item) {
	g := sound(s.pass, it, readSales)
	for _, id := range g.Sales {
		s.name(id, keyOf(it))
	}
	s.findIf(slices.Contains(g.Sales, s.saleID) && g.Group != s.lasting().LimitGroup, "P34", "group "+g.Group,
		"group %q names the sale, which is of group %q", g.Group, s.lasting().LimitGroup)
}
