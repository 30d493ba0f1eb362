package books

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoDrawing means that a sale has no draw.
var ErrNoDrawing = errors.New("the sale has no draw")

// Drawing reads what only the operator has of a draw: who entered. It judges
// nothing, and holds one page of users at a time.
type Drawing struct {
	// LeafKey is what the receipts of the entrants are made with.
	LeafKey []byte

	table  *table
	saleID string
}

// OpenDrawing finds the draw of a sale. It fails with ErrNoSale and ErrNoDrawing.
func OpenDrawing(ctx context.Context, db DynamoDB, name, saleID string) (*Drawing, error) {
	if !isID(saleID) {
		return nil, ErrNoSale
	}
	d := &Drawing{table: &table{db: db, name: name, sleep: sleep}, saleID: saleID}
	header, secret := key{"SALE#" + saleID, "SALE"}, key{"DRAWKEY#" + saleID, "KEY"}
	found, err := d.table.get(ctx, []key{header, secret})
	if err != nil {
		return nil, err
	}
	if found[header] == nil {
		return nil, ErrNoSale
	}
	leafKey, problem := readLeafKey(found[secret])
	if problem != "" {
		return nil, ErrNoDrawing
	}
	d.LeafKey = leafKey.LeafKey
	return d, nil
}

// Entrants reports the users whose leaves begin with a byte, in parts, in no order that matters.
func (d *Drawing) Entrants(ctx context.Context, page byte, report func(users []string) error) error {
	return d.table.partition(ctx, fmt.Sprintf("ENTRY#%s#%02x", d.saleID, page), 0, func(items []item) error {
		users := make([]string, len(items))
		for i, it := range items {
			users[i] = keyOf(it).sk
		}
		return report(users)
	})
}
