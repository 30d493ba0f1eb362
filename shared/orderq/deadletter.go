package orderq

import (
	"context"

	"flashsale/shared/sale"
)

// Fate is what becomes of a dead letter: the body of a message that FinalizeFunction gave up.
type Fate string

const (
	FatePending Fate = "pending" // finalizing the claim again gives the order its id
	FateDone    Fate = "done"    // the order has an id; nothing is left to do
	FatePoison  Fate = "poison"  // no delivery can ever succeed
	FateUnknown Fate = "unknown" // the table does not answer, or only a newer version can tell
)

// FateOf decides the fate of a dead letter by its claim, and says why. claim reads a claim, and fails as the ledger's
// Claim does.
func FateOf(
	ctx context.Context, claim func(ctx context.Context, saleID, user string) (sale.Claim, error), body string,
) (f Fate, why string) {
	const newer = "for a newer version; deploy it, then redrive with its flashsale"
	m, err := Decode(body)
	if sale.CodeOf(err) == sale.NewerVersion {
		return FateUnknown, newer
	}
	if err != nil {
		return FatePoison, "not an order message"
	}
	c, err := claim(ctx, m.SaleID, m.User)
	switch code := sale.CodeOf(err); {
	case code == sale.NewerVersion:
		return FateUnknown, newer
	case code == sale.SaleNotFound:
		return FatePoison, "no such sale"
	case code == sale.OrderNotFound:
		return FatePoison, "no such claim"
	case err != nil:
		return FateUnknown, "the table does not answer"
	case c.ID != m.ClaimID:
		return FatePoison, "the buyer holds another claim"
	case c.State() != sale.Pending:
		return FateDone, "the order is confirmed by now"
	}
	return FatePending, "moving it back will finalize it"
}
