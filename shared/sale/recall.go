package sale

import "cmp"

// Recall asks to recall a sale: it never sells again, its unpaid orders are released, and
// the payments of its paid ones go back. Its note stays with the sale.
type Recall struct {
	SaleID   string
	ChangeID string // as in Edit
	Author
}

// Check validates the recall.
func (r *Recall) Check() error {
	if !ValidID(r.SaleID) {
		return RefuseID("saleId")
	}
	return cmp.Or(checkChangeID(r.ChangeID), r.Author.Check())
}

// Change returns what the recall asks for.
func (r *Recall) Change() Change {
	return Change{ID: r.ChangeID, Action: ActionRecall, Author: r.Author}
}
