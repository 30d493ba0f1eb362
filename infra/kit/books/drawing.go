package books

import (
	"context"
	"errors"
	"fmt"
)

// Drawing reads what only the operator has of a draw: who entered. It judges
// nothing, and holds one page of users at a time.
type Drawing struct {
	// LeafKey is what the receipts of the entrants are made with.
	LeafKey []byte

	table  *table
	saleID string
}

// OpenDrawing finds the draw of a sale.
func OpenDrawing(ctx context.Context, db DynamoDB, name, saleID string) (*Drawing, error) {
	t := &table{db: db, name: name, sleep: sleep}
	it, err := one(ctx, t, key{"DRAWKEY#" + saleID, "KEY"})
	if err != nil {
		return nil, err
	}
	secret, problem := readLeafKey(it)
	if problem != "" {
		return nil, errors.New("the table has no such draw")
	}
	return &Drawing{LeafKey: secret.LeafKey, table: t, saleID: saleID}, nil
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
