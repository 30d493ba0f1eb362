package ledger

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"flashsale/shared/cache"
	"flashsale/shared/draw"
	"flashsale/shared/sale"
)

const (
	// maxRecent and recentFor bound an environment's cache of its own claims: enough
	// that a winner who keeps clicking does not contend for a shard.
	maxRecent = 2000
	recentFor = time.Minute
)

type buyer struct{ saleID, user string }

// remembered is a claim in the cache, or that the user has one in another sale of the
// group.
type remembered struct {
	sale.Claim
	otherSale string // "" for a claim
	// asksForPayment: its sale asks for payment, so the claim may be released.
	asksForPayment bool
}

// edition is one version of a sale.
type edition struct {
	saleID  string
	version int64
}

// Remaining is the stock as shown on the sale page.
type Remaining struct {
	Units int64
	// Approximate: scaled from a sample, because the sale has more shards with
	// stock than one read covers.
	Approximate bool
}

// Draw is what everybody may know of a draw, but for its roll.
type Draw struct {
	draw.Head
	Calls []draw.Call // in their order
}

const (
	// maxPages bounds the pages of rolls that an environment remembers, and maxParts the parts of
	// pages: those of a whole roll, which is 32 MB with a million entrants.
	maxPages = draw.Pages
	maxParts = maxPages * pageParts
	// pageParts is how many parts a page of a roll is stored in.
	pageParts = 4
)

// draws is what an environment remembers of draws. Only public expires: the rest is final.
type draws struct {
	public  *cache.Memory[string, Draw]
	secrets *cache.Memory[string, []byte]
	heads   *cache.Memory[string, draw.Head] // with a seed
	calls   *cache.Memory[callID, draw.Call] // complete ones; others for a moment
	pages   *cache.Memory[pageID, []draw.Leaf]
	parts   *cache.Memory[partID, []draw.Leaf]
}

type callID struct {
	saleID string
	number int64
}

type pageID struct {
	saleID string
	page   byte
}

type partID struct {
	saleID string
	page   byte
	part   int
}

func newDraws() *draws {
	return &draws{
		public:  cache.NewMemory[string, Draw](maxViews),
		secrets: cache.NewMemory[string, []byte](maxViews),
		heads:   cache.NewMemory[string, draw.Head](maxViews),
		calls:   cache.NewMemory[callID, draw.Call](maxViews),
		pages:   cache.NewMemory[pageID, []draw.Leaf](maxPages),
		parts:   cache.NewMemory[partID, []draw.Leaf](maxParts),
	}
}

// forever is until when what is final may be remembered.
var forever = time.Unix(1<<40, 0)

// statements are the texts of the batched writes, built once for the table. They use
// only what both DynamoDB and the local engine support: one SET with one assignment, IS
// MISSING instead of attribute_not_exists.
type statements struct{ setOrderText, insertOrderText *string }

func newStatements(table string) statements {
	return statements{
		setOrderText: aws.String(`UPDATE "` + table + `"` +
			` SET orderId = ? WHERE pk = ? AND sk = ? AND claimId = ? AND orderId IS MISSING`),
		insertOrderText: aws.String(`INSERT INTO "` + table + `"` +
			` VALUE {'pk': ?, 'sk': ?, 'saleId': ?, 'user': ?, 'claimId': ?}`),
	}
}
