// Package maintenance is what operators alone do to a ledger's table: look up what it holds of a
// person and erase that, archive a sale that is long over, and replay what a restored table has
// lost. No function contains it.
package maintenance

import (
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/table"
)

// Maintenance works on the table of a ledger.
type Maintenance struct {
	ledger *ledger.Ledger
	table  *table.Table
}

// Of returns the maintenance of a ledger's table.
func Of(l *ledger.Ledger) *Maintenance { return &Maintenance{ledger: l, table: l.Table()} }
