package ledger

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// A sale is sealed before anything of it is erased or archived. Without the user's claim and guard
// it would sell to the user again, so it must never sell again: no edit, addition, withdrawal or
// recall, and no new sale in its group. Whatever would take the sale back into reconciliation
// requires that its listing is not sealed; everything else looks at the sale, and is harmless
// if it has looked before.

// ifNotSealed is the condition on a sale's listing of everything that takes the sale back into
// reconciliation, or notes how far a pass came.
const ifNotSealed = "attribute_exists(pk) AND attribute_not_exists(#sealedAt)"

// refusedBySeal is edit.refused of an edit whose first other action requires ifNotSealed.
func refusedBySeal(others []types.CancellationReason) error {
	if isSealed(others[0]) {
		return sale.RefuseSealed()
	}
	return nil
}

// isSealed reports whether an action was refused because its listing, or its group, is sealed.
func isSealed(reason types.CancellationReason) bool {
	return table.Failed(reason) && table.Has(reason.Item, "sealedAt")
}
